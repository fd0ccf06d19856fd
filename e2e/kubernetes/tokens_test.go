package kubernetes

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// token asks the API server for a token of a service account, which is made if there is none.
func (c *cluster) token(t *testing.T, namespace, account, audience string) string {
	t.Helper()
	c.set(t, fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s, namespace: %s}\n", account, namespace))
	client, err := typedcorev1.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &seconds}}
	answer, err := client.ServiceAccounts(namespace).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// ending is a token that says the same as another one, and ends at a time. The API server's own key signs it.
func (c *cluster) ending(t *testing.T, token string, at time.Time) string {
	t.Helper()
	parts := strings.Split(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(text, &claims); err != nil {
		t.Fatal(err)
	}
	claims["exp"], claims["iat"], claims["nbf"] = at.Unix(), at.Add(-time.Hour).Unix(), at.Add(-time.Hour).Unix()
	if text, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(readFile(t, filepath.Join(c.Folder, "sa.key"))))
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(text)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// setTLSSecret writes what an authority issues to limpet into a Secret, and gives the folder of the files.
func (c *cluster) setTLSSecret(t *testing.T, name string, authority, clients *harness.Authority) (folder string) {
	t.Helper()
	folder = t.TempDir()
	authority.Issue(t, folder, "server", "localhost", "")
	clients.Issue(t, folder, "edge", "", "spiffe://limpet/ns/default/gateway/edge")
	c.set(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: default}\ntype: kubernetes.io/tls\nstringData:\n  tls.crt: %q\n  tls.key: %q\n  ca.crt: %q\n",
		name, readFile(t, folder+"/server.crt"), readFile(t, folder+"/server.key"), readFile(t, folder+"/edge-ca.crt")))
	return folder
}

// leeway is for how long an API server takes a token that has ended.
const leeway = time.Minute

// askAs asks limpet for clusters with a header and as a node, and gives how many came.
func askAs(t *testing.T, address string, config *tls.Config, token, cluster string) (clusters int, err error) {
	t.Helper()
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
	}
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(ctx)
	if err != nil {
		return 0, err
	}
	err = stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: "stranger", Cluster: cluster}, TypeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err // else Recv says why the connection has ended
	}
	answer, err := stream.Recv()
	return len(answer.GetResources()), err
}

// replace puts a text in the place of a file, as kubelet does.
func replace(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

// TestTokens: an Envoy shows a token of its Gateway's service account in place of a certificate, and the next one when it has ended.
// Whoever has none, or another one, gets nothing.
func TestTokens(t *testing.T) {
	c, port := openShop(t, "10.244.0.1")
	for name, annotation := range map[string]string{"other": "", "named": "limpet.dev/proxy-service-account: envoys"} {
		c.set(t, fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: %s, namespace: default, annotations: {%s}}\n"+
			"spec: {gatewayClassName: limpet, listeners: [{name: http, protocol: HTTP, port: 8081}]}\n", name, annotation))
		defer c.remove(t, object("gateway.networking.k8s.io/v1", "Gateway", "default", name))
	}
	authority := harness.NewAuthority(t)
	folder := c.setTLSSecret(t, "xds-tls", authority, harness.NewAuthority(t))
	const audience = "limpet.dev"
	good := c.token(t, "default", "limpet-edge", audience)
	ends := time.Now().Add(15 * time.Second)
	file := filepath.Join(folder, "token")
	replace(t, file, c.ending(t, good, ends.Add(-leeway)))
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default",
		"--tls-cert", "secret/xds-tls", "--token-audience", audience)
	envoy := s.Bootstrap(t, "--token-file", file, "--tls-ca", filepath.Join(folder, "server-ca.crt"), "--server-name", "localhost").Start(t)
	s.AwaitAcknowledged(t)
	client := envoy.Client()
	client.Get(t, "/cart")

	config := &tls.Config{ServerName: "localhost", RootCAs: authority.Pool()}
	pair, err := tls.LoadX509KeyPair(folder+"/edge.crt", folder+"/edge.key")
	if err != nil {
		t.Fatal(err)
	}
	certified := &tls.Config{ServerName: "localhost", RootCAs: authority.Pool(), Certificates: []tls.Certificate{pair}}
	c.set(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: elsewhere}\n")
	for name, one := range map[string]struct {
		config         *tls.Config
		token, cluster string
		want           codes.Code
	}{
		"its own":                      {config, good, "default/edge", codes.OK},
		"named by the annotation":      {config, c.token(t, "default", "envoys", audience), "default/named", codes.OK},
		"none":                         {config, "", "default/edge", codes.PermissionDenied},
		"no token":                     {config, "abc", "default/edge", codes.PermissionDenied},
		"expired":                      {config, c.ending(t, good, time.Now().Add(-2*leeway)), "default/edge", codes.PermissionDenied},
		"for another audience":         {config, c.token(t, "default", "limpet-edge", "elsewhere"), "default/edge", codes.PermissionDenied},
		"a forged signature":           {config, good[:len(good)-8] + "AAAAAAAA", "default/edge", codes.PermissionDenied},
		"another's, and his name":      {config, c.token(t, "default", "limpet-other", audience), "default/edge", codes.PermissionDenied},
		"its own, and another's name":  {config, good, "default/other", codes.PermissionDenied},
		"not the annotated one":        {config, c.token(t, "default", "limpet-named", audience), "default/named", codes.PermissionDenied},
		"its own, and no Gateway":      {config, good, "edge", codes.PermissionDenied},
		"its own, and an unknown one":  {config, good, "default/nowhere", codes.PermissionDenied},
		"of another namespace":         {config, c.token(t, "elsewhere", "limpet-edge", audience), "default/edge", codes.PermissionDenied},
		"a certificate no one asks of": {certified, "", "default/edge", codes.PermissionDenied},
	} {
		clusters, err := askAs(t, s.Listen, one.config, one.token, one.cluster)
		if status.Code(err) != one.want || (clusters > 0) != (err == nil && one.cluster == "default/edge") {
			t.Errorf("%s: %d clusters, %v; want %v", name, clusters, err, one.want)
		}
	}

	time.Sleep(time.Until(ends.Add(time.Second)))
	s.Kill(t)
	s.ServeAgain(t)
	eventually(t, "the token that has ended is refused", func() bool { return strings.Contains(s.Output(), "the token is not valid, or not any more") })
	client.Get(t, "/cart")
	replace(t, file, good)
	s.AwaitEnvoy(t, "e2e", func(e harness.ServedEnvoy) bool { return e.Generation != "" && e.Generation == e.Target })
	c.set(t, strings.ReplaceAll(shopAt(port), "/cart", "/basket"))
	eventually(t, "a change is live", func() bool { return envoy.Stranger().Get(t, "/basket").Status == 200 })
	for _, secret := range strings.Split(good, ".")[1:] {
		if strings.Contains(s.Output(), secret) {
			t.Error("a token is in the log")
		}
	}
}

