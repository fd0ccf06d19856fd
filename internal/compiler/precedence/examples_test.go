package precedence

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// example is one of the worked examples of the document.
type example struct {
	yaml     []byte
	prose    string // everything, with line breaks as spaces
	markdown string
}

// readExample reads example n, and holds that the document still says of it what the test is about to show.
func readExample(t *testing.T, n int, says ...string) *example {
	t.Helper()
	text := readSection(t, "### E"+strconv.Itoa(n)+".", "##")
	block := yamlBlock.FindStringSubmatch(text)
	if block == nil {
		t.Fatalf("E%d has no YAML", n)
	}
	e := &example{yaml: []byte(block[1]), prose: strings.Join(strings.Fields(text), " "), markdown: text}
	for _, s := range says {
		if !strings.Contains(e.prose, s) {
			t.Errorf("E%d does not say: %s", n, s)
		}
	}
	return e
}

// mergeOn merges the example's documents for a path.
func (x *example) mergeOn(t *testing.T, trafficPath string) *Effective {
	t.Helper()
	e := readDocumentSet(t, x.yaml).mergeOn(parseTrafficPath(t, trafficPath))
	return &e
}

// replaceYAML is the example with a text of its YAML replaced.
func (x *example) replaceYAML(t *testing.T, old, replacement string) *example {
	t.Helper()
	if !strings.Contains(string(x.yaml), old) {
		t.Fatalf("the example's YAML has no %q", old)
	}
	return &example{yaml: []byte(strings.ReplaceAll(string(x.yaml), old, replacement))}
}

// expectField compares a field's value and level.
func expectField(t *testing.T, e *Effective, field, value string, level Level) {
	t.Helper()
	f := e.Field(field)
	if f == nil || f.Text != value || f.Level != level {
		t.Errorf("%s: want %s from %d, got %+v", field, value, level, f)
	}
}

// expectOn compares whether a session is on, and the level of its origin; 0 is off.
func expectOn(t *testing.T, e *Effective, level Level) {
	t.Helper()
	if e.On != (level != 0) || e.TurnedOnBy.Level != level {
		t.Errorf("on: %t by %d, want %d", e.On, e.TurnedOnBy.Level, level)
	}
}

var (
	inBackticks = regexp.MustCompile("`([^`]*)`")
	inBrackets  = regexp.MustCompile(`\((\d+)\)`)
	partWord    = regexp.MustCompile(`\b(override|plain|default|inline|built in|built-in)\b`)
)

// TestE1 compares every cell of the result table.
func TestE1(t *testing.T) {
	x := readExample(t, 1)
	_, table, _ := strings.Cut(x.markdown, "For the rule `checkout`:")
	e := x.mergeOn(t, "route=HTTPRoute/shop/cart/checkout")
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
		compareOrigin(t, row[2], f.FieldValue)
		compareOverridden(t, row[3], f)
	}
	expectOn(t, e, 9)
}

// compareOrigin holds a value's place to words such as: `shop/cart`, plain on the Service (10).
func compareOrigin(t *testing.T, cell string, w FieldValue) {
	t.Helper()
	if m := inBrackets.FindStringSubmatch(cell); m != nil && m[1] != strconv.Itoa(int(w.Level)) {
		t.Errorf("%s is from %d, the document says %s", w.Text, w.Level, cell)
	}
	if m := partWord.FindString(cell); m != "" && !strings.Contains(w.Level.String(), strings.ReplaceAll(m, "-", " ")) {
		t.Errorf("%s is %s, the document says %s", w.Text, w.Level, cell)
	}
	want := object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: "cart"}
	if !strings.HasPrefix(cell, "the rule") {
		want = object.Ref{Kind: "SessionPersistencePolicy"}
		m := inBackticks.FindStringSubmatch(cell)
		if m == nil {
			want = object.Ref{} // built in
		} else {
			want.Namespace, want.Name, _ = strings.Cut(m[1], "/")
		}
	}
	if w.Origin.Ref != want {
		t.Errorf("%s is from %s, the document says %s", w.Text, w.Origin, cell)
	}
}

