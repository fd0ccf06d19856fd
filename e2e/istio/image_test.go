package istio

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	wasmfilterv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/wasm/v3"
	"github.com/google/go-containerregistry/pkg/registry"
	"google.golang.org/protobuf/types/known/anypb"
	"istio.io/istio/pilot/pkg/model"
	"istio.io/istio/pilot/test/xds"
	"istio.io/istio/pkg/util/sets"
	"istio.io/istio/pkg/wasm"
)

// TestImage: what 'limpet image push' puts into a registry is what Istio's agent fetches and hands to Envoy, by the
// digest that 'limpet compile' writes; by any other digest Envoy gets a filter that lets nothing pass.
func TestImage(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://")
	image := at + "/limpet:1"
	if out, err := exec.Command(shipped.limpet, "image", "push", "--insecure", image).CombinedOutput(); err != nil {
		t.Fatalf("limpet image push: %v\n%s", err, out)
	}
	module, fetched := fetchedModule(t, at, "oci://"+image)
	if !fetched {
		t.Fatal("the agent has no wasm filter")
	}
	if want, err := os.ReadFile(shipped.wasm); err != nil || !bytes.Equal(module, want) {
		t.Errorf("the agent has a module of %d bytes, not the %d of dist/limpet.wasm (%v)", len(module), len(want), err)
	}
	if _, fetched = fetchedModule(t, at, "oci://"+image+"@sha256:"+strings.Repeat("0", 64)); fetched {
		t.Error("the agent takes an image of another digest")
	}
}

// fetchedModule gives what Istio's agent makes of the plugin's resource; false if that is no wasm filter.
func fetchedModule(t *testing.T, registry, url string, flags ...string) ([]byte, bool) {
	t.Helper()
	d := onVirtualService(t, "", append(flags, "--wasm-url", url)...)
	istio, kubernetes := sorted(t, d.input, d.compile(t))
	s := xds.NewFakeDiscoveryServer(t, xds.FakeOptions{ConfigString: istio, KubernetesObjectString: kubernetes, MeshConfig: plainMesh()})
	proxy := s.SetupProxy(&model.Proxy{
		Type: model.Router, ID: "gwpod." + rootNamespace, ConfigNamespace: rootNamespace, IPAddresses: []string{"127.0.0.1"}, Labels: gatewayLabels,
		Metadata: &model.NodeMetadata{Namespace: rootNamespace, Labels: gatewayLabels, IstioVersion: "1.31.0", ClusterID: "Kubernetes"},
	})
	names := plugins(proxy, s)
	found := s.ConfigGen.BuildExtensionConfiguration(proxy, s.PushContext(), names, nil)
	if len(found) != 1 {
		t.Fatalf("%d extensions by the names %v", len(found), names)
	}
	resource, err := anypb.New(found[0])
	if err != nil {
		t.Fatal(err)
	}
	cache := wasm.NewLocalFileCache(t.TempDir(), wasm.Options{
		HTTPRequestTimeout: time.Minute, HTTPRequestMaxRetries: 2, PurgeInterval: time.Hour, ModuleExpiry: time.Hour,
		InsecureRegistries: sets.New(registry),
	})
	t.Cleanup(cache.Cleanup)
	resources := []*anypb.Any{resource}
	if err := wasm.MaybeConvertWasmExtensionConfig(resources, cache); err != nil {
		return nil, false
	}
	return localModule(t, resources[0])
}

// plugins lists the names of the plugins for a proxy.
func plugins(proxy *model.Proxy, s *xds.FakeDiscoveryServer) (names []string) {
	for _, extensions := range s.PushContext().TrafficExtensions(proxy) {
		for _, e := range extensions {
			names = append(names, e.ResourceName)
		}
	}
	return names
}

// localModule reads the module that a converted resource names.
func localModule(t *testing.T, resource *anypb.Any) ([]byte, bool) {
	t.Helper()
	var extension corev3.TypedExtensionConfig
	if err := resource.UnmarshalTo(&extension); err != nil {
		t.Fatal(err)
	}
	var filter wasmfilterv3.Wasm
	if err := extension.TypedConfig.UnmarshalTo(&filter); err != nil {
		return nil, false // a filter that denies everything, by RBAC
	}
	module, err := os.ReadFile(filter.Config.GetVmConfig().Code.GetLocal().GetFilename())
	if err != nil {
		t.Fatal(err)
	}
	return module, true
}
