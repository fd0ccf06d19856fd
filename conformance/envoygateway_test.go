package conformance

// Envoy Gateway in limpet's place, for the tests of session persistence: it runs on this machine without a cluster, and
// reads no Services and EndpointSlices then, so routes get its own Backends with the same pods.

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	suitegrpc "sigs.k8s.io/gateway-api/conformance/utils/grpc"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"
)

const (
	egController = "gateway.envoyproxy.io/gatewayclass-controller"
	egGroup      = "gateway.envoyproxy.io"
	// egEntrance is the port of the suite's Gateway.
	egEntrance = "127.0.0.1:80"
	// egEnvoy is the version under which Envoy Gateway looks for Envoy.
	egEnvoy = "1.40.0"
)

// envoyGateway is the proxy of a controller.
type envoyGateway struct {
	program, envoy, dir string
	cmd                 *exec.Cmd
}

// newEnvoyGateway gives nil for no program.
func newEnvoyGateway(program, envoy, dir string) *envoyGateway {
	if program == "" {
		return nil
	}
	return &envoyGateway{program: program, envoy: envoy, dir: dir}
}

// redirected sends requests for any Gateway to the only one that there is.
func redirected(s *suite.ConformanceTestSuite) {
	s.RoundTripper = &roundtripper.DefaultRoundTripper{
		TimeoutConfig: s.TimeoutConfig,
		CustomDialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, egEntrance)
		},
	}
	s.GRPCClient = redirectedGRPC{}
}

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

// feed gives Envoy Gateway what the test has applied, and starts it where it does not run.
func (g *envoyGateway) feed(ctx context.Context, c client.Client) {
	docs := []unstructured.Unstructured{}
	for _, o := range list(ctx, c, schema.GroupVersionKind{Group: gw, Version: "v1", Kind: "Gateway"}) {
		if o.GetName() == "same-namespace" {
			docs = append(docs, o)
		}
	}
	backends := map[string]unstructured.Unstructured{}
	for _, kind := range []string{"HTTPRoute", "GRPCRoute"} {
		for _, o := range list(ctx, c, schema.GroupVersionKind{Group: gw, Version: "v1", Kind: kind}) {
			g.replaceServices(ctx, c, &o, backends)
			docs = append(docs, o)
		}
	}
	for _, b := range backends {
		docs = append(docs, b)
	}
	text := egClass
	for _, o := range docs {
		delete(o.Object, "status")
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		raw, _ := yaml.Marshal(o.Object)
		text += string(raw) + "---\n"
	}
	if g.cmd == nil {
		if err := g.start(); err != nil {
			fmt.Println("harness:", err)
			return
		}
	}
	write(filepath.Join(g.dir, "eg", "res", "all.yaml"), g.certificate()+text)
}

// replaceServices makes Backends of the Services that a route names.
func (g *envoyGateway) replaceServices(ctx context.Context, c client.Client, route *unstructured.Unstructured, backends map[string]unstructured.Unstructured) {
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	for _, r := range rules {
		refs, _, _ := unstructured.NestedSlice(r.(map[string]any), "backendRefs")
		for _, ref := range refs {
			ref := ref.(map[string]any)
			name := ref["name"].(string)
			backends[name] = g.backend(ctx, c, route.GetNamespace(), name)
			ref["group"], ref["kind"] = egGroup, "Backend"
			delete(ref, "port")
		}
		r.(map[string]any)["backendRefs"] = refs
	}
	_ = unstructured.SetNestedSlice(route.Object, rules, "spec", "rules")
}

// backend gives a Backend with the pods of the suite's Service of that name.
func (g *envoyGateway) backend(ctx context.Context, c client.Client, namespace, name string) unstructured.Unstructured {
	var pods corev1.PodList
	_ = c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": name})
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

// start runs Envoy Gateway, with the harness' Envoy where it would have downloaded one.
func (g *envoyGateway) start() error {
	home := filepath.Join(g.dir, "eg")
	bin := filepath.Join(home, "data", "envoy-versions", egEnvoy, "bin", "envoy")
	if err := os.MkdirAll(filepath.Dir(bin), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(bin, []byte("#!/bin/sh\nexec "+g.envoy+" --use-dynamic-base-id \"$@\"\n"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "eg.yaml"), fmt.Appendf(nil, egConfiguration, home), 0o600); err != nil {
		return err
	}
	environment := append(slices.Clone(os.Environ()), "HOME="+home)
	certgen := exec.Command(g.program, "certgen", "--local", "--config-home", filepath.Join(home, "config"))
	certgen.Env = environment
	if out, err := certgen.CombinedOutput(); err != nil {
		return fmt.Errorf("certgen: %w: %s", err, out)
	}
	if err := os.MkdirAll(filepath.Join(home, "res"), 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(g.dir, "run.log"))
	if err != nil {
		return err
	}
	g.cmd = exec.Command(g.program, "server", "--config-path", filepath.Join(home, "eg.yaml"))
	g.cmd.Env, g.cmd.Stdout, g.cmd.Stderr = environment, log, log
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return g.cmd.Start()
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
	if g.cmd == nil {
		return
	}
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
