package serve

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// oneConnection is a listener of one connection.
type oneConnection chan net.Conn

func (l oneConnection) Accept() (net.Conn, error) {
	if conn, is := <-l; is {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (l oneConnection) Close() error   { return nil }
func (l oneConnection) Addr() net.Addr { return &net.TCPAddr{} }

// TestWebEnds: a web server ends a connection that says nothing, does not end what it says, or has nothing more to say.
func TestWebEnds(t *testing.T) {
	const get = "GET / HTTP/1.1\r\nHost: a\r\n"
	for name, c := range map[string]struct {
		says    string
		answers int
		after   time.Duration
	}{
		"nothing":            {"", 0, 5 * time.Second},
		"half of a header":   {get, 0, 5 * time.Second},
		"half of a body":     {get + "Content-Length: 9\r\n\r\nhalf", 1, 10 * time.Second},
		"a request":          {get + "\r\n", 1, 30 * time.Second},
		"two, and no others": {strings.Repeat(get+"\r\n", 2), 2, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := NewWeb(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
			client, conn := net.Pipe()
			listener := make(oneConnection, 1)
			listener <- conn
			go func() { _ = server.Serve(listener) }()
			begun := time.Now()
			go func() { _, _ = io.WriteString(client, c.says) }()
			answers, reader := 0, bufio.NewReader(client)
			for {
				response, err := http.ReadResponse(reader, nil)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, response.Body)
				answers++
			}
			if after := time.Since(begun); after != c.after || answers != c.answers {
				t.Errorf("%s: the connection ends after %v and %d answers, want %v and %d", name, after, answers, c.after, c.answers)
			}
			close(listener)
			_ = server.Close()
		})
	}
}
