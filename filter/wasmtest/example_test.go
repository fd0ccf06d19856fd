package wasmtest_test

import (
	"flag"
	"fmt"
	"log"
	"os"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/filter/wasmtest"
)

const plugin = `{
  "version": "limpet.dev/v1",
  "policies": [{"name": "shop", "routes": ["shop"], "sessionName": "shop", "absoluteTimeout": "8h"}]
}`

// A test of one's own plugin configuration: a session sticks, and ends after eight hours.
func ExampleModule_NewProxy() {
	module, err := wasmtest.Load(wasm) // the path of limpet.wasm
	if err != nil {
		log.Fatal(err)
	}
	p, err := module.NewProxy(plugin, map[string]string{"LIMPET_KEYS": keys}, map[string][]string{"shop": {"10.0.0.1:80", "10.0.0.2:80"}})
	if err != nil {
		log.Fatal(err) // all that is wrong with the configuration
	}
	first, _ := p.Get("shop")
	fmt.Println(first.Outcome, first.Host)
	for _, after := range []time.Duration{time.Hour, 7 * time.Hour} {
		p.Now = p.Now.Add(after)
		again, _ := p.Get("shop", "cookie: "+first.Cookie())
		fmt.Println(again.Outcome, again.Host)
	}
	// Output:
	// new 10.0.0.1:80
	// pinned 10.0.0.1:80
	// expired-absolute 10.0.0.2:80
}

// keys are good for tests alone: 'limpet keygen' makes others.
const keys = `{"keys":[{"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"}]}`

var wasm, built = wasmtest.Find()

// TestMain leaves the example out where the module was not built; Require has tests skipped or failed then.
func TestMain(m *testing.M) {
	flag.Parse()
	if !built {
		_ = flag.Set("test.skip", "^Example") // the flag is there
	}
	os.Exit(m.Run())
}
