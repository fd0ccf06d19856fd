package describe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/describe"
)

// fullDisk takes so many writes.
type fullDisk int

func (f *fullDisk) Write(p []byte) (int, error) {
	if *f--; *f < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// TestDescriptionsForPeople holds what the text says of each part, and that it says so when it can't be written.
func TestDescriptionsForPeople(t *testing.T) {
	at := func(value, object string) describe.Origin {
		return describe.Origin{Value: value, Precedence: 10, Block: "plain on the Service", Object: object, Path: "spec.a", File: "in.yaml", Line: 7}
	}
	path := describe.TrafficPath{Route: "HTTPRoute default/r", Rule: 1, RuleName: "pay", Via: []string{"Gateway default/web, listener a", "Gateway default/web, listener b"}, Backends: []string{"Service default/cart", "Service default/more"}}
	by := at("", mine.String())
	full := &describe.Description{
		Object: "HTTPRoute default/r", Section: "pay", File: "in.yaml", Line: 1,
		Targets:  []describe.Target{{Target: "Service default/cart", Path: "spec.targetRefs[0]"}, {Target: "Service default/gone", Path: "spec.targetRefs[1]", Reason: "TargetNotFound", Message: "it is gone"}},
		Effects:  []describe.Effect{{TrafficPath: path, Notes: []string{"of an effect"}, Effective: []describe.Field{{Name: "kept", Origin: at("1h", mine.String())}}, Overridden: []describe.OverriddenField{{Name: "lost", Origin: at("2h", mine.String()), By: at("3h", yours.String())}}}},
		Sessions: []describe.Session{{TrafficPath: path, On: true, By: &by, Scope: "default/r", Generation: "1.6", Name: "limpet-r", Refused: []string{"spec: no"}, Notes: []string{"of a session"}, Fields: []describe.Field{{Name: "failStatus", Origin: at("503", mine.String()), Overrides: []describe.Origin{at("500", yours.String())}}, {Name: "empty"}}}},
		Requests: []describe.UnpinnedRequests{{TrafficPath: path, Notes: []string{"of requests"}, Fields: []describe.Field{{Name: "strategy", Origin: describe.Origin{Value: "Random", Block: "on the route"}}}}},
		Retries:  []describe.Retries{{TrafficPath: path, Fields: []describe.Field{{Name: "retry.attempts", Origin: describe.Origin{Value: "3", Block: "built in"}}}}},
	}
	var text strings.Builder
	if err := describe.WriteText(&text, full); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"HTTPRoute default/r, sectionName pay (in.yaml:1)\n",
		"Service default/cart spec.targetRefs[0] Attached -\n", "Service default/gone spec.targetRefs[1] TargetNotFound it is gone\n",
		"HTTPRoute default/r, rule 1 (pay)\n through Gateway default/web, listener a; Gateway default/web, listener b\n to Service default/cart, Service default/more\n",
		"session: on, by SessionPersistencePolicy default/mine spec.a (in.yaml:7)\n", "refused: spec: no\n",
		"scope: default/r, by the rules of Gateway API 1.6\n", "note: of an effect\n", "note: of a session\n", "note: of requests\n",
		"failStatus 503 10 plain on the Service SessionPersistencePolicy default/mine in.yaml:7 500 of SessionPersistencePolicy default/yours (10 plain on the Service, in.yaml:7)\n",
		"empty - - - - -\n", "requests without a session:\n", "strategy Random on the route - - -\n", "all requests:\n", "retry.attempts 3 built in - - -\n",
		"3h of SessionPersistencePolicy default/yours (10 plain on the Service, in.yaml:7)\n",
	} {
		if got := squeeze(text.String()); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for name, c := range map[string]struct {
		d    *describe.Description
		want string
	}{
		"nothing":               {&describe.Description{Object: "Service default/cart"}, "Service default/cart\n\nNo request gets to a backend through here: no rule of a route that is attached to a Gateway leads there.\n"},
		"requests alone":        {&describe.Description{Object: "Service default/cart", File: "in.yaml", Requests: full.Requests}, "Service default/cart (in.yaml)\n\nNo session persistence: nothing that is written reaches a request"},
		"a session that is off": {&describe.Description{Sessions: []describe.Session{{}}}, "session: off\n"},
	} {
		var text strings.Builder
		if err := describe.WriteText(&text, c.d); err != nil || !strings.Contains(text.String(), c.want) {
			t.Errorf("%s: got %v and\n%s", name, err, text.String())
		}
	}
	enough := fullDisk(1000)
	if err := describe.WriteText(&enough, full); err != nil {
		t.Fatal(err)
	}
	for free := range 1000 - int(enough) {
		disk := fullDisk(free)
		if err := describe.WriteText(&disk, full); err == nil {
			t.Errorf("after %d writes nothing is wrong", free)
		}
	}
}

// squeeze makes one space of several, and of each line's indentation.
func squeeze(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		indent := ""
		if strings.HasPrefix(line, "  ") && (strings.HasPrefix(line, "  through") || strings.HasPrefix(line, "  to")) {
			indent = " "
		}
		lines = append(lines, indent+strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n") + "\n"
}
