# limpet: `make run` shows it, `make test` proves it. Both do all of their own set-up.
#
# TINYGO=PATH, ENVOY=PATH and CHROMIUM=PATH bring your own tools (see tools/setup.sh); nothing is installed for those then.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Our own target file links Debian's wasi-libc; another TinyGo brings its own for its stock target.
ifdef TINYGO
WASM_TARGET := -target wasip1 -buildmode c-shared -scheduler none -gc precise -tags custommalloc
else
WASM_TARGET := -target tools/limpet-wasm.json
endif

# Without kustomize's support for plugins in Go the linker leaves out what no code calls: 70 MB in place of 93.
COMMAND_TAGS := -tags kustomize_disable_go_plugin_support

FILTER_SOURCES := go.mod go.sum tools/limpet-wasm.json tools/linked.sha256 $(shell find filter policy-config token -name '*.go' ! -name '*_test.go' ! -path 'filter/wasmtest/*')
COMMAND_SOURCES := go.mod go.sum $(shell find cmd compiler filter internal policy-config token wasmimage -name '*.go' ! -name '*_test.go')

# A TinyGo of one's own need not come with clang: limpet has no shards then, but with modules that are there.
ifdef TINYGO
SHARDS := $(wildcard cmd/limpet/filters/limpet-shard-*.so)
else
SHARDS := cmd/limpet/filters/limpet-shard-amd64.so cmd/limpet/filters/limpet-shard-arm64.so
endif
FILTERS := cmd/limpet/filters/limpet.wasm cmd/limpet/filters/limpet.spdx.json $(SHARDS)

PEERS := dist/peers/tinygo.wasm dist/peers/rust.wasm
NATIVE_PEERS := dist/peers/libempty.so dist/peers/librust.so
FUZZED_MODULES := dist/native/poisoned/liblimpet.so dist/native/sanitized/liblimpet.so
VARIANTS := $(patsubst %,dist/variants/%.wasm,opt-1 opt-s opt-z gc-conservative wasm-opt-O3 wasm-opt-O4)

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# SIDE_BY_SIDE makes targets side by side: while one downloads or links, another has the processors.
SIDE_BY_SIDE = +@$(MAKE) --no-print-directory -j4

.PHONY: run
run: ## run the quick start: Envoy on 127.0.0.1:10000, three backends, sticky sessions
	$(SIDE_BY_SIDE) bin/limpet bin/demo $(if $(SHARDS),dist/limpet-shard-1.so) setup-envoy
	@envoy=$$(tools/setup.sh envoy) && ENVOY=$$envoy exec bin/demo

setup-%:
	@tools/setup.sh $* >/dev/null

.PHONY: browser
browser: build ## run the example for browsers: https://shop.localhost:10443, sessions to look at
	@envoy=$$(tools/setup.sh envoy) && ENVOY=$$envoy exec bin/browser

# What tests need besides Go; with these variables set they fail, not skip, where something is missing.
WITH_TOOLS = envoy=$$(tools/setup.sh envoy) && chromium=$$(tools/setup.sh chromium) && promtool=$$(tools/setup.sh promtool) && \
	export ENVOY=$$envoy CHROMIUM=$$chromium PROMTOOL=$$promtool LIMPET_REQUIRE_WASM=1 LIMPET_REQUIRE_ENVOY=1
ON_KUBERNETES = envoy=$$(tools/setup.sh envoy) && KUBERNETES="$$(tools/setup.sh kubernetes)" ENVOY=$$envoy LIMPET=bin/limpet WASM=dist/limpet.wasm
UNIT_PACKAGES = $$(go list ./... | grep -v '/limpet/e2e')

.PHONY: test
test: ## lint, the unit tests, the wasm tests and the end-to-end tests on a real Envoy
	$(SIDE_BY_SIDE) build bin/gotest setup-lint setup-envoy setup-chromium
	@for part in check unit e2e; do tools/timed.sh $(MAKE) --no-print-directory $$part || exit 1; done

.PHONY: unit
unit: build bin/gotest ## the tests of every package but the end-to-end tests
	@$(WITH_TOOLS) && bin/gotest -vet=off -timeout 20m $(UNIT_PACKAGES)

