package e2e

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestBrowserExample is make browser without its set-up: one program starts everything, says where the page is, serves
// it, and takes all of it along when it ends, the private key too.
func TestBrowserExample(t *testing.T) {
	t.Parallel()
	shipped, port, temp := harness.Find(t), harness.FreePort(t), t.TempDir()
	mark := "TMPDIR=" + temp
	program := exec.Command(filepath.Join(shipped.Root, "bin", "browser"), "-port", fmt.Sprint(port))
	program.Dir = shipped.Root
	program.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "ENVOY=" + shipped.Envoy, mark}
	program.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	var complaints bytes.Buffer
	program.Stderr = &complaints
	stdout, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = program.Process.Kill() }()
	if printed, done := readUntil(stdout, "Ctrl-C"); !done || !strings.Contains(printed, fmt.Sprintf("https://shop.localhost:%d/", port)) {
		t.Fatalf("it said: %q; stderr: %s", printed, complaints.String())
	}
	eventually(t, "the page is served", func() bool { return servesPage(port) })
	if err := program.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if _, err := io.Copy(io.Discard, stdout); err != nil {
		t.Error(err)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, complaints.String())
	}
	wantEmptyFolder(t, temp)
	wantNoProcess(t, mark)
}

// servesPage reports whether the page is there. What it is sent over is TestBrowser's matter, so any certificate will do.
func servesPage(port int) bool {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, ServerName: "shop.localhost"},
	}}
	request, err := http.NewRequest(http.MethodGet, fmt.Sprintf("https://%s/", harness.Loopback(port)), nil)
	if err != nil {
		return false
	}
	request.Host = "shop.localhost"
	response, err := client.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return err == nil && response.StatusCode == http.StatusOK && strings.Contains(string(text), "limpet in a browser")
}