// compareOverridden holds what a field overrides to a cell. A built-in default is only named where it helps the reader.
func compareOverridden(t *testing.T, cell string, f *Field) {
	t.Helper()
	if rest, builtIn := strings.CutPrefix(cell, "the built-in "); builtIn {
		if f.Default != strings.Trim(rest, "`") {
			t.Errorf("%s: the built-in default is %s, the document says %s", f.Name, f.Default, cell)
		}
		cell = ""
	}
	if cell == "" {
		if len(f.Overrides) > 0 {
			t.Errorf("%s overrides %+v, the document says nothing", f.Name, f.Overrides)
		}
		return
	}
	texts := inBackticks.FindAllStringSubmatch(cell, -1)
	if len(f.Overrides) != 1 || f.Overrides[0].Text != texts[len(texts)-1][1] {
		t.Errorf("%s overrides %+v, the document says %s", f.Name, f.Overrides, cell)
		return
	}
	compareOrigin(t, cell, f.Overrides[0])
}

func TestE2(t *testing.T) {
	x := readExample(t, 2, "Through RouteX to ServiceA a session lasts 8 hours (11 before 13) and may idle 10 minutes (13; nothing stronger writes it)",
		"Through other routes it lasts one hour")
	e := x.mergeOn(t, "route=HTTPRoute/shop/route-x backends=Service/shop/service-a")
	expectField(t, e, "absoluteTimeout", "8h", 11)
	if overridden := e.Field("absoluteTimeout").Overrides; len(overridden) != 1 || overridden[0].Level != 13 || overridden[0].Text != "1h" {
		t.Errorf("overrides %+v", overridden)
	}
	expectField(t, e, "idleTimeout", "10m", 13)
	expectField(t, x.mergeOn(t, "route=HTTPRoute/shop/other backends=Service/shop/service-a"), "absoluteTimeout", "1h", 13)
}

// shopInline gives the rule of E3 a sessionPersistence of its own.
const shopInline = `---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: shop, namespace: shop}
spec: {rules: [{name: static, sessionPersistence: {}}]}
`

func TestE3(t *testing.T) {
	x := readExample(t, 3, "Every route of the Gateway has sessions of 8 hours, but for the rule `static`: 10 says off before 18 says on (S9)",
		"Had that rule an inline `sessionPersistence`, it would be on: 9 is stronger than 10",
		"Were infra's block an `override: {disabled: false, absoluteTimeout: 8h}`, shop could not opt out")
	other, static := "route=HTTPRoute/shop/shop/dynamic", "route=HTTPRoute/shop/shop/static"
	e := x.mergeOn(t, other)
	expectOn(t, e, 18)
	expectField(t, e, "absoluteTimeout", "8h", 18)
	e = x.mergeOn(t, static)
	expectOn(t, e, 0)
	expectField(t, e, "disabled", "true", 10)
	if overridden := e.Field("disabled").Overrides; len(overridden) != 1 || overridden[0].Level != 18 {
		t.Errorf("overrides %+v", overridden)
	}
	inline := &example{yaml: slices.Concat(x.yaml, []byte(shopInline))}
	expectOn(t, inline.mergeOn(t, static), 9)
	expectOn(t, x.replaceYAML(t, "  absoluteTimeout: 8h", "  override: {disabled: false, absoluteTimeout: 8h}").mergeOn(t, static), 2)
}

func TestE4(t *testing.T) {
	x := readExample(t, 4, "Routes that ask for sessions get them with these limits, at whatever level they ask",
		"Routes that do not ask get none: level 26 says off, and nothing above it says on (S10)")
	expectOn(t, x.mergeOn(t, "route=HTTPRoute/shop/cart"), 0)
	expectField(t, x.mergeOn(t, "route=HTTPRoute/shop/cart"), "disabled", "true", 26)
	w := readDocumentSet(t, x.yaml)
	trafficPath := parseTrafficPath(t, "route=HTTPRoute/shop/cart/checkout")
	for level := InlineRule; level < 26; level++ {
		ask := SettingsBlock{Level: level, Origin: object.Origin{Ref: object.Ref{Kind: "Asking", Namespace: "shop", Name: "cart"}}, Path: "spec", Settings: &sessionSettings{}}
		e := Merge(append(w.index.BlocksOn(trafficPath), ask))
		expectOn(t, &e, level)
		expectField(t, &e, "absoluteTimeout", "8h", 2)
		expectField(t, &e, "issueOn", "TLS", 2)
		expectField(t, &e, "cookie.secure", "true", 2)
		expectField(t, &e, "cookie.httpOnly", "true", 2)
	}
}

