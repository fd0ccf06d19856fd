package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden parts of testdata/*.txtar")

// testModule stands in for the filter in these tests, which must not depend on what was built before.
const testModule = "the filter's module"

// testNative stands in for the native one.
const testNative = "the native filter"

// testShard stands in for the module by which routes have shards.
const testShard = "the module for shards"

// testSBOM stands in for its bill of materials.
const testSBOM = "{\"spdxVersion\": \"SPDX-2.3\"}\n"

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"limpet": testedMain, "kubectl-limpet": testedMain,
		"envoy": fakeEnvoy,
	})
}

// testedMain is limpet as "make build" makes it, or with NO_WASM as a fresh clone does.
func testedMain() {
	filterFiles = fstest.MapFS{
		"filters/limpet.wasm":           {Data: []byte(testModule)},
		"filters/liblimpet-amd64.so":    {Data: []byte(testNative)},
		"filters/liblimpet-arm64.so":    {Data: []byte(testNative + " for arm64")},
		"filters/limpet-shard-amd64.so": {Data: []byte(testShard)},
		"filters/limpet-shard-arm64.so": {Data: []byte(testShard)},
		"filters/limpet.spdx.json":      {Data: []byte(testSBOM)},
	}
	if os.Getenv("NO_WASM") != "" {
		filterFiles = fstest.MapFS{"filters/README.md": {}}
	}
	main()
}

// TestScripts runs testdata/*.txtar. In them $QUICKSTART is the folder examples/quickstart, $SECRET the secret of the
// ring in $RING, and $ROOT a root secret.
//
// requirements: 2C.20
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(scripts) < 15 {
		t.Fatalf("%d scripts, %v; want at least 15", len(scripts), err)
	}
	quickstart, err := filepath.Abs("../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Setup: func(e *testscript.Env) error {
			e.Setenv("QUICKSTART", quickstart)
			e.Setenv("SECRET", testSecret)
			e.Setenv("RING", `{"keys":[{"id":"test","secret":"`+testSecret+`"}]}`)
			e.Setenv("ROOT", testRoot)
			return nil
		},
	})
}
