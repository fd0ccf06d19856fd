package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

const (
	bodySize  = 10 << 20 // bytes
	chunkSize = 16 << 10
)

// largeBody is ten megabytes that no two chunks of are alike.
var largeBody = sync.OnceValue(func() []byte {
	text := make([]byte, 0, bodySize)
	for i := 0; len(text) < bodySize; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		text = append(text, sum[:]...)
	}
	return text
})

// gate holds one side of a transfer until the other side is so far. It is opened once.
type gate struct{ open chan struct{} }

func newGate() gate { return gate{make(chan struct{})} }

func (g gate) pass(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// transfer is what a client and a backend agree on for one request.
type transfer struct {
	arrived gate // the first bytes are on the other side
	resume  gate // the backend may go on to read
}

// depot receives and sends bodies, for transfers that are known by the request's query.
type depot struct {
	mu        sync.Mutex
	transfers map[string]*transfer
}

// start makes a transfer and gives its URL's path.
func (d *depot) start(kind string) (string, *transfer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, tr := fmt.Sprint(len(d.transfers)), &transfer{newGate(), newGate()}
	d.transfers[id] = tr
	return "/body/" + kind + "?" + id, tr
}

// ServeHTTP takes a body for /body/up and answers with its hash, and sends one for /body/down.
func (d *depot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	tr := d.transfers[r.URL.RawQuery]
	d.mu.Unlock()
	switch {
	case tr == nil: // a request without a transfer
	case r.URL.Path == "/body/up":
		first := make([]byte, 1)
		_, _ = io.ReadFull(r.Body, first)
		close(tr.arrived.open)
		if tr.resume.pass(r.Context()) != nil {
			return
		}
		hash := sha256.New()
		hash.Write(first)
		if _, err := io.Copy(hash, r.Body); err == nil {
			fmt.Fprint(w, hex.EncodeToString(hash.Sum(nil)))
		}
	default:
		_, _ = w.Write(largeBody()[:chunkSize])
		_ = http.NewResponseController(w).Flush()
		if tr.arrived.pass(r.Context()) == nil {
			_, _ = w.Write(largeBody()[chunkSize:])
		}
	}
}

// TestBodiesStream: bodies of ten megabytes pass both ways as they come, over every protocol: the first bytes are
// there before the last are sent. Of uploads whose backends stop to read, Envoy keeps little.
func TestBodiesStream(t *testing.T) {
	t.Parallel()
	d := &depot{transfers: map[string]*transfer{}}
	documents, certificate := streamers(t, func(string) http.Handler { return d }, "body")
	documents.TLSPort = harness.FreePort(t)
	envoy := harness.Run(t, harness.Deployment{
		Documents: documents, Tree: func(tree harness.Tree) { tree.AddHTTP3(t, documents.TLSPort) },
	})
	memory := allocated(t, envoy)
	grown := stalled(t, envoy, certificate, d) - memory
	sent := 0
	for _, p := range protocols {
		for _, host := range []string{"one", "two"} {
			client := p.client(t, envoy, certificate)
			client.Host = host + ".example.com"
			if up, down := upload(t, client, d), download(t, client, d); up != down {
				t.Errorf("%s to HTTP %s: one session was sent to %s and %s", p.name, host, up, down)
			}
			sent += 2
		}
	}
	if grown > stalledUploads*stalledSize {
		t.Errorf("Envoy grew by %d bytes, with %d uploads that stall", grown, stalledUploads)
	}
	harness.RecordResult(t, "bodies of 10 MB", harness.Result{
		Requests: sent + stalledUploads, Sessions: sent/2 + stalledUploads,
		Note: fmt.Sprintf("no byte is waited for; with %d uploads that stall Envoy has %.1f MB more than before", stalledUploads, float64(grown)/(1<<20)),
	})
}

// upload sends a chunk, waits until the backend has it, and sends the rest. It gives the backend's name.
func upload(t *testing.T, client *harness.Client, d *depot) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path, tr := d.start("up")
	close(tr.resume.open)
	reader, writer := io.Pipe()
	go func() {
		_, err := writer.Write(largeBody()[:chunkSize])
		if err == nil {
			err = tr.arrived.pass(ctx)
		}
		if err == nil {
			_, err = writer.Write(largeBody()[chunkSize:])
		}
		_ = writer.CloseWithError(err) // nil is the end of the body
	}()
	return finish(t, ctx, client, path, reader)
}

