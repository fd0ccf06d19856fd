package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Admin is Envoy's admin interface, at an ip:port.
type Admin string

// answersWithin bounds one question. Envoy answers between other work of its main thread, such as reading a file with
// thousands of clusters.
const answersWithin = 30 * time.Second

// client speaks to loopback addresses mostly, and never through a proxy.
var client = &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConnsPerHost: 1}, Timeout: answersWithin}

func (a Admin) get(ctx context.Context, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+string(a)+path, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the admin interface of Envoy at %s answers %s with status %d", a, path, response.StatusCode)
	}
	return string(body), err
}

// Ready tells whether Envoy has started and serves.
func (a Admin) Ready(ctx context.Context) bool {
	text, err := a.get(ctx, "/ready")
	return err == nil && strings.TrimSpace(text) == "LIVE"
}

// listListeners gives the names of the listeners that serve.
func (a Admin) listListeners(ctx context.Context) (map[string]bool, error) {
	text, err := a.get(ctx, "/listeners?format=json")
	if err != nil {
		return nil, err
	}
	var page struct {
		Listeners []struct{ Name string } `json:"listener_statuses"`
	}
	if err := json.Unmarshal([]byte(text), &page); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, l := range page.Listeners {
		names[l.Name] = true
	}
	return names, nil
}

// fileCounters are what Envoy says about a file. It says nothing of one that it does not read.
type fileCounters struct {
	version                     string
	taken, rejected, unreadable uint64
}

// The two gauges that are 0 when everything that Envoy took over also serves.
const warmingGauges = `cluster_manager\.warming_clusters|listener_manager\.total_listeners_warming`

// readCounters reads those with these prefixes, and how many clusters and listeners are not ready yet.
func (a Admin) readCounters(
	ctx context.Context, prefixes []string,
) (of map[string]fileCounters, notReady uint64, err error) {
	quoted := make([]string, len(prefixes))
	for i, p := range prefixes {
		quoted[i] = regexp.QuoteMeta(p)
	}
	filter := fmt.Sprintf(`^((%s)\.(version_text|update_success|update_rejected|update_failure)|%s)$`,
		strings.Join(quoted, "|"), warmingGauges)
	text, err := a.get(ctx, "/stats?filter="+url.QueryEscape(filter))
	if err != nil {
		return nil, 0, err
	}
	of = map[string]fileCounters{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		prefix, last := name[:strings.LastIndexByte(name, '.')+1], name[strings.LastIndexByte(name, '.')+1:]
		prefix = strings.TrimSuffix(prefix, ".")
		number, _ := strconv.ParseUint(value, 10, 64) // 0 for a text
		c := of[prefix]
		switch last {
		case "version_text":
			c.version = strings.Trim(value, `"`)
		case "update_success":
			c.taken = number
		case "update_rejected":
			c.rejected = number
		case "update_failure":
			c.unreadable = number
		default:
			notReady += number
			continue
		}
		of[prefix] = c
	}
	return of, notReady, nil
}
