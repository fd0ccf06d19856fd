package wasmtest

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Proxy is a plugin with all that Envoy has around it, played: clients that name no host, the stateful_session filter,
// and hosts that take requests in turn. Tests of one's own plugin configuration need nothing else.
type Proxy struct {
	VM *VM
	// Filter stands in the place of VM, where it is set: limpet's own tests have other builds of the filter there.
	Filter Filter
	// PinHeader is that of the configuration.
	PinHeader string
	// Now is the time, for the plugin too. It stands still until it is changed.
	Now time.Time
	// Hosts serve the requests of a route, by its name: "ip:port", in turn but for those that the plugin pins. They may be
	// changed between requests. Turn is how many requests they have taken in turn.
	Hosts map[string][]string
	Turn  int
	// Cluster is the name of the cluster of each route; without one, it is the route's.
	Cluster map[string]string
	// Copies are the routes for the backends of a split, by what they match: the route's name, a space, and the value of
	// the header of a session's backend.
	Copies map[string]string
	// Backends are the tags in hosts' metadata, for RebalanceWithin: a request that names one takes the hosts of that, if
	// any serves.
	Backends map[string]string
	// Refuses is a host that takes no connections: a request that it should serve is sent again, to another.
	Refuses string
	// Strict is stateful_session's: a pinned host that does not serve is not replaced. StrictStatus is what Envoy answers
	// then; empty is 503.
	Strict       bool
	StrictStatus string
	// Answer makes a host's answer; nil answers 200.
	Answer func(host string, request [][2]string) [][2]string
	// Details is response.code_details of what Envoy itself answers in the place of hosts, with the headers that Answer
	// makes: a timeout's for instance. Empty has the hosts answer.
	Details string
	// Unfenced leaves the fence out: clients' pin headers reach the plugin, and what it leaves of its own reaches clients.
	Unfenced bool
}

// Response is what came of a request.
type Response struct {
	// Status and Headers are what the client gets.
	Status  string
	Headers [][2]string
	// Details is response.code_details, as Envoy's access log has it.
	Details string
	// Host is the one that answered, empty where Envoy or the plugin did, and Received are the headers that it got.
	Host     string
	Received [][2]string
	// Pinned is the host that the plugin named, empty for none.
	Pinned string
	// Outcome is that of the session, as counters have it: "none" where none counted.
	Outcome string
	// State is the filter state that the plugin has set for access logs, by name.
	State map[string]string
}

// NewProxy starts a plugin with a configuration and the environment variables of its VM.
func (m *Module) NewProxy(config string, env map[string]string, hosts map[string][]string) (*Proxy, error) {
	p := &Proxy{Now: defaultNow, Hosts: hosts, PinHeader: pinHeaderOf(config)}
	vm, err := m.Start(
		context.Background(),
		Options{Config: []byte(config), Env: env, Now: func() time.Time { return p.Now }},
	)
	if err != nil {
		return nil, err
	}
	p.VM = vm
	return p, nil
}

// Get sends a GET request on a route, with further headers as "name: value".
func (p *Proxy) Get(route string, headers ...string) (Response, error) {
	h := [][2]string{
		{":method", "GET"},
		{":path", "/"},
		{":authority", "test.example"},
		{":scheme", "https"},
		{"x-forwarded-proto", "https"},
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h = append(h, [2]string{name, value})
	}
	return p.Send(route, h)
}

// Send sends a request with its headers, pseudo-headers among them, on a route.
func (p *Proxy) Send(route string, headers [][2]string) (Response, error) {
	filter := p.Filter
	if filter == nil {
		filter = p.VM
	}
	before := filter.Counters()
	r, err := p.exchange(
		filter.Open(map[string]string{RouteProperty: route, ClusterProperty: p.cluster(route)}),
		route,
		headers,
	)
	r.Outcome = outcome(before, filter.Counters())
	return r, err
}

func (p *Proxy) cluster(route string) string { return cmp.Or(p.Cluster[route], route) }

