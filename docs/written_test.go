package docs

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite what is generated of the pages")

// fill puts what is generated into a page, between its comments "NAME" and "end of NAME".
func fill(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("the page has no place for the %s", name)
	}
	return before + begin + text + end + after
}

// wantPage holds that a page is what is generated, or, with -update, makes it so.
func wantPage(t *testing.T, name, written string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if written != string(read(t, name)) {
		t.Errorf("docs/%s is stale: 'go test ./docs -update' writes it again", name)
	}
}