// TestTLSInSecret: what limpet shows, and whom it asks for, come from a Secret. When they are others, Envoys that are connected go on,
// and connections that begin are judged by the new ones; a broken Secret changes nothing.
func TestTLSInSecret(t *testing.T) {
	c, port := openShop(t, "10.244.0.1")
	first, second := harness.NewAuthority(t), harness.NewAuthority(t)
	folder := c.setTLSSecret(t, "xds-mtls", first, first)
	s := harness.ServeCluster(t, c.Kubeconfig(standin.AdminToken), port, harness.NewRing("k"), "--system-namespace", "default", "--tls-cert", "secret/xds-mtls")
	envoy := s.Bootstrap(t, "--tls-cert", folder+"/edge.crt", "--tls-key", folder+"/edge.key", "--tls-ca", folder+"/server-ca.crt",
		"--server-name", "localhost").Start(t)
	s.AwaitAcknowledged(t)

	next := c.setTLSSecret(t, "xds-mtls", second, second)
	as := func(folder string, authority *harness.Authority) error {
		pair, err := tls.LoadX509KeyPair(folder+"/edge.crt", folder+"/edge.key")
		if err != nil {
			t.Fatal(err)
		}
		_, err = askAs(t, s.Listen, &tls.Config{ServerName: "localhost", RootCAs: authority.Pool(), Certificates: []tls.Certificate{pair}}, "", "default/edge")
		return err
	}
	eventually(t, "the new certificate is shown, and a client's of the new authority taken", func() bool { return as(next, second) == nil })
	if err := as(folder, second); status.Code(err) != codes.Unavailable {
		t.Errorf("a client of the authority of before: %v", err)
	}
	if err := as(next, first); status.Code(err) != codes.Unavailable {
		t.Errorf("the certificate of before is shown: %v", err)
	}
	c.set(t, strings.ReplaceAll(shopAt(port), "/cart", "/basket"))
	eventually(t, "a change reaches the Envoy that was connected", func() bool { return envoy.Stranger().Get(t, "/basket").Status == 200 })
	if strings.Contains(s.Output(), "Envoy disconnected\" gateway=default/edge node=e2e") {
		t.Error("the Envoy had to come back")
	}

	c.set(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: xds-mtls, namespace: default}\ntype: kubernetes.io/tls\nstringData: {ca.crt: none}\n")
	eventually(t, "the broken Secret is told", func() bool { return strings.Contains(s.Output(), "a Secret is invalid, and what it held before stays") })
	if err := as(next, second); err != nil {
		t.Errorf("a broken Secret changes something: %v", err)
	}
}
