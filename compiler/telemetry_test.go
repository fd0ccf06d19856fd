package compiler

import (
	"fmt"
	"testing"
)

// TestFollowerTelemetry changes what the proxies of a Gateway tell while the documents stay: its listeners follow, and no other Gateway's.
func TestFollowerTelemetry(t *testing.T) {
	telemetry, yes := map[string]Telemetry{}, true
	o := Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{Telemetry: func(gateway string) Telemetry { return telemetry[gateway] }}}}
	f, sources := newFollower(t, o), readDrainDocument(t)
	var contents []string
	for i, now := range []map[string]Telemetry{
		nil, {"default/web": {AccessLog: &yes}}, {"default/web": {Tracing: true, SamplingPercent: 7}}, {"default/other": {Tracing: true}},
	} {
		telemetry = now
		if err := compareFollowed(t, fmt.Sprint("step ", i), f, sources, o); err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(f.last.result.Served[0].Listeners[0].Content))
		if last := contents[i]; (last == contents[0]) != (len(now) == 0 || now["default/web"] == (Telemetry{})) {
			t.Errorf("step %d: the listener is %q", i, last)
		}
	}
}
