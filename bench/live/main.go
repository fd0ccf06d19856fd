// Command live measures what a change of a session policy costs until it is live: limpets run side by side, each with an
// Envoy under it, on the same routes with a policy each, and take changes in turn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
)

func main() {
	routes := flag.Int("routes", 5_000, "how many routes, with a policy each")
	changes := flag.Int("changes", 20, "how many changes each limpet takes")
	flag.Parse()
	if err := run(*routes, *changes, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run measures the limpets that are named as NAME=PATH.
func run(routes, changes int, named []string) error {
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer backend.Close()
	var all []*contestant
	for _, n := range named {
		name, path, _ := strings.Cut(n, "=")
		c, err := start(name, path, routes, strings.TrimPrefix(backend.URL, "http://"))
		if err != nil {
			return err
		}
		defer c.stop()
		all = append(all, c)
	}
	for n := range changes {
		for _, at := range rand.Perm(len(all)) {
			if err := all[at].measure(n, rand.IntN(routes)); err != nil {
				return err
			}
		}
	}
	fmt.Printf("%d routes, %d changes of a policy; milliseconds, median (greatest)\n\n", routes, changes)
	fmt.Println("| limpet | from saved to live | longest wait | Envoy's main thread | Envoy's other threads | limpet |")
	fmt.Println("|---|---:|---:|---:|---:|---:|")
	for _, c := range all {
		fmt.Println(c.row())
	}
	return nil
}

// contestant is a limpet that follows its input, and its Envoy.
type contestant struct {
	name, folder, address string
	command               *exec.Cmd
	envoy                 int
	client                *http.Client
	samples               []sample
}

// sample is what one change took.
type sample struct{ live, wait, mainThread, workers, limpet time.Duration }

// readyWithin is how long limpet and Envoy may take to start, and to take a change over.
const readyWithin = 5 * time.Minute

func start(name, path string, routes int, backend string) (*contestant, error) {
	folder, err := os.MkdirTemp("", "limpet-live")
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	c := &contestant{name: name, folder: folder, address: net.JoinHostPort("127.0.0.1", port), client: &http.Client{}}
	host, hostPort, _ := net.SplitHostPort(backend)
	local := strings.NewReplacer("10.0.0.1", host, "- addresses: [10.0.0.2]\n", "", "port: 8080", "port: "+hostPort)
	for _, s := range scaletest.MakeRoutes(routes) {
		text := local.Replace(string(s.Data))
		if s.Name == "gateway.yaml" {
			text = strings.Replace(text, "port: 80}", "port: "+port+"}", 1)
		}
		if err := os.WriteFile(filepath.Join(folder, s.Name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	c.command = exec.Command(path, "run", "--watch", "-f", folder, "--assume-admitted", "--", "--concurrency", "2")
	c.command.Stderr, err = os.Create(folder + ".log")
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err = errors.Join(err, c.command.Start()); err != nil {
		return nil, err
	}
	return c, c.awaitStart()
}

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	return port, err
}

func (c *contestant) stop() {
	_ = c.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
	_ = c.command.Wait()
	_ = os.RemoveAll(c.folder)
}

func (c *contestant) awaitStart() error {
	for begin := time.Now(); time.Since(begin) < readyWithin; time.Sleep(50 * time.Millisecond) {
		if _, err := c.cookie(0); err == nil {
			return c.findEnvoy()
		}
	}
	text, _ := os.ReadFile(c.folder + ".log")
	return fmt.Errorf("%s does not serve: %s", c.name, text[max(0, len(text)-2000):])
}

// findEnvoy finds the child of limpet.
func (c *contestant) findEnvoy() error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.command.Process.Pid))
	for _, child := range strings.Fields(string(text)) {
		c.envoy, err = strconv.Atoi(child)
	}
	if c.envoy == 0 && err == nil {
		return c.searchEnvoy()
	}
	return err
}

// searchEnvoy looks through the children of all of limpet's threads, any of which may have started Envoy.
func (c *contestant) searchEnvoy() error {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.command.Process.Pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // of a thread that has ended there is none
		for _, child := range strings.Fields(string(text)) {
			c.envoy, err = strconv.Atoi(child)
		}
	}
	if c.envoy == 0 {
		return fmt.Errorf("%s has no Envoy", c.name)
	}
	return err
}

