package wasmtest_test

import (
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
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

// A host is lost: with onHostLost Fail the client is told so, where stateful_session is strict as it has to be.
func ExampleProxy_Get() {
	module, err := wasmtest.Load(wasm)
	if err != nil {
		log.Fatal(err)
	}
	config := `{"version":"limpet.dev/v1","policies":[{"name":"pay","routes":["pay"],"sessionName":"pay","onHostLost":"Fail","failStatus":421}]}`
	p, err := module.NewProxy(config, map[string]string{"LIMPET_KEYS": keys}, map[string][]string{"pay": {"10.0.0.1:80", "10.0.0.2:80"}})
	if err != nil {
		log.Fatal(err)
	}
	first, _ := p.Get("pay")
	p.Hosts["pay"] = []string{"10.0.0.2:80"}
	for _, p.Strict = range []bool{true, false} {
		again, _ := p.Get("pay", "cookie: "+first.Cookie())
		fmt.Println(again.Status, again.Outcome)
	}
	for _, line := range p.Logged() {
		fmt.Println(line[:strings.Index(line, ", though")])
	}
	// Output:
	// 421 failed
	// 200 moved
	// limpet: policy "pay": a session's host did not serve and another one did
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
