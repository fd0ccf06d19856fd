// Package conformance runs the tests of Gateway API's own suite, unmodified, on limpet and a real Envoy. There is no cluster: a
// fake client keeps the objects, a kubelet of a few lines starts the suite's echo servers on loopback addresses, and a
// controller hands the objects to "limpet run --watch" and the statuses of "limpet check -o yaml" back.
package conformance

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/conformance"
	"sigs.k8s.io/gateway-api/conformance/tests"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	suitekube "sigs.k8s.io/gateway-api/conformance/utils/kubernetes"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/conformance/utils/websocket"
	"sigs.k8s.io/gateway-api/pkg/features"

	"github.com/limpet-proxy/limpet/conformance/sessionpersistence"
)

const (
	class  = "limpet"
	ctl    = "limpet.dev/gateway-controller"
	inBase = "base/manifests.yaml"
	infra  = suite.InfrastructureNamespace
)

// leftOut are the features of which limpet has nothing: no test of theirs says anything about it.
var leftOut = []features.FeatureName{features.SupportMesh}

func timeouts() config.TimeoutConfig {
	wait := 10 * time.Second
	if d, err := time.ParseDuration(os.Getenv("WAIT")); err == nil {
		wait = d
	}
	tc := config.DefaultTimeoutConfig()
	for _, d := range []*time.Duration{
		&tc.GatewayMustHaveAddress, &tc.GatewayMustHaveCondition, &tc.GatewayStatusMustHaveListeners, &tc.GatewayListenersMustHaveConditions,
		&tc.GWCMustBeAccepted, &tc.HTTPRouteMustNotHaveParents, &tc.HTTPRouteMustHaveCondition, &tc.TLSRouteMustHaveCondition, &tc.RouteMustHaveParents,
		&tc.MaxTimeToConsistency, &tc.NamespacesMustBeReady, &tc.LatestObservedGenerationSet, &tc.DefaultTestTimeout,
	} {
		*d = wait
	}
	return tc
}

// programmatic makes what suite.Setup makes beside the base manifests, once.
func programmatic(t *testing.T) []client.Object {
	const web, app = suite.WebBackendNamespace, suite.AppBackendNamespace
	var all []client.Object
	add := func(o ...client.Object) { all = append(all, o...) }
	add(suitekube.MustCreateSelfSignedCertSecret(t, web, "certificate", []string{"*"}))
	add(suitekube.MustCreateSelfSignedCertSecret(t, infra, "tls-validity-checks-certificate", []string{"*", "*.org", "*.wildcard.org"}))
	cm, _, _ := suitekube.MustCreateCACertConfigMap(t, web, "web-backend-cm")
	add(cm)
	cm, ca, key := suitekube.MustCreateCACertConfigMap(t, infra, "tls-validity-checks-ca-certificate")
	add(cm, suitekube.MustCreateCASignedClientCertSecret(t, infra, "tls-validity-checks-client-certificate", ca, key))
	cm, ca, key = suitekube.MustCreateCACertConfigMap(t, infra, "tls-validity-checks-per-port-ca-certificate")
	add(cm, suitekube.MustCreateCASignedClientCertSecret(t, infra, "tls-validity-checks-per-port-client-certificate", ca, key))
	cm, ca, key = suitekube.MustCreateCACertConfigMap(t, infra, "tls-checks-ca-certificate")
	add(cm, suitekube.MustCreateCASignedCertSecret(t, infra, "tls-checks-certificate", []string{"abc.example.com", "spiffe://abc.example.com/test-identity", "other.example.com"}, ca, key))
	add(suitekube.MustCreateCASignedClientCertSecret(t, infra, "tls-checks-client-certificate", ca, key))
	add(suitekube.MustCreateCASignedCertSecret(t, infra, "tls-passthrough-checks-certificate", []string{"abc.example.com"}, ca, key))
	add(suitekube.MustCreateCASignedCertSecret(t, app, "tls-passthrough-checks-certificate", []string{"abc.example.com"}, ca, key))
	add(suitekube.MustCreateCASignedCertSecret(t, infra, "tls-terminate-checks-certificate", []string{"tls.example.com"}, ca, key))
	cm, _, _ = suitekube.MustCreateCACertConfigMap(t, infra, "mismatch-ca-certificate")
	add(cm)
	return all
}

func env(t *testing.T, name string) string {
	v, err := filepath.Abs(os.Getenv(name))
	if err != nil || os.Getenv(name) == "" {
		t.Fatal("set " + name)
	}
	return v
}

