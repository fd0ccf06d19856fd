package policyconfig

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func secretConfig() Config {
	c := DefaultConfig()
	c.Keys = Keys{Ring: &KeyRing{Keys: []Key{{ID: "k", Secret: Secret(testSecret), NotBefore: 1, NotAfter: 2}}, NotAfter: 2}}
	return c
}

// reveals reports whether a text holds the test secret in any form that fmt or an encoder would give it.
func reveals(text string) bool {
	lowered := strings.ToLower(text)
	for _, form := range []string{
		testSecret,
		hex.EncodeToString([]byte(testSecret)),
		fmt.Sprintf("% x", testSecret),
		strings.Trim(fmt.Sprintf("%d", []byte(testSecret)), "[]"),
		strings.Trim(fmt.Sprintf("%o", []byte(testSecret)), "[]"),
		strings.Trim(fmt.Sprintf("%b", []byte(testSecret)), "[]"),
		strings.Trim(fmt.Sprintf("%c", []byte(testSecret)), "[]"),
		strings.ToLower(strings.Trim(fmt.Sprintf("%#v", []byte(testSecret)), "[]byte{}")),
		strings.ToLower(encodedSecret),
	} {
		if strings.Contains(lowered, form) {
			return true
		}
	}
	return false
}

func TestSecretUnderEveryVerb(t *testing.T) {
	ring := *secretConfig().Keys.Ring
	values := []any{Secret(testSecret), ring.Keys[0], ring, &ring, []Secret{Secret(testSecret)}, map[string]Secret{"k": Secret(testSecret)}}
	for _, verb := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnoqrstuvxyz!" { // p and w: see Format
		for _, flags := range []string{"", "+", "#", "-", " ", "0", "10", ".40"} {
			for _, v := range values {
				format := "%" + flags + string(verb)
				if got := fmt.Sprintf(format, v); reveals(got) {
					t.Errorf("%s of %T prints %s", format, v, got)
				}
			}
			if got := fmt.Sprintf("%"+flags+string(verb), Secret(testSecret)); verb != 'T' && got != redacted {
				t.Errorf("%%%s%c prints %q, want %q", flags, verb, got, redacted)
			}
		}
	}
}

func TestSecretInEncodings(t *testing.T) {
	c := secretConfig()
	asJSON, err := json.Marshal(c)
	if err != nil || reveals(string(asJSON)) || !strings.Contains(string(asJSON), redacted) {
		t.Errorf("encoding/json writes %s, %v", asJSON, err)
	}
	asXML, err := xml.Marshal(c.Keys.Ring)
	if err != nil || reveals(string(asXML)) || !strings.Contains(string(asXML), redacted) {
		t.Errorf("encoding/xml writes %s, %v", asXML, err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", c, "secret", c.Keys.Ring.Keys[0].Secret)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "ring", *c.Keys.Ring, "secret", c.Keys.Ring.Keys[0].Secret)
	if reveals(logged.String()) {
		t.Errorf("log/slog writes %s", &logged)
	}
	if s := c.Keys.Ring.Keys[0].Secret; s.String() != redacted || s.GoString() != redacted {
		t.Errorf("String gives %q, GoString %q", s.String(), s.GoString())
	}
}

func TestSecretIsWrittenByMarshalOnly(t *testing.T) {
	config, err := Marshal(secretConfig())
	if err != nil || !strings.Contains(string(config), encodedSecret) {
		t.Errorf("Marshal gives %s, %v", config, err)
	}
	ring, err := MarshalKeyRing(*secretConfig().Keys.Ring)
	if err != nil || !strings.Contains(string(ring), encodedSecret) {
		t.Errorf("MarshalKeyRing gives %s, %v", ring, err)
	}
}
