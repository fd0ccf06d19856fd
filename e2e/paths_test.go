package e2e

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
)

// pathRules are the rules that paths are sent to: what each matches, and whether it has sessions. Its backend has the
// name of what it matches.
var pathRules = []harness.Rule{
	{Path: "/", Exact: true, Session: &harness.Session{Name: "root", Type: "Cookie"}},
	{Path: "/"},
	{Path: "/a", Session: &harness.Session{Name: "a", Type: "Cookie"}},
	{Path: "/a/b", Exact: true},
	{Path: "/admin", Session: &harness.Session{Name: "admin", Type: "Cookie"}},
	{Path: "/@scope"},
}

// pathShapes are requests' targets that a proxy and what is behind it may read differently. The first thirty-one are
// those with which Envoy's own redirects were led to other hosts.
var pathShapes = []string{
	"/%2fevil.com", "/%2Fevil.com", "/%2fevil.com/login", "/%5cevil.com", "/%5Cevil.com", "//evil.com%2fx", `/\evil.com%2f`,
	"/a/..//evil.com%2f", "/%2f%2fevil.com", "/%5c%5cevil.com", "/%2f%5cevil.com", "/.//evil.com%2f", "/.%2f/evil.com",
	"/..%2f/evil.com", "/%2e%2f%2fevil.com", "/%2e%2e%2f%2fevil.com", "/a%2f..%2f%2fevil.com", "/a/%2e%2e%2f%2fevil.com",
	"//%2fevil.com", "//%5cevil.com", "/%2f/evil.com", "/%2f?x", "/%5c?x", "//%2f", "/%2f", "/%2f..%2f", "/%2fevil.com?%2f",
	"/%2fuser@evil.com", "/%2fevil.com:80", "/%2f;evil.com", "/%2f%09evil.com",
	"/", "//", "///", "//?x=//y", "//a", "//b/../a", "/a//b", "/a/./b", "/a/../admin", "/x%2f..%2fadmin", "/x/..%2fadmin",
	"/a%2fb", "/a/b%2f", "/%61dmin", "/a/%2e%2e/admin", `/x\..\admin`, "/@scope%2fname", "/@scope/name", "/%40scope%2Fname",
	"/a%252fb", "/a/..%252fadmin", "/a?next=//evil.com", "/a?next=/%2fevil.com", "/a#/../admin", "/a%23/../admin", "/a/..;/admin",
	"/a%00b", "/%", "/%2", "/%zz", "/a/...", "/a/.../admin", "/..", "/../../admin", "/./admin/", "http://x/%2fevil.com", "*", "a",
}

