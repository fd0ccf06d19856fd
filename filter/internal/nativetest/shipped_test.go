package nativetest

import (
	"debug/elf"
	"slices"
	"strings"
	"testing"
)

// newestLibc is the newest symbol version of glibc that the module may need: it has getrandom. Envoy's own release
// binary needs a newer one.
const newestLibc = "GLIBC_2.25"

// TestShippedBorder: the module offers Envoy's hooks and nothing else, needs the C library alone, and of that nothing
// newer than is promised.
func TestShippedBorder(t *testing.T) {
	for _, name := range []string{"native/amd64/liblimpet.so", "native/arm64/liblimpet.so"} {
		t.Run(name, func(t *testing.T) {
			for _, l := range checkBorder(t, name, checkVersion) {
				if l != "libc.so.6" && !strings.HasPrefix(l, "ld-linux-") {
					t.Errorf("needs %s", l)
				}
			}
		})
	}
}

// TestShippedShardBorder: the module by which routes have shards needs three functions that Envoy has of any C library, and no file.
func TestShippedShardBorder(t *testing.T) {
	for _, name := range []string{"shard/amd64/limpet-shard.so", "shard/arm64/limpet-shard.so"} {
		t.Run(name, func(t *testing.T) {
			libraries := checkBorder(t, name, func(t *testing.T, s elf.Symbol) {
				t.Helper()
				if !slices.Contains([]string{"malloc", "free", "memcpy"}, s.Name) {
					t.Errorf("needs %s", s.Name)
				}
			})
			if len(libraries) > 0 {
				t.Errorf("needs %q", libraries)
			}
		})
	}
}

// checkBorder checks what a module offers, and what it needs that is none of Envoy's hooks. It gives the libraries that it names.
func checkBorder(t *testing.T, name string, checkNeed func(*testing.T, elf.Symbol)) []string {
	t.Helper()
	module, err := elf.Open(Module(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = module.Close() }()
	symbols, err := module.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		switch {
		case s.Section != elf.SHN_UNDEF:
			if !strings.HasPrefix(s.Name, "envoy_dynamic_module_on_") {
				t.Errorf("offers %s", s.Name)
			}
		case !strings.HasPrefix(s.Name, "envoy_dynamic_module_callback_"):
			checkNeed(t, s)
		}
	}
	flags, err := module.DynValue(elf.DT_FLAGS_1)
	if err != nil || !slices.Contains(flags, uint64(elf.DF_1_NOW|elf.DF_1_NODELETE)) {
		t.Errorf("flags %v, %v: want it bound at once and never unloaded", flags, err)
	}
	libraries, err := module.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	return libraries
}

func checkVersion(t *testing.T, s elf.Symbol) {
	t.Helper()
	if s.Version == "" || newer(s.Version, newestLibc) {
		t.Errorf("needs %s of %q, want %s or older", s.Name, s.Version, newestLibc)
	}
}

// newer compares versions such as GLIBC_2.2.5.
func newer(a, b string) bool {
	one, two := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(one), len(two)) {
		if x, y := one[i], two[i]; x != y {
			return len(x) > len(y) || len(x) == len(y) && x > y
		}
	}
	return len(one) > len(two)
}

// TestOverlappingStreams: each hook works on its own stream, and a stream may end without an answer.
func TestOverlappingStreams(t *testing.T) {
	h := Start(t, Module(t, "liblimpet.so"))
	const config = `{"version":"limpet.dev/v1","accessLog":true,"policies":[{"name":"p","routes":["r"],"sessionName":"sid"}]}`
	if err := h.Configure(config, map[string]string{"LIMPET_KEYS": `{"keys":[{"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"}]}`}); err != nil {
		t.Fatal(err)
	}
	open := func(route string) *Stream {
		s, _, err := h.Request(route, "c", [][2]string{{":method", "GET"}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	answer := func(s *Stream, host string) [][2]string {
		out, err := s.Response(Reply{Headers: [][2]string{{":status", "200"}}, Details: "via_upstream", Upstream: host})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, none, b, lost := open("r"), open("other"), open("r"), open("r")
	fromB, fromNone, fromA := answer(b, "10.0.0.2:1"), answer(none, "10.0.0.3:1"), answer(a, "10.0.0.1:1")
	if len(fromA) != 2 || len(fromB) != 2 || len(fromNone) != 1 || a.State != "new" || b.State != "new" || none.State != "" {
		t.Errorf("got %v %q, %v %q, %v %q", fromA, a.State, fromB, b.State, fromNone, none.State)
	}
	for _, s := range []*Stream{lost, b, a, none} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for want, line := range map[string][2]string{"10.0.0.1:1": fromA[1], "10.0.0.2:1": fromB[1]} {
		cookie, _, _ := strings.Cut(line[1], ";")
		s, _, err := h.Request("r", "c", [][2]string{{":method", "GET"}, {"cookie", cookie}})
		if err != nil || s.Pin != want {
			t.Errorf("pinned to %q, %v; want %s", s.Pin, err, want)
		}
	}
}

// TestARefusedConfigurationChangesNothing: the one before serves on.
func TestARefusedConfigurationChangesNothing(t *testing.T) {
	h := Start(t, Module(t, "liblimpet.so"))
	env := map[string]string{"LIMPET_KEYS": `{"keys":[{"id":"a","secret":"YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE"}]}`}
	const config = `{"version":"limpet.dev/v1","policies":[{"name":"p","routes":["r"],"sessionName":"sid"}]}`
	if err := h.Configure(config, env); err != nil {
		t.Fatal(err)
	}
	err := h.Configure(strings.Replace(config, "sessionName", "sesionName", 1), env)
	if err == nil || !strings.Contains(err.Error(), "limpet: filter configuration: policies[0].sesionName") {
		t.Errorf("got %v", err)
	}
	s, _, err := h.Request("r", "c", [][2]string{{":method", "GET"}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Response(Reply{Headers: [][2]string{{":status", "200"}}, Details: "via_upstream", Upstream: "10.0.0.1:1"})
	if err != nil || len(out) != 2 {
		t.Errorf("got %v, %v", out, err)
	}
}
