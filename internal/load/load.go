// Package load sends requests to a proxy as fast as it answers, and answers them behind it, at next to no cost of its
// own: what is measured in between is the proxy. Tests and make bench share it.
package load

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// How Send spreads its requests: so many connections, and so many requests under way on each.
const (
	connections = 8
	window      = 16
)

// BufferSize is how many bytes of requests or responses are read at a time, and the longest line in them: more than
// Envoy lets through.
const BufferSize = 128 << 10

// A Request appends the bytes of request number i to buf.
type Request func(i int, buf []byte) []byte

// A Check gets the head of the answer to request number i, which is good until it returns.
type Check func(i int, head Head)

// Send sends count requests without bodies to an address ("127.0.0.1:8080"), over a few keep-alive HTTP/1.1
// connections with pipelining. Both functions are called from several goroutines at once. It gives up after
// five minutes.
func Send(address string, count int, request Request, check Check) error {
	var group sync.WaitGroup
	errs := make([]error, connections)
	for first := range connections {
		group.Go(func() {
			l := pipeline{first: first, count: count, request: request, check: check}
			errs[first] = l.run(address)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// pipeline is one connection: it sends the requests first, first+connections and so on below count.
type pipeline struct {
	first, count int
	request      Request
	check        Check
}

func (l pipeline) run(address string) error {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if err := connection.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		return err
	}
	underWay := make(chan struct{}, window)
	failed := make(chan struct{})
	var written sync.WaitGroup
	written.Go(func() { l.write(connection, underWay, failed) })
	err = l.read(connection, underWay)
	close(failed)
	_ = connection.Close()
	written.Wait()
	return err
}

func (l pipeline) write(connection net.Conn, underWay chan<- struct{}, failed <-chan struct{}) {
	var buf []byte
	for i := l.first; i < l.count; i += connections {
		select {
		case underWay <- struct{}{}:
		case <-failed:
			return
		}
		buf = l.request(i, buf[:0])
		if _, err := connection.Write(buf); err != nil {
			return // the reader sees the same connection fail
		}
	}
}

func (l pipeline) read(connection net.Conn, underWay <-chan struct{}) error {
	reader := bufio.NewReaderSize(connection, BufferSize)
	var head Head
	for i := l.first; i < l.count; i += connections {
		var err error
		if head, err = ReadAnswer(reader, head); err != nil {
			return fmt.Errorf("request %d: %w", i, err)
		}
		l.check(i, head)
		<-underWay
	}
	return nil
}
