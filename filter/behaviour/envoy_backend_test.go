package behaviour

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// readHead reads a message's first line, as the header "", and its headers.
func readHead(r *bufio.Reader) ([][2]string, error) {
	var head [][2]string
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		switch {
		case head == nil:
			head = append(head, [2]string{"", line})
		case line == "":
			return head, nil
		default:
			name, value, _ := strings.Cut(line, ":")
			head = append(head, [2]string{name, strings.Trim(value, " \t")})
		}
	}
}

// backend is every host of the tests: the first line on a connection says which one was meant.
type backend struct {
	listener net.Listener
	port     int
	mu       sync.Mutex
	answer   func(string, [][2]string) [][2]string
	host     string
	received [][2]string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	b := &backend{listener: l, port: l.Addr().(*net.TCPAddr).Port}
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			go b.serve(connection)
		}
	}()
	return b
}

func (b *backend) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	r := bufio.NewReaderSize(connection, 128<<10)
	host, err := r.ReadString('\n')
	for err == nil {
		var head [][2]string
		if head, err = readHead(r); err == nil {
			_, err = connection.Write(b.respond(strings.TrimSpace(host), head))
		}
	}
}

func (b *backend) respond(host string, head [][2]string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.host, b.received = host, nil
	for _, line := range head[1:] {
		if !strings.HasPrefix(line[0], "x-test-") {
			b.received = append(b.received, line)
		}
	}
	reply := [][2]string{{":status", "200"}}
	if b.answer != nil {
		reply = b.answer(host, b.received)
	}
	var out bytes.Buffer
	status, _ := first(reply, ":status")
	fmt.Fprintf(&out, "HTTP/1.1 %s Test\r\nx-test-backend: %s\r\n", status, host)
	for _, line := range without(reply, ":status") {
		fmt.Fprintf(&out, "%s: %s\r\n", line[0], line[1])
	}
	if status != "304" {
		out.WriteString("content-length: 0\r\n")
	}
	out.WriteString("\r\n")
	return out.Bytes()
}

func splitHost(host string) (address string, port int) {
	address, text, _ := net.SplitHostPort(host)
	port, _ = strconv.Atoi(text)
	return address, port
}
