package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/processor"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// figures are what the server measures of itself.
type figures struct {
	Address                       string
	CPU, ResidentMB, Seconds      float64
	Bytes, Sent                   int64
	P50, P99, Max                 float64 // ms
	Changes, Live, ClientsCurrent int
}

// runner runs the server and changes what it serves.
type runner struct {
	size
	server   *xds.Server
	address  string
	bytes    *wire
	variants []*xds.Snapshot
	begun    time.Time

	lock  sync.Mutex
	lives []time.Duration
}

func runServer(s size, from io.Reader, to io.Writer) error {
	r := &runner{size: s, bytes: &wire{}, begun: time.Now()}
	if err := r.compile(); err != nil {
		return err
	}
	r.server = xds.NewServer(
		xds.Options{Deadline: 15 * time.Second, Authenticate: xds.AuthenticateByCertificate("limpet"), Log: r},
	)
	for _, key := range r.keys() {
		r.server.Set(key, r.variants[0])
	}
	rpc := grpc.NewServer(grpc.StatsHandler(r.bytes), grpc.MaxRecvMsgSize(64<<20))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.address = listener.Addr().String()
	go func() { _ = r.server.Serve(rpc, listener) }()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		if err := json.NewEncoder(to).Encode(r.answer(lines.Text())); err != nil {
			return err
		}
	}
	return nil
}

// compile makes the snapshots to serve: the same routes, with a small change in each variant.
func (r *runner) compile() error {
	var text string
	for _, source := range scaletest.MakeRoutes(r.routes) {
		text += "---\n" + string(source.Data)
	}
	target := &compiler.EnvoyOptions{ModulePath: "/limpet.wasm", Admin: compiler.NoAdmin, Served: &compiler.Served{}}
	o := compiler.Options{Envoy: target}
	for i := range 20 {
		edited := strings.Replace(text, "10.0.0.", fmt.Sprintf("10.0.%d.", i), 1)
		if i%2 == 0 {
			edited = strings.Replace(text, "value: /cart", fmt.Sprintf("value: /cart%d", i), 1)
		}
		result, err := compiler.Compile([]compiler.Source{{Name: "routes.yaml", Data: []byte(edited)}}, o)
		if err != nil {
			return err
		}
		r.variants = append(r.variants, controller.NewSnapshot(time.Now(), result.Served[0]))
	}
	return nil
}

func (r *runner) keys() []string {
	if !r.apart {
		return []string{"default/g0"}
	}
	var keys []string
	for i := range r.clients {
		keys = append(keys, fmt.Sprintf("default/g%d", i))
	}
	return keys
}

func (r *runner) answer(word string) figures {
	begin := r.begun
	changes, sent := 0, int64(0)
	switch word {
	case "joined":
		begin = time.Now()
		r.waitCurrent()
	case "change":
		begin = time.Now()
		changes, sent = r.change()
		r.waitCurrent()
	}
	f := r.measure()
	f.Seconds, f.Changes, f.Sent = time.Since(begin).Seconds(), changes, sent
	return f
}

// change makes changes at the rate asked for.
func (r *runner) change() (changes int, sent int64) {
	r.lock.Lock()
	r.lives = nil
	r.lock.Unlock()
	keys := r.keys()
	each := time.NewTicker(time.Second / time.Duration(r.rate))
	defer each.Stop()
	for end := time.Now().Add(r.during); time.Now().Before(end); <-each.C {
		changes++
		key := keys[changes*7919%len(keys)]
		next := *r.variants[changes%len(r.variants)]
		next.Since = time.Now()
		r.server.Set(key, &next)
		sent += int64(r.clients / len(keys))
	}
	return changes, sent
}

// waitCurrent waits until every client has the latest snapshot.
func (r *runner) waitCurrent() {
	for ; ; time.Sleep(5 * time.Millisecond) {
		current := 0
		for _, c := range r.server.Clients() {
			if c.Generation != "" && c.Generation == r.server.Latest(c.Gateway).Generation {
				current++
			}
		}
		if current == r.clients {
			return
		}
	}
}

func (r *runner) measure() figures {
	debug.FreeOSMemory()
	f := figures{Address: r.address, Bytes: r.bytes.sent.Load(), CPU: processor.Time().Seconds()}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		var total, resident float64
		_, _ = fmt.Sscan(string(text), &total, &resident) // 0 says that it is not known
		f.ResidentMB = resident * float64(os.Getpagesize()) / 1e6
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	if f.Live = len(r.lives); f.Live > 0 {
		slices.Sort(r.lives)
		at := func(part float64) float64 { return r.lives[int(part*float64(f.Live-1))].Seconds() * 1000 }
		f.P50, f.P99, f.Max = at(.5), at(.99), at(1)
	}
	return f
}

// Live notes how long a change took until a client acknowledged it.
func (r *runner) Live(c xds.ClientStatus, took time.Duration) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.lives = append(r.lives, took)
}

func (r *runner) Connected(xds.ClientStatus)               {}
func (r *runner) Disconnected(xds.ClientStatus, error)     {}
func (r *runner) Refused(address string, why error)        { fmt.Fprintln(os.Stderr, address, why) }
func (r *runner) Rejected(xds.ClientStatus, xds.Rejection) {}
func (r *runner) Late(c xds.ClientStatus)                  { fmt.Fprintln(os.Stderr, c.Node, c.Late) }

// wire counts the bytes that are sent.
type wire struct{ sent atomic.Int64 }

func (w *wire) HandleRPC(_ context.Context, s stats.RPCStats) {
	if out, is := s.(*stats.OutPayload); is {
		w.sent.Add(int64(out.WireLength))
	}
}

func (w *wire) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (w *wire) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (w *wire) HandleConn(context.Context, stats.ConnStats)                       {}
