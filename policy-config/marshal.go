//go:build !tinygo

package policyconfig

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
)

var errNotTheSame = errors.New("the configuration cannot be written as JSON: " +
	"it holds an empty list that is not nil, or text that is not valid UTF-8")

// Marshal writes a configuration as JSON, indented by two spaces and with a line break at the end; equal
// configurations give equal bytes. A scope, cookie or cache control that c leaves out is written as its default.
// The result holds the ring's secrets if c does.
//
// Marshal refuses what Parse would refuse, with an ErrorList: what it gives, Parse reads as c with those defaults.
func Marshal(c Config) ([]byte, error) {
	_, data, err := Encode(c)
	return data, err
}

// Encode is Marshal, and gives the configuration that Parse reads from the result, too.
func Encode(c Config) (complete Config, data []byte, err error) {
	c.Policies = append([]Policy{}, c.Policies...) // never null, and complete must not write to the caller's
	c.complete()
	data, err = encode(wireConfigOf(c))
	if err != nil {
		return Config{}, nil, err
	}
	complete, err = readBack(data, c)
	if err != nil {
		return Config{}, nil, err
	}
	return complete, data, nil
}

// Validate says what is wrong with a configuration: its error is that of Marshal, at half the cost.
func Validate(c Config) error {
	c.Policies = append([]Policy{}, c.Policies...)
	c.complete()
	data, err := json.Marshal(wireConfigOf(c))
	if err != nil {
		return err
	}
	_, err = readBack(data, c)
	return err
}

// readBack reads what was written of a complete configuration.
func readBack(data []byte, c Config) (Config, error) {
	back, errs := Parse(string(data))
	if len(errs) > 0 {
		return Config{}, errs
	}
	if !reflect.DeepEqual(back, c) {
		return Config{}, errNotTheSame
	}
	return back, nil
}

// MarshalKeyRing writes a key ring, secrets included, in the form that ParseKeyRing reads. It refuses what
// ParseKeyRing would refuse.
func MarshalKeyRing(ring KeyRing) ([]byte, error) {
	data, err := encode(wireRingOf(ring))
	if err != nil {
		return nil, err
	}
	if _, errs := ParseKeyRing(string(data)); len(errs) > 0 {
		return nil, errs
	}
	return data, nil
}

// encode writes JSON for people, a field in a line.
func encode(v any) ([]byte, error) { return encodeIndented(v, "  ") }

// encodeIndented writes JSON and a line break, without the escapes that json.Marshal makes for HTML.
func encodeIndented(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// The wire types are Config, Keys, KeyRing and Key with the secret as text, for Secret itself encodes as
// [secret]. The fields' order is that of the file.
type wireConfig struct {
	Version   string   `json:"version"`
	Keys      wireKeys `json:"keys"`
	PinHeader string   `json:"pinHeader"`
	ClockSkew Duration `json:"clockSkew"`
	AccessLog bool     `json:"accessLog,omitempty"`
	Fields    bool     `json:"accessLogFields,omitempty"`
	Digest    bool     `json:"sessionDigest,omitempty"`
	Tickets   bool     `json:"debugTickets,omitempty"`
	Policies  []Policy `json:"policies"`
}

type wireKeys struct {
	FromEnv string    `json:"fromEnv,omitempty"`
	Ring    *wireRing `json:"ring,omitempty"`
	Sealed  string    `json:"sealed,omitempty"`
	Gateway string    `json:"gateway,omitempty"`
}

type wireRing struct {
	Keys     []wireKey `json:"keys"`
	NotAfter Time      `json:"notAfter,omitzero"`
}

type wireKey struct {
	ID        string `json:"id"`
	Secret    string `json:"secret"`
	NotBefore Time   `json:"notBefore,omitzero"`
	NotAfter  Time   `json:"notAfter,omitzero"`
}

func wireConfigOf(c Config) wireConfig {
	keys := wireKeys{FromEnv: c.Keys.FromEnv, Sealed: c.Keys.Sealed, Gateway: c.Keys.Gateway}
	if c.Keys.Ring != nil {
		ring := wireRingOf(*c.Keys.Ring)
		keys.Ring = &ring
	}
	return wireConfig{
		c.Version,
		keys,
		c.PinHeader,
		c.ClockSkew,
		c.AccessLog,
		c.AccessLogFields,
		c.SessionDigest,
		c.DebugTickets,
		c.Policies,
	}
}

func wireRingOf(ring KeyRing) wireRing {
	keys := make([]wireKey, len(ring.Keys))
	for i, k := range ring.Keys {
		keys[i] = wireKey{k.ID, base64.RawURLEncoding.EncodeToString(k.Secret), k.NotBefore, k.NotAfter}
	}
	return wireRing{keys, ring.NotAfter}
}
