package conformance

// The "controller" of the harness: dumps the fake client's objects for limpet, writes the statuses that
// `limpet check -o yaml` gives back, and keeps `limpet run --watch` on the same documents.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/yaml"
)

const gw = "gateway.networking.k8s.io"

var dumped = []schema.GroupVersionKind{
	{Group: gw, Version: "v1", Kind: "GatewayClass"},
	{Group: gw, Version: "v1", Kind: "Gateway"},
	{Group: gw, Version: "v1", Kind: "HTTPRoute"},
	{Group: gw, Version: "v1", Kind: "GRPCRoute"},
	{Group: gw, Version: "v1", Kind: "TLSRoute"},
	{Group: gw, Version: "v1", Kind: "TCPRoute"},
	{Group: gw, Version: "v1", Kind: "UDPRoute"},
	{Group: gw, Version: "v1", Kind: "BackendTLSPolicy"},
	{Group: gw, Version: "v1", Kind: "ListenerSet"},
	{Group: "gateway.networking.x-k8s.io", Version: "v1alpha1", Kind: "XBackend"},
	{Group: gw, Version: "v1", Kind: "ReferenceGrant"},
	{Group: gw, Version: "v1beta1", Kind: "ReferenceGrant"},
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Service"},
	{Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSlice"},
	{Version: "v1", Kind: "Secret"},
}

type controller struct {
	limpet, wasm, envoy, dir string
	other                    *envoyGateway // serves in limpet's place, if there is one
	c                        client.Client
	k                        *kubelet
	addresses                map[string]string

	mu      sync.Mutex
	last    string // the dump that check saw last, statuses included
	lastRun string // the dump that run has
	refused string // what the latest check said on standard error, if it gave no status
	checks  int
	ms      int64
	proc    *exec.Cmd
	done    chan struct{}
	runErr  *bytes.Buffer
	exits   []string
}

// dump gives the documents for check, with statuses, and for run, without.
func (r *controller) dump(ctx context.Context) (check, run string) {
	var a, b strings.Builder
	for _, gvk := range dumped {
		for _, o := range list(ctx, r.c, gvk) {
			o.SetGroupVersionKind(gvk)
			o.SetManagedFields(nil)
			o.SetResourceVersion("")
			if gvk.Kind == "Gateway" {
				addresses, _, _ := unstructured.NestedSlice(o.Object, "spec", "addresses")
				if len(addresses) == 0 {
					// what a cloud's load balancer does: an address of its own for each Gateway
					_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"type": "IPAddress", "value": r.address(o.GetNamespace() + "/" + o.GetName())}}, "spec", "addresses")
				}
			}
			status := o.Object["status"]
			delete(o.Object, "status")
			if gvk.Kind == "Service" || gvk.Kind == "Namespace" {
				status = nil
			}
			raw, _ := yaml.Marshal(o.Object)
			b.WriteString("---\n" + string(raw))
			if s, ok := status.(map[string]any); ok {
				for key, v := range s {
					if v == nil {
						delete(s, key)
					}
				}
				if len(s) > 0 {
					o.Object["status"] = s
				}
			}
			raw, _ = yaml.Marshal(o.Object)
			a.WriteString("---\n" + string(raw))
		}
	}
	for _, namespace := range []string{suite.WebBackendNamespace, suite.AppBackendNamespace} {
		own := fmt.Sprintf(podsGateway, namespace, class, r.address("pods of "+namespace))
		a.WriteString(own)
		b.WriteString(own)
	}
	return a.String(), b.String()
}

// podsGateway is a Gateway in a namespace whose pods run on Envoy's own machine, as all do here: limpet leads requests there
// for namespaces alone that have a Gateway.
const podsGateway = `---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: %s, name: harness-pods}
spec:
  gatewayClassName: %s
  addresses: [{type: IPAddress, value: %s}]
  listeners: [{name: pods, protocol: HTTP, port: 9}]
`

func (r *controller) address(key string) string {
	if r.addresses[key] == "" {
		r.addresses[key] = fmt.Sprintf("127.0.3.%d", len(r.addresses)+1)
	}
	return r.addresses[key]
}

