package compiler

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/limpet-proxy/limpet/internal/aliasyaml"
)

// commonFile has the parts that goldens per resource have aliases of.
var commonFile = filepath.Join("testdata", "common.yaml")

// minUses is how often a common part is used at least: one that has few uses hides more than it saves.
const minUses = 3

// commonPart is a part of a case's output that many outputs have. So a default stands in common.yaml and in the
// goldens that are whole, and nowhere else.
type commonPart struct {
	name    string
	source  string // the case
	path    string // golden, and where in it: keys and places in lists
	without string // keys of a mapping that differ from one to the next
}

const (
	firstRoute    = "routes/0/virtual_hosts/0/*/0"
	perFilter     = firstRoute + "/typed_per_filter_config/"
	tableFilters  = "routes/0/typed_per_filter_config"
	firstFilters  = "listeners/0/filter_chains/0/filters/0/typed_config/http_filters"
	gatewayStatus = "status/1/status"
)

// commonPartList is in order: a part has aliases of those before it, and of two that fit equally well the first is
// taken.
var commonPartList = []commonPart{
	// Envoy: clusters and routes
	{"statuses", "session-cookie", "clusters/0/common_lb_config", ""},
	{"cluster", "session-cookie", "clusters/0", "name endpoints"},
	{"grpc-cluster", "grpc-session-cookie", "clusters/0", "name endpoints"},
	{"previous-hosts", "session-cookie", firstRoute + "/route/retry_policy/retry_host_predicate", ""},
	{"retry", "session-cookie", firstRoute + "/route/retry_policy", ""},
	{"on", "session-cookie", tableFilters + "/limpet", ""},
	{"session", "session-cookie", tableFilters, ""},
	{"state", "session-cookie", firstFilters + "/2/typed_config/session_state", ""},
	{"strict", "every-field-of-a-policy", perFilter + "envoy.filters.http.stateful_session", "status_on_strict_destination_not_found"},
	{"route-config", "session-none", "routes/0", "name virtual_hosts"},
	{"session-routes", "session-cookie", "routes/0", "name virtual_hosts"},
	// Envoy: listeners and the rest
	{"fence-mutations", "session-cookie", firstFilters + "/0/typed_config", ""},
	{"fence", "session-cookie", firstFilters + "/0", ""},
	{"limpet", "session-cookie", firstFilters + "/1", ""},
	{"pin", "session-cookie", firstFilters + "/2", ""},
	{"router", "session-cookie", firstFilters + "/3", ""},
	{"filters", "session-cookie", firstFilters, ""},
	{"http", "session-cookie", "listeners/0/filter_chains/0/filters/0/typed_config", "http_filters stat_prefix"},
	{"listener", "session-cookie", "listeners/0", ""},
	{"plain-listener", "session-none", "listeners/0", ""},
	{"bootstrap", "session-cookie", "bootstrap", ""},
	{"answers", "split-plain-missing", "listeners/1", ""},
	{"answers-bootstrap", "split-plain-missing", "bootstrap", ""},
	// the plugin
	{"plugin-head", "session-cookie", "plugin", "policies"},
	{"policy", "session-cookie", "plugin/policies/0", "name routes scope sessionName absoluteTimeout cookie"},
	{"header-policy", "session-header", "plugin/policies/0", "name routes scope sessionName absoluteTimeout"},
	{"cookie", "session-cookie", "plugin/policies/0/cookie", "path"},
	// limpet's and Gateway API's documents
	{"managed", "eg-cart", "documents/0/metadata/labels", ""},
	{"gateway-web", "eg-cart", "documents/3/spec/targetRef", ""},
	{"remove-pin", "eg-cart", "documents/5/spec/rules/0/filters", ""},
	// Envoy Gateway
	{"eg-proxy", "eg-cart", "documents/0", ""},
	{"eg-gateway", "eg-cart", "documents/1", ""},
	{"eg-client-policy", "eg-cart", "documents/2", ""},
	{"eg-draining", "eg-cart", "documents/3/spec/jsonPatches/0", "name"},
	{"eg-failure", "eg-cart", "documents/3/spec/jsonPatches/1", "name"},
	{"eg-patches", "eg-cart", "documents/3/spec", "jsonPatches"},
	{"eg-patch-policy", "eg-cart", "documents/3", "spec"},
	{"eg-module", "eg-cart", "documents/4/spec/wasm/0", "config"},
	{"eg-extension-policy", "eg-cart", "documents/4", "spec"},
	// Istio
	{"istio-early-fence", "istio-grpc", "documents/1/spec/configPatches/0", ""},
	{"istio-fence", "istio-grpc", "documents/1/spec/configPatches/1", ""},
	{"istio-response", "istio-grpc", "documents/1/spec/configPatches/2", ""},
	{"istio-pin", "istio-grpc", "documents/1/spec/configPatches/3", ""},
	{"istio-route", "istio-grpc", "documents/1/spec/configPatches/4/patch", ""},
	{"istio-cluster", "istio-grpc", "documents/1/spec/configPatches/5/patch", ""},
	{"istio-plugin", "istio-grpc", "documents/0/spec", "pluginConfig targetRefs"},
	// status
	{"accepted", "session-cookie", gatewayStatus + "/conditions/0", ""},
	{"programmed", "session-cookie", gatewayStatus + "/conditions/1", ""},
	{"resolved", "session-cookie", gatewayStatus + "/conditions/2", ""},
	{"false", "session-cookie", gatewayStatus + "/listeners/0/conditions/3", "type reason message"},
	{"no-conflict", "session-cookie", gatewayStatus + "/listeners/0/conditions/3", ""},
	{"gateway-conditions", "session-cookie", gatewayStatus + "/conditions", ""},
	{"listener-conditions", "session-cookie", gatewayStatus + "/listeners/0/conditions", ""},
	{"listener-kinds", "session-cookie", gatewayStatus + "/listeners/0/supportedKinds", ""},
	{"listener-status", "session-cookie", gatewayStatus + "/listeners/0", "attachedRoutes name"},
	{"class", "session-cookie", "status/0", ""},
	{"gateway", "session-cookie", "status/1", ""},
	{"parent", "session-cookie", "status/2/status/parents/0", ""},
	{"route", "session-cookie", "status/2", ""},
	{"secure-on-plain-http", "session-cookie", "warnings/0", ""},
	{"web", "lb-conflict", "status/3/status/ancestors/0/ancestorRef", ""},
	{"ancestor", "lb-conflict", "status/3/status/ancestors/0", "conditions"},
}

