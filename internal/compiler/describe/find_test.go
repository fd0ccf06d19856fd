package describe

import (
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
)

// TestFind shows which words name which object.
//
// requirements: 2C.20
func TestFind(t *testing.T) {
	known := []object.Ref{
		{Kind: object.KindGatewayClass, Name: "limpet"},
		{Kind: object.KindService, Namespace: "a", Name: "cart"},
		{Kind: object.KindService, Namespace: "b", Name: "cart"},
		{Kind: object.KindHTTPRoute, Namespace: "a", Name: "cart"},
		{Kind: "SessionPersistencePolicy", Namespace: "a", Name: "p"},
		{Kind: object.KindGateway, Namespace: "a", Name: "edge"},
	}
	for words, want := range map[string]string{
		"gatewayclass/limpet":           "GatewayClass limpet",
		"GatewayClasses/limpet":         "GatewayClass limpet",
		"service/a/cart":                "Service a/cart",
		"services/b/cart":               "Service b/cart",
		"HTTPROUTE/cart":                "HTTPRoute a/cart",
		"sessionpersistencepolicies/p":  "SessionPersistencePolicy a/p",
		"SessionPersistencePolicy/a/p":  "SessionPersistencePolicy a/p",
		"service/cart":                  "!there are several: Service a/cart, Service b/cart",
		"service/c/cart":                "!there is no such Service in the input; did you mean Service/a/cart?",
		"svc/b/cart":                    "Service b/cart",
		"hr/cart":                       "HTTPRoute a/cart",
		"spp/p":                         "SessionPersistencePolicy a/p",
		"gtw/web":                       "!there is no such Gateway in the input; it has Gateway/a/edge",
		"lset/web":                      "!there is no such ListenerSet in the input, and no other",
		"gateways/a/edge":               "Gateway a/edge",
		"gatewaies/edge":                "!there is no kind gatewaies; did you mean Gateway/a/edge?",
		"route/cart":                    "!there is no kind route; did you mean HTTPRoute/a/cart?",
		"route/other":                   "!there is no kind route; did you mean GRPCRoute?",
		"httprute/cart":                 "!there is no kind httprute; did you mean HTTPRoute/a/cart?",
		"httproute/other":               "!there is no such HTTPRoute in the input; it has HTTPRoute/a/cart",
		"nothing/cart":                  "!there is no kind nothing; there are GRPCRoute, Gateway, ",
		"sessionpersistencepolicys/a/p": "!did you mean SessionPersistencePolicy/a/p?",
		"cart":                          "!must be KIND/NAME",
		"service//cart":                 "!must be KIND/NAME",
		"service/a/":                    "!must be KIND/NAME",
		"a/b/c/d":                       "!must be KIND/NAME",
	} {
		got, err := Find(words, known)
		message, fails := strings.CutPrefix(want, "!")
		switch {
		case fails && (err == nil || !strings.Contains(err.Error(), message)):
			t.Errorf("%s: got %v, %v; want %s", words, got, err, message)
		case !fails && (err != nil || got.String() != want):
			t.Errorf("%s: got %v, %v; want %s", words, got, err, want)
		}
	}
}
