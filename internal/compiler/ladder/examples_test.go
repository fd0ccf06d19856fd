package ladder

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// example is one of the worked examples of the document.
type example struct {
	yaml  []byte
	prose string // everything, with line breaks as spaces
	text  string
}

// exampleOf reads example n, and holds that the document still says of it what the test is about to show.
func exampleOf(t *testing.T, n int, says ...string) *example {
	t.Helper()
	text := section(t, "### E"+strconv.Itoa(n)+".", "##")
	block := yamlBlock.FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("E%d has no YAML", n)
	}
	e := &example{yaml: []byte(block[1]), prose: strings.Join(strings.Fields(text), " "), text: text}
	for _, s := range says {
		if !strings.Contains(e.prose, s) {
			t.Errorf("E%d does not say: %s", n, s)
		}
	}
	return e
}

// on merges the example's documents for a way.
func (x *example) on(t *testing.T, way string) *Effective {
	t.Helper()
	e := newWorld(t, x.yaml).merge(parseWay(t, way))
	return &e
}

// with is the example with a text of its YAML replaced.
func (x *example) with(t *testing.T, old, replacement string) *example {
	t.Helper()
	if !strings.Contains(string(x.yaml), old) {
		t.Fatalf("the example's YAML has no %q", old)
	}
	return &example{yaml: []byte(strings.ReplaceAll(string(x.yaml), old, replacement))}
}

// holds compares a field's value and rung.
func holds(t *testing.T, e *Effective, field, value string, rung Rung) {
	t.Helper()
	f := e.Field(field)
	if f == nil || f.Text != value || f.Rung != rung {
		t.Errorf("%s: want %s from %d, got %+v", field, value, rung, f)
	}
}

// onBy compares whether a session is on, and the rung of its origin; 0 is off.
func onBy(t *testing.T, e *Effective, rung Rung) {
	t.Helper()
	if e.On != (rung != 0) || e.Origin.Rung != rung {
		t.Errorf("on: %t by %d, want %d", e.On, e.Origin.Rung, rung)
	}
}

var (
	inBackticks = regexp.MustCompile("`([^`]*)`")
	inBrackets  = regexp.MustCompile(`\((\d+)\)`)
	partWord    = regexp.MustCompile(`\b(override|plain|default|inline|built in|built-in)\b`)
)

// TestE1 compares every cell of the result table.
func TestE1(t *testing.T) {
	x := exampleOf(t, 1)
	_, table, _ := strings.Cut(x.text, "For the rule `checkout`:")
	e := x.on(t, "route=HTTPRoute/shop/cart/checkout")
	rows := tableRows(t, table)
	if len(rows) != 6 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		f := e.Field(strings.Trim(row[0], "`"))
		if f == nil {
			t.Errorf("%s: no such field", row[0])
			continue
		}
		if want := strings.Trim(row[1], "`"); f.Text != want {
			t.Errorf("%s is %s, the document says %s", f.Name, f.Text, want)
		}
		comparePlace(t, row[2], f.Written)
		compareBeaten(t, row[3], f)
	}
	onBy(t, e, 7)
}

// comparePlace holds a value's place to words such as: `shop/cart`, plain on the Service (10).
func comparePlace(t *testing.T, cell string, w Written) {
	t.Helper()
	if m := inBrackets.FindStringSubmatch(cell); m != nil && m[1] != strconv.Itoa(int(w.Rung)) {
		t.Errorf("%s is from %d, the document says %s", w.Text, w.Rung, cell)
	}
	if m := partWord.FindString(cell); m != "" && !strings.Contains(w.Rung.String(), strings.ReplaceAll(m, "-", " ")) {
		t.Errorf("%s is %s, the document says %s", w.Text, w.Rung, cell)
	}
	want := Object{KindHTTPRoute, "shop", "cart"}
	if !strings.HasPrefix(cell, "the rule") {
		want = Object{Kind: "SessionPersistencePolicy"}
		m := inBackticks.FindStringSubmatch(cell)
		if m == nil {
			want = Object{} // built in
		} else {
			want.Namespace, want.Name, _ = strings.Cut(m[1], "/")
		}
	}
	if w.Source.Object != want {
		t.Errorf("%s is from %s, the document says %s", w.Text, w.Source, cell)
	}
}

