package compiler

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/proto"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// drainNow is the time of the compilations here.
var drainNow = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)

// drainDocument has 10.0.6.1, which terminates, and 10.0.6.2 in the Service "leaving", under a session with a drain limit.
const drainDocument = "draining-host-keeps-its-sessions.in.yaml"

// TestDrain compiles what a drain limit makes of a host at different times.
func TestDrain(t *testing.T) {
	leaving := hostOf("default", "10.0.6.1:8080")
	for _, c := range []struct {
		name  string
		edit  [2]string     // of the document
		since time.Duration // how long ago it was first seen to terminate; 0 is never
		want  string        // the hosts of each cluster
		until time.Duration // from now; 0 is never
	}{
		{"seen first now", [2]string{}, 0, "service/default/leaving/80/drain-10m: 10.0.6.1* 10.0.6.2", 10 * time.Minute},
		{"not long enough", [2]string{}, 10*time.Minute - time.Nanosecond, "service/default/leaving/80/drain-10m: 10.0.6.1* 10.0.6.2", time.Nanosecond},
		{"long enough", [2]string{}, 10 * time.Minute, "service/default/leaving/80/drain-10m: 10.0.6.2", 0},
		{"at once", [2]string{"drainTimeout: 10m", "drainTimeout: 0s"}, 0, "service/default/leaving/80/drain-0s: 10.0.6.2", 0},
		{"no limit", [2]string{"drainTimeout: 10m", "forward: false"}, time.Hour, "service/default/leaving/80: 10.0.6.1* 10.0.6.2", 0},
		{"nobody to take over", [2]string{", {addresses: [10.0.6.2]}", ""}, time.Hour, "service/default/leaving/80/drain-10m: 10.0.6.1*", 0},
		{
			"a split",
			[2]string{"{name: leaving, port: 80}", "{name: leaving, port: 80}, {name: v1, port: 80, weight: 0}"},
			time.Hour,
			"httproute/default/cart/rule/0/drain-10m: 10.0.6.2 10.0.1.1 10.0.1.2", 0,
		},
		{
			"a split whose other side is not ready",
			[2]string{"{name: leaving, port: 80}", "{name: leaving, port: 80}, {name: gone, port: 80}"},
			time.Hour,
			"httproute/default/cart/rule/0/drain-10m: 10.0.6.1* 10.0.6.2", 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			hot := &Served{Together: true, Draining: map[HostKey]time.Time{}}
			if c.since > 0 {
				hot.Draining[leaving] = drainNow.Add(-c.since)
			}
			result := compileHot(t, c.edit, hot)
			if got := clusterHosts(t, result); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
			if got := result.Until; c.until == 0 != got.IsZero() || c.until > 0 && !got.Equal(drainNow.Add(c.until)) {
				t.Errorf("until %v, want %v from %v", got, c.until, drainNow)
			}
			if !slices.Equal(result.Draining, []HostKey{leaving}) {
				t.Errorf("draining: %v", result.Draining)
			}
			for _, w := range result.Warnings {
				if strings.Contains(w.Message, "not supported") && strings.Contains(w.Path, "drain") {
					t.Errorf("reported: %v", w)
				}
			}
		})
	}
}

// readDrainDocument gives the document with texts replaced.
func readDrainDocument(t *testing.T, edits ...[2]string) []Source {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", drainDocument))
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text)
	for _, e := range edits {
		if !strings.Contains(edited, e[0]) {
			t.Fatalf("%s does not have %q", drainDocument, e[0])
		}
		edited = strings.Replace(edited, e[0], e[1], 1)
	}
	return []Source{{Name: drainDocument, Data: []byte(edited)}}
}

func compileHot(t *testing.T, edit [2]string, hot *Served) *Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", drainDocument))
	if err != nil {
		t.Fatal(err)
	}
	edited := string(text)
	if edit[0] != "" {
		if edited = strings.Replace(edited, edit[0], edit[1], 1); edited == string(text) {
			t.Fatalf("%s does not have %q", drainDocument, edit[0])
		}
	}
	result, err := Compile([]Source{{Name: drainDocument, Data: []byte(edited)}}, Options{Time: drainNow, Envoy: &EnvoyOptions{ModulePath: "limpet.wasm", Served: hot}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// clusterHosts are the addresses in each cluster, with a star on those that drain.
func clusterHosts(t *testing.T, result *Result) string {
	t.Helper()
	var clusters []string
	for c := range result.Served[0].Endpoints.All() {
		assignment := &endpointv3.ClusterLoadAssignment{}
		remaining, err := envoy.LeaveOut(c.Content, c.Moved) // for who does not know whose those are
		if err != nil {
			t.Fatal(err)
		}
		if err := proto.Unmarshal(remaining, assignment); err != nil {
			t.Fatal(err)
		}
		text := c.Name + ":"
		for _, locality := range assignment.GetEndpoints() {
			for _, e := range locality.GetLbEndpoints() {
				at := e.GetEndpoint().GetAddress().GetSocketAddress()
				if at == nil { // Envoy's own answer, where there is nowhere else to go
					continue
				}
				text += " " + at.GetAddress()
				if e.GetHealthStatus() == corev3.HealthStatus_DRAINING {
					text += "*"
				}
			}
		}
		clusters = append(clusters, text)
	}
	return strings.Join(clusters, "; ")
}
