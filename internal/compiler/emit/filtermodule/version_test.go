package filtermodule

import (
	"strings"
	"testing"
)

func TestJudgeEnvoy(t *testing.T) {
	for version, want := range map[string][2]string{
		"1.40.0": {}, "1.39.3": {}, "1.40.1-dev": {}, "": {}, "unknown": {},
		"1.37.0": {"can't load", ""}, "0.99.0": {"can't load", ""}, "1.38.3": {"", "was not tried with Envoy 1.38.3"},
		"1.41.0": {"", "was not tried"}, "2.0.0": {"", "was not tried"},
	} {
		fault, doubt := JudgeEnvoy(version)
		if !strings.Contains(fault, want[0]) || (fault == "") != (want[0] == "") ||
			!strings.Contains(doubt, want[1]) || (doubt == "") != (want[1] == "") {
			t.Errorf("%s: %q, %q", version, fault, doubt)
		}
	}
	for _, names := range [][]string{nil, {"envoy.filters.http.router", "envoy.extensions.filters.http.dynamic_modules"}} {
		if fault := JudgeExtensions(names); fault != "" {
			t.Errorf("%q: %s", names, fault)
		}
	}
	if JudgeExtensions([]string{"envoy.filters.http.router"}) == "" {
		t.Error("an Envoy without dynamic modules is good")
	}
}
