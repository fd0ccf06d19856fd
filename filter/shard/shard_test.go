package shard

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/filter/internal/nativetest"
)

// builds are those that are tested: as shipped for both architectures, and with sanitizers.
var builds = []string{"shard/amd64/limpet-shard.so", "shard/arm64/limpet-shard.so", "shard/sanitized/limpet-shard.so"}

// TestShards: each build writes the shards that testdata/shards.txt has, which the compiler's own hash is held to as well
// (internal/compiler/emit/envoy).
func TestShards(t *testing.T) {
	table, err := os.ReadFile(filepath.Join("testdata", "shards.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var hosts, want bytes.Buffer
	for line := range strings.Lines(string(table)) {
		shard, host, _ := strings.Cut(line, "\t")
		hosts.WriteString(host)
		want.WriteString("x-limpet-shard: 0.0.0.0/80#" + shard + "\n")
	}
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			if got := run(t, build, "0.0.0.0/80", hosts.Bytes()); got != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got, want.String())
			}
		})
	}
}

// TestConfiguration: a site's name that has no room is refused, with which Envoy refuses the listener.
func TestConfiguration(t *testing.T) {
	long := strings.Repeat("s", 512)
	for _, build := range builds {
		t.Run(build, func(t *testing.T) {
			for site, want := range map[string]string{"": "refused\n", long + "s": "refused\n", long: "x-limpet-shard: " + long + "#c5\n"} {
				if got := run(t, build, site, []byte("\n")); got != want {
					t.Errorf("with a site of %d bytes: %q, want %q", len(site), got, want)
				}
			}
		})
	}
}

func run(t *testing.T, build, site string, hosts []byte) string {
	t.Helper()
	command := nativetest.NewShardCommand(t, nativetest.Module(t, build), site)
	command.Stdin, command.Stderr = bytes.NewReader(hosts), os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", build, err)
	}
	return string(out)
}
