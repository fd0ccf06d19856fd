package harness

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// How Blast spreads its requests: so many connections, and so many requests under way on each.
const (
	blastConnections = 8
	blastWindow      = 16
)

// Blast sends count requests as fast as Envoy answers, over a few keep-alive connections with pipelining. request
// appends the bytes of request number i to buf; check gets its answer, whose body has been read. Both are called
// from several goroutines at once.
func (e *Envoy) Blast(t testing.TB, count int, request func(i int, buf []byte) []byte, check func(i int, r *http.Response)) {
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
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// blastLine is one connection: it sends the requests first, first+blastConnections and so on below count.
type blastLine struct {
	first, count int
	request      func(i int, buf []byte) []byte
	check        func(i int, r *http.Response)
}

func (l blastLine) run(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(3 * time.Minute))
	window := make(chan struct{}, blastWindow)
	failed := make(chan struct{})
	var written sync.WaitGroup
	written.Go(func() { l.write(connection, window, failed) })
	err = l.read(connection, window)
	close(failed)
	connection.Close()
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
	reader := bufio.NewReader(connection)
	for i := l.first; i < l.count; i += blastConnections {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		l.check(i, response)
		<-window
	}
	return nil
}