// exchange takes a request through the fence, the filter, stateful_session and a host, and its answer back.
func (p *Proxy) exchange(s Exchange, route string, headers [][2]string) (Response, error) {
	defer s.Close()
	sent, local, err := s.RequestHeaders(p.fence(headers), true)
	if err != nil {
		return Response{}, err
	}
	if local != nil {
		return Response{Status: fmt.Sprint(local.Status), Headers: local.Headers, Details: local.Details}, nil
	}
	if of := p.Copies[route+" "+value(sent, policyconfig.BackendHeader(p.PinHeader))]; of != "" {
		route = of
		s.SetProperty(ClusterProperty, p.cluster(of))
	}
	r, answer := p.serve(route, sent)
	s.SetProperty(DetailsProperty, r.Details)
	s.SetProperty(AttemptsProperty, p.attempts(&r))
	if tag := p.Backends[r.Host]; tag != "" {
		s.SetProperty(BackendProperty, tag)
	}
	answer, err = s.ResponseHeaders(answer, false)
	r.Headers, r.Status, r.State = p.fence(answer), value(answer, ":status"), s.FilterState()
	return r, err
}

// fence keeps the pin header and its companion from clients, both ways.
func (p *Proxy) fence(headers [][2]string) [][2]string {
	if p.Unfenced {
		return headers
	}
	return without(without(headers, p.PinHeader), policyconfig.BackendHeader(p.PinHeader))
}

func without(headers [][2]string, name string) [][2]string {
	return slices.DeleteFunc(slices.Clone(headers), func(h [2]string) bool { return strings.EqualFold(h[0], name) })
}

// serve plays stateful_session and the hosts: it names the host that answers in the pin header, unless that is the one
// that was pinned.
func (p *Proxy) serve(route string, sent [][2]string) (r Response, answer [][2]string) {
	pin := value(sent, p.PinHeader)
	text, _ := base64.StdEncoding.DecodeString(pin) // no host where it fails
	backendHeader := policyconfig.BackendHeader(p.PinHeader)
	r = Response{
		Pinned:   string(text),
		Details:  "via_upstream",
		Received: without(without(sent, p.PinHeader), backendHeader),
	}
	hosts := p.Hosts[route]
	switch {
	case r.Pinned != "" && r.Pinned != p.Refuses && slices.Contains(hosts, r.Pinned):
		r.Host = r.Pinned
	case len(hosts) == 0 || r.Pinned != "" && p.Strict:
		r.Details = "no_healthy_upstream"
		return r, [][2]string{{":status", cmp.Or(p.StrictStatus, "503")}}
	default:
		hosts = p.within(value(sent, backendHeader), hosts)
		r.Host = hosts[p.Turn%len(hosts)]
		p.Turn++
	}
	answer = [][2]string{{":status", "200"}}
	if p.Answer != nil {
		answer = slices.Clone(p.Answer(r.Host, r.Received))
	}
	if chosen := base64.StdEncoding.EncodeToString([]byte(r.Host)); chosen != pin {
		answer = append(answer, [2]string{p.PinHeader, chosen})
	}
	if p.Details != "" {
		r.Host, r.Details = "", p.Details
	}
	return r, answer
}

// within gives the hosts of a backend, or all where it has none.
func (p *Proxy) within(backend string, hosts []string) (own []string) {
	for _, host := range hosts {
		if backend != "" && p.Backends[host] == backend {
			own = append(own, host)
		}
	}
	if len(own) == 0 {
		return hosts
	}
	return own
}

// attempts is how often the request was sent, as the property says it.
func (p *Proxy) attempts(r *Response) string {
	times := uint64(1)
	if r.Pinned != "" && r.Pinned == p.Refuses {
		times = 2
	}
	return string(binary.LittleEndian.AppendUint64(nil, times))
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
		if _, of, is := strings.Cut(name, ".outcome."); is && strings.HasPrefix(name, "limpet_sessions.") &&
			n > before[name] {
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