.PHONY: worlds
worlds: bin/gotest ## the tests that change whole worlds at random, with many times the changes that "make unit" makes: minutes
	@LIMPET_LONG=1 bin/gotest -count=1 -timeout 90m -run 'World|WholePolicies|Shuffled' ./compiler
	@LIMPET_TENANTS=10m bin/gotest -count=1 -timeout 30m -run '^TestTenants$$' ./compiler

.PHONY: race
race: bin/gotest ## the same under the race detector
	@bin/gotest -race -timeout 40m $(UNIT_PACKAGES)

.PHONY: wasm
wasm: dist/limpet.wasm bin/gotest ## build dist/limpet.wasm and test it under wazero
	@LIMPET_REQUIRE_WASM=1 bin/gotest -timeout 20m ./filter/... ./token ./policy-config

# Half of the time of the end-to-end tests is in these: load, floods, and what waits for drains, checks and Envoys that come
# back. CI runs them beside others. The others wait more than they work: four at once keep two processors busy.
LONGEST = ^Test(FullSpeed|ForgedFlood|Attacks|ServeModule|SlowStart|Tenants|ListenersComeBackDrained|ListenersComeAndGo|ServeRejected|OutlierDetectionEndsSessions|HotRestart)$$

.PHONY: e2e
e2e: build bin/gotest ## the end-to-end tests on a real Envoy, with a real browser, but for the longest
	@$(WITH_TOOLS) && cd e2e && ../bin/gotest -vet=off -count=1 -parallel 4 -timeout 30m -skip '$(LONGEST)'

.PHONY: e2e-longest
e2e-longest: build bin/gotest ## the longest of the end-to-end tests
	@$(WITH_TOOLS) && cd e2e && ../bin/gotest -vet=off -count=1 -timeout 30m -run '$(LONGEST)'

# Its packages are many: a cold build takes 5 to 8 minutes and 2.3 GB of build cache, a warm run one or two minutes.
.PHONY: e2e-istio
e2e-istio: build dist/liblimpet.so ## run the tests on Istio's own discovery server and a real Envoy (the first build takes minutes)
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy && cd e2e/istio && \
	../../tools/step.sh "building bin/e2e-istio.test (minutes the first time)" go test -vet=off -c -o ../../bin/e2e-istio.test . && \
	../../bin/e2e-istio.test -test.timeout 30m

.PHONY: e2e-kubernetes
e2e-kubernetes: build bin/gotest ## run "limpet serve" on a real API server, with real Envoys (as root; the first build takes minutes); TESTS='Leader|Keys' those that match
	@$(WITH_TOOLS) KUBERNETES="$$(tools/setup.sh kubernetes)" && cd e2e/kubernetes && ../../bin/gotest -count=1 -timeout 20m $(if $(TESTS),-run '$(TESTS)')

.PHONY: bench-serve
bench-serve: build ## measure "limpet serve" on a real API server with thousands of routes, half an hour; LIMPET_SHAPES=5000/1 is a part (as root)
	@$(WITH_TOOLS) KUBERNETES="$$(tools/setup.sh kubernetes)" LIMPET_LONG=1 && cd e2e/kubernetes && go test -count=1 -timeout 3h -v -run '^TestSpeed'

# e2e-long and figures take RUN=TestName for one scenario.
.PHONY: e2e-long
e2e-long: build ## run every end-to-end test at full size: up to two hours, progress every few seconds
	@$(WITH_TOOLS) LIMPET_LONG=1 && cd e2e && go test -count=1 -timeout 2h -run '$(or $(RUN),.)'

.PHONY: attack
attack: build ## attack "limpet serve" in each known way for ATTACK (10m), then in all together, with 5,000 routes of others
	@$(WITH_TOOLS) LIMPET_LONG=1 LIMPET_ATTACK=$(or $(ATTACK),10m) && cd e2e && go test -count=1 -timeout 4h -v -run '^TestAttacks$$' .

.PHONY: figures
figures: ## the same, and write the figures into docs/reliability.md
	@LIMPET_UPDATE_FIGURES=1 $(MAKE) --no-print-directory e2e-long

.PHONY: e2e-envoy-gateway
e2e-envoy-gateway: build dist/liblimpet.so bin/envoy-gateway bin/gotest ## run Envoy Gateway itself on what limpet writes for it (builds it the first time: minutes)
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy && \
	cd e2e/envoygateway && go vet ./... && ../../bin/gotest -count=1 -timeout 20m ./...

