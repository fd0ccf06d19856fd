package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/scaletest"
	"github.com/limpet-proxy/limpet/internal/freeport"
)

// contestant is a limpet that follows its input, and its Envoy.
type contestant struct {
	name, folder, address string
	command               *exec.Cmd
	envoy                 int // its process
	samples               []sample
}

// readyWithin is how long limpet and Envoy may take to start, and to take a change over.
const readyWithin = 5 * time.Minute

// start runs a limpet on as many routes, all of which lead to one backend. What comes with an error has to be stopped, too.
func start(name, path string, routes int, backend string) (*contestant, error) {
	folder, err := os.MkdirTemp("", "limpet-live")
	if err != nil {
		return nil, err
	}
	c := &contestant{name: name, folder: folder}
	ports, err := freeport.FindMany(2)
	if err != nil {
		return c, err
	}
	c.address = "127.0.0.1:" + strconv.Itoa(ports[0])
	if err := c.writeInput(routes, strconv.Itoa(ports[0]), backend); err != nil {
		return c, err
	}
	output, err := os.Create(folder + ".log")
	if err != nil {
		return c, err
	}
	defer output.Close()
	command := exec.Command(path, "run", "--watch", "-f", folder, "--assume-admitted", "--admin", "127.0.0.1:"+strconv.Itoa(ports[1]), "--",
		"--concurrency", "2", "--use-dynamic-base-id")
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := command.Start(); err != nil {
		return c, err
	}
	c.command = command
	return c, c.awaitStart()
}

// writeInput writes the documents.
func (c *contestant) writeInput(routes int, port, backend string) error {
	host, backendPort, err := net.SplitHostPort(backend)
	if err != nil {
		return err
	}
	local := strings.NewReplacer("10.0.0.1", host, "- addresses: [10.0.0.2]\n", "", "port: 8080", "port: "+backendPort,
		"port: 80}]}", "port: "+port+"}]}")
	for _, s := range scaletest.MakeRoutes(routes) {
		if err := os.WriteFile(filepath.Join(c.folder, s.Name), []byte(local.Replace(string(s.Data))), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *contestant) stop() {
	if c.command != nil {
		_ = c.command.Process.Signal(syscall.SIGTERM) // fails where it has ended already
		_ = c.command.Wait()
	}
	_ = os.RemoveAll(c.folder)
	_ = os.Remove(c.folder + ".log")
}

func (c *contestant) awaitStart() error {
	for begin := time.Now(); time.Since(begin) < readyWithin; time.Sleep(50 * time.Millisecond) {
		if _, err := c.ask(0); err == nil {
			return c.findEnvoy()
		}
	}
	text, _ := os.ReadFile(c.folder + ".log")
	return fmt.Errorf("%s does not serve: %s", c.name, text[max(0, len(text)-2000):])
}

// findEnvoy finds the child of limpet, which any of its threads may have started.
func (c *contestant) findEnvoy() error {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", c.command.Process.Pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list) // of a thread that has ended there is none
		for child := range strings.FieldsSeq(string(text)) {
			c.envoy, err = strconv.Atoi(child)
		}
	}
	if c.envoy == 0 {
		return errors.Join(err, fmt.Errorf("%s has no Envoy", c.name))
	}
	return err
}

// ask gives the name of the cookie that a new client of a route gets.
func (c *contestant) ask(route int) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.address+"/cart", nil)
	if err != nil {
		return "", err
	}
	request.Host = fmt.Sprintf("app-%d.example.com", route)
	response, err := http.DefaultClient.Do(request)
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