// cookie gives the name of the cookie that a new client of a route gets.
func (c *contestant) cookie(route int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+"/cart", nil)
	if err != nil {
		return "", err
	}
	request.Host = fmt.Sprintf("app-%d.example.com", route)
	response, err := c.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return "", err
	}
	for _, cookie := range response.Cookies() {
		return cookie.Name, nil
	}
	return "", fmt.Errorf("%s sets no cookie, with status %d", c.name, response.StatusCode)
}

// measure changes the policy of a route and waits until a new client gets its cookie.
func (c *contestant) measure(n, route int) error {
	file, err := c.edit(n, route)
	if err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond) // what the change before has left to do
	before, want := c.usage(), fmt.Sprintf("cart%d", n)
	begin := time.Now()
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	var s sample
	for got := ""; got != want; time.Sleep(time.Millisecond) {
		asked := time.Now()
		if got, err = c.cookie(route); err != nil {
			return err
		}
		s.wait = max(s.wait, time.Since(asked))
		if s.live = time.Since(begin); s.live > readyWithin {
			return fmt.Errorf("%s: change %d of route %d does not come", c.name, n, route)
		}
	}
	time.Sleep(300 * time.Millisecond)
	after := c.usage()
	s.mainThread, s.workers, s.limpet = after.mainThread-before.mainThread, after.workers-before.workers, after.limpet-before.limpet
	c.samples = append(c.samples, s)
	return nil
}

// edit writes a file with another name for the session of a route, to be moved into place.
func (c *contestant) edit(n, route int) (file string, err error) {
	file = filepath.Join(c.folder, fmt.Sprintf("apps-%d.yaml", route/500*500))
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	head, tail, found := strings.Cut(string(text), fmt.Sprintf("kind: SessionPersistencePolicy\nmetadata:\n  name: app-%d\n", route))
	if !found {
		return "", fmt.Errorf("%s has no policy of route %d", file, route)
	}
	between, rest, _ := strings.Cut(tail, "  sessionName: ")
	_, rest, _ = strings.Cut(rest, "\n")
	head += fmt.Sprintf("kind: SessionPersistencePolicy\nmetadata:\n  name: app-%d\n", route)
	return file, os.WriteFile(file+".new", []byte(head+between+fmt.Sprintf("  sessionName: cart%d\n", n)+rest), 0o600)
}

// usage is the processor time that was used so far.
func (c *contestant) usage() (s sample) {
	s.mainThread = threadTime(fmt.Sprintf("/proc/%d/task/%[1]d", c.envoy))
	s.workers = processTime(c.envoy) - s.mainThread
	s.limpet = processTime(c.command.Process.Pid)
	return s
}

func processTime(pid int) (total time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid)) // the pattern is sound
	for _, thread := range threads {
		total += threadTime(thread)
	}
	return total
}

// threadTime is the first field of schedstat, in ns; 0 for a thread that has ended.
func threadTime(thread string) time.Duration {
	text, _ := os.ReadFile(filepath.Join(thread, "schedstat"))
	first, _, _ := strings.Cut(string(text), " ")
	ns, _ := strconv.ParseInt(first, 10, 64)
	return time.Duration(ns)
}

// row is a line of the table.
func (c *contestant) row() string {
	cell := func(get func(sample) time.Duration) string {
		values := make([]time.Duration, len(c.samples))
		for i, s := range c.samples {
			values[i] = get(s)
		}
		slices.Sort(values)
		return fmt.Sprintf("%d (%d)", values[len(values)/2].Milliseconds(), values[len(values)-1].Milliseconds())
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", c.name,
		cell(func(s sample) time.Duration { return s.live }), cell(func(s sample) time.Duration { return s.wait }),
		cell(func(s sample) time.Duration { return s.mainThread }), cell(func(s sample) time.Duration { return s.workers }),
		cell(func(s sample) time.Duration { return s.limpet }))
}