func TestE5(t *testing.T) {
	x := readExample(t, 5, "`absoluteTimeout` is 8h, for `b-first` is older; `sameSite` is Lax, for only one writes it; both write the same path",
		"With equal timestamps, or none, `a-second` would win by its name")
	e := x.mergeOn(t, "")
	expectField(t, e, "absoluteTimeout", "8h", 11)
	expectField(t, e, "cookie.sameSite", "Lax", 11)
	expectField(t, e, "cookie.path", "/", 11)
	if len(e.Conflicts) != 1 {
		t.Fatalf("conflicts: %+v", e.Conflicts)
	}
	c := e.Conflicts[0]
	if !strings.Contains(x.prose, "`"+c.Loser.Key()+"` gets `Programmed=True`, reason `PartiallyProgrammed`: `"+c.Message()+"`") {
		t.Errorf("the document does not say that %s gets: %s", c.Loser.Key(), c.Message())
	}
	if c.Winner.Key() != "shop/b-first" || c.OtherTarget || c.Whole || len(c.Fields) != 1 || c.Fields[0].Field != "absoluteTimeout" {
		t.Errorf("%+v", c)
	}
	for _, stamps := range []*example{x.replaceYAML(t, "2026-11-21", "2026-11-20"), {yaml: regexp.MustCompile(`, creationTimestamp: "[^"]*"`).ReplaceAll(x.yaml, nil)}} {
		e := stamps.mergeOn(t, "")
		expectField(t, e, "absoluteTimeout", "4h", 11)
		if len(e.Conflicts) != 1 || e.Conflicts[0].Winner.Key() != "shop/a-second" {
			t.Errorf("conflicts: %+v", e.Conflicts)
		}
	}
}

func TestE6(t *testing.T) {
	x := readExample(t, 6, "RouteX and RouteY both split between ServiceA and ServiceB", "RouteY is sticky to both by its own policy",
		"RouteX is sticky because of ServiceA's policy alone, as S36 says",
		"Take that policy away, and RouteX has no session, though RouteY still has (S16)")
	split := " backends=Service/shop/service-a,Service/shop/service-b"
	routeX, routeY := "route=HTTPRoute/shop/route-x"+split, "route=HTTPRoute/shop/route-y"+split
	expectOn(t, x.mergeOn(t, routeX), 13)
	expectOn(t, x.mergeOn(t, routeY), 11)
	_, without, _ := strings.Cut(string(x.yaml), "---\n")
	x = &example{yaml: []byte(without)}
	expectOn(t, x.mergeOn(t, routeX), 0)
	expectOn(t, x.mergeOn(t, routeY), 11)
}

func TestE7(t *testing.T) {
	x := readExample(t, 7, "A route on the listeners `http` and `https` has sessions through `https` only: 17 says on before 18 says off; through `http`, 18 alone says anything (S6)")
	https := x.mergeOn(t, "gateway=infra/web/https")
	expectOn(t, https, 17)
	if overridden := https.Field("disabled").Overrides; len(overridden) != 1 || overridden[0].Level != 18 || overridden[0].Text != "true" {
		t.Errorf("overrides %+v", overridden)
	}
	http := x.mergeOn(t, "gateway=infra/web/http")
	expectOn(t, http, 0)
	expectField(t, http, "disabled", "true", 18)
}

