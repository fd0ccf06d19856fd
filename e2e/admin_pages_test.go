package e2e

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// TestAdminPages: Envoy's admin interface shows how Envoy is; what shows its configuration or changes Envoy is forbidden,
// however it is spelled, unless --admin all asks for it.
func TestAdminPages(t *testing.T) {
	t.Parallel()
	_, deployment := threePods(t, harness.CookieRule("cart", "pods"))
	closed := harness.Run(t, deployment)
	deployment.Flags = []string{"--admin=all"}
	open := harness.Run(t, deployment)
	for _, page := range []string{
		"/ready", "/stats", "/stats?filter=limpet", "/stats/prometheus", "/stats/prometheus?usedonly", "/clusters", "/listeners", "/certs", "/memory",
	} {
		for name, envoy := range map[string]*harness.Envoy{"by default": closed, "with --admin all": open} {
			if got := askAdmin(t, envoy, http.MethodGet, page); got != "200" {
				t.Errorf("%s %s: status %s", name, page, got)
			}
		}
	}
	for _, page := range []string{"/config_dump", "/config_dump?include_eds", "/server_info", "/", "/help", "/init_dump"} {
		if got := askAdmin(t, closed, http.MethodGet, page); got != "403" {
			t.Errorf("%s: status %s", page, got)
		}
		if got := askAdmin(t, open, http.MethodGet, page); got != "200" {
			t.Errorf("with --admin all %s: status %s", page, got)
		}
	}
	for _, page := range []string{
		"//config_dump", "/stats/../config_dump", "/stats?/../config_dump", "/ready/../config_dump", "/%63onfig_dump", "/CONFIG_DUMP", "/config_dump/",
		"/config_dump#/stats", "/stats/prometheus/../../config_dump", "http://x/config_dump", "/statsx", "/stats%3f/config_dump", "/./config_dump", "*",
	} {
		if got := askAdmin(t, closed, http.MethodGet, page); got == "200" && !strings.HasPrefix(page, "/stats?") {
			t.Errorf("%s: status %s", page, got)
		}
	}
	for _, page := range []string{
		"/quitquitquit", "/healthcheck/fail", "/drain_listeners", "/logging?level=trace", "/reset_counters", "/reopen_logs", "/runtime_modify?a=b",
		"/stats/recentlookups/enable", "/cpuprofiler?enable=y", "/heapprofiler?enable=y",
	} {
		if got := askAdmin(t, closed, http.MethodPost, page); got != "403" {
			t.Errorf("POST %s: status %s", page, got)
		}
	}
	stay(t, closed.Client(), "/cart", 10)
}

// askAdmin sends a path to the admin interface as it stands here, and gives the status.
func askAdmin(t *testing.T, envoy *harness.Envoy, method, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", harness.Loopback(envoy.AdminPort))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(method + " " + path + " HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 64)
	n, _ := c.Read(head)
	_, rest, _ := strings.Cut(string(head[:n]), " ")
	status, _, _ := strings.Cut(rest, " ")
	return status
}
