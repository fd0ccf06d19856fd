// Package freeport finds ports for programs that tests and measurements start.
package freeport

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// Ports are handed out below the range from which the kernel picks ports for outgoing connections, so that
// none is taken between here and a program's bind; each test process starts elsewhere in the range.
const (
	first = 11000
	count = 20000
)

// tries is how many ports are looked at.
const tries = 200

var next atomic.Uint32

// Find gives a TCP port of 127.0.0.1 on which nothing listens, a different one with every call. It does not listen there to try: a
// program that another test starts holds every socket of this process from its fork to its exec, those just closed too.
func Find() (int, error) {
	start := uint32(os.Getpid()) * 61
	for range tries {
		port := first + int((start+next.Add(1))%count)
		if !isTaken(port) {
			return port, nil
		}
	}
	return 0, errors.New("no free port on 127.0.0.1 in 200 tries")
}

// FindMany gives several.
func FindMany(count int) ([]int, error) {
	ports := make([]int, count)
	for i := range ports {
		var err error
		if ports[i], err = Find(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// isTaken reports whether something listens at a port.
func isTaken(port int) bool {
	used, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		_ = used.Close()
	}
	return err == nil
}
