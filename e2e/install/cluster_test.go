package install

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// cluster is a control plane with its controllers, and a node.
type cluster struct {
	*standin.Plane
	limpet string // the program
}

// startCluster starts a cluster for a test. Nothing of limpet or of Gateway API is in it. Flags are the API server's.
func startCluster(t *testing.T, flags ...string) *cluster {
	t.Helper()
	return startClusterWith(t, buildLimpet(t, t.TempDir()), flags...)
}

// startClusterWith is startCluster with a program that the image of limpet has.
func startClusterWith(t *testing.T, limpet string, flags ...string) *cluster {
	t.Helper()
	envoy := os.Getenv("ENVOY")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	plane, err := standin.StartPlane(standin.Options{
		Files: map[string]string{"audit.yaml": auditPolicy},
		Flags: append([]string{"--audit-policy-file=audit.yaml", "--audit-log-path=audit.log"}, flags...),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	node, err := plane.StartNode(map[string]standin.Image{
		"limpet":       {Files: map[string]string{"/usr/local/bin/limpet": limpet}, Entrypoint: []string{"limpet"}, User: nonRoot}, // TestControllerImage
		"envoy":        {Files: map[string]string{"/usr/local/bin/envoy": envoy}, Libraries: true, Entrypoint: []string{"envoy"}, User: nonRoot},
		"limpet-envoy": {Files: map[string]string{"/usr/local/bin/envoy": envoy}, Libraries: true, Entrypoint: []string{"envoy"}, User: nonRoot},
		"echo-basic": {
			Files: map[string]string{"/echo": self}, Libraries: true, Entrypoint: []string{"/echo"}, User: nonRoot,
			Env: map[string]string{role: backendRole},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(node.Logs())
		}
		node.Stop()
	})
	if err := plane.StartControllers(); err != nil {
		t.Fatal(err)
	}
	return &cluster{Plane: plane, limpet: limpet}
}

// nonRoot is who runs what the images have.
const nonRoot = 65532

// buildLimpet builds what the image of limpet has: a program that needs nothing else.
func buildLimpet(t *testing.T, folder string) string {
	t.Helper()
	path := filepath.Join(folder, "limpet")
	build := exec.Command("go", "build", "-C", "../..", "-buildvcs=false", "-trimpath", "-tags", "kustomize_disable_go_plugin_support",
		"-ldflags", "-s -w -X main.version=v0.1.0", "-o", path, "./cmd/limpet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return path
}

// auditPolicy has the API server note each request of limpet.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: ["system:serviceaccount:limpet-system:limpet"]
- level: None
`

// request is what limpet has asked the API server for.
type request struct{ Verb, Group, Resource, Namespace, Name string }

// requests are those of limpet so far, and those that were refused.
func (c *cluster) requests(t *testing.T) (all, refused map[request]bool) {
	t.Helper()
	file, err := os.Open(filepath.Join(c.Folder, "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, refused = map[request]bool{}, map[request]bool{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var event struct {
			Verb           string
			ObjectRef      struct{ APIGroup, Resource, Subresource, Namespace, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			continue // the last line may not be whole
		}
		o := event.ObjectRef
		if o.Resource == "" {
			continue // discovery, which everyone may
		}
		r := request{event.Verb, o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), o.Namespace, o.Name}
		all[r] = true
		if event.ResponseStatus.Code == http.StatusForbidden {
			refused[r] = true
		}
	}
	return all, refused
}