# As root, and the first build takes minutes. TESTS names some of them.
.PHONY: conformance
conformance: build ## run Gateway API's own conformance tests on "limpet serve" and a real control plane: three minutes (as root)
	@$(ON_KUBERNETES) conformance/run.sh $(TESTS)

.PHONY: conformance-subset
conformance-subset: build ## run a part of them, conformance/subset.txt: a minute (as root)
	@$(ON_KUBERNETES) conformance/run.sh "$$(grep -v '^#' conformance/subset.txt | paste -sd,)"

.PHONY: conformance-envoy-gateway
conformance-envoy-gateway: build bin/envoy-gateway ## the tests of session persistence on Envoy Gateway's own: a minute (as root)
	@$(ON_KUBERNETES) ENVOY_GATEWAY=bin/envoy-gateway conformance/run.sh $(TESTS)

.PHONY: build
build: bin/limpet bin/demo bin/browser $(if $(SHARDS),dist/limpet-shard-1.so) ## build bin/limpet and dist/limpet.wasm

.PHONY: tools
tools: ## install TinyGo and Envoy into the per-user cache, find a browser or install one, and print where they are
	@echo "tinygo: $$(tools/setup.sh tinygo)"
	@echo "envoy:  $$(tools/setup.sh envoy)"
	@echo "chromium: $$(tools/setup.sh chromium)"

.PHONY: check
check: lint ## lint, go vet's checks among it, which tests leave out, formatting, import directions
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt these: $$unformatted"; exit 1; }
	@tools/imports.sh
	@big=$$(git ls-files -z | xargs -0 sh -c 'find "$$@" -size +1M' files); [ -z "$$big" ] || { echo "over 1 MiB, so not source: $$big"; exit 1; }

.PHONY: measure
measure: ## measure how readable the code is; LIST=once, long, lines or words says where
	@go run ./tools/measure $(LIST)

.PHONY: words
words: ## count the words of the pages, without what is generated; it fails above 60,000, as a unit test does
	@go run ./tools/measure words

.PHONY: golden
golden: build ## rewrite golden files and the root envoy.yaml from what the code makes now; review the diff
	go generate ./compiler/api
	cd e2e/envoygateway && go mod download github.com/envoyproxy/gateway && go test . -run '^TestCRDsAreThoseOfTheModule$$' -update
	go test ./token ./policy-config ./compiler ./internal/compiler/admission ./internal/compiler/precedence ./compiler/api ./cmd/limpet ./docs \
	./internal/compiler/emit/envoygateway ./internal/proxies ./internal/around ./internal/plugincheck -update
	@$(MAKE) --no-print-directory deploy
	bin/limpet compile -f examples/quickstart -t envoy --bind 127.0.0.1 --filter-path dist/limpet.wasm > envoy.yaml

.PHONY: golden-clean
golden-clean: golden ## fail where a file that the code makes is not as committed
	@changed=$$(git status --porcelain) && [ -z "$$changed" ] || { git --no-pager diff --stat; \
	printf "stale; run 'make golden', review and commit:\n%s\n" "$$changed"; exit 1; }

.PHONY: fuzz
fuzz: dist/limpet.wasm $(FUZZED_MODULES) ## fuzz each target for FUZZTIME (default 30s)
	@LIMPET_REQUIRE_WASM=1 LIMPET_REQUIRE_NATIVE=1 tools/fuzz.sh $(or $(FUZZTIME),30s) $(FUZZ)

.PHONY: fuzz-nightly
fuzz-nightly: dist/limpet.wasm $(FUZZED_MODULES) ## fuzz each target for an hour, or FUZZ=FOLDER/TARGET alone; what is found is kept (tools/fuzz.sh)
	@LIMPET_REQUIRE_WASM=1 LIMPET_REQUIRE_NATIVE=1 tools/fuzz.sh $(or $(FUZZTIME),1h) $(FUZZ)

.PHONY: bench
bench: build bin/bench $(PEERS) dist/liblimpet.so $(NATIVE_PEERS) $(if $(filter full,$(BENCH)),$(VARIANTS)) ## what limpet costs Envoy next to other filters, 15 minutes; BENCH=full: builds and memory too; needs Rust
	@export ENVOY=$$(tools/setup.sh envoy) TINYGO=$$(tools/setup.sh tinygo) && \
	bin/bench -write && \
	if [ "$(BENCH)" = full ]; then \
		bin/bench -write -variants $$(echo $(VARIANTS) | tr ' ' ,) && bin/bench -write -memory 5000000; \
	fi

