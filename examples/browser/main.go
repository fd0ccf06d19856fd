// Command browser runs the example for browsers: three backends with a page that shows which of them answers and
// what its sessions' states are, behind "limpet run" with an HTTPS listener. It runs until Ctrl-C or SIGTERM and leaves
// no process and no file behind.
//
// Run it from the repository's root, after "make build": bin/limpet and examples/browser/gateway are found from there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/limpet-proxy/limpet/examples/browser/site"
)

// hosts are the sites of the example. Browsers take every name below localhost for the loopback.
var hosts = []string{"shop.localhost", "news.localhost", "chat.localhost"}

func main() {
	runtime.LockOSThread() // limpet is told when the thread that started it ends: that must be the program's end
	limpet := flag.String("limpet", "bin/limpet", "the limpet `program`")
	config := flag.String("config", "examples/browser/gateway", "what limpet compiles: a `folder`")
	port := flag.Int("port", site.Port, "the `port` to serve on, on 127.0.0.1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *limpet, *config, *port, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "browser: %v\n", err)
		os.Exit(1)
	}
}

// run serves until the context ends.
func run(ctx context.Context, limpet, config string, port int, out io.Writer) error {
	certificate, err := site.NewCertificate(hosts...)
	if err != nil {
		return err
	}
	ports, err := startBackends(ctx, 3)
	if err != nil {
		return err
	}
	documents, err := site.Documents(config, port, ports)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "limpet-browser-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	input := filepath.Join(dir, "documents.yaml")
	if err := os.WriteFile(input, []byte(documents+"---\n"+certificate.Secret()), 0o600); err != nil {
		return err
	}
	command := exec.CommandContext(
		ctx,
		limpet,
		"run",
		"-f",
		input,
		"--bind",
		"127.0.0.1",
		"--admin",
		"none",
		"--",
		"--log-level",
		"warning",
	)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.SysProcAttr = ownGroup()
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 15 * time.Second // limpet gives Envoy ten seconds
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	if serving(ctx, port, ended) {
		explain(out, port, certificate.Pin)
	}
	if err := <-ended; ctx.Err() == nil {
		return errors.Join(errors.New("limpet has ended"), err)
	}
	return nil
}

// serving waits until something listens on the port; false if limpet ends before that. What it ends with stays there
// to be received.
func serving(ctx context.Context, port int, ended chan error) bool {
	for ctx.Err() == nil {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), time.Second)
		if err == nil {
			return conn.Close() == nil
		}
		select {
		case err := <-ended:
			ended <- err
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
	return false
}

// startBackends starts backends that end with the context, and gives their ports.
func startBackends(ctx context.Context, count int) ([]int, error) {
	var ports []int
	for i := range count {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: site.Handler(fmt.Sprintf("pod-%d", i+1)), ReadHeaderTimeout: 10 * time.Second}
		go func() { _ = server.Serve(listener) }() // returns when it is closed
		context.AfterFunc(ctx, func() { _ = server.Close() })
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

func explain(out io.Writer, port int, pin string) {
	fmt.Fprintf(out, `
The page is at https://shop.localhost:%[1]d/ and https://news.localhost:%[1]d/
Your browser does not know the certificate, which was made just now. Let it pass,
for https://chat.localhost:%[1]d/ too, or start one that trusts it:

  chromium --user-data-dir="$(mktemp -d)" --ignore-certificate-errors-spki-list='%[2]s' https://shop.localhost:%[1]d/

Ctrl-C ends all of it.
`, port, pin)
}
