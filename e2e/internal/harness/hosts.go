package harness

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// hostsVariable has a test binary serve backends instead of running tests: their names, with commas between.
const hostsVariable = "LIMPET_E2E_HOSTS"

// Hosts are backends that live and die together in a process of their own.
type Hosts struct {
	// Backends have names and addresses; what reached them only their answers tell.
	Backends []*Backend

	command *exec.Cmd
}

// StartHosts starts a process with a backend for each name. The test's TestMain must call ServeHosts.
func StartHosts(t testing.TB, names ...string) *Hosts {
	t.Helper()
	h := &Hosts{command: exec.Command(os.Args[0], "-test.run=^$")}
	h.command.Env = environment(hostsVariable + "=" + strings.Join(names, ","))
	h.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	h.command.Stderr = os.Stderr
	addresses, err := h.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Kill)
	lines := bufio.NewScanner(addresses)
	for _, name := range names {
		if !lines.Scan() {
			t.Fatalf("the process of backend %s ended: %v", name, lines.Err())
		}
		h.Backends = append(h.Backends, &Backend{Name: name, Address: lines.Text()})
	}
	return h
}

// Kill ends the process by SIGKILL.
func (h *Hosts) Kill() {
	_ = h.command.Process.Kill() // fails where it has ended already
	_ = h.command.Wait()
}

// Hang stops the process by SIGSTOP: the kernel still takes its connections, and no answer comes.
func (h *Hosts) Hang() error { return h.command.Process.Signal(syscall.SIGSTOP) }

// ServeHosts makes this process the backends that StartHosts has started it for, and never returns then.
func ServeHosts() {
	names := os.Getenv(hostsVariable)
	if names == "" {
		return
	}
	failed := make(chan error)
	for name := range strings.SplitSeq(names, ",") {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(listener.Addr())
		server := newServer(&Backend{Name: name, names: map[string]bool{}})
		go func() { failed <- server.Serve(listener) }()
	}
	fmt.Fprintln(os.Stderr, <-failed)
	os.Exit(1)
}

// newServer is what every backend but the special ones is made of.
func newServer(b *Backend) *http.Server {
	return &http.Server{Handler: b, ReadHeaderTimeout: readHeaderTimeout, MaxHeaderBytes: maxHeaders}
}
