package compiler

import (
	"fmt"
	"testing"
)

// TestFollowerStory changes what the proxies of a Gateway tell while the documents stay: its listeners follow, and no other Gateway's.
func TestFollowerStory(t *testing.T) {
	story, yes := map[string]Story{}, true
	o := Options{Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: &Served{Story: func(gateway string) Story { return story[gateway] }}}}
	f, sources := newFollower(t, o), readDrainDocument(t)
	var contents []string
	for i, now := range []map[string]Story{
		nil, {"default/web": {AccessLog: &yes}}, {"default/web": {Tracing: true, SamplingPercent: 7}}, {"default/other": {Tracing: true}},
	} {
		story = now
		if err := compareFollowed(t, fmt.Sprint("step ", i), f, sources, o); err != nil {
			t.Fatal(err)
		}
		contents = append(contents, string(f.last.result.Served[0].Listeners[0].Content))
		if last := contents[i]; (last == contents[0]) != (len(now) == 0 || now["default/web"] == (Story{})) {
			t.Errorf("step %d: the listener is %q", i, last)
		}
	}
}
