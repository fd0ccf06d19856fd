package rollout

import (
	"encoding/base64"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// TestShow prints each file of a configuration so that people can read it, but for the signing keys.
func TestShow(t *testing.T) {
	shown := map[string]string{}
	for _, s := range Initial(oneRoute.compile(t)) {
		for _, f := range s.Files {
			text, err := Show(f.Data)
			if err != nil || !strings.Contains(string(text), "version_info: "+f.Version) {
				t.Errorf("%s: %v\n%s", f.Path, err, text)
			}
			shown[f.Path] = string(text)
		}
	}
	for path, want := range map[string]string{
		rds + "80.pb":                 `'[{"scope":"HTTPRoute/default/a/matches/`,
		eds + "a_80.pb":               "address: 10.0.0.1",
		envoy.ClustersFile:            "name: service/default/sa/80",
		envoy.ListenersFile:           "route_config_name: listener/0.0.0.0/80",
		envoy.ExtensionFile("limpet"): `"secret":"[secret]"`,
	} {
		if !strings.Contains(shown[path], want) {
			t.Errorf("%s: no %s in\n%s", path, want, shown[path])
		}
	}
	if key := base64.RawURLEncoding.EncodeToString([]byte("first")); strings.Contains(shown[envoy.ExtensionFile("limpet")], key[:6]) {
		t.Errorf("the key is shown: %s", shown[envoy.ExtensionFile("limpet")])
	}
	for _, data := range []string{"", "a", `{"version_info": "1"}`} {
		if text, err := Show([]byte(data)); err == nil {
			t.Errorf("%q is shown as %s", data, text)
		}
	}
}

// TestShowCertificates hides private keys.
func TestShowCertificates(t *testing.T) {
	pem := func(text string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: text}}
	}
	socket, err := anypb.New(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
		TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: pem("the chain"), PrivateKey: pem("the key")}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	content, err := proto.Marshal(&listenerv3.Listener{FilterChains: []*listenerv3.FilterChain{{
		TransportSocket: &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: socket}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := Show(makeFile("", "", envoy.Resource{
		TypeURL: "type.googleapis.com/envoy.config.listener.v3.Listener", Content: content,
	}).Data)
	if err != nil || !strings.Contains(string(text), "the chain") || strings.Contains(string(text), "the key") {
		t.Errorf("got %v\n%s", err, text)
	}
}