// tick brings statuses and the proxy up to date.
func (r *controller) tick(ctx context.Context) {
	r.k.tick(ctx, r.c)
	check, run := r.dump(ctx)
	if run != r.lastRun {
		r.lastRun = run
		if r.other != nil {
			r.other.feed(ctx, r.c)
		} else {
			r.feed(ctx, run)
		}
	}
	if check != r.last {
		r.last = check
		r.check(ctx, check)
	}
}

// settled waits until limpet run has said what became of the documents, as a controller writes Programmed when the
// proxy has them; not for long, for it may have nothing to say.
func (r *controller) settled(ctx context.Context, said int, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
		if r.said() > said {
			return
		}
	}
}

var news = regexp.MustCompile(`(?m)^limpet: (serving; |change \d+ |.*nothing written)|^harness: `)

func (r *controller) said() int {
	raw, _ := os.ReadFile(filepath.Join(r.dir, "run.log"))
	return len(news.FindAll(raw, -1))
}

func write(file, text string) {
	_ = os.MkdirAll(filepath.Dir(file), 0o755)
	tmp := filepath.Join(filepath.Dir(filepath.Dir(file)), ".tmp")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		fmt.Println("harness:", err)
	}
	_ = os.Rename(tmp, file)
}

func (r *controller) check(ctx context.Context, dump string) {
	write(filepath.Join(r.dir, "check", "all.yaml"), dump)
	var out, errs bytes.Buffer
	args := []string{"check", "-f", filepath.Join(r.dir, "check"), "-o", "yaml"}
	if r.other != nil {
		args = append(args, "--controller-name", egController)
	}
	cmd := exec.CommandContext(ctx, r.limpet, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	r.checks++
	r.ms += time.Since(began).Milliseconds()
	n := r.checks
	r.refused = ""
	if err != nil && strings.TrimSpace(out.String()) == "" {
		r.refused = errs.String()
	}
	r.mu.Unlock()
	_ = os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("check.%02d.err", n)), errs.Bytes(), 0o644)
	_ = os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("check.%02d.out", n)), out.Bytes(), 0o644)
	_ = os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("check.%02d.in", n)), []byte(dump), 0o644)
	for _, doc := range regexp.MustCompile(`(?m)^---\s*$`).Split(out.String(), -1) {
		var m map[string]any
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			fmt.Println("harness: status:", err)
			continue
		}
		if len(m) == 0 || m["status"] == nil {
			continue
		}
		said := &unstructured.Unstructured{Object: m}
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(said.GroupVersionKind())
		if err := r.c.Get(ctx, client.ObjectKeyFromObject(said), have); err != nil {
			continue // deleted meanwhile
		}
		if reflect.DeepEqual(have.Object["status"], m["status"]) {
			continue
		}
		have.Object["status"] = m["status"]
		if err := r.c.Status().Update(ctx, have); err != nil {
			fmt.Println("harness: status:", said.GetKind(), said.GetName(), err)
		}
	}
}

// feed gives run the documents, and starts it where it does not run.
func (r *controller) feed(ctx context.Context, dump string) {
	said := r.said()
	limit := 2 * time.Second
	defer func() { r.settled(ctx, said, limit) }()
	write(filepath.Join(r.dir, "run", "all.yaml"), dump)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proc != nil {
		select {
		case <-r.done:
		default:
			return // --watch sees it
		}
	}
	limit = 10 * time.Second
	args := []string{"run", "--watch", "-f", filepath.Join(r.dir, "run"), "--envoy", r.envoy, "--admin", "127.0.4.1:19901", "--bind", "127.0.3.250"}
	if r.wasm != "" {
		args = append(args, "--wasm-path", r.wasm)
	}
	args = append(args, "--", "--concurrency", "2", "--log-level", "warning", "--use-dynamic-base-id")
	cmd := exec.Command(r.limpet, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	log, err := os.OpenFile(filepath.Join(r.dir, "run.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Println("harness:", err)
		return
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		fmt.Println("harness:", err)
		return
	}
	done := make(chan struct{})
	r.proc, r.done = cmd, done
	go func() {
		err := cmd.Wait()
		fmt.Fprintf(log, "harness: limpet run ended: %v\n", err)
		log.Close()
		close(done)
	}()
}

func (r *controller) stop() {
	if r.other != nil {
		r.other.stop()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.proc == nil {
		return
	}
	_ = r.proc.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(10 * time.Second):
		_ = r.proc.Process.Kill()
		<-r.done
	}
}
