package precedence

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// semantics is the document that the package builds.
const semantics = "../../../docs/semantics.md"

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// readSection gives the document's part under a heading or bold title that begins so, up to the next of its kind.
func readSection(t *testing.T, begin, end string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(readFile(t, semantics)), "\n"+begin)
	if !found {
		t.Fatalf("%s has no %q", semantics, begin)
	}
	part, _, found := strings.Cut(rest, "\n"+end)
	if !found {
		t.Fatalf("%s has no %q after %q", semantics, end, begin)
	}
	return part
}

// tableRows gives the cells of the first table of a text, without its head.
func tableRows(t *testing.T, text string) [][]string {
	t.Helper()
	var rows [][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	if len(rows) < 3 {
		t.Fatalf("no table in %.80q", text)
	}
	return rows[2:]
}

// TestS5Precedence holds the levels to the document's table.
func TestS5Precedence(t *testing.T) {
	seen := Level(0)
	for _, row := range tableRows(t, readSection(t, "**S5.", "**S6.")) {
		first, last := parseLevelRange(t, row[0])
		if first != seen+1 {
			t.Errorf("row %v begins with %d after %d", row, first, seen)
		}
		for r, on := range levelsOfRow(t, row, first, last) {
			if got := r.String(); got != on {
				t.Errorf("level %d is %q, the document says %q", r, got, on)
			}
		}
		seen = last
	}
	if seen != BuiltIn {
		t.Errorf("the last level is %d", seen)
	}
}

// TestS23ServiceLevels holds which levels bring no path to what S23 says.
func TestS23ServiceLevels(t *testing.T) {
	m := regexp.MustCompile(`Service's level \(([^)]*)\)`).FindStringSubmatch(strings.Join(strings.Fields(readSection(t, "**S23.", "**S24.")), " "))
	if m == nil {
		t.Fatal("S23 names no levels")
	}
	want := strings.FieldsFunc(m[1], func(r rune) bool { return r < '0' || r > '9' })
	var got []string
	for r := Level(1); r <= BuiltIn; r++ {
		if r.IsOnService() {
			got = append(got, strconv.Itoa(int(r)))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v are levels of Services, S23 says %v", got, want)
	}
}

func parseLevelRange(t *testing.T, cell string) (first, last Level) {
	t.Helper()
	from, to, both := strings.Cut(cell, " – ")
	if !both {
		to = from
	}
	a, err := strconv.Atoi(from)
	b, err2 := strconv.Atoi(to)
	if err != nil || err2 != nil {
		t.Fatalf("no levels: %q", cell)
	}
	return Level(a), Level(b)
}

// levelsOfRow gives the name that each level of a row must have.
func levelsOfRow(t *testing.T, row []string, first, last Level) map[Level]string {
	t.Helper()
	names := map[Level]string{}
	part := map[string]string{"`override`": "override", "plain spec": "plain", "`default`": "default"}[row[1]]
	if part == "" {
		special := map[string][]string{
			"inline": {"inline in the rule"}, "–": {"built in"},
			"inline; XBackendTrafficPolicy": {"inline in the XBackend", "XBackendTrafficPolicy"},
		}[row[1]]
		for i, name := range special {
			names[first+Level(i)] = name
		}
		return names
	}
	on := strings.Split(row[2], ", ")
	if len(on) != int(last-first)+1 {
		t.Fatalf("%d names of %d levels: %v", len(on), last-first+1, row)
	}
	for i, level := range on {
		names[first+Level(i)] = part + " on the " + level
	}
	return names
}

// TestRulesExist holds that every rule that this package speaks of is in the document.
func TestRulesExist(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	text := string(readFile(t, semantics))
	for _, file := range files {
		for _, rule := range regexp.MustCompile(`\bS[1-9]\d*\b`).FindAllString(string(readFile(t, file)), -1) {
			if !strings.Contains(text, "\n**"+rule+".") {
				t.Errorf("%s speaks of %s", file, rule)
			}
		}
	}
}

// TestS2Targets holds each kind of target and its reach to the document's table.
func TestS2Targets(t *testing.T) {
	levels := map[string]string{}
	for _, kind := range []string{object.KindService, object.KindNamespace, object.KindHTTPRoute, object.KindGRPCRoute, object.KindVirtualService, object.KindGateway, object.KindGatewayClass} {
		for _, name := range []string{"", "part"} {
			if level, ok := HierarchyLevelOf(object.TargetRef{Ref: object.Ref{Kind: kind, Namespace: "shop", Name: "cart"}, Section: name}); ok {
				levels[kind+" "+name] = hierarchyNames[level]
			}
		}
	}
	want := map[string]string{}
	for _, row := range tableRows(t, readSection(t, "**S2.", "**S3.")) {
		for _, kind := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[0], -1) {
			switch row[1] {
			case "the rule's name":
				want[kind[1]+" part"] = "the rule"
			case "the port's name":
				want[kind[1]+" part"] = "the Service's port"
			case "the listener's name":
				want[kind[1]+" part"] = "the listener"
			case "–":
				want[kind[1]+" "] = map[string]string{object.KindHTTPRoute: "the route", object.KindGRPCRoute: "the route", object.KindVirtualService: "the route"}[kind[1]]
				if want[kind[1]+" "] == "" {
					want[kind[1]+" "] = "the " + kind[1]
				}
			default:
				t.Errorf("row %v", row)
			}
		}
	}
	if len(want) != 12 || len(want) != len(levels) {
		t.Errorf("%d targets in the document, %d here", len(want), len(levels))
	}
	for target, level := range want {
		if levels[target] != level {
			t.Errorf("%s is on %q, the document says %q", target, levels[target], level)
		}
	}
}
