package conformance

// Envoy Gateway for the tests of session persistence: it runs on this machine and reads files, and no Services and EndpointSlices
// then, so routes get its own Backends with the same pods. Whether a route is accepted is limpet's word.

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/gateway-api/apis/v1"
	suitegrpc "sigs.k8s.io/gateway-api/conformance/utils/grpc"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/conformance/sessionpersistence"
)

const (
	egController = "gateway.envoyproxy.io/gatewayclass-controller"
	egGroup      = "gateway.envoyproxy.io"
	// egEntrance is the port of the suite's Gateway.
	egEntrance = "127.0.0.1:80"
	// egEnvoy is the version under which Envoy Gateway looks for Envoy.
	egEnvoy = "1.40.0"
)

// TestEnvoyGateway runs the tests of session persistence in rules on Envoy Gateway.
func TestEnvoyGateway(t *testing.T) {
	w := newWorld(t, egController)
	g := &envoyGateway{program: env(t, "ENVOY_GATEWAY"), envoy: env(t, "ENVOY"), dir: env(t, "OUT"), c: w.c}
	g.start(t)
	t.Run("rule", func(t *testing.T) {
		o := w.newOptions(t)
		o.RoundTripper = &roundtripper.DefaultRoundTripper{
			TimeoutConfig: o.TimeoutConfig,
			CustomDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, egEntrance)
			},
		}
		o.GRPCClient = redirectedGRPC{}
		runSessions(t, o, sessionpersistence.InRule)
	})
}

// redirectedGRPC sends calls for any Gateway to the only one that there is.
type redirectedGRPC struct{}

func (redirectedGRPC) SendRPC(t *testing.T, _ string, expected suitegrpc.ExpectedResponse, timeout time.Duration) (*suitegrpc.Response, error) {
	c := &suitegrpc.DefaultClient{}
	defer c.Close()
	return c.SendRPC(t, egEntrance, expected, timeout)
}

func (redirectedGRPC) Close() {}

const egConfiguration = `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyGateway
gateway: {controllerName: ` + egController + `}
provider:
  type: Custom
  custom:
    resource: {type: File, file: {paths: [%[1]s/res]}}
    infrastructure: {type: Host, host: {configHome: %[1]s/config, dataHome: %[1]s/data, stateHome: %[1]s/state, runtimeDir: %[1]s/run}}
extensionApis: {enableBackend: true}
`

const egClass = `apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ` + class + `}
spec:
  controllerName: ` + egController + `
  parametersRef: {group: gateway.envoyproxy.io, kind: EnvoyProxy, name: host, namespace: envoy-gateway-system}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: EnvoyProxy
metadata: {name: host, namespace: envoy-gateway-system}
spec: {provider: {type: Host, host: {envoyVersion: ` + egEnvoy + `}}, concurrency: 2}
---
`

// envoyGateway is Envoy Gateway with its Envoy.
type envoyGateway struct {
	program, envoy, dir string
	c                   client.Client
	cmd                 *exec.Cmd
}

