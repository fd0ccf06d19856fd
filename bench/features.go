package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/bench/internal/rig"
	"github.com/limpet-proxy/limpet/bench/internal/stats"
	"github.com/limpet-proxy/limpet/internal/load"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// feature is a feature whose cost is measured: its deployment is compared with that of over, which differs in nothing
// else.
type feature struct {
	name, title string
	// over names the feature whose cost is subtracted; "" for none.
	over string
	rig.Deployment
	// ticket has each request ask what became of its session.
	ticket bool
}

// Settings that several features share.
const (
	aMirror     = "filters: [{type: RequestMirror, requestMirror: {backendRef: {name: mirror, port: 80}}}]"
	aSession    = "type: Cookie"
	sessionsLog = "--access-log-fields=session"
)

// features lists each feature after the one that its cost is compared with.
var features = []feature{
	{name: "none", title: "no session"},
	{name: "plain", title: "a session", over: "none", Deployment: rig.Deployment{Policy: aSession}},
	{
		name: "native", title: "a session, with the native filter", over: "none",
		Deployment: rig.Deployment{Policy: aSession, Native: true},
	},
	{
		name: "served", title: "`limpet serve`", over: "plain",
		Deployment: rig.Deployment{Policy: "identity: Address", Served: true},
	},
	{
		name: "pods", title: "`identity: Pod`, addresses that were others'", over: "served",
		Deployment: rig.Deployment{Policy: "identity: Pod", Served: true, Reused: true},
	},
	{
		name: "names", title: "`identity: Name`", over: "served",
		Deployment: rig.Deployment{Policy: "identity: Name", Served: true},
	},
	{
		name: "shards", title: "tables for shards", over: "served",
		Deployment: rig.Deployment{Policy: "identity: Address", Served: true, Sharded: true},
	},
	{name: "served-none", title: "no session, `limpet serve`", over: "none", Deployment: rig.Deployment{Served: true}},
	{
		name: "shards-none", title: "the same, tables for shards", over: "served-none",
		Deployment: rig.Deployment{Served: true, Sharded: true},
	},
	{
		name: "within", title: "`onHostLost: RebalanceWithin`", over: "plain",
		Deployment: rig.Deployment{Policy: "onHostLost: RebalanceWithin"},
	},
	{
		name: "led", title: "a split whose routes are there for each backend", over: "plain",
		Deployment: rig.Deployment{Policy: aSession, Led: true},
	},
	{
		name: "led-native", title: "the same, with the native filter", over: "native",
		Deployment: rig.Deployment{Policy: aSession, Led: true, Native: true},
	},
	{name: "envelope", title: "`envelope: true`", over: "plain", Deployment: rig.Deployment{Policy: "envelope: true"}},
	{
		name:       "log",
		title:      "`--access-log`",
		over:       "plain",
		Deployment: rig.Deployment{Policy: aSession, Flags: []string{"--access-log"}},
	},
	{
		name: "log-sessions", title: "`--access-log-fields session`", over: "log",
		Deployment: rig.Deployment{Policy: aSession, Flags: []string{"--access-log", sessionsLog}},
	},
	{
		name: "tickets", title: "`--debug-tickets`, a request without one", over: "plain",
		Deployment: rig.Deployment{Policy: aSession, Flags: []string{"--debug-tickets"}},
	},
	{
		name: "ticket", title: "`--debug-tickets`, a request with a ticket", over: "plain", ticket: true,
		Deployment: rig.Deployment{Policy: aSession, Flags: []string{"--debug-tickets"}},
	},
	{name: "copied", title: "no session, mirrored", over: "none", Deployment: rig.Deployment{Rule: aMirror}},
	{
		name: "mirror", title: "a session, mirrored without the token", over: "copied",
		Deployment: rig.Deployment{Rule: aMirror, Policy: aSession},
	},
	{
		name:       "cross-site",
		title:      "`cookie.crossSite: true`",
		over:       "plain",
		Deployment: rig.Deployment{Policy: "cookie: {crossSite: true}"},
	},
}

// prices has, by feature, the instructions of a pinned request and of one that begins a session.
type prices struct{ pinned, begun map[string]stats.Rounds }