// compareBeaten holds what a field beats to a cell. A built-in default is only named where it helps the reader.
func compareBeaten(t *testing.T, cell string, f *Field) {
	t.Helper()
	if rest, builtIn := strings.CutPrefix(cell, "the built-in "); builtIn {
		if f.Default != strings.Trim(rest, "`") {
			t.Errorf("%s: the built-in default is %s, the document says %s", f.Name, f.Default, cell)
		}
		cell = ""
	}
	if cell == "" {
		if len(f.Beats) > 0 {
			t.Errorf("%s beats %+v, the document says nothing", f.Name, f.Beats)
		}
		return
	}
	texts := inBackticks.FindAllStringSubmatch(cell, -1)
	if len(f.Beats) != 1 || f.Beats[0].Text != texts[len(texts)-1][1] {
		t.Errorf("%s beats %+v, the document says %s", f.Name, f.Beats, cell)
		return
	}
	comparePlace(t, cell, f.Beats[0])
}

func TestE2(t *testing.T) {
	x := exampleOf(t, 2, "Through RouteX to ServiceA a session lasts 8 hours (9 beats 10) and may idle 10 minutes (10; nothing stronger writes it)",
		"Through other routes it lasts one hour")
	e := x.on(t, "route=HTTPRoute/shop/route-x backends=Service/shop/service-a")
	holds(t, e, "absoluteTimeout", "8h", 9)
	if beats := e.Field("absoluteTimeout").Beats; len(beats) != 1 || beats[0].Rung != 10 || beats[0].Text != "1h" {
		t.Errorf("beats %+v", beats)
	}
	holds(t, e, "idleTimeout", "10m", 10)
	holds(t, x.on(t, "route=HTTPRoute/shop/other backends=Service/shop/service-a"), "absoluteTimeout", "1h", 10)
}

// shopInline gives the rule of E3 a sessionPersistence of its own.
const shopInline = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec: {rules: [{name: static, sessionPersistence: {}}]}
`

func TestE3(t *testing.T) {
	x := exampleOf(t, 3, "Every route of the Gateway has sessions of 8 hours, but for the rule `static`: 8 says off before 14 says on (S9)",
		"Had that rule an inline `sessionPersistence`, it would be on: 7 is stronger than 8",
		"Were infra's block an `override: {disabled: false, absoluteTimeout: 8h}`, shop could not opt out")
	other, static := "route=HTTPRoute/shop/shop/dynamic", "route=HTTPRoute/shop/shop/static"
	e := x.on(t, other)
	onBy(t, e, 14)
	holds(t, e, "absoluteTimeout", "8h", 14)
	e = x.on(t, static)
	onBy(t, e, 0)
	holds(t, e, "disabled", "true", 8)
	if beats := e.Field("disabled").Beats; len(beats) != 1 || beats[0].Rung != 14 {
		t.Errorf("beats %+v", beats)
	}
	inline := &example{yaml: slices.Concat(x.yaml, []byte(shopInline))}
	onBy(t, inline.on(t, static), 7)
	onBy(t, x.with(t, "  absoluteTimeout: 8h", "  override: {disabled: false, absoluteTimeout: 8h}").on(t, static), 2)
}

func TestE4(t *testing.T) {
	x := exampleOf(t, 4, "Routes that ask for sessions get them with these limits, at whatever rung they ask",
		"Routes that do not ask get none: rung 20 says off, and nothing above it says on (S10)")
	onBy(t, x.on(t, "route=HTTPRoute/shop/cart"), 0)
	holds(t, x.on(t, "route=HTTPRoute/shop/cart"), "disabled", "true", 20)
	w := newWorld(t, x.yaml)
	way := parseWay(t, "route=HTTPRoute/shop/cart/checkout")
	for rung := InlineRule; rung < 20; rung++ {
		ask := Block{Rung: rung, Source: Source{Object: Object{"Asking", "shop", "cart"}}, Path: "spec", Settings: &settings{}}
		e := Merge(append(w.index.On(way), ask))
		onBy(t, &e, rung)
		holds(t, &e, "absoluteTimeout", "8h", 2)
		holds(t, &e, "issueOn", "TLS", 2)
		holds(t, &e, "cookie.secure", "true", 2)
		holds(t, &e, "cookie.httpOnly", "true", 2)
	}
}

func TestE5(t *testing.T) {
	x := exampleOf(t, 5, "`absoluteTimeout` is 8h, for `b-first` is older; `sameSite` is Lax, for only one writes it; both write the same path",
		"With equal timestamps, or none, `a-second` would win by its name")
	e := x.on(t, "")
	holds(t, e, "absoluteTimeout", "8h", 9)
	holds(t, e, "cookie.sameSite", "Lax", 9)
	holds(t, e, "cookie.path", "/", 9)
	if len(e.Conflicts) != 1 {
		t.Fatalf("conflicts: %+v", e.Conflicts)
	}
	c := e.Conflicts[0]
	if !strings.Contains(x.prose, "`"+c.Loser.Key()+"` gets `Accepted=False`, reason `Conflicted`: `"+c.Message()+"`") {
		t.Errorf("the document does not say that %s gets: %s", c.Loser.Key(), c.Message())
	}
	if c.Winner.Key() != "shop/b-first" || c.Elsewhere || c.Whole || len(c.Clashes) != 1 || c.Clashes[0].Field != "absoluteTimeout" {
		t.Errorf("%+v", c)
	}
	for _, stamps := range []*example{x.with(t, "2026-11-21", "2026-11-20"), {yaml: regexp.MustCompile(`, creationTimestamp: "[^"]*"`).ReplaceAll(x.yaml, nil)}} {
		e := stamps.on(t, "")
		holds(t, e, "absoluteTimeout", "4h", 9)
		if len(e.Conflicts) != 1 || e.Conflicts[0].Winner.Key() != "shop/a-second" {
			t.Errorf("conflicts: %+v", e.Conflicts)
		}
	}
}

