package envoygateway

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// admin asks Envoy's admin interface, whose port is any: the only one on 127.0.0.1 that answers so.
func admin(t *testing.T, path string) string {
	t.Helper()
	client := &http.Client{Timeout: 5 * time.Second}
	for _, port := range listening(t) {
		base := fmt.Sprintf("http://127.0.0.1:%d", port)
		if info, err := client.Get(base + "/server_info"); err != nil || info.Header.Get("Server") != "envoy" {
			continue
		}
		return download(t, client, base+path)
	}
	t.Fatal("no admin interface of Envoy on 127.0.0.1")
	return ""
}

// download gives what is at a URL.
func download(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// listening gives the ports of 127.0.0.1 on which a process of this network namespace listens.
func listening(t *testing.T) []uint16 {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	var ports []uint16
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		address, port, ok := strings.Cut(fields[1], ":")
		if !ok || fields[3] != "0A" {
			continue
		}
		number, err := strconv.ParseUint(port, 16, 16)
		if bytes, _ := hex.DecodeString(address); err == nil && len(bytes) == 4 && bytes[3] == 127 && bytes[0] == 1 {
			ports = append(ports, uint16(number))
		}
	}
	return ports
}

// readEndpoints gives, as JSON, what Envoy has as the load assignment of a route's cluster, or as the locality of a
// backendRef in it.
func readEndpoints(t *testing.T, route, locality string) string {
	t.Helper()
	var dump struct {
		Configs []struct {
			DynamicEndpointConfigs []struct {
				EndpointConfig struct {
					ClusterName string `json:"cluster_name"`
					Endpoints   []object
					Policy      object
				} `json:"endpoint_config"`
			} `json:"dynamic_endpoint_configs"`
		}
	}
	if err := json.Unmarshal([]byte(admin(t, "/config_dump?include_eds")), &dump); err != nil {
		t.Fatal(err)
	}
	for _, c := range dump.Configs {
		for _, e := range c.DynamicEndpointConfigs {
			if e.EndpointConfig.ClusterName != "httproute/shop/"+route+"/rule/0" {
				continue
			}
			if locality == "" {
				return toJSON(t, e.EndpointConfig.Policy)
			}
			for _, l := range e.EndpointConfig.Endpoints {
				if region, _ := l["locality"].(object)["region"].(string); strings.HasSuffix(region, locality) {
					delete(l, "lb_endpoints")
					return toJSON(t, l)
				}
			}
		}
	}
	t.Fatalf("Envoy has no %s of route %s", locality, route)
	return ""
}

func toJSON(t *testing.T, o object) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
