package freeport

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// TestFind: ports are different ones, and none at which something listens is among them.
func TestFind(t *testing.T) {
	found := map[int]bool{}
	for range 50 {
		port, err := Find()
		if err != nil {
			t.Fatal(err)
		}
		if found[port] {
			t.Errorf("%d twice", port)
		}
		found[port] = true
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port+1)))
		if err != nil {
			continue // somebody else's, which will do
		}
		if next, err := Find(); err != nil || next == port+1 {
			t.Errorf("%d is taken and found: %v", next, err)
		}
		_ = l.Close()
	}
}

// TestFindInProcesses: no two processes find the same ports, while they live.
func TestFindInProcesses(t *testing.T) {
	if os.Getenv("FIND_PORTS") != "" {
		ports, err := FindMany(2*blockSize + 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, port := range ports {
			_, _ = os.Stdout.WriteString("port " + strconv.Itoa(port) + "\n")
		}
		_, _ = os.Stdin.Read(make([]byte, 1)) // until the other process has seen them
		return
	}
	found := map[string]int{}
	for process := range 5 {
		other := exec.Command(os.Args[0], "-test.run", "^TestFindInProcesses$")
		other.Env = append(os.Environ(), "FIND_PORTS=1")
		out, err := other.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		in, err := other.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := other.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.Close(); _ = other.Wait() })
		lines := bufio.NewScanner(out)
		for n := 0; n < 2*blockSize+10 && lines.Scan(); n++ {
			if before, twice := found[lines.Text()]; twice {
				t.Errorf("processes %d and %d have %s", before, process, lines.Text())
			}
			found[lines.Text()] = process
		}
	}
	if want := 5 * (2*blockSize + 10); len(found) != want {
		t.Errorf("%d ports, want %d", len(found), want)
	}
}