// usualCases are the cases whose listeners and rest of a bootstrap other cases leave out where they have the same,
// one with sessions and one without. A plugin without policies is left out too.
var usualCases = map[bool]string{true: "session-cookie", false: "session-none"}

type commonValues struct {
	parts []aliasyaml.Part
	text  []byte                  // common.yaml
	usual map[bool]map[string]any // the usual cases' golden values
}

var commonOnce struct {
	sync.Once
	commonValues
}

// commonParts gives the common parts as the compiler writes them now.
func commonParts(t *testing.T) commonValues {
	t.Helper()
	commonOnce.Do(func() {
		sources := partSources{cases: map[string]golden{}, values: map[string]map[string]any{}}
		for _, g := range loadGoldens(t) {
			sources.cases[g.name] = g
		}
		for _, p := range commonPartList {
			value := p.find(t, sources.compile(t, p.source))
			commonOnce.parts = append(commonOnce.parts, aliasyaml.Part{Name: p.name, Value: value})
		}
		commonOnce.usual = map[bool]map[string]any{}
		for sessions, name := range usualCases {
			usual := maps.Clone(sources.compile(t, name))
			delete(usual, "routes")
			delete(usual, "clusters")
			if sessions {
				delete(usual, "plugin")
			}
			commonOnce.usual[sessions] = usual
		}
		commonOnce.text = append([]byte(commonHeader), aliasyaml.Anchors(commonOnce.parts)...)
	})
	return commonOnce.commonValues
}

const commonHeader = "# What many outputs have: written by 'go test ./compiler -update', see README.md.\n"

// partSources are the cases that common parts come from, and their golden values.
type partSources struct {
	cases  map[string]golden
	values map[string]map[string]any
}

func (s partSources) compile(t *testing.T, name string) map[string]any {
	t.Helper()
	if s.values[name] == nil {
		g, has := s.cases[name]
		if !has {
			t.Fatalf("there is no case %s", name)
		}
		s.values[name] = splitValues(t, g.compileOutputs(t))
		if s.values[name]["documents"] == nil {
			s.values[name]["status"] = parseDocuments(t, checkedYAML(t, g))
		}
	}
	return s.values[name]
}

// find gives the part in its case's golden values.
func (p commonPart) find(t *testing.T, value any) any {
	t.Helper()
	for step := range strings.SplitSeq(p.path, "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				t.Fatalf("common part %s: there is no %s in the output of %s", p.name, p.path, p.source)
			}
			value = v[i]
		}
		if value == nil {
			t.Fatalf("common part %s: there is no %s in the output of %s", p.name, p.path, p.source)
		}
	}
	mapping, is := value.(map[string]any)
	if !is {
		return value
	}
	mapping = maps.Clone(mapping)
	for key := range strings.FieldsSeq(p.without) {
		delete(mapping, key)
	}
	return mapping
}

var aliasName = regexp.MustCompile(`[ \[]\*([a-z-]+)`)

// TestCommonParts compares the common parts with their file, and holds that each is common: that cases use it.
func TestCommonParts(t *testing.T) {
	common := commonParts(t)
	compareFile(t, commonFile, common.text)
	uses := map[string]int{}
	for _, m := range aliasName.FindAllSubmatch(common.text, -1) {
		uses[string(m[1])] = minUses
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if file == commonFile || strings.Contains(file, ".in.") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range aliasName.FindAllSubmatch(text, -1) {
			uses[string(m[1])]++
		}
	}
	for _, p := range common.parts {
		if uses[p.Name] < minUses && !*updateGoldens {
			t.Errorf("the common part %s is used %d times, want %d at least", p.Name, uses[p.Name], minUses)
		}
	}
}
