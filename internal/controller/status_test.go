package controller

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TestStatusesOfFacts: what is known of proxies makes the statuses of those objects others that it is about, once, and
// of none besides.
func TestStatusesOfFacts(t *testing.T) {
	c, keys := newController(t)
	c.Admitted = true
	elsewhere, states, classes := map[string][]string{}, map[string]compiler.Proxies{}, map[string]string{}
	c.Elsewhere = func() map[string][]string { return elsewhere }
	c.Proxies = func() (map[string]compiler.Proxies, map[string]string) {
		return maps.Clone(states), maps.Clone(classes)
	}
	applyObjects(t, c, keys, readGateways(t))
	now := map[object.Ref]string{}
	ask := func(some ...object.Ref) string {
		t.Helper()
		checked, err := c.Statuses(func(ref object.Ref) json.RawMessage { return json.RawMessage(now[ref]) }, some, false)
		if err != nil {
			t.Fatal(err)
		}
		var others []string
		for _, o := range checked.Objects {
			text, err := json.Marshal(o.Status)
			if err != nil {
				t.Fatal(err)
			}
			now[o.Ref()], others = string(text), append(others, o.Kind+" "+o.Metadata.Name)
		}
		slices.Sort(others)
		return strings.Join(others, ", ")
	}
	if first := ask(); strings.Count(first, ", ") != 4 {
		t.Fatalf("at first there are statuses of %s", first)
	}
	one := object.ParseKey(object.KindGateway, "default/one")
	for _, step := range []struct {
		name   string
		change func()
		others string
		has    string // the status of the first of them
	}{
		{"nothing", func() {}, "", ""},
		{"an Envoy has the listeners", func() {
			elsewhere["default/one"] = []string{c.Server.Latest("default/one").Listeners}
		}, "Gateway one", `"type":"Programmed","status":"True"`},
		{"it is gone", func() { delete(elsewhere, "default/one") }, "Gateway one", `"type":"Programmed","status":"False"`},
		{"proxies are run", func() {
			states["default/two"] = compiler.Proxies{Reason: gatewayv1.GatewayReasonNoResources, Message: "none is ready"}
		}, "Gateway two", "none is ready"},
		{"they are ready", func() { states["default/two"] = compiler.Proxies{} }, "Gateway two", ""},
		{"they are run no more", func() { delete(states, "default/two") }, "Gateway two", ""},
		{
			"a class refers to nothing", func() { classes["limpet"] = "there is no such object" }, "GatewayClass limpet",
			"there is no such object",
		},
	} {
		before := now[one]
		if step.change(); ask() != step.others {
			t.Errorf("%s: %s are others, want %s", step.name, ask(), step.others)
		}
		if again := ask(); again != "" {
			t.Errorf("%s: once more %s are others", step.name, again)
		}
		kind, name, _ := strings.Cut(step.others, " ")
		if kind == object.KindGateway {
			name = "default/" + name
		}
		if text := now[object.ParseKey(kind, name)]; !strings.Contains(text, step.has) {
			t.Errorf("%s: %s has %s", step.name, step.others, text)
		}
		if !strings.HasSuffix(step.others, "one") && now[one] != before {
			t.Errorf("%s: the other Gateway has %s", step.name, now[one])
		}
	}
	right := now[one]
	now[one] = `{"conditions":[]}`
	if ask(one) != "Gateway one" || now[one] == `{"conditions":[]}` || len(now[one]) != len(right) {
		t.Errorf("somebody else has written, and it has %s, want %s", now[one], right)
	}
}

// TestListOther: each fact that is another one now, new or gone names the object that it is about, and time those whose
// statuses it changes; once.
func TestListOther(t *testing.T) {
	route, at := object.ParseKey(object.KindHTTPRoute, "a/r"), time.Unix(1000, 0)
	for name, c := range map[string]struct {
		one, other compiler.Served
		want       string
	}{
		"rejected": {
			compiler.Served{Rejected: map[string]string{"a/web": "words"}},
			compiler.Served{Rejected: map[string]string{"a/web": "others"}},
			"Gateway a/web",
		},
		"proxies": {
			compiler.Served{Proxies: map[string]compiler.Proxies{"a/web": {Message: "none"}}},
			compiler.Served{Proxies: map[string]compiler.Proxies{"a/web": {Message: "one"}}},
			"Gateway a/web",
		},
		"unacknowledged": {
			compiler.Served{Unacknowledged: map[string]compiler.Unacknowledged{"a/web": {Grace: true}}},
			compiler.Served{Unacknowledged: map[string]compiler.Unacknowledged{"a/web": {}}},
			"Gateway a/web",
		},
		"parameters": {
			compiler.Served{ClassParameters: map[string]string{"limpet": "words"}},
			compiler.Served{ClassParameters: map[string]string{"limpet": "others"}},
			"GatewayClass limpet",
		},
		"ended": {
			compiler.Served{Ended: map[object.Ref]compiler.Ended{route: {Generation: 1}}},
			compiler.Served{Ended: map[object.Ref]compiler.Ended{route: {Generation: 2}}},
			"HTTPRoute a/r",
		},
	} {
		s := statuses{}
		for i, now := range []compiler.Served{c.one, c.one, c.other, {}, {}} {
			want := "[" + c.want + "]"
			if i == 1 || i == 4 {
				want = "[]"
			}
			if got := fmt.Sprint(s.listOther(now, at)); got != want {
				t.Errorf("%s, step %d: %s; want %s", name, i, got, want)
			}
		}
	}
	s := statuses{until: map[object.Ref]time.Time{route: at, {Kind: "later"}: at.Add(1)}}
	if got := fmt.Sprint(s.listOther(compiler.Served{}, at)); got != "[HTTPRoute a/r]" {
		t.Errorf("by time: %s", got)
	}
}