.PHONY: fleet
fleet: ## measure the xDS server with 1,000 clients, in two minutes; FLEET="-clients 100" changes what is measured
	@mkdir -p bin && go build -buildvcs=false -o bin/fleet ./bench/fleet && bin/fleet $(FLEET) && bin/fleet -apart $(FLEET)

# Old limpets are built from OLD=REVISION.
OLD_REVISION = $(or $(OLD),8700c4a9)
REVISIONS = $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/limpet/revisions
OLD_LIMPET = $(REVISIONS)/$(OLD_REVISION)/bin/limpet
$(REVISIONS)/%/bin/limpet:
	@mkdir -p $(REVISIONS)/$* && git archive $* | tar -x -C $(REVISIONS)/$* && $(MAKE) --no-print-directory -C $(REVISIONS)/$* bin/limpet

# Limpets that are named take turns, each with its Envoy: RUN='"before=PATH --watch" "now=bin/limpet"'.
.PHONY: bench-run
bench-run: build ## how long a changed policy, route and endpoint take until "limpet run" has them live
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy && go run ./bench/run $(or $(RUN),"now=bin/limpet")

.PHONY: bench-instructions
bench-instructions: build bin/bench $(PEERS) dist/liblimpet.so $(NATIVE_PEERS) ## the same in instructions, which no other job disturbs; needs valgrind, and Rust
	@export ENVOY=$$(tools/setup.sh envoy) TINYGO=$$(tools/setup.sh tinygo) && bin/bench -write -instructions 400 -warm 2000
	@$(MAKE) --no-print-directory bench-paired

.PHONY: bench-features
bench-features: build bin/bench dist/liblimpet.so ## what features cost that are used, in instructions, ten minutes; needs valgrind; ARGS="-only within" counts one
	@export ENVOY=$$(tools/setup.sh envoy) TINYGO=$$(tools/setup.sh tinygo) && bin/bench $(or $(ARGS),-write) -features -instructions 400 -warm 2000

.PHONY: bench-paired
bench-paired: build bin/bench $(OLD_LIMPET) $(dir $(OLD_LIMPET))bench ## a pinned request with limpet of OLD=REVISION and with this one, in turn, in instructions; needs valgrind
	@export ENVOY=$$(tools/setup.sh envoy) TINYGO=$$(tools/setup.sh tinygo) && \
	tools/bench-paired.sh $(OLD_REVISION) $(abspath $(dir $(OLD_LIMPET))..) $(CELLS)

$(REVISIONS)/%/bin/bench: $(REVISIONS)/%/bin/limpet
	@$(MAKE) --no-print-directory -C $(REVISIONS)/$* bin/bench

.PHONY: bench-copies
bench-copies: build bin/envoy-gateway dist/liblimpet.so ## what Envoy Gateway and Istio make of 500 split rules, with copies and without, in ten minutes
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy LIMPET_LONG=1 && for plane in envoygateway istio; do \
	(cd e2e/$$plane && go test -count=1 -timeout 30m -v -run '^TestCopiesCost$$') || exit 1; done

.PHONY: bench-go
bench-go: build ## Go benchmarks of token, filter and compiler, native and under wazero, as benchstat reads them; COUNT=10 repeats them
	go test -run '^$$' -bench . -benchmem -count $(or $(COUNT),1) ./token ./policy-config ./filter/... ./compiler/... ./internal/...

bin/bench: go.mod go.sum $(shell find bench internal/freeport internal/load policy-config token -name '*.go' ! -name '*_test.go') bench/internal/rig/documents.yaml bench/internal/rig/features.yaml
	@mkdir -p bin
	@tools/step.sh "building $@" go build -buildvcs=false -o $@ ./bench

dist/peers/tinygo.wasm: bench/peers/tinygo/main.go go.mod go.sum tools/limpet-wasm.json
	@mkdir -p dist/peers
	@tinygo=$$(tools/setup.sh tinygo) && tools/step.sh "building $@" \
	"$$tinygo" build $(WASM_TARGET) -opt=2 -no-debug -panic=trap -o $@.partial.wasm ./bench/peers/tinygo && mv $@.partial.wasm $@