// runFeatures counts the instructions that features cost, and prints a table.
func (b *bench) runFeatures(ctx context.Context, p runFlags) error {
	b.rig.Counting = true
	counted := prices{map[string]stats.Rounds{}, map[string]stats.Rounds{}}
	for _, f := range features {
		if ok, _ := path.Match(p.only, f.name); !ok && p.only != "*/*" {
			continue
		}
		if err := errors.Join(ctx.Err(), b.price(f, p.counted, counted)); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(
			os.Stderr,
			"bench: %s: %.0f, new %.0f\n",
			f.name,
			stats.Median(counted.pinned[f.name]),
			stats.Median(counted.begun[f.name]),
		)
	}
	intro := fmt.Sprintf("Counted %s with valgrind: %s. %d requests a cell, the median of %d passes.\n\n",
		time.Now().UTC().Format(time.DateOnly), versions(), p.counted, passes)
	return p.say("features", intro+counted.table())
}

// price counts the instructions of a feature's requests.
func (b *bench) price(f feature, requests int, counted prices) error {
	e, err := b.rig.Deploy(b.keys.Text(), f.name, f.Deployment)
	if err != nil {
		return err
	}
	defer e.Stop()
	lines := [][2]string{}
	if f.ticket {
		ticket, err := b.scope.AppendTicket(nil, time.Now().Unix(), time.Now().Unix()+token.TicketLife)
		if err != nil {
			return err
		}
		lines = append(lines, [2]string{policyconfig.TicketHeader, string(ticket)})
	}
	begin := request{method: http.MethodGet, path: "/cart", lines: append(cookies("lang=en"), lines...)}
	if f.Policy == "envelope: true" {
		begin.lines = append(begin.lines, [2]string{rig.SetCookie, "cart=0123456789abcdef; Path=/cart; HttpOnly"})
	}
	sessions, err := beginSessions(e.Address(f.name), begin)
	if err != nil {
		return err
	}
	var pinned []request
	for _, session := range sessions {
		pinned = append(pinned, request{method: http.MethodGet, path: "/cart", lines: append(cookies(session), lines...)})
	}
	if counted.pinned[f.name], err = b.countPool(e, f, pinned, false, requests); err == nil {
		counted.begun[f.name], err = b.countPool(e, f, []request{begin}, f.Policy != "", requests)
	}
	return err
}

// beginSessions begins some sessions, and returns the cookies that their clients send from then on.
func beginSessions(address string, begin request) (sessions []string, err error) {
	for range fewSessions / 4 {
		r, err := http.NewRequest(begin.method, "http://"+address+begin.path, http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Header = begin.header()
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
		var given []string
		for _, c := range answer.Cookies() {
			given = append(given, c.Name+"="+c.Value)
		}
		sessions = append(sessions, strings.Join(given, "; "))
	}
	return sessions, nil
}

// countPool counts the instructions of a request, pass by pass. begins says whether each request must begin a session.
func (b *bench) countPool(
	e *rig.Envoy,
	f feature,
	pool []request,
	begins bool,
	requests int,
) (rounds stats.Rounds, err error) {
	raw := make([][]byte, len(pool))
	for i, r := range pool {
		raw[i] = r.bytes()
	}
	send := func(count int) error {
		var bad firstError
		err := load.Send(e.Address(f.name), count, func(i int, buf []byte) []byte { return append(buf, raw[i%len(raw)]...) },
			func(i int, head load.Head) {
				if !head.OK() || begins != bytes.Contains(head, []byte("\nset-cookie: ")) ||
					f.ticket != bytes.Contains(head, []byte("\n"+policyconfig.AnswerHeader+": ")) {
					bad.set(fmt.Errorf("request %d: %s", i, head))
				}
			})
		return errors.Join(err, bad.get())
	}
	if err := send(b.effort.warm); err != nil {
		return nil, err
	}
	for range passes {
		total, err := e.Instructions(func() error { return send(requests) })
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, float64(total)/float64(requests))
	}
	return rounds, nil
}

// table has a line for each measured feature, in thousands of instructions.
func (p prices) table() string {
	titles := map[string]string{}
	var b strings.Builder
	b.WriteString(
		"| what | a pinned request | more | a request that begins a session | more | than |\n|---|---:|---:|---:|---:|---|\n",
	)
	for _, f := range features {
		titles[f.name] = f.title
		if p.pinned[f.name] == nil {
			continue
		}
		fmt.Fprintf(&b, "| %s |", f.title)
		for _, of := range []map[string]stats.Rounds{p.pinned, p.begun} {
			more := ""
			if of[f.over] != nil {
				more = fmt.Sprintf("%.1f", (stats.Median(of[f.name])-stats.Median(of[f.over]))/1e3)
			}
			fmt.Fprintf(&b, " %.1f | %s |", stats.Median(of[f.name])/1e3, more)
		}
		fmt.Fprintf(&b, " %s |\n", titles[f.over])
	}
	return b.String()
}
