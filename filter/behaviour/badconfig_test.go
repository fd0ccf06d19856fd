package behaviour

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// misspelt is a configuration that the filter refuses, with what it says of it.
var misspelt, misspeltLine = configs(policy("shop", "r", `"sesionName":"a"`)), "policies[0].sesionName: unknown field"

// failOpen has a filter's requests pass where its VM can't run.
func failOpen(filter object) object {
	filter["typed_config"].(object)["config"].(object)["failure_policy"] = "FAIL_OPEN"
	return filter
}

// TestBadBootstrap: Envoy ends with a bad configuration of its bootstrap, FAIL_OPEN or not, and validation says so before.
func TestBadBootstrap(t *testing.T) {
	for name, filter := range map[string]object{"wasm": failOpen(limpetWasm(t, misspelt)), "native": limpetNative(t, misspelt)} {
		t.Run(name, func(t *testing.T) {
			h := newHandwritten(t)
			h.listen(t, "bad", []any{fence(), filter, pinnedBy(pinHeader)}, routeTo("r", to("both")))
			h.refused(t, misspeltLine)
		})
	}
}

// refused wants Envoy to end with an error at the bootstrap, and to say that line, when it validates and when it is to serve.
func (h *handwritten) refused(t *testing.T, line string) {
	t.Helper()
	text, err := json.Marshal(object{"static_resources": object{"listeners": h.listeners, "clusters": h.clusters}})
	noError(t, err)
	h.write(t, "envoy.json", text)
	for _, mode := range []string{"validate", "serve"} {
		envoy := exec.Command(program(t), "-c", h.path("envoy.json"), "--use-dynamic-base-id", "--mode", mode)
		envoy.Env = []string{"LIMPET_KEYS=" + ringA}
		out, err := envoy.CombinedOutput()
		if err == nil || envoy.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), line) {
			t.Errorf("--mode %s: %v\n%s", mode, err, out)
		}
	}
}

// TestWrongFile: Envoy ends where the filter's file is not there, or is another one.
func TestWrongFile(t *testing.T) {
	for name, c := range map[string]struct {
		filter func(path string) object
		path   string
		line   string
	}{
		"a wasm that is not there":   {wasmOf, "missing.wasm", "Invalid path: "},
		"a file that is no wasm":     {wasmOf, "/etc/hostname", "Missing or unknown Proxy-Wasm ABI version"},
		"a module that is not there": {moduleOf, "missing.so", "Failed to load dynamic module"},
		"a file that is no module":   {moduleOf, "/etc/hostname", "Failed to load dynamic module"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandwritten(t)
			h.listen(t, "wrong", []any{fence(), c.filter(c.path), pinnedBy(pinHeader)}, routeTo("r", to("both")))
			h.refused(t, c.line)
		})
	}
}

func wasmOf(path string) object { return failOpen(wasm(path, config())[0].(object)) }

func moduleOf(path string) object { return dynamicModule("limpet", path, config()) }

// TestBadDiscovered: a first configuration that Envoy discovers and the filter refuses has its routes answer 500, FAIL_OPEN or not. A later
// good one serves, and one after it that is bad changes nothing.
func TestBadDiscovered(t *testing.T) {
	h := newHandwritten(t)
	extension := func(version int, config string) []byte {
		filter := failOpen(limpetWasm(t, config))
		return discovery(version, typed("config.core.v3.TypedExtensionConfig", object{"name": "limpet", "typed_config": filter["typed_config"]}))
	}
	h.write(t, "extension.json", extension(1, misspelt))
	discovered := object{"name": "limpet", "config_discovery": object{
		"config_source": file(h.path("extension.json")),
		"type_urls":     []any{typeURL + "extensions.filters.http.wasm.v3.Wasm"},
	}}
	h.listen(t, "ecds", []any{fence(), discovered, pinnedBy(pinHeader)}, routeTo("r", to("both")))
	h.serveAll(t)
	want(t, "status with a bad first configuration", h.request(t, "ecds").status, 500)
	want(t, "the filter's words are in the log", strings.Contains(h.log(t), misspeltLine), true)
	h.write(t, "extension.json", extension(2, configs(policy("shop", "r", `"cookie":{"secure":false}`))))
	var first answer
	h.until(t, "a session", func() bool { first = h.request(t, "ecds"); return first.cookie() != "" })
	logged := len(h.log(t))
	h.write(t, "extension.json", extension(3, misspelt))
	h.until(t, "the refusal", func() bool { return strings.Contains(h.log(t)[logged:], misspeltLine) })
	for range 4 {
		want(t, "the backend", h.request(t, "ecds", "cookie: "+first.cookie()).backend(), first.backend())
	}
}