func TestE6(t *testing.T) {
	x := exampleOf(t, 6, "RouteX and RouteY both split between ServiceA and ServiceB", "RouteY is sticky to both by its own policy",
		"RouteX is sticky because of ServiceA's policy alone, as S36 says",
		"Take that policy away, and RouteX has no session, though RouteY still has (S16)")
	split := " backends=Service/shop/service-a,Service/shop/service-b"
	routeX, routeY := "route=HTTPRoute/shop/route-x"+split, "route=HTTPRoute/shop/route-y"+split
	onBy(t, x.on(t, routeX), 10)
	onBy(t, x.on(t, routeY), 9)
	_, without, _ := strings.Cut(string(x.yaml), "---\n")
	x = &example{yaml: []byte(without)}
	onBy(t, x.on(t, routeX), 0)
	onBy(t, x.on(t, routeY), 9)
}

func TestE7(t *testing.T) {
	x := exampleOf(t, 7, "A route on the listeners `http` and `https` has sessions through `https` only: 13 says on before 14 says off; through `http`, 14 alone speaks (S6)")
	https := x.on(t, "gateway=infra/web/https")
	onBy(t, https, 13)
	if beats := https.Field("disabled").Beats; len(beats) != 1 || beats[0].Rung != 14 || beats[0].Text != "true" {
		t.Errorf("beats %+v", beats)
	}
	http := x.on(t, "gateway=infra/web/http")
	onBy(t, http, 0)
	holds(t, http, "disabled", "true", 14)
}

func TestE8(t *testing.T) {
	x := exampleOf(t, 8, "The route `api` has its sessions in the header `x-shop`, a name that its block gave to no type",
		"`cookie.sameSite` does not apply there, which the status of `infra/web` says (S11)",
		"Other routes of the Gateway have a cookie of that name")
	e := x.on(t, "route=HTTPRoute/shop/api")
	holds(t, e, "type", "Header", 9)
	holds(t, e, "sessionName", "x-shop", 14)
	if len(e.Dropped) != 1 || e.Dropped[0].Field != "cookie.sameSite" || e.Dropped[0].Source.Key() != "infra/web" || e.Dropped[0].Rule != "S11" {
		t.Errorf("dropped: %+v", e.Dropped)
	}
	other := x.on(t, "route=HTTPRoute/shop/other")
	holds(t, other, "type", "Cookie", 22)
	holds(t, other, "sessionName", "x-shop", 14)
	holds(t, other, "cookie.sameSite", "Lax", 14)
}

func TestE9(t *testing.T) {
	x := exampleOf(t, 9, "`old` shows 1.6 (`sessionName`)", "`new` shows 1.7 (`cookie`)", "With an XBackend for each version, as 1.7 means it, each has a cookie name of its own (2A.15)")
	w := newWorld(t, x.yaml)
	for name, want := range map[string]Generation{"old": Gen16, "new": Gen17} {
		inline := w.shown[Target{Object{KindHTTPRoute, "shop", name}, "#0"}]
		telling := map[string]string{"old": "sessionName", "new": "cookie"}[name]
		if got := (Signs{Inline: inline}).Generation(); got != want || !slices.Contains(inline.Telling, telling) {
			t.Errorf("%s is of %s by %v", name, got, inline.Telling)
		}
		split := w.merge(parseWay(t, "route=HTTPRoute/shop/"+name+"/#0 backends=Service/shop/v1,Service/shop/v2"))
		holds(t, &split, "sessionName", name, 7)
	}
	own := w.merge(parseWay(t, "route=HTTPRoute/shop/third backends=XBackend/shop/v1"))
	holds(t, &own, "sessionName", "v1", 11)
	if got := (Signs{XBackend: true}).Generation(); got != Gen17 {
		t.Errorf("a rule with such an XBackend is of %s", got)
	}
}
