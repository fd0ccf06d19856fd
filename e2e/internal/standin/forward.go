package standin

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forward answers a port-forward as a kubelet does: each connection is two streams, one of bytes and one for why there
// are none, and leads to the Pod's loopback.
func (p *pod) forward(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return // the answer says so
	}
	begun := make(chan httpstream.Stream, 2)
	upgraded := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		begun <- s
		return nil
	})
	if upgraded == nil {
		return // the answer says so
	}
	defer func() { _ = upgraded.Close() }()
	failed := map[string]httpstream.Stream{}
	for {
		select {
		case <-upgraded.CloseChan():
			return
		case s := <-begun:
			id := s.Headers().Get(corev1.PortForwardRequestIDHeader)
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				failed[id] = s
			} else if failed[id] != nil {
				go p.connect(s, failed[id])
			}
		}
	}
}

// connect leads a stream to a port.
func (p *pod) connect(data, failed httpstream.Stream) {
	defer failed.Close()
	defer data.Close()
	server, err := p.dial(data.Headers().Get(corev1.PortHeader))
	if err != nil {
		fmt.Fprintf(failed, "%v", err)
		return
	}
	defer func() { _ = server.Close() }()
	go func() { _, _ = io.Copy(server, data) }()
	_, _ = io.Copy(data, server)
}

// dial connects to a port of the Pod's loopback. The thread goes to the Pod's network and back: one that ended would
// take the processes along that it has started (Pdeathsig).
func (p *pod) dial(port string) (net.Conn, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return nil, err
	}
	defer own.Close()
	if err := joinNetwork(p.network()); err != nil {
		return nil, err
	}
	c, err := net.DialTimeout("tcp4", "127.0.0.1:"+port, time.Second)
	if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
		panic(back) // other goroutines would be in the Pod's network
	}
	return c, err
}