// finish sends a body and checks that the backend had all of it.
func finish(t *testing.T, ctx context.Context, client *harness.Client, path string, from io.Reader) string {
	t.Helper()
	response, err := client.Open(ctx, http.MethodPost, path, from)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	sum := sha256.Sum256(largeBody())
	if err != nil || string(got) != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: the backend got another body: %.80q, %v", path, got, err)
	}
	return response.Header.Get(harness.BackendHeader)
}

// download reads a chunk, and only then does the backend send the rest. It gives the backend's name.
func download(t *testing.T, client *harness.Client, d *depot) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	path, tr := d.start("down")
	response, err := client.Open(ctx, http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	hash := sha256.New()
	_, err = io.CopyN(hash, response.Body, chunkSize)
	close(tr.arrived.open)
	if err == nil {
		_, err = io.Copy(hash, response.Body)
	}
	if sum := sha256.Sum256(largeBody()); err != nil || hex.EncodeToString(hash.Sum(nil)) != hex.EncodeToString(sum[:]) {
		t.Errorf("%s: the client got another body: %v", path, err)
	}
	return response.Header.Get(harness.BackendHeader)
}

// stalledUploads is how many uploads stall at once, and stalledSize how much Envoy may grow by for each, in bytes: half
// of what it would hold if it waited for all of the body.
const (
	stalledUploads = 8
	stalledSize    = bodySize / 2
)

// stalled begins uploads whose backends read one byte and stop, waits until Envoy stops to read too, gives how
// much memory it has then, and lets them go on.
func stalled(t *testing.T, envoy *harness.Envoy, certificate harness.Certificate, d *depot) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	before := backedUp(t, envoy)
	var all []*transfer
	var group sync.WaitGroup
	for i := range stalledUploads {
		client := protocols[i%4].client(t, envoy, certificate)
		client.Host = []string{"one", "two"}[i%2] + ".example.com"
		path, tr := d.start("up")
		all = append(all, tr)
		group.Go(func() { finish(t, ctx, client, path, &slice{text: largeBody()}) })
	}
	for _, tr := range all {
		if err := tr.arrived.pass(ctx); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "Envoy stops to read from every client", func() bool { return backedUp(t, envoy) >= before+stalledUploads })
	held := allocated(t, envoy)
	for _, tr := range all {
		close(tr.resume.open)
	}
	group.Wait()
	return held
}

// allocated is Envoy's memory in use, in bytes.
func allocated(t *testing.T, envoy *harness.Envoy) int {
	t.Helper()
	var memory struct {
		Allocated int `json:"allocated,string"`
	}
	if err := json.Unmarshal([]byte(envoy.Admin(t, "/memory")), &memory); err != nil || memory.Allocated == 0 {
		t.Fatalf("admin /memory: %v, %+v", err, memory)
	}
	return memory.Allocated
}

// backedUp counts how often a backend that does not read made Envoy stop reading from the client.
func backedUp(t *testing.T, envoy *harness.Envoy) uint64 {
	t.Helper()
	var total uint64
	for _, count := range envoy.Stats(t, `\.upstream_flow_control_backed_up_total$`) {
		total += count
	}
	return total
}

// slice is a reader that hides its length, so that the body is sent in chunks.
type slice struct {
	text []byte
}

func (s *slice) Read(p []byte) (int, error) {
	n := copy(p, s.text)
	s.text = s.text[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
