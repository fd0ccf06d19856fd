package policyconfig

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// What is put together from policies that were written one by one is what Encode gives, be it a document or errors.
func TestEncodeWith(t *testing.T) {
	header := somePolicy()
	header.Name, header.Routes, header.Type, header.SessionName = "h", []string{"h"}, TypeHeader, "x-cart"
	split := somePolicy()
	split.Name, split.Clusters = "split", []string{"one", "two"}
	shared := split
	shared.Name, shared.Clusters = "shared", []string{"three"}
	odd := somePolicy()
	odd.Name, odd.Routes = "odd", []string{"  ]}", "\"policies\": [", "<ä>"}
	secret := secretConfig()
	for name, c := range map[string]Config{
		"none":            someConfig(),
		"one":             someConfig(somePolicy()),
		"several":         someConfig(header, split, shared, odd),
		"with keys":       {Version: Version, Keys: secret.Keys, PinHeader: "x-pin", Policies: []Policy{header, split}},
		"the same name":   someConfig(header, split, split),
		"the same route":  someConfig(somePolicy(), split),
		"no pin header":   {Version: Version, Policies: []Policy{header}},
		"another version": {Version: "2", PinHeader: DefaultPinHeader, Policies: []Policy{header}},
	} {
		var written []*Written
		for _, p := range c.Policies {
			w, err := Write(p, DefaultPinHeader)
			if err != nil {
				t.Fatal(err)
			}
			written = append(written, w)
		}
		want, text, refused := Encode(c)
		got, data, err := EncodeWith(c, written)
		if fmt.Sprint(err) != fmt.Sprint(refused) || !bytes.Equal(data, text) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %s, %v\nwant %s, %v", name, data, err, text, refused)
		}
	}
}

// A policy that can't stand in any configuration is refused at once.
func TestWriteRefuses(t *testing.T) {
	p := somePolicy()
	p.SessionName = ""
	_, err := Write(p, DefaultPinHeader)
	if _, want := Marshal(someConfig(p)); err == nil || err.Error() != want.Error() {
		t.Errorf("got %v, want %v", err, want)
	}
}
