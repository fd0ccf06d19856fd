package harness

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"
)

// How Blast spreads its requests: so many connections, and so many requests under way on each.
const (
	blastConnections = 8
	blastWindow      = 16
)

// blastBuffer is how many bytes of requests or responses are read at a time, and the longest line in them.
const blastBuffer = maxHeaders

// Blast sends count requests without bodies as fast as Envoy answers, over a few keep-alive connections with
// pipelining. request appends the bytes of request number i to buf; check gets the head of its answer, which is good
// until it returns. Both are called from several goroutines at once.
func (e *Envoy) Blast(t testing.TB, count int, request func(i int, buf []byte) []byte, check func(i int, head Head)) {
	t.Helper()
	var group sync.WaitGroup
	errs := make([]error, blastConnections)
	for first := range blastConnections {
		group.Go(func() {
			line := blastLine{first: first, count: count, request: request, check: check}
			errs[first] = line.run(Loopback(e.Port))
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// Head is a response as it came, from its status line to the empty line.
type Head []byte

// OK tells whether the status is 200.
func (h Head) OK() bool { return bytes.HasPrefix(h, []byte("HTTP/1.1 200 ")) }

// Response parses the head.
func (h Head) Response() (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(h)), nil)
}

// length is the size of the body that follows. Envoy writes names in lower case.
func (h Head) length() (int, error) {
	_, rest, found := bytes.Cut(h, []byte("\r\ncontent-length: "))
	if !found {
		return 0, fmt.Errorf("no content-length in %q", h)
	}
	text, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(text))
}

// blastLine is one connection: it sends the requests first, first+blastConnections and so on below count.
type blastLine struct {
	first, count int
	request      func(i int, buf []byte) []byte
	check        func(i int, head Head)
}

func (l blastLine) run(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		return err
	}
	window := make(chan struct{}, blastWindow)
	failed := make(chan struct{})
	var written sync.WaitGroup
	written.Go(func() { l.write(connection, window, failed) })
	err = l.read(connection, window)
	close(failed)
	_ = connection.Close()
	written.Wait()
	return err
}

func (l blastLine) write(connection net.Conn, window chan<- struct{}, failed <-chan struct{}) {
	var buf []byte
	for i := l.first; i < l.count; i += blastConnections {
		select {
		case window <- struct{}{}:
		case <-failed:
			return
		}
		buf = l.request(i, buf[:0])
		if _, err := connection.Write(buf); err != nil {
			return // the reader sees the same connection fail
		}
	}
}

func (l blastLine) read(connection net.Conn, window <-chan struct{}) error {
	reader := bufio.NewReaderSize(connection, blastBuffer)
	var head []byte
	for i := l.first; i < l.count; i += blastConnections {
		var err error
		if head, err = readHead(reader, head[:0]); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		length, err := Head(head).length()
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		if _, err := reader.Discard(length); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		l.check(i, head)
		<-window
	}
	return nil
}

// readHead appends the bytes up to and with the next empty line to head.
func readHead(reader *bufio.Reader, head []byte) ([]byte, error) {
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return head, err
		}
		head = append(head, line...)
		if len(line) <= len("\r\n") {
			return head, nil
		}
	}
}
