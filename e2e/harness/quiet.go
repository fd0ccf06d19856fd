package harness

import (
	"bufio"
	"fmt"
	"net"
	"testing"
)

// NewQuietBackend starts a backend for Blast: it answers every request without a body with 200, its name and these
// header lines, ignores what the request asks of it, and costs so little that Envoy is what a test measures.
func NewQuietBackend(t testing.TB, name string, lines ...string) *Backend {
	t.Helper()
	return newQuietBackend(t, name, 0, lines)
}

// NewDroppingBackend is a quiet backend that closes the connection in place of every so many answers.
func NewDroppingBackend(t testing.TB, name string, every int) *Backend {
	t.Helper()
	return newQuietBackend(t, name, every, nil)
}

func newQuietBackend(t testing.TB, name string, drops int, lines []string) *Backend {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("backend %s: %v", name, err)
	}
	b := &Backend{Name: name, Address: listener.Addr().String(), server: listener}
	answer := fmt.Appendf(nil, "HTTP/1.1 200 OK\r\n%s: %s\r\nContent-Length: 0\r\n", BackendHeader, name)
	for _, line := range lines {
		answer = append(answer, line+"\r\n"...)
	}
	answer = append(answer, "\r\n"...)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go answerAll(connection, answer, drops)
		}
	}()
	t.Cleanup(b.Close)
	return b
}

// QuietBackends starts one quiet backend for each name.
func QuietBackends(t testing.TB, names ...string) []*Backend {
	t.Helper()
	var all []*Backend
	for _, name := range names {
		all = append(all, NewQuietBackend(t, name))
	}
	return all
}

// answerAll answers each head of a request on a connection, until Envoy closes it or, where drops is not 0, for
// so many requests less one.
func answerAll(connection net.Conn, answer []byte, drops int) {
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReaderSize(connection, blastBuffer)
	for count := 1; ; count++ {
		if _, err := readHead(reader, nil); err != nil || count == drops {
			return
		}
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}
