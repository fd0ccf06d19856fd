package filtermodule

import (
	"strings"
	"testing"
)

func TestCheckNativePath(t *testing.T) {
	if err := CheckNativePath("/usr/lib/liblimpet.so", ""); err != nil {
		t.Error(err)
	}
	for file, url := range map[string]string{
		"": "", "lib.so": "", "/": "", "/usr/../lib.so": "", "/lib/": "", "/" + strings.Repeat("a", maxLength): "",
		"/lib.so": "https://example.com/limpet.wasm",
	} {
		if CheckNativePath(file, url) == nil {
			t.Errorf("%.20q with %q is taken", file, url)
		}
	}
}
