package wasmtest

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Proxy is a plugin with all that Envoy has around it, played: clients that name no host, the stateful_session filter, and hosts that take
// requests in turn. Tests of one's own plugin configuration need nothing else.
type Proxy struct {
	VM *VM
	// Now is the time, for the plugin too. It stands still until it is changed.
	Now time.Time
	// Hosts serve the requests of a route, by its name: "ip:port", in turn but for those that the plugin pins. They may be changed
	// between requests.
	Hosts map[string][]string
	// Cluster is the name of the cluster of each route; without one, it is the route's.
	Cluster map[string]string
	// Strict is stateful_session's: a pinned host that does not serve is not replaced.
	Strict bool
	// Answer makes a host's answer; nil answers 200.
	Answer func(host string, request [][2]string) [][2]string

	pinHeader string
	turn      int
}

// Response is what came of a request.
type Response struct {
	// Status and Headers are what the client gets.
	Status  string
	Headers [][2]string
	// Host is the one that answered, empty where Envoy or the plugin did, and Received are the headers that it got.
	Host     string
	Received [][2]string
	// Pinned is the host that the plugin named, empty for none.
	Pinned string
	// Outcome is that of the session, as counters have it: "none" where none counted.
	Outcome string
}

// NewProxy starts a plugin with a configuration and the environment variables of its VM.
func (m *Module) NewProxy(config string, env map[string]string, hosts map[string][]string) (*Proxy, error) {
	p := &Proxy{Now: defaultNow, Hosts: hosts, pinHeader: pinHeaderOf(config)}
	vm, err := m.Start(context.Background(), Options{Config: []byte(config), Env: env, Now: func() time.Time { return p.Now }})
	if err != nil {
		return nil, err
	}
	p.VM = vm
	return p, nil
}

// Get sends a GET request on a route, with further headers as "name: value".
func (p *Proxy) Get(route string, headers ...string) (Response, error) {
	h := [][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "test.example"}, {":scheme", "https"}, {"x-forwarded-proto", "https"}}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h = append(h, [2]string{name, value})
	}
	return p.Send(route, h)
}

// Send sends a request with its headers, pseudo-headers among them, on a route.
func (p *Proxy) Send(route string, headers [][2]string) (Response, error) {
	cluster := p.Cluster[route]
	if cluster == "" {
		cluster = route
	}
	s := p.VM.NewStream(map[string]string{"xds.route_name": route, "xds.cluster_name": cluster})
	defer s.Close()
	before := p.VM.Counters()
	fenced := slices.DeleteFunc(slices.Clone(headers), func(h [2]string) bool { return strings.EqualFold(h[0], p.pinHeader) })
	sent, local, err := s.RequestHeaders(fenced, true)
	if err != nil {
		return Response{}, err
	}
	if local != nil {
		return Response{Status: fmt.Sprint(local.Status), Headers: local.Headers, Outcome: "none"}, nil
	}
	r, answer := p.serve(route, sent)
	s.SetProperty("response.code_details", "via_upstream")
	if r.Host == "" {
		s.SetProperty("response.code_details", "no_healthy_upstream")
	}
	if r.Headers, err = s.ResponseHeaders(answer, false); err != nil {
		return r, err
	}
	r.Status = value(r.Headers, ":status")
	r.Outcome = outcome(before, p.VM.Counters())
	return r, nil
}

// serve plays stateful_session and the hosts: it names the host that answers in the pin header, unless that is the one that was pinned.
func (p *Proxy) serve(route string, sent [][2]string) (r Response, answer [][2]string) {
	pin := value(sent, p.pinHeader)
	text, _ := base64.StdEncoding.DecodeString(pin) // no host where it fails
	r.Pinned = string(text)
	r.Received = slices.DeleteFunc(slices.Clone(sent), func(h [2]string) bool { return h[0] == p.pinHeader })
	hosts := p.Hosts[route]
	switch {
	case r.Pinned != "" && slices.Contains(hosts, r.Pinned):
		r.Host = r.Pinned
	case len(hosts) == 0 || r.Pinned != "" && p.Strict:
		return r, [][2]string{{":status", "503"}}
	default:
		r.Host = hosts[p.turn%len(hosts)]
		p.turn++
	}
	answer = [][2]string{{":status", "200"}}
	if p.Answer != nil {
		answer = slices.Clone(p.Answer(r.Host, r.Received))
	}
	if chosen := base64.StdEncoding.EncodeToString([]byte(r.Host)); chosen != pin {
		answer = append(answer, [2]string{p.pinHeader, chosen})
	}
	return r, answer
}

// Header is the value of the first line of that name which the client gets, empty for none.
func (r Response) Header(name string) string { return value(r.Headers, name) }

// Cookie is what the client sends back of the first cookie that it gets, "name=value"; empty for none.
func (r Response) Cookie() string {
	pair, _, _ := strings.Cut(r.Header("set-cookie"), ";")
	return pair
}

// Logged are the lines that the plugin has logged since it started.
func (p *Proxy) Logged() (lines []string) {
	for _, l := range p.VM.Logs() {
		lines = append(lines, l.Text)
	}
	return lines
}

func value(lines [][2]string, name string) string {
	v, _ := (&headers{lines: lines}).first(name)
	return v
}

// outcome is that of the session's counter which grew.
func outcome(before, after map[string]uint64) string {
	for name, n := range after {
		if _, of, is := strings.Cut(name, ".outcome."); is && strings.HasPrefix(name, "limpet_sessions.") && n > before[name] {
			return of
		}
	}
	return "none"
}

// pinHeaderOf is the pin header of a configuration that the plugin accepts.
func pinHeaderOf(config string) string {
	c, _ := policyconfig.Parse(config)
	if c.PinHeader == "" {
		return policyconfig.DefaultPinHeader
	}
	return c.PinHeader
}
