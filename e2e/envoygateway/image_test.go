package envoygateway

import (
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
)

// startRegistry starts an OCI registry over plain HTTP, where the documentation has one.
func startRegistry(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:5000")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
}

// one is an input with a single route.
func one() string {
	return base + backends(map[string][]string{"blue": backendHosts["blue"]}, "") +
		makeRoute("HTTPRoute", "shop", "shop.test", "  - sessionPersistence: {sessionName: cart}\n    backendRefs: ["+makeRef("blue", 1)+"]\n")
}

// TestImage loads the module from an image that the shipped limpet has pushed, with the keys in Envoy's environment.
func TestImage(t *testing.T) {
	startRegistry(t)
	startBackends(t)
	image := strings.TrimSpace(limpet(t, "", nil, "image", "push", "--insecure", "127.0.0.1:5000/limpet:v1"))
	manifest := compile(t, fenced(), nil, "--wasm-url", "oci://"+image)
	p := start(t, with(t, manifest, fenced()), "LIMPET_KEYS="+strings.TrimSpace(limpet(t, "", nil, "keygen")))
	p.serves(t, "shop.test/")
	p.serves(t, "plain.test/")
	checkSticks(t, "shop.test/")
	checkHidden(t, "shop.test/")
	checkFence(t, true)
}

// TestOwnEnvoyProxy is for Gateways without an EnvoyProxy: limpet makes one, which is merged with that of the class.
func TestOwnEnvoyProxy(t *testing.T) {
	serveModule(t)
	startBackend(t, "127.0.1.1")
	startBackend(t, "127.0.1.2")
	_, rest, _ := strings.Cut(one(), entry)
	manifest := compile(t, entry+rest, nil, "--wasm-url", wasmURL, "--keys", ring(t, newKey(t, "one")), "--keys-in-clear")
	// Envoy Gateway takes an EnvoyProxy of a Gateway that says nothing of a provider for one on Kubernetes.
	manifest = edited(t, manifest, "EnvoyProxy", "limpet-web", func(d object) {
		d["spec"].(object)["provider"] = object{"type": "Host", "host": object{"envoyVersion": envoyVersion}}
	})
	// The file provider takes one EnvoyProxy from each file.
	own, others := parted(t, with(t, manifest, one()), func(d object) bool { return d["kind"] == "EnvoyProxy" && nameOf(d) == "limpet-web" })
	p := &controlPlane{home: t.TempDir()}
	p.write(t, "res/own.yaml", own)
	p.start(t, others)
	p.serves(t, "shop.test/")
	eventually(t, "sessions stick", func() bool { return sticks(t, "shop.test/") })
	checkHidden(t, "shop.test/")
}
