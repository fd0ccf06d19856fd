package main

import (
	"fmt"
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
	"github.com/limpet-proxy/limpet/internal/freeport"
)

// kind is a kind of change, and kinds are all of them.
type kind string

const (
	ofPolicy   kind = "policy"
	ofRoute    kind = "route"
	ofEndpoint kind = "endpoint"
)

var kinds = []kind{ofPolicy, ofRoute, ofEndpoint}

// contestant is a limpet that follows its input.
type contestant struct {
	name, folder, address string
	command               *exec.Cmd
	backends              [2]string // their ports
	took                  map[kind][]time.Duration
}

// within is how long limpet and Envoy may take to start, and to take a change over.
const within = 5 * time.Minute

// start runs a limpet on as many routes, all of which lead to one backend. What comes with an error has to be stopped,
// too.
func start(name string, command []string, routes int) (*contestant, error) {
	folder, err := os.MkdirTemp("", "limpet-bench")
	if err != nil {
		return nil, err
	}
	c := &contestant{name: name, folder: folder, took: map[kind][]time.Duration{}}
	for i := range c.backends {
		backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-backend", c.backends[i])
		}))
		c.backends[i] = strconv.Itoa(backend.Listener.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // it is one
	}
	ports, err := freeport.FindMany(2)
	if err != nil {
		return c, err
	}
	c.address = "127.0.0.1:" + strconv.Itoa(ports[0])
	local := strings.NewReplacer(
		"10.0.0.1", "127.0.0.1",
		"- addresses: [10.0.0.2]\n", "",
		"port: 8080", "port: "+c.backends[0],
		"port: 80}]}", "port: "+strconv.Itoa(ports[0])+"}]}",
	)
	for _, s := range scaletest.MakeRoutes(routes) {
		if err := os.WriteFile(filepath.Join(folder, s.Name), []byte(local.Replace(string(s.Data))), 0o600); err != nil {
			return c, err
		}
	}
	output, err := os.Create(folder + ".log")
	if err != nil {
		return c, err
	}
	defer output.Close()
	admin := "127.0.0.1:" + strconv.Itoa(ports[1])
	arguments := slices.Concat([]string{"run", "-f", folder, "--admin", admin}, command[1:],
		[]string{"--", "--concurrency", "2", "--use-dynamic-base-id"})
	c.command = exec.Command(command[0], arguments...)
	c.command.Stdout, c.command.Stderr = output, output
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.command.Start(); err != nil {
		c.command = nil
		return c, err
	}
	return c, c.await(func() bool { return c.ask(0, "/cart").StatusCode == http.StatusOK })
}

func (c *contestant) stop() {
	if c.command != nil {
		_ = c.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
		_ = c.command.Wait()
	}
	_ = os.RemoveAll(c.folder)
	_ = os.Remove(c.folder + ".log")
}

// await waits for something.
func (c *contestant) await(is func() bool) error {
	for begin := time.Now(); time.Since(begin) < within; time.Sleep(2 * time.Millisecond) {
		if is() {
			return nil
		}
	}
	text, _ := os.ReadFile(c.folder + ".log")
	return fmt.Errorf("%s does not come to it: %s", c.name, text[max(0, len(text)-2000):])
}

// ask gives the answer to a new client of a route; one without a status where there is none.
func (c *contestant) ask(route int, path string) *http.Response {
	request, err := http.NewRequest(http.MethodGet, "http://"+c.address+path, nil)
	if err != nil {
		return &http.Response{}
	}
	request.Host = fmt.Sprintf("app-%d.example.com", route)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return &http.Response{}
	}
	_ = response.Body.Close()
	return response
}

// measure changes something of a route, and waits until a new client sees it.
func (c *contestant) measure(k kind, n, route int) error {
	var document, from, to string
	isLive := func() bool { return c.ask(route, "/cart").StatusCode == http.StatusOK }
	switch k {
	case ofPolicy:
		document, from, to = "kind: SessionPersistencePolicy", "  sessionName: ", fmt.Sprintf("  sessionName: new%d-", n)
		isLive = func() bool {
			cookies := c.ask(route, "/cart").Cookies()
			return len(cookies) > 0 && strings.HasPrefix(cookies[0].Name, fmt.Sprintf("new%d-", n))
		}
	case ofRoute:
		document, from, to = "kind: HTTPRoute", "value: /cart\n", fmt.Sprintf("value: /new%d\n", n)
		isLive = func() bool { return c.ask(route, fmt.Sprintf("/new%d", n)).StatusCode == http.StatusOK }
	case ofEndpoint:
		document, from, to = "kind: EndpointSlice", "port: "+c.backends[0], "port: "+c.backends[1]
		isLive = func() bool { return c.ask(route, "/cart").Header.Get("x-backend") == c.backends[1] }
	}
	file, err := c.edit(document, route, from, to)
	if err != nil {
		return err
	}
	time.Sleep(pause)
	begin := time.Now()
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	if err := c.await(isLive); err != nil {
		return err
	}
	c.took[k] = append(c.took[k], time.Since(begin))
	return nil
}

// pause is how long after a change all that it causes has been done.
const pause = 500 * time.Millisecond

// edit writes the file with a document of a route again, to be moved into place.
func (c *contestant) edit(document string, route int, from, to string) (file string, err error) {
	files, err := filepath.Glob(filepath.Join(c.folder, "*.yaml"))
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		documents := strings.Split(string(text), "\n---\n")
		at := slices.IndexFunc(documents, func(d string) bool {
			return strings.Contains(d, document) &&
				(strings.Contains(d, fmt.Sprintf("name: app-%d\n", route)) && strings.Contains(d, from))
		})
		if at >= 0 {
			documents[at] = strings.Replace(documents[at], from, to, 1)
			return file, os.WriteFile(file+".new", []byte(strings.Join(documents, "\n---\n")), 0o600)
		}
	}
	return "", fmt.Errorf("no file has %q in the %s of route %d", from, document, route)
}
