package e2e

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestShardsRefused: where an Envoy refuses what a host has got, that host stays as it was, and the Envoy's status names it; changes of all
// other hosts are live, also of one in the same shard. An Envoy that comes meanwhile has all hosts but that one, which no wildcard answers
// for. When it is mended all is as it should be.
func TestShardsRefused(t *testing.T) {
	t.Parallel()
	harness.RequireShards(t)
	const bad, routes = 5, 300
	beside := besideInShard(bad, routes)
	d := harness.Documents{Services: []harness.Service{{Name: "pods", Backends: harness.Backends(t, "a")}}}
	d.Routes = []harness.Route{{Name: "wild", Hostnames: []string{"*.example.com"}, Rules: []harness.Rule{harness.PlainRule("", "pods")}}}
	for i := range routes {
		d.Routes = append(d.Routes, harness.Route{
			Name: fmt.Sprintf("r%d", i), Hostnames: []string{shardHost(i)}, Rules: []harness.Rule{harness.PlainRule("odd"+fmt.Sprint(i), "pods")},
		})
	}
	s := harness.Serve(t, d, harness.NewRing("k"))
	bootstrap := s.Bootstrap(t)
	allowSmallPrograms(t, bootstrap)
	envoy := bootstrap.Start(t)
	s.AwaitAcknowledged(t)
	is := func(e *harness.Envoy, i int, path string, status int) {
		t.Helper()
		client := e.Client()
		client.Host = shardHost(i)
		eventually(t, fmt.Sprintf("%s%s is answered %d", shardHost(i), path, status), func() bool { return client.Get(t, path).Status == status })
	}
	good := s.Documents.YAML(t)
	change := func(i int, to string) string {
		return fmt.Sprintf("type: RegularExpression, value: %q", fmt.Sprintf(to, i))
	}
	text := good
	for _, i := range []int{bad, beside, beside + 1} {
		to := "/new%d"
		if i == bad {
			to = "/new%d/[a-z]{200}"
		}
		text = strings.Replace(text, fmt.Sprintf("type: PathPrefix, value: \"/odd%d\"}", i), change(i, to)+"}", 1)
	}
	s.SetText(t, text)
	status := s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return len(e.Rejected) > 0 })
	if r := status.Rejected[0]; len(status.Rejected) != 1 || !strings.HasSuffix(r.Name, "host "+shardHost(bad)) || !strings.Contains(r.Message, "RE2") {
		t.Errorf("rejected are %+v", status.Rejected)
	}
	is(envoy, beside, fmt.Sprintf("/new%d", beside), http.StatusOK)
	is(envoy, beside+1, fmt.Sprintf("/new%d", beside+1), http.StatusOK)
	is(envoy, bad, fmt.Sprintf("/odd%d", bad), http.StatusOK)
	envoy.Kill()
	envoy = bootstrap.Start(t)
	s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool {
		return len(e.Rejected) == 1 && e.Rejected[0].Name == status.Rejected[0].Name
	})
	is(envoy, beside, fmt.Sprintf("/new%d", beside), http.StatusOK)
	is(envoy, bad, "/", http.StatusNotFound)
	s.SetText(t, good)
	s.AwaitAcknowledged(t)
	is(envoy, bad, fmt.Sprintf("/odd%d", bad), http.StatusOK)
}

func shardHost(i int) string { return fmt.Sprintf("h%d.example.com", i) }

// besideInShard gives another of so many hosts with the same shard.
func besideInShard(one, hosts int) int {
	shard := func(i int) byte {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(shardHost(i)))
		sum := hash.Sum(nil)
		return sum[0] ^ sum[1] ^ sum[2] ^ sum[3]
	}
	for i := range hosts {
		if i != one && shard(i) == shard(one) {
			return i
		}
	}
	return -1
}

// allowSmallPrograms has an Envoy refuse expressions that limpet takes.
func allowSmallPrograms(t *testing.T, bootstrap *harness.Compiled) {
	t.Helper()
	path := filepath.Join(bootstrap.Dir, "envoy.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const name = "re2.max_program_size.error_level: "
	before, after, is := strings.Cut(string(text), name)
	_, after, _ = strings.Cut(after, "\n")
	if !is {
		t.Fatalf("the bootstrap has no %s:\n%s", name, text)
	}
	if err := os.WriteFile(path, []byte(before+name+"100\n"+after), 0o600); err != nil {
		t.Fatal(err)
	}
}
