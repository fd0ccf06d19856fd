package envoy

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/re2"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// TestProtectedHeaders holds what authorization services can't set, whatever the pin header is called, and that by its usual name
// the expression is none that an Envoy without limpet's bootstrap rejects with its listener: one of more than 100 instructions.
func TestProtectedHeaders(t *testing.T) {
	for _, pin := range []string{policyconfig.DefaultPinHeader, "x-own.pin"} {
		expression := listProtected(pin)
		if size, err := re2.Size(expression); err != nil || size > 100 && pin == policyconfig.DefaultPinHeader {
			t.Errorf("%s: %d instructions, %v", expression, size, err)
		}
		whole := regexp.MustCompile("^(?:" + expression + ")$")
		for name, want := range map[string]bool{
			pin: true, policyconfig.BackendHeader(pin): true, "x-limpet-ticket": true, "x-forwarded-for": true, "content-length": true,
			"connection": true, "te": true, "x-user": false, "cookie": false, "authorization": false, "x-ownxpin": false,
		} {
			if got := whole.MatchString(name); got != want {
				t.Errorf("pin header %s: %s is protected: %t", pin, name, got)
			}
		}
	}
}

// TestDiscoveringEnvoysTakeLargeExpressions: an Envoy that discovers its routes and listeners would reject all that come with a
// regular expression above its own limit, which the compiler's is far above.
func TestDiscoveringEnvoysTakeLargeExpressions(t *testing.T) {
	text, err := ServerBootstrap{Node: "n", Gateway: "g", Server: "127.0.0.1:1"}.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "re2.max_program_size.error_level: "+strconv.Itoa(maxProgram)) {
		t.Errorf("the bootstrap leaves Envoy its limit:\n%s", text)
	}
}