// pathParts are what the fuzzer makes paths of.
var pathParts = []string{
	"/", "/", "/", "//", "%2f", "%2F", "%5c", "%5C", `\`, ".", "..", "%2e", "%2E%2e", "a", "b", "admin", "%61", "@scope", "evil.com",
	"%252f", "%25", ";", ":", "@", "?", "?x", "=", "&", "#", "%20", "%23", "%3f", "%c3%a9", "http:", "x", "...", "~", "%7e", "+",
}

// randomPath is a path of up to ten parts.
func randomPath(random *rand.Rand) string {
	text := "/"
	for range 1 + random.IntN(10) {
		text += pathParts[random.IntN(len(pathParts))]
	}
	return text
}

// pathAnswer is what became of a request: the rule that took it and the target that its backend saw, both empty where Envoy
// answered itself, and where that sent the client.
type pathAnswer struct {
	wire, sent     string
	status         int
	rule, seen     string
	locations      []string
	answeredByHost bool
}

// fault is what is wrong with an answer; empty for nothing.
func (a pathAnswer) fault() string {
	seen, query, _ := strings.Cut(a.seen, "?")
	_, asked, _ := strings.Cut(a.sent, "?")
	switch {
	case len(a.locations) > 0:
		return fmt.Sprintf("sends the client to %q", a.locations)
	case !a.answeredByHost && a.status != http.StatusBadRequest && a.status != 0:
		return "neither reaches a backend nor is refused"
	case !a.answeredByHost:
		return ""
	case seen != "//" && strings.Contains(seen, "//"):
		return "leaves slashes next to one another"
	case escapedSlash.Replace(seen) != seen:
		return "leaves escaped slashes"
	case slices.ContainsFunc(strings.Split(strings.ToLower(seen), "/"), isDots):
		return "leaves dots"
	case query != asked:
		return fmt.Sprintf("has the query %q", query)
	case a.rule != ruleFor(resolve(seen)):
		return fmt.Sprintf("is the rule %s's for a backend that reads paths generously", ruleFor(resolve(seen)))
	case !strings.Contains(a.sent, ";") && resolve(seen) != resolve(pathOf(a.sent)): // Envoy takes some ".;" for dots
		return fmt.Sprintf("is not the client's path %q", resolve(pathOf(a.sent)))
	}
	return ""
}

var escapedSlash = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/")

// isDots tells whether a segment of a path means this folder or the one above.
func isDots(segment string) bool {
	plain := unescape(segment)
	return plain == "." || plain == ".."
}

// pathOf is a target without its origin and its query.
func pathOf(target string) string {
	target, _, _ = strings.Cut(strings.TrimPrefix(target, "http://x"), "?")
	return target
}

// resolve reads a path as the most generous of servers: escaped slashes, escaped letters and dots are what they stand for
// (RFC 3986 §6.2.2), and several slashes are one.
func resolve(text string) string {
	var kept []string
	segments := strings.Split(unescape(escapedSlash.Replace(text)), "/")[1:]
	for i, segment := range segments {
		if segment == ".." {
			kept = kept[:max(0, len(kept)-1)]
		}
		switch {
		case !isDots(segment):
			kept = append(kept, segment)
		case i == len(segments)-1:
			kept = append(kept, "")
		}
	}
	return severalSlashes.ReplaceAllString("/"+strings.Join(kept, "/"), "/")
}

var severalSlashes = regexp.MustCompile("//+")

// unescape decodes the letters, digits and marks that mean the same escaped or not (RFC 3986 §2.3).
func unescape(text string) string {
	return escapedByte.ReplaceAllStringFunc(text, func(escaped string) string {
		if plain, err := url.PathUnescape(escaped); err == nil && unreserved.MatchString(plain) {
			return plain
		}
		return escaped
	})
}

var (
	escapedByte = regexp.MustCompile("%[0-9A-Fa-f]{2}")
	unreserved  = regexp.MustCompile("^[A-Za-z0-9._~-]$")
)

// ruleFor is the rule that Gateway API gives a path to.
func ruleFor(text string) string {
	best := ""
	for _, rule := range pathRules {
		name := ruleName(rule)
		switch prefix := strings.TrimSuffix(rule.Path, "/"); {
		case rule.Exact && text == rule.Path:
			return name
		case !rule.Exact && (text == prefix || strings.HasPrefix(text, prefix+"/")) && len(name) > len(best):
			best = name
		}
	}
	return best
}

// ruleName names a rule and its Service.
func ruleName(rule harness.Rule) string {
	name := "prefix" + strings.NewReplacer("/", "-", "@", "at-").Replace(rule.Path)
	if rule.Exact {
		name = "exact" + strings.TrimPrefix(name, "prefix")
	}
	return strings.TrimSuffix(name, "-")
}

// echoTarget starts a backend that answers with the target of the request byte for byte, whatever that is.
func echoTarget(t *testing.T, name string) *harness.Backend {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			go answerTarget(conn, name)
		}
	}()
	return &harness.Backend{Name: name, Address: listener.Addr().String()}
}

// answerTarget answers requests without bodies until the connection ends.
func answerTarget(conn net.Conn, name string) {
	defer func() { _ = conn.Close() }()
	for reader := bufio.NewReader(conn); ; {
		line, err := reader.ReadString('\n')
		if err != nil {
			return
		}
		for head := line; head != "\r\n"; {
			if head, err = reader.ReadString('\n'); err != nil {
				return
			}
		}
		words := strings.Split(strings.TrimSpace(line), " ")
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n%s: %s\r\nx-seen: %s\r\n\r\n", harness.BackendHeader, name, words[1])
	}
}

// pathDocuments are the rules and their backends, in the clear and over TLS.
func pathDocuments(t *testing.T, certificate harness.Certificate, sessions bool) harness.Documents {
	t.Helper()
	documents := harness.Documents{Sites: []harness.Site{{Certificate: certificate}}}
	route := harness.Route{Name: "app"}
	for _, rule := range pathRules {
		name := ruleName(rule)
		documents.Services = append(documents.Services, harness.Service{Name: name, Backends: []*harness.Backend{echoTarget(t, name)}})
		rule.Refs = harness.To(name)
		if !sessions {
			rule.Session = nil
		}
		route.Rules = append(route.Rules, rule)
	}
	documents.Routes = []harness.Route{route}
	return documents
}

// askPaths sends each path over each wire, and gives what became of them.
func askPaths(t *testing.T, wires []harness.Wire, paths []string) []pathAnswer {
	t.Helper()
	answers := make([]pathAnswer, len(wires)*len(paths))
	var group sync.WaitGroup
	turns := make(chan struct{}, 32)
	for i := range answers {
		turns <- struct{}{}
		group.Go(func() {
			answers[i] = askPath(t, wires[i%len(wires)], paths[i/len(wires)])
			<-turns
		})
	}
	group.Wait()
	return answers
}

func askPath(t *testing.T, wire harness.Wire, sent string) pathAnswer {
	t.Helper()
	raw := wire.Send(t, http.MethodGet, sent, nil)
	return pathAnswer{
		wire: wire.Name, sent: sent, status: raw.Status,
		rule: raw.Header.Get(harness.BackendHeader), seen: raw.Header.Get("X-Seen"),
		locations: raw.Header["Location"], answeredByHost: raw.Header.Get(harness.BackendHeader) != "",
	}
}

// manyPaths are the shapes, and as many as the fuzzer shall make.
func manyPaths(seed uint64, count int) []string {
	paths, random := slices.Clone(pathShapes), rand.New(rand.NewPCG(seed, 16))
	for range count {
		paths = append(paths, randomPath(random))
	}
	return paths
}

// wantPaths fails where an answer is wrong, and unless backends answered most of them.
func wantPaths(t *testing.T, answers []pathAnswer) {
	t.Helper()
	reached, wrong := 0, 0
	for _, a := range answers {
		if a.answeredByHost {
			reached++
		}
		if what := a.fault(); what != "" && wrong < 20 {
			wrong++
			t.Errorf("%s: GET %s: status %d, rule %q, the backend saw %q: it %s", a.wire, a.sent, a.status, a.rule, a.seen, what)
		}
	}
	if reached*2 < len(answers) {
		t.Errorf("only %d of %d requests reached a backend", reached, len(answers))
	}
}

// TestPaths: whatever the path, no answer of Envoy's own names a host, and the rule that takes a request is the one for the
// path that its backend sees, however that reads it; over HTTP/1.1 and 2, in the clear and over TLS, with the
// configuration in one file and in several that Envoy watches, with sessions and without.
func TestPaths(t *testing.T) {
	t.Parallel()
	certificate := harness.NewCertificate(t)
	count := harness.Size(1000, 50_000)
	t.Run("one file", func(t *testing.T) {
		t.Parallel()
		envoy := harness.Run(t, harness.Deployment{Documents: pathDocuments(t, certificate, true)})
		wantPaths(t, askPaths(t, envoy.Wires(certificate, envoy.TLSPort), manyPaths(1, count)))
	})
	t.Run("several files", func(t *testing.T) {
		t.Parallel()
		documents := pathDocuments(t, certificate, true)
		documents.TLSPort = harness.FreePort(t)
		w := harness.RunWatching(t, documents, harness.NewRing("first"))
		wantPaths(t, askPaths(t, harness.WiresTo(w.Port, certificate, documents.TLSPort), manyPaths(2, count)))
	})
	t.Run("without sessions", func(t *testing.T) {
		t.Parallel()
		documents := pathDocuments(t, certificate, false)
		documents.Port, documents.TLSPort = harness.FreePort(t), harness.FreePort(t)
		w := harness.RunWatching(t, documents, harness.NewRing("first"))
		wantPaths(t, askPaths(t, harness.WiresTo(w.Port, certificate, documents.TLSPort), manyPaths(3, count)))
	})
}

// TestPathSettings: each setting of how Envoy reads paths is needed, with each of the others as it is; where one is
// otherwise, TestPaths would fail.
func TestPathSettings(t *testing.T) {
	t.Parallel()
	certificate := harness.NewCertificate(t)
	for name, change := range map[string]func(manager map[string]any){
		"slashes are not merged":      func(m map[string]any) { m["merge_slashes"] = false },
		"dots stay":                   func(m map[string]any) { m["normalize_path"] = false },
		"escaped slashes stay":        func(m map[string]any) { m["path_with_escaped_slashes_action"] = "KEEP_UNCHANGED" },
		"escaped slashes redirect":    func(m map[string]any) { m["path_with_escaped_slashes_action"] = "UNESCAPE_AND_REDIRECT" },
		"escaped slashes are refused": func(m map[string]any) { m["path_with_escaped_slashes_action"] = "REJECT_REQUEST" },
		"the root has one slash":      oneSlash,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			envoy := harness.Run(t, harness.Deployment{Documents: pathDocuments(t, certificate, true), Tree: func(tree harness.Tree) {
				for _, manager := range tree.Find(func(m map[string]any) bool { return m["normalize_path"] != nil }) {
					change(manager)
				}
			}})
			answers := askPaths(t, envoy.Wires(certificate, envoy.TLSPort), pathShapes)
			refused := func(a pathAnswer) bool { return a.sent == "/@scope%2fname" && a.rule != "prefix-at-scope" }
			if !slices.ContainsFunc(answers, func(a pathAnswer) bool { return a.fault() != "" || refused(a) }) {
				t.Error("nothing is wrong with it")
			}
		})
	}
}

// oneSlash makes the rule for the root alone match what it says and no more.
func oneSlash(manager map[string]any) {
	for _, match := range harness.Tree(manager).Find(func(m map[string]any) bool { return m["safe_regex"] != nil }) {
		delete(match, "safe_regex")
		match["path"] = "/"
	}
}
