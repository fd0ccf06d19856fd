// Command fleet measures limpet's xDS server with many clients: a server in a process of its own, on one processor, and
// delta clients that answer as Envoys do and keep nothing but versions. "make fleet" runs it.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// size is what is measured.
type size struct {
	clients, routes, rate int
	apart                 bool
	during                time.Duration
}

func main() {
	var s size
	serve := flag.Bool("serve", false, "be the server, for another of these")
	flag.IntVar(&s.clients, "clients", 1000, "delta clients")
	flag.IntVar(&s.routes, "routes", 50, "routes that each has")
	flag.IntVar(&s.rate, "rate", 10, "changes a second, every other one of endpoints")
	flag.BoolVar(&s.apart, "apart", false, "each client is of a Gateway of its own, else all are of one")
	flag.DurationVar(&s.during, "during", 20*time.Second, "for how long there are changes")
	flag.Parse()
	var err error
	if *serve {
		err = runServer(s, os.Stdin, os.Stdout)
	} else {
		err = measure(s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// child is the server's process.
type child struct {
	command *exec.Cmd
	to      io.WriteCloser
	from    *bufio.Scanner
}

func startServer(s size) (*child, error) {
	args := []string{
		"-serve", fmt.Sprintf("-clients=%d", s.clients), fmt.Sprintf("-routes=%d", s.routes), fmt.Sprintf("-rate=%d", s.rate),
		fmt.Sprintf("-apart=%v", s.apart), fmt.Sprintf("-during=%v", s.during),
	}
	c := &child{command: exec.Command(os.Args[0], args...)}
	c.command.Env = append(os.Environ(), "GOMAXPROCS=1")
	c.command.Stderr = os.Stderr
	var err error
	if c.to, err = c.command.StdinPipe(); err != nil {
		return nil, err
	}
	from, err := c.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.from = bufio.NewScanner(from)
	return c, c.command.Start()
}

// ask sends a word and gives what the server says to it.
func (c *child) ask(word string) (f figures, err error) {
	if _, err := fmt.Fprintln(c.to, word); err != nil {
		return f, err
	}
	if !c.from.Scan() {
		return f, fmt.Errorf("the server has ended: %w", c.from.Err())
	}
	return f, json.Unmarshal(c.from.Bytes(), &f)
}

// measure runs clients against a server, has changes made, and restarts the server.
func measure(s size) error {
	server, err := startServer(s)
	if err != nil {
		return err
	}
	idle, err := server.ask("figures")
	if err != nil {
		return err
	}
	clients := newFleet(s, idle.Address)
	joined, err := server.ask("joined")
	if err != nil {
		return err
	}
	fmt.Printf("%d clients with %d routes each, %s\n", s.clients, s.routes, map[bool]string{
		true: "each of a Gateway of its own", false: "all of one Gateway",
	}[s.apart])
	fmt.Printf("first connection: all have everything after %.2f s, %.2f s of processor, %.1f MB sent\n",
		joined.Seconds, joined.CPU-idle.CPU, float64(joined.Bytes)/1e6)
	fmt.Printf(
		"memory: %.0f MB, %.0f kB a client\n",
		joined.ResidentMB,
		(joined.ResidentMB-idle.ResidentMB)*1000/float64(s.clients),
	)
	changed, err := server.ask("change")
	if err != nil {
		return err
	}
	fmt.Printf("%d changes in %.0f s: acknowledged as a whole p50 %.0f ms, p99 %.0f ms, max %.0f ms (%d "+
		"acknowledgements)\n",
		changed.Changes, changed.Seconds, changed.P50, changed.P99, changed.Max, changed.Live)
	fmt.Printf(
		"processor: %.2f of one; sent: %.0f bytes a change and client; memory %.0f MB\n",
		(changed.CPU-joined.CPU)/changed.Seconds,
		float64(changed.Bytes-joined.Bytes)/float64(changed.Sent),
		changed.ResidentMB,
	)
	if err := server.end(); err != nil {
		return err
	}
	again, err := startServer(s)
	if err != nil {
		return err
	}
	idle, err = again.ask("figures")
	if err != nil {
		return err
	}
	clients.moveTo(idle.Address)
	back, err := again.ask("joined")
	if err != nil {
		return err
	}
	fmt.Printf("all at once after a restart: all have everything after %.2f s, %.2f s of processor, %.1f MB sent\n",
		back.Seconds, back.CPU-idle.CPU, float64(back.Bytes)/1e6)
	return again.end()
}

func (c *child) end() error {
	c.to.Close()
	return c.command.Wait()
}