dist/peers/rust.wasm: $(wildcard bench/peers/rust/src/*.rs) bench/peers/rust/Cargo.toml
	@mkdir -p dist/peers
	@cargo=$$(tools/setup.sh rust) && tools/step.sh "building $@" \
	"$$cargo" build --release --target wasm32-wasip1 --manifest-path bench/peers/rust/Cargo.toml --target-dir dist/rust && \
	cp dist/rust/wasm32-wasip1/release/peer.wasm $@

# Other builds of the filter, named after what differs: the optimiser's level, the collector, a pass of wasm-opt behind it.
dist/variants/opt-%.wasm: $(FILTER_SOURCES)
	@mkdir -p dist/variants
	@tinygo=$$(tools/setup.sh tinygo) && tools/step.sh "building $@" \
	"$$tinygo" build $(WASM_TARGET) -opt=$* -no-debug -panic=trap -o $@.partial.wasm ./filter && mv $@.partial.wasm $@

dist/variants/gc-%.wasm: $(FILTER_SOURCES)
	@mkdir -p dist/variants
	@tinygo=$$(tools/setup.sh tinygo) && tools/step.sh "building $@" \
	"$$tinygo" build $(WASM_TARGET) -gc=$* -opt=2 -no-debug -panic=trap -o $@.partial.wasm ./filter && mv $@.partial.wasm $@

dist/variants/wasm-opt-%.wasm: dist/limpet.wasm
	@mkdir -p dist/variants
	@tools/step.sh "building $@" wasm-opt -$* --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int --enable-mutable-globals -o $@ $<

.PHONY: bench-compiler
bench-compiler: build ## the compiler as a program, and within one: 1,000, 3,000 and 10,000 routes, time, memory, following changes
	go test -run '^$$' -bench 'Command|Follow' -benchtime $(or $(BENCHTIME),3x) -timeout 30m ./cmd/limpet ./compiler

.PHONY: lint
lint: ## golangci-lint with .golangci.yml (builds the linter the first time: minutes)
	@lint=$$(tools/setup.sh lint) && LINES_SHOWN=500 tools/step.sh "linting (a minute or more the first time)" "$$lint" run ./...

.PHONY: reproduce
reproduce: ## build limpet.wasm and liblimpet.so in another place with fresh caches, and compare with dist, or another build
	@tools/reproduce.sh

# VULNDB=file:///PATH reads a copy of the data. Modules of tests that bring a control plane of their own are looked at, too.
.PHONY: vulncheck
vulncheck: ## known vulnerabilities in what limpet calls (govulncheck; asks vuln.go.dev, or VULNDB)
	@tools/vulncheck.sh

.PHONY: newest
newest: ## raise every dependency to its newest version and run the unit tests: what will break next
	go get -u -t ./... && go mod tidy && git --no-pager diff --stat go.mod
	@$(MAKE) --no-print-directory unit

# The version must be said: VERSION=v1.2.3. BASE and ENVOY_BASE are images by digest to build on, KEY a private key to sign with.
.PHONY: release
release: $(FILTERS) deploy ## make all that a release has, in dist/release: VERSION=v1.2.3 (docs/install.md)
	@envoy=$$(tools/setup.sh envoy) && ENVOY=$$envoy go run ./tools/release -version "$(VERSION)" $(if $(REGISTRY),-registry $(REGISTRY)) \
	$(if $(BASE),-base $(BASE)) $(if $(ENVOY_BASE),-envoy-base $(ENVOY_BASE)) $(if $(KEY),-key $(KEY)) $(if $(BUILDER),-builder $(BUILDER))

.PHONY: publish
publish: ## push the images and the chart of dist/release: VERSION=v1.2.3 REGISTRY=ghcr.io/limpet-proxy
	@go run ./tools/release -version "$(VERSION)" $(if $(REGISTRY),-registry $(REGISTRY)) -push

.PHONY: reproduce-release
reproduce-release: $(FILTERS) ## make a release twice, in different places, and compare: ten minutes
	@envoy=$$(tools/setup.sh envoy) && ENVOY=$$envoy tools/reproduce-release.sh

.PHONY: deploy
deploy: ## put the chart with its CRDs and install.yaml into dist/deploy, and write the chart's README
	@cd e2e/install && go run ./render

# What the chart of the working tree calls it (deploy/chart/limpet/Chart.yaml).
.PHONY: image
image: $(FILTERS) ## put the image of limpet into dist/image.tar, for a cluster without a registry; "make deploy" has its chart
	@tools/step.sh "building dist/image.tar" go run ./tools/release -version v0.0.0-unreleased -local dist/image.tar $(if $(BASE),-base $(BASE))

.PHONY: e2e-install
e2e-install: build bin/gotest bin/helm bin/kubectl ## do what docs/install.md says on a real API server, and test the chart (as root; the first build takes minutes)
	@$(WITH_TOOLS) KUBERNETES="$$(tools/setup.sh kubernetes)" && cd e2e/install && ../../bin/gotest -count=1 -timeout 20m ./...

bin/helm: e2e/install/go.mod e2e/install/go.sum
	@mkdir -p bin
	@tools/step.sh "building $@ (minutes the first time)" env CGO_ENABLED=0 go -C e2e/install build -trimpath -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

bin/kubectl: e2e/install/go.mod e2e/install/go.sum e2e/install/kubectl/main.go
	@mkdir -p bin
	@tools/step.sh "building $@ (minutes the first time)" env CGO_ENABLED=0 go -C e2e/install build -trimpath -o $(CURDIR)/$@ ./kubectl

.PHONY: clean
clean: ## remove what was built; the tool cache stays
	rm -rf bin dist cmd/limpet/filters/*limpet*

dist/limpet.wasm: $(FILTER_SOURCES)
	@mkdir -p dist
	@tinygo=$$(tools/setup.sh tinygo) && tools/step.sh "building $@" \
	"$$tinygo" build $(WASM_TARGET) -opt=2 -no-debug -panic=trap -o $@.partial.wasm ./filter && mv $@.partial.wasm $@

dist/limpet.spdx.json: dist/limpet.wasm tools/packages.txt $(wildcard tools/sbom/*.go)
	@tinygo=$$(tools/setup.sh tinygo) && go run ./tools/sbom -wasm $< -tinygo "$$("$$tinygo" version)" >$@.partial && mv $@.partial $@

cmd/limpet/filters/%: dist/%
	@cp $< $@

cmd/limpet/filters/liblimpet-%.so: dist/native/%/liblimpet.so
	@cp $< $@.partial && mv $@.partial $@

cmd/limpet/filters/limpet-shard-%.so: dist/shard/%/limpet-shard.so
	@cp $< $@.partial && mv $@.partial $@

# Its packages need no filter, so that they can be compiled while that is built. No -trimpath: what vet, lint and tests compile is the same
# then, and is compiled once. A release's binaries have it (tools/release).
dist/compiled: $(COMMAND_SOURCES)
	@mkdir -p dist
	@tools/step.sh "compiling what bin/limpet consists of (minutes the first time)" \
	sh -c 'go build -buildvcs=false $(COMMAND_TAGS) $$(go list $(COMMAND_TAGS) -f "{{join .Imports \" \"}}" ./cmd/limpet)' && touch $@

# Native filters are in it once 'make native' has put them there, and stay up to date from then on.
bin/limpet: $(COMMAND_SOURCES) dist/compiled $(FILTERS) $(wildcard cmd/limpet/filters/liblimpet-*.so)
	@mkdir -p bin
	@tools/step.sh "building $@" \
	go build -buildvcs=false $(COMMAND_TAGS) -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/limpet

bin/limpet-sharded: bin/limpet
	@go build -buildvcs=false $(COMMAND_TAGS),limpet.sharded -o $@ ./cmd/limpet

bin/gotest: $(wildcard tools/gotest/*.go)
	@mkdir -p bin
	@go build -buildvcs=false -o $@ ./tools/gotest

bin/browser: $(shell find examples/browser -type f) go.mod go.sum
	@mkdir -p bin
	@tools/step.sh "building $@" go build -buildvcs=false -o $@ ./examples/browser

bin/envoy-gateway: e2e/envoygateway/go.mod e2e/envoygateway/go.sum
	@mkdir -p bin
	@tools/step.sh "building $@ (minutes the first time)" \
	go -C e2e/envoygateway build -buildvcs=false -ldflags "-s -w" -o $(CURDIR)/$@ github.com/envoyproxy/gateway/cmd/envoy-gateway

bin/demo: $(shell find examples -name '*.go') go.mod go.sum
	@mkdir -p bin
	@tools/step.sh "building $@" go build -buildvcs=false -o $@ ./examples/demo

# The native filter: limpet as a dynamic module of Envoy, for the architectures that Envoy is built for.
NATIVE_ARCH := $(patsubst aarch64,arm64,$(patsubst x86_64,amd64,$(shell uname -m)))
NATIVE_SOURCES := go.mod go.sum $(wildcard tools/limpet-native-*.json) $(shell find filter/native filter/internal/session policy-config token -name '*.go' \
	! -name '*_test.go')
NATIVE_C := $(wildcard filter/native/c/*)
NATIVE_CLANG_amd64 := clang-19 --target=x86_64-linux-gnu
NATIVE_CLANG_arm64 := clang-19 --target=aarch64-linux-gnu -mno-outline-atomics -isystem /usr/aarch64-linux-gnu/include -L/usr/aarch64-linux-gnu/lib
NATIVE_CFLAGS := -std=gnu2x -O2 -fPIC -ffunction-sections -Wall -Wextra -Werror -Wno-unused-parameter -ffile-prefix-map=$(CURDIR)=.
MODULE_LDFLAGS := -shared -nostartfiles -nodefaultlibs -fuse-ld=lld-19 -Wl,--version-script=filter/native/c/exports.map -Wl,--gc-sections \
	-Wl,-z,nodelete,-z,relro,-z,now,-z,noexecstack -Wl,--no-undefined-version -Wl,--build-id=none -Wl,-s
NATIVE_LDFLAGS := $(MODULE_LDFLAGS) -Wl,-soname,liblimpet.so

NATIVE := dist/native/amd64/liblimpet.so dist/native/arm64/liblimpet.so dist/liblimpet.so $(FUZZED_MODULES) dist/native/trapping/liblimpet.so \
	cmd/limpet/filters/liblimpet-amd64.so cmd/limpet/filters/liblimpet-arm64.so \
	dist/shard/sanitized/limpet-shard.so dist/shard/amd64/limpet-shard.so dist/shard/arm64/limpet-shard.so

.PHONY: native
native: $(NATIVE) ## build the native filter, limpet as a dynamic module of Envoy, for amd64 and arm64, and bin/limpet with it
	@$(MAKE) --no-print-directory build

.PHONY: test-native
test-native: native dist/limpet.wasm ## run the filter's tests on the native filter too: the shipped file, poisoned, sanitized, for arm64, in Envoy
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy && \
	export LIMPET_REQUIRE_WASM=1 LIMPET_REQUIRE_NATIVE=1 LIMPET_REQUIRE_ENVOY=1 && \
	go test -timeout 30m ./filter/... && go test -count=1 -run 'TestEnvoyAcceptsGoldens/native' ./compiler

.PHONY: native-long
native-long: native ## that the native filter's memory stays flat over fifty million requests, and Envoy's over a million more: ten minutes
	@envoy=$$(tools/setup.sh envoy) && export ENVOY=$$envoy LIMPET_LONG=1 && \
	LIMPET_REQUIRE_NATIVE=1 LIMPET_REQUIRE_ENVOY=1 go test -count=1 -timeout 1h -v -run 'MemoryStaysFlat' ./filter/behaviour

.PHONY: e2e-native
e2e-native: native bin/gotest ## run the end-to-end tests with the native filter; TESTS='Stick|Pin' those that match
	@$(WITH_TOOLS) && export LIMPET_FILTER=native && cd e2e && ../bin/gotest -count=1 -timeout 30m $(if $(TESTS),-run '$(TESTS)')

.PHONY: e2e-shards
e2e-shards: build bin/limpet-sharded bin/gotest ## run the end-to-end tests with a table for each shard of the fewest routes; TESTS='Stick|Pin' those that match
	@$(WITH_TOOLS) && export LIMPET_SHARDS=all && cd e2e && ../bin/gotest -count=1 -timeout 30m $(if $(TESTS),-run '$(TESTS)')

# What the native filter is compared with.
dist/peers/libempty.so: bench/peers/empty/module.c filter/native/c/abi.h
	@mkdir -p dist/peers
	@$(NATIVE_CLANG_$(NATIVE_ARCH)) $(NATIVE_CFLAGS) -shared -fuse-ld=lld-19 -o $@ $<

dist/peers/librust.so: $(wildcard bench/peers/rust-native/src/*.rs bench/peers/rust/src/*.rs) bench/peers/rust-native/Cargo.toml
	@mkdir -p dist/peers
	@cargo=$$(tools/setup.sh rust) && tools/step.sh "building $@" \
	"$$cargo" build --release --manifest-path bench/peers/rust-native/Cargo.toml --target-dir dist/rust-native && \
	cp dist/rust-native/release/libpeer_native.so $@

dist/native/%/limpet.o: $(NATIVE_SOURCES)
	@mkdir -p $(@D)
	@tinygo=$$(tools/setup.sh tinygo) && tools/step.sh "building $@" \
	"$$tinygo" build -target tools/limpet-native-$*.json -opt=2 -no-debug -panic=trap -o $@.partial.o ./filter/native && \
	llvm-objcopy-19 --redefine-sym main=limpet_main $@.partial.o $@ && rm $@.partial.o

.PRECIOUS: dist/native/%/limpet.o dist/shard/%/limpet-shard.so

# And one whose C parts the address and undefined-behaviour sanitizers watch, as well as what TinyGo's code copies.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
dist/native/sanitized/liblimpet.so: dist/native/$(NATIVE_ARCH)/limpet.o $(NATIVE_C)
	@mkdir -p $(@D)
	@cc -std=gnu2x -O1 -g -fPIC -Wall -Wextra -Werror -Wno-unused-parameter $(SANITIZE) -shared -Wl,--version-script=filter/native/c/exports.map -Wl,-z,nodelete \
	-o $@.partial filter/native/c/*.c $< && mv $@.partial $@

# A build for tests that fills memory with rubbish as soon as it should not be used any more.
dist/native/poisoned/liblimpet.so: dist/native/$(NATIVE_ARCH)/limpet.o $(NATIVE_C)
	@mkdir -p $(@D)
	@$(NATIVE_CLANG_$(NATIVE_ARCH)) $(NATIVE_CFLAGS) -DPOISON $(NATIVE_LDFLAGS) -o $@.partial filter/native/c/*.c $< -lc && mv $@.partial $@

# One that traps with its first request, as it would where a check of TinyGo's fails.
dist/native/trapping/liblimpet.so: dist/native/$(NATIVE_ARCH)/limpet.o $(NATIVE_C)
	@mkdir -p $(@D)
	@$(NATIVE_CLANG_$(NATIVE_ARCH)) $(NATIVE_CFLAGS) -DTRAP $(NATIVE_LDFLAGS) -o $@.partial filter/native/c/*.c $< -lc && mv $@.partial $@

dist/native/%/liblimpet.so: dist/native/%/limpet.o $(NATIVE_C)
	@[ $* = $(NATIVE_ARCH) ] || tools/setup.sh cross-$* >/dev/null
	@$(NATIVE_CLANG_$*) $(NATIVE_CFLAGS) $(NATIVE_LDFLAGS) -o $@.partial filter/native/c/*.c $< -lc && mv $@.partial $@

# The module that writes the shard of a request's host (filter/shard). It is C without a C library, so that no architecture needs more than
# the compiler, which TinyGo brings.
SHARD_C := filter/shard/c/shard.c filter/native/c/abi.h
dist/shard/sanitized/limpet-shard.so: $(SHARD_C)
	@mkdir -p $(@D)
	@cc -std=gnu2x -O1 -g -fPIC -Wall -Wextra -Werror -Wno-unused-parameter $(SANITIZE) -shared -o $@.partial $< && mv $@.partial $@

# Beside dist/limpet.wasm it has the name by which Envoys know it.
dist/limpet-shard-1.so: dist/shard/$(NATIVE_ARCH)/limpet-shard.so
	@cp $< $@.partial && mv $@.partial $@

dist/shard/%/limpet-shard.so: $(SHARD_C)
	@mkdir -p $(@D)
	@tools/setup.sh tinygo >/dev/null
	@$(NATIVE_CLANG_$*) $(NATIVE_CFLAGS) -ffreestanding $(MODULE_LDFLAGS) -Wl,-soname,limpet-shard.so -o $@.partial $< && mv $@.partial $@

# Renamed into place: whoever has the file of before mapped keeps that.
dist/liblimpet.so: dist/native/$(NATIVE_ARCH)/liblimpet.so
	@cp $< $@.partial && mv $@.partial $@
