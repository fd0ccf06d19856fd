package serve

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// Status is what "limpet status" shows.
type Status struct {
	Input    InputStatus        `json:"input"`
	Gateways []GatewayStatus    `json:"gateways"`
	Envoys   []xds.ClientStatus `json:"envoys"`
	// Ended are the routes of which edits have ended sessions within the last day, by their names.
	Ended []EndedStatus `json:"ended,omitempty"`
	// Keys are those that Envoys are served; nil where they have their own.
	Keys *keyfile.Fingerprints `json:"keys,omitempty"`
}

// InputStatus says what of the input is not in effect, and since when; the last good configuration is served in its
// place.
type InputStatus struct {
	Refused []string  `json:"refused,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// EndedStatus says when an edit last ended sessions of a route's rules, and what has ended them.
type EndedStatus struct {
	Route string    `json:"route"`
	At    time.Time `json:"at"`
	Words string    `json:"words"`
}

// GatewayStatus is what is served for a Gateway.
type GatewayStatus struct {
	Gateway    string `json:"gateway"`
	Generation string `json:"generation"`
}

// Input says of the input that is served what is in effect, which sessions its edits have ended, which keys Envoys get,
// and by which options and what else that objects don't say it is understood, without keys.
type Input struct {
	Status  func() InputStatus
	Ended   func() []EndedStatus
	Keys    func() keyfile.Fingerprints
	Reading func() any
}

// NewStatus says what a server serves, and to whom.
func NewStatus(s *xds.Server, of Input) Status {
	status := Status{Input: of.Status(), Ended: of.Ended(), Gateways: []GatewayStatus{}, Envoys: []xds.ClientStatus{}}
	if keys := of.Keys(); len(keys.Keys) > 0 {
		status.Keys = &keys
	}
	for _, key := range s.Gateways() {
		status.Gateways = append(status.Gateways, GatewayStatus{key, s.Latest(key).Generation})
	}
	status.Envoys = append(status.Envoys, s.Clients()...)
	return status
}

// Probes answers what may be seen from outside: whether limpet is alive and ready, and its metrics.
func Probes(metrics prometheus.Gatherer, ready func() bool) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "not ready: nothing was compiled yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	return mux
}

// ReadingPage says how the input is understood.
const ReadingPage = "/reading"

// Admin answers people on this machine too: what of the input is in effect, who is connected, what they are served, and
// profiles.
func Admin(s *xds.Server, input Input, probes *http.ServeMux) http.Handler {
	probes.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, NewStatus(s, input)) })
	probes.HandleFunc("GET "+ReadingPage, func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, input.Reading()) })
	probes.HandleFunc("GET /config", func(w http.ResponseWriter, r *http.Request) {
		key := r.URL.Query().Get("gateway")
		if !slices.Contains(s.Gateways(), key) {
			http.Error(w, "no such Gateway; say ?gateway=NAMESPACE/NAME", http.StatusNotFound)
			return
		}
		writeJSON(w, dump(s.Latest(key)))
	})
	probes.HandleFunc("GET /debug/pprof/", pprof.Index)
	probes.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	probes.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	probes.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return sameOrigin(probes)
}

// sameOrigin refuses what a page of another site makes a browser on this machine send.
func sameOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		_, notAddress := netip.ParseAddr(host)
		site := r.Header.Get("Sec-Fetch-Site") // which a page can't forge; "none" is a person's own request
		if r.Header.Get("Origin") != "" || site != "" && site != "none" && site != "same-origin" ||
			host != "localhost" && notAddress != nil {
			http.Error(w, "for this machine only: ask by address, and not from a page", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}