// read gives what the test has applied, for Envoy Gateway.
func (g *envoyGateway) read(ctx context.Context) (string, error) {
	docs := []unstructured.Unstructured{}
	backends := map[string]unstructured.Unstructured{}
	for _, kind := range []string{"Gateway", "HTTPRoute", "GRPCRoute"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(v1.GroupVersion.String())
		list.SetKind(kind + "List")
		if err := g.c.List(ctx, list); err != nil {
			return "", err
		}
		for _, o := range list.Items {
			if kind != "Gateway" {
				g.replaceServices(ctx, &o, backends)
			}
			if kind != "Gateway" || o.GetName() == "same-namespace" {
				docs = append(docs, o)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		docs = append(docs, backends[name])
	}
	text := g.certificate() + egClass
	for _, o := range docs {
		delete(o.Object, "status")
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		raw, err := yaml.Marshal(o.Object)
		if err != nil {
			return "", err
		}
		text += string(raw) + "---\n"
	}
	return text, nil
}

// follow gives Envoy Gateway what changes.
func (g *envoyGateway) follow(ctx context.Context) {
	last := ""
	for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		text, err := g.read(ctx)
		if err != nil || text == last {
			continue
		}
		next := filepath.Join(g.dir, "eg", "next.yaml")
		if err := errors.Join(os.WriteFile(next, []byte(text), 0o600), os.Rename(next, filepath.Join(g.dir, "eg", "res", "all.yaml"))); err != nil {
			fmt.Println("harness:", err)
			continue
		}
		last = text
	}
}

// replaceServices makes Backends of the Services that a route names.
func (g *envoyGateway) replaceServices(ctx context.Context, route *unstructured.Unstructured, backends map[string]unstructured.Unstructured) {
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, r := range rules {
		refs, _, _ := unstructured.NestedSlice(r.(map[string]any), "backendRefs")
		for _, ref := range refs {
			ref := ref.(map[string]any)
			name := ref["name"].(string)
			backends[name] = g.backend(ctx, route.GetNamespace(), name)
			ref["group"], ref["kind"] = egGroup, "Backend"
			delete(ref, "port")
		}
		r.(map[string]any)["backendRefs"] = refs
	}
	_ = unstructured.SetNestedSlice(route.Object, rules, "spec", "rules")
}

// backend gives a Backend with the pods of the suite's Service of that name.
func (g *envoyGateway) backend(ctx context.Context, namespace, name string) unstructured.Unstructured {
	var pods corev1.PodList
	_ = g.c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": name})
	endpoints := []any{}
	for _, p := range pods.Items {
		endpoints = append(endpoints, map[string]any{"ip": map[string]any{"address": p.Status.PodIP, "port": int64(3000)}})
	}
	spec := map[string]any{"endpoints": endpoints}
	if strings.HasPrefix(name, "grpc-") {
		spec["appProtocols"] = []any{"gateway.envoyproxy.io/h2c"}
	}
	return unstructured.Unstructured{Object: map[string]any{
		"apiVersion": egGroup + "/v1alpha1", "kind": "Backend",
		"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": spec,
	}}
}

// start runs Envoy Gateway until the test ends, with the harness' Envoy where it would have downloaded one.
func (g *envoyGateway) start(t *testing.T) {
	t.Helper()
	home := filepath.Join(g.dir, "eg")
	bin := filepath.Join(home, "data", "envoy-versions", egEnvoy, "bin", "envoy")
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.RemoveAll(home))
	check(os.MkdirAll(filepath.Dir(bin), 0o755))
	check(os.MkdirAll(filepath.Join(home, "res"), 0o755))
	check(os.WriteFile(bin, []byte("#!/bin/sh\nexec "+g.envoy+" --use-dynamic-base-id \"$@\"\n"), 0o755))
	check(os.WriteFile(filepath.Join(home, "eg.yaml"), fmt.Appendf(nil, egConfiguration, home), 0o600))
	environment := append(os.Environ(), "HOME="+home)
	certgen := exec.Command(g.program, "certgen", "--local", "--config-home", filepath.Join(home, "config"))
	certgen.Env = environment
	if out, err := certgen.CombinedOutput(); err != nil {
		t.Fatalf("certgen: %v\n%s", err, out)
	}
	log, err := os.Create(filepath.Join(g.dir, "envoy-gateway.log"))
	check(err)
	defer log.Close()
	ctx, stop := context.WithCancel(context.Background())
	g.cmd = exec.Command(g.program, "server", "--config-path", filepath.Join(home, "eg.yaml"))
	g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr = environment, log, log
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	check(g.cmd.Start())
	var following sync.WaitGroup
	following.Go(func() { g.follow(ctx) })
	t.Cleanup(func() {
		stop()
		following.Wait()
		g.stop()
	})
}

// certificate is the Secret that Envoy Gateway looks for at its start.
func (g *envoyGateway) certificate() string {
	data := map[string]any{}
	for _, name := range []string{"ca.crt", "tls.crt", "tls.key"} {
		raw, _ := os.ReadFile(filepath.Join(g.dir, "eg", "config", "certs", "envoy", name))
		data[name] = base64.StdEncoding.EncodeToString(raw)
	}
	raw, _ := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data,
		"metadata": map[string]any{"name": "envoy", "namespace": "envoy-gateway-system"},
	})
	return string(raw) + "---\n"
}

// stop ends Envoy Gateway, which ends its Envoy.
func (g *envoyGateway) stop() {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	ended := make(chan struct{})
	go func() { _ = g.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
}