func TestConformance(t *testing.T) {
	limpet, wasm, envoy := env(t, "LIMPET"), env(t, "WASM"), env(t, "ENVOY")
	echo, out, crds := env(t, "ECHO"), env(t, "OUT"), env(t, "CRDS")
	srv := &server{scheme: newScheme(), crds: loadCRDs(crds)}
	kube := newKubelet(echo, out)
	defer kube.stop()
	logs := kube.logs()
	defer logs.Close()
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: logs.URL, QPS: 100, Burst: 200})
	if err != nil {
		t.Fatal(err)
	}
	secrets := programmatic(t)
	base, err := conformance.Manifests.ReadFile(inBase)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, w := range strings.Split(os.Getenv("TESTS"), ",") {
		if w != "" {
			want[w] = true
		}
	}
	claimed := suite.FeaturesSet{}
	all := slices.Concat(tests.ConformanceTests, sessionpersistence.Tests(sessionpersistence.InRule), sessionpersistence.Tests(sessionpersistence.InBackend))
	if os.Getenv("ENVOY_GATEWAY") != "" {
		all = sessionpersistence.Tests(sessionpersistence.InRule)
	}
	for _, ct := range all {
		if of := (suite.FeaturesSet{}); !of.Insert(ct.Features...).HasAny(leftOut...) {
			claimed.Insert(ct.Features...)
		}
	}
	for _, ct := range all {
		if len(want) > 0 && !want[ct.ShortName] || !claimed.HasAll(ct.Features...) {
			continue
		}
		t.Run(ct.ShortName, func(t *testing.T) {
			names := []string{}
			for _, f := range ct.Features {
				names = append(names, string(f))
			}
			fmt.Printf("harness: features %s: %s\n", ct.ShortName, strings.Join(names, ","))
			dir := filepath.Join(out, ct.ShortName)
			_ = os.RemoveAll(dir)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			c, ctx := srv.client(), context.Background()
			tc := timeouts()
			s := &suite.ConformanceTestSuite{
				Client: c, Clientset: cs, RoundTripper: &roundtripper.DefaultRoundTripper{TimeoutConfig: tc},
				WebSocketDialer: &websocket.DefaultDialer{}, TimeoutConfig: tc,
				ControllerName: ctl, GatewayClassName: class, BaseManifests: inBase, CleanupTestResources: true, DisableParallelTests: true,
				SupportedFeatures:      claimed,
				UsableNetworkAddresses: []v1.GatewaySpecAddress{{Value: "127.0.3.200"}}, UnusableNetworkAddresses: []v1.GatewaySpecAddress{{Value: "192.0.2.1"}},
			}
			other := os.Getenv("ENVOY_GATEWAY")
			if other != "" {
				s.ControllerName = egController
				redirected(s)
			}
			s.ManifestFS = []fs.FS{fstest.MapFS{inBase: {Data: base}}, onlyTests{}, sessionpersistence.Manifests}
			s.Applier = suitekube.Applier{
				ManifestFS: s.ManifestFS, GatewayClass: class, ControllerName: s.ControllerName,
				UsableNetworkAddresses: s.UsableNetworkAddresses, UnusableNetworkAddresses: s.UnusableNetworkAddresses,
			}
			if err := c.Create(ctx, &v1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: v1.GatewayClassSpec{ControllerName: v1.GatewayController(s.ControllerName)}}); err != nil {
				t.Fatal(err)
			}
			s.Applier.MustApplyWithCleanup(t, c, tc, inBase, false)
			for _, o := range secrets {
				if err := c.Create(ctx, o.DeepCopyObject().(client.Object)); err != nil {
					t.Fatal(err)
				}
			}
			r := &controller{limpet: limpet, other: newEnvoyGateway(other, envoy, dir), wasm: wasm, envoy: envoy, dir: dir, c: c, k: kube, addresses: map[string]string{}}
			loop, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			start := func() {
				go func() {
					defer close(ended)
					for loop.Err() == nil {
						r.tick(loop)
						time.Sleep(50 * time.Millisecond)
					}
				}()
			}
			// Cleanups run last in, first out: the suite's own deletions come before this.
			t.Cleanup(func() {
				cancel()
				<-ended
				r.stop()
				r.mu.Lock()
				defer r.mu.Unlock()
				_ = os.WriteFile(filepath.Join(dir, "refused.txt"), []byte(r.refused), 0o644)
				fmt.Printf("harness: checks %s: %d, %d ms\n", ct.ShortName, r.checks, r.ms)
			})
			// What limpet says at the end of the test, before the suite deletes what it made, is refused.end.txt.
			start()
			began := time.Now()
			test := ct
			body := test.Test
			test.Test = func(t *testing.T, s *suite.ConformanceTestSuite) {
				// after the parallel subtests, before the suite deletes what it made
				t.Cleanup(func() {
					r.mu.Lock()
					text := r.refused
					r.mu.Unlock()
					_ = os.WriteFile(filepath.Join(dir, "refused.end.txt"), []byte(text), 0o644)
				})
				body(t, s)
			}
			test.Run(t, s)
			fmt.Printf("harness: took %s: %d ms\n", ct.ShortName, time.Since(began).Milliseconds())
		})
	}
}

// onlyTests is the suite's file system without the base manifests: those come from base above.
type onlyTests struct{}

func (onlyTests) Open(name string) (fs.File, error) {
	if name == inBase {
		return nil, fs.ErrNotExist
	}
	return conformance.Manifests.Open(name)
}
