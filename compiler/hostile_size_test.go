package compiler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/internal/processor"
)

// hostileShapes are files that are mostly one thing, by what it is: how they begin, what they repeat, how they end. A "%d"
// is the number of the repetition.
var hostileShapes = map[string][3]string{
	"ports of number 0, in one line":     {service + "  ports: [", "{port: 0}, ", "{port: 0}]\n"},
	"ports of number 0":                  {service + "  ports:\n", "  - {port: 0}\n", ""},
	"ports of one name":                  {service + "  ports:\n", "  - {port: 80, name: a}\n", ""},
	"unknown fields":                     {service, "  x%d: 1\n", ""},
	"a key again and again":              {service, "  x: 1\n", ""},
	"numbers in a field":                 {service + "  x: [", "0,", "0]\n"},
	"numbers and a comment":              {service + "  x: [", "0,", "0] # here\n"},
	"a list of numbers":                  {list + " [", "1, ", "1]\n"},
	"a list of numbers, one a line":      {list + "\n", "- 1\n", ""},
	"a list of nothing":                  {list + "\n", "- {}\n", ""},
	"a list of bad names":                {list + "\n", "- {apiVersion: v1, kind: Service, metadata: {name: \"a %d\"}}\n", ""},
	"a list of numbers in JSON":          {`{"apiVersion":"v1","kind":"List","items":[`, "1,", "1]}\n"},
	"documents of JSON":                  {"", "{}\n", ""},
	"separators":                         {"", "---\n", ""},
	"documents of one word":              {"", "---\na\n", ""},
	"open braces":                        {"a: ", "{a: ", ""},
	"open brackets":                      {"a: ", "[", ""},
	"question marks":                     {"", "? ", ""},
	"dashes":                             {"", "- ", ""},
	"aliases":                            {"a: &a 1\nb: [", "*a, ", "1]\n"},
	"anchors":                            {"b: [", "&a%d 1, ", "1]\n"},
	"merge keys":                         {"a: &a {b: 1}\nb:\n", "- {<<: *a}\n", ""},
	"labels that are none":               {"apiVersion: v1\nkind: Service\nmetadata:\n  name: a\n  labels:\n", "    \"x y%d\": a\n", ""},
	"bad hostnames":                      {httpRoute + "  hostnames:\n", "  - a_b\n", ""},
	"rules":                              {httpRoute + "  rules:\n", "  - {name: a}\n", ""},
	"bad matches":                        {httpRoute + "  rules:\n  - matches:\n", "    - {path: {type: X, value: a}}\n", ""},
	"codes that are none":                {httpRoute + "  rules:\n  - retry:\n      codes:\n", "      - a\n", ""},
	"one parent":                         {httpRoute + "  parentRefs:\n", "  - {name: a}\n", ""},
	"listeners of one name":              {"apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: a}\nspec:\n  gatewayClassName: limpet\n  listeners:\n", "  - {name: a, port: 80, protocol: HTTP}\n", ""},
	"one object":                         {"", "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n", ""},
	"long text on many lines":            {"a: b", "\n c", "\n"},
	"a quoted text":                      {service + `  x: "`, `\x41`, "\"\n"},
	"a key":                              {service + "  ", "aaaaaaaaaa", ": 1\n"},
	"addresses that are none":            {"apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: a, labels: {kubernetes.io/service-name: a}}\naddressType: IPv4\nports: [{port: 1}]\nendpoints:\n", "- {addresses: [x]}\n", ""},
	"objects of a kind that is not ours": {"", "---\napiVersion: v1\nkind: Other\nmetadata: {name: a%d, namespace: b}\n", ""},
}

const (
	service   = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec:\n"
	list      = "apiVersion: v1\nkind: List\nitems:"
	httpRoute = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec:\n"
	// validObjects are repeated in a file to which hostile ones are compared.
	validObjects = "---\napiVersion: v1\nkind: Service\nmetadata: {name: a%d, namespace: default}\nspec:\n  ports:\n  - {name: http, port: 80}\n"
)

// repeat makes a file of a size.
func repeat(shape [3]string, size int) []byte {
	var text strings.Builder
	text.WriteString(shape[0])
	for i := 0; text.Len() < size; i++ {
		text.WriteString(strings.ReplaceAll(shape[1], "%d", fmt.Sprint(i)))
	}
	text.WriteString(shape[2])
	return []byte(text.String())
}

// timeToCheck is how much time of all processors a check of a file takes: the least of three, for the machine does other things.
func timeToCheck(t testing.TB, name string, data []byte) time.Duration {
	t.Helper()
	least := time.Hour
	for range 3 {
		before := processor.Time()
		_, err := Check([]Source{{Name: name, Data: data}}, Options{Target: TargetEnvoy})
		if err != nil {
			t.Fatal(err)
		}
		least = min(least, processor.Time()-before)
	}
	return least
}

// FuzzTime repeats anything between anything: however it is chosen, no file takes more than a bounded time for each of its bytes.
func FuzzTime(f *testing.F) {
	for name, shape := range hostileShapes {
		f.Add(shape[0], shape[1], shape[2], strings.HasSuffix(name, "JSON"))
	}
	f.Fuzz(func(t *testing.T, begin, middle, end string, isJSON bool) {
		if middle == "" || len(begin)+len(end) > 10_000 {
			return
		}
		name := "f.yaml"
		if isJSON {
			name = "f.json"
		}
		data := repeat([3]string{begin, middle, end}, 60_000)
		if took, most := timeToCheck(t, name, data), 20*time.Millisecond+time.Duration(len(data))*2*time.Microsecond; took > most {
			t.Errorf("%d bytes took %v, which is more than %v", len(data), took, most)
		}
	})
}

// TestHostileFilesTakeNoLonger: a file that is made to be expensive takes at most three times as long as a valid one of its size,
// whatever its shape, and says no more than a reader wants.
func TestHostileFilesTakeNoLonger(t *testing.T) {
	const size = 200_000
	// Of the two readers that valid files take, the one for all of YAML is slower: a comment behind a value asks for it.
	valid := timeToCheck(t, "f.yaml", repeat([3]string{"", strings.TrimSpace(validObjects) + " # here\n", ""}, size))
	for name, shape := range hostileShapes {
		file := "f.yaml"
		if strings.HasSuffix(name, "JSON") {
			file = "f.json"
		}
		took := timeToCheck(t, file, repeat(shape, size))
		t.Logf("%-40s %.1f", name, float64(took)/float64(valid))
		if took > 3*valid+20*time.Millisecond {
			t.Errorf("%s: %v, a valid file of the size takes %v", name, took, valid)
		}
	}
}