func TestE8(t *testing.T) {
	x := readExample(t, 8, "The route `api` has its sessions in the header `x-shop`, a name that its block gave to no type",
		"`cookie.sameSite` does not apply there, which the status of `infra/web` says (S11)",
		"Other routes of the Gateway have a cookie of that name")
	e := x.mergeOn(t, "route=HTTPRoute/shop/api")
	expectField(t, e, "type", "Header", 11)
	expectField(t, e, "sessionName", "x-shop", 18)
	if len(e.Ignored) != 1 || e.Ignored[0].Field != "cookie.sameSite" || e.Ignored[0].Origin.Key() != "infra/web" || e.Ignored[0].Rule != "S11" {
		t.Errorf("dropped: %+v", e.Ignored)
	}
	other := x.mergeOn(t, "route=HTTPRoute/shop/other")
	expectField(t, other, "type", "Cookie", 28)
	expectField(t, other, "sessionName", "x-shop", 18)
	expectField(t, other, "cookie.sameSite", "Lax", 18)
}

// TestE10 holds the example, and that an override takes a field away from everyone.
//
// requirements: S7, E10, 2C.11
func TestE10(t *testing.T) {
	x := readExample(t, 10, "The route `cart` has sessions that may idle for ever and whose cookie has no `Domain`",
		"`sameSite` is Lax by the Gateway's policy still", "Were infra's second block an `override: {unset: [cookie.domain]}`")
	trafficPath := "route=HTTPRoute/shop/cart"
	e := x.mergeOn(t, trafficPath)
	for field, overridden := range map[string]string{"idleTimeout": "30m", "cookie.domain": "example.com"} {
		expectField(t, e, field, "(unset)", 11)
		if f := e.Field(field); !f.Unset || f.Value != nil || len(f.Overrides) != 1 || f.Overrides[0].Text != overridden {
			t.Errorf("%+v", f)
		}
	}
	expectField(t, e, "cookie.sameSite", "Lax", 18)
	if p := completePolicy(e); p.IdleTimeout != 0 || p.Cookie.Domain != "" || p.Cookie.SameSite != "Lax" {
		t.Errorf("the plugin gets %+v %+v", p, p.Cookie)
	}
	expectField(t, x.mergeOn(t, "route=HTTPRoute/shop/other"), "idleTimeout", "30m", 18)

	forbidden := x.replaceYAML(t, "  unset: [idleTimeout, cookie.domain]", "  cookie: {domain: shop.example}").
		replaceYAML(t, "  idleTimeout: 30m", "  override: {unset: [cookie.domain]}\n  idleTimeout: 30m").mergeOn(t, trafficPath)
	expectField(t, forbidden, "cookie.domain", "(unset)", 2)
	if f := forbidden.Field("cookie.domain"); len(f.Overrides) != 2 || f.Overrides[0].Text != "shop.example" {
		t.Errorf("%+v", f)
	}
}

func TestE9(t *testing.T) {
	x := readExample(t, 9, "`old` shows 1.6 (`sessionName`)", "`new` shows 1.7 (`cookie`)", "With an XBackend for each version, as 1.7 means it, each has a cookie name of its own (2A.15)")
	w := readDocumentSet(t, x.yaml)
	for name, want := range map[string]sessionapi.APIRelease{"old": sessionapi.Release16, "new": sessionapi.Release17} {
		inline := w.inlineSessions[object.TargetRef{Ref: object.Ref{Kind: object.KindHTTPRoute, Namespace: "shop", Name: name}, Section: "#0"}]
		hint := map[string]string{"old": "sessionName", "new": "cookie"}[name]
		if got := (sessionapi.ReleaseHints{Inline: inline}).Release(); got != want || !slices.Contains(inline.ReleaseFields, hint) {
			t.Errorf("%s is of %s by %v", name, got, inline.ReleaseFields)
		}
		split := w.mergeOn(parseTrafficPath(t, "route=HTTPRoute/shop/"+name+"/#0 backends=Service/shop/v1,Service/shop/v2"))
		expectField(t, &split, "sessionName", name, 9)
	}
	own := w.mergeOn(parseTrafficPath(t, "route=HTTPRoute/shop/third backends=XBackend/shop/v1"))
	expectField(t, &own, "sessionName", "v1", 14)
	if got := (sessionapi.ReleaseHints{XBackend: true}).Release(); got != sessionapi.Release17 {
		t.Errorf("a rule with such an XBackend is of %s", got)
	}
}
