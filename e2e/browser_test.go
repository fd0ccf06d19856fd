package e2e

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/examples/browser/site"
)

// browserConfig is the folder that the example compiles.
const browserConfig = "examples/browser/gateway"

// survey is an application besides those of the example, whose cookie goes along with every request, from wherever.
const survey = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: survey, namespace: default}
spec:
  parentRefs: [{name: browser}]
  hostnames: [shop.localhost]
  rules:
  - name: survey
    matches: [{path: {value: /survey}}]
    backendRefs: [{name: pods, port: 80}]
    sessionPersistence: {sessionName: __Host-survey}
---
apiVersion: limpet.dev/v1alpha1
kind: SessionPersistencePolicy
metadata: {name: survey, namespace: default}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: survey}]
  cookie: {sameSite: None}
`

// shopfront is the example, with a Chromium in front of it.
type shopfront struct {
	*harness.Browser
	envoy *harness.Envoy
	pods  []*harness.Backend
	port  int
}

func newShopfront(t *testing.T) *shopfront {
	t.Helper()
	s := &shopfront{port: harness.FreePort(t)}
	var ports []int
	for _, name := range []string{"pod-1", "pod-2", "pod-3"} {
		pod := harness.NewStreamer(t, name, false, site.Handler(name))
		s.pods, ports = append(s.pods, pod), append(ports, pod.Port())
	}
	documents, err := site.Documents(filepath.Join(harness.Find(t).Root, browserConfig), s.port, ports)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := site.NewCertificate("shop.localhost", "news.localhost", "chat.localhost")
	if err != nil {
		t.Fatal(err)
	}
	s.Browser = harness.NewBrowser(t, certificate.Pin)
	s.envoy = harness.Run(t, harness.Deployment{Documents: harness.Documents{
		Raw: strings.Join([]string{documents, survey, certificate.Secret()}, "\n---\n"),
	}})
	return s
}

// url is where a site has a path.
func (s *shopfront) url(host, path string) string {
	return fmt.Sprintf("https://%s.localhost:%d%s", host, s.port, path)
}

// pageAnswer is what a card of the page shows.
type pageAnswer struct {
	site.Answer
	State string `json:"state"`
}

// page opens a site's page and waits until it has asked what it asks by itself.
func (s *shopfront) page(t *testing.T, tab *harness.Tab, host string) {
	t.Helper()
	tab.Open(t, s.url(host, "/"))
	harness.Script[any](t, tab, "window.started.then(() => true)")
}

// card has a card of the page do something.
func (s *shopfront) card(t *testing.T, tab *harness.Tab, app, what string) pageAnswer {
	t.Helper()
	return harness.Script[pageAnswer](t, tab, "cards."+app+"."+what)
}

// pinned asks a card several times, which must be one session's requests to one backend.
func (s *shopfront) pinned(t *testing.T, tab *harness.Tab, app string) pageAnswer {
	t.Helper()
	first := s.card(t, tab, app, "ask()")
	for range 5 {
		if next := s.card(t, tab, app, "ask()"); next != first || next.State != "pinned" || next.Session == "" {
			t.Fatalf("%s: %+v after %+v", app, next, first)
		}
	}
	return first
}

// TestBrowser is about what browsers alone do: which cookies they take, keep from scripts, and send from where.
func TestBrowser(t *testing.T) {
	t.Parallel()
	s := newShopfront(t)
	t.Run("cookies", func(t *testing.T) { checkBrowserCookies(t, s) })
	t.Run("other sites", func(t *testing.T) { checkOtherSites(t, s) })
	t.Run("frames", func(t *testing.T) { checkFrames(t, s) })
	t.Run("page", func(t *testing.T) { checkPage(t, s) })
	began := 0
	for _, count := range s.envoy.Stats(t, `^wasmcustom\.limpet_sessions\..*outcome\.new$`) {
		began += int(count)
	}
	harness.RecordResult(t, "a browser", harness.Result{
		Requests: int(s.envoy.SessionTotal(t)), Sessions: began, Faults: 1,
		Note: "Chromium over TLS: Secure, `__Host-`, SameSite, Partitioned, two applications, WebSocket, logout",
	})
}

// checkBrowserCookies: the browser keeps the cookies of both applications with all that they say, and shows its
// scripts none of them.
func checkBrowserCookies(t *testing.T, s *shopfront) {
	tab := s.Person(t)
	s.page(t, tab, "shop")
	cart, profile := s.pinned(t, tab, "cart"), s.pinned(t, tab, "profile")
	if cart.Session == profile.Session {
		t.Errorf("two applications have one session: %+v, %+v", cart, profile)
	}
	if text := harness.Script[string](t, tab, "document.cookie"); text != "" {
		t.Errorf("a script can read %q", text)
	}
	for name, want := range map[string]network.Cookie{
		"__Host-cart":    {Domain: "shop.localhost", SameSite: network.CookieSameSiteStrict, Session: true},
		"__Host-profile": {Domain: "shop.localhost", SameSite: network.CookieSameSiteLax},
		"__Host-chat":    {Domain: "chat.localhost", SameSite: network.CookieSameSiteNone, Session: true},
	} {
		found := cookiesNamed(t, tab, name)
		if len(found) != 1 {
			t.Fatalf("the browser has %d cookies %s", len(found), name)
		}
		c := found[0]
		if c.Domain != want.Domain || c.SameSite != want.SameSite || c.Session != want.Session || !c.Secure || !c.HTTPOnly || c.Path != "/" {
			t.Errorf("the browser has %+v", *c)
		}
	}
	if end := time.Unix(int64(cookiesNamed(t, tab, "__Host-profile")[0].Expires), 0); time.Until(end) < 7*time.Hour || time.Until(end) > 9*time.Hour {
		t.Errorf("the profile's cookie ends at %v, want 8 hours from now", end)
	}
	s.page(t, tab, "shop")
	if again := s.pinned(t, tab, "cart"); again.Answer != cart.Answer {
		t.Errorf("the page was loaded again, and the cart went from %+v to %+v", cart, again)
	}
}

func cookiesNamed(t *testing.T, tab *harness.Tab, name string) []*network.Cookie {
	t.Helper()
	var found []*network.Cookie
	for _, c := range tab.Cookies(t) {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// checkOtherSites: of a session that is there, links from another site find those with SameSite=Lax and None, and forms
// that post those with None only. To the others the request is one without a session.
func checkOtherSites(t *testing.T, s *shopfront) {
	const link = `location.href = %q`
	const form = `{ const f = document.createElement("form"); f.method = "post"; f.action = %q; document.body.append(f); f.submit() }`
	for app, finds := range map[string]map[string]bool{
		"cart": {link: false, form: false}, "profile": {link: true, form: false}, "survey": {link: true, form: true},
	} {
		for way, found := range finds {
			tab := s.Person(t)
			tab.Open(t, s.url("shop", "/"+app))
			tab.Open(t, s.url("shop", "/"+app))
			before := s.shown(t, tab)
			tab.Open(t, s.url("news", "/style.css"))
			harness.Script[any](t, tab, fmt.Sprintf(way, s.url("shop", "/"+app))+"; true")
			tab.WaitFor(t, fmt.Sprintf(`document.readyState === "complete" && location.href === %q`, s.url("shop", "/"+app)))
			after := s.shown(t, tab)
			if before.Session == "" || (after == before) != found || (after.Session == "") == found {
				t.Errorf("%s by %.8s…: the session %+v became %+v, want it found: %v", app, way, before, after, found)
			}
		}
	}
}

// shown is the application's answer where it is the page.
func (s *shopfront) shown(t *testing.T, tab *harness.Tab) site.Answer {
	t.Helper()
	return harness.Script[site.Answer](t, tab, "JSON.parse(document.body.innerText)")
}

// checkFrames: a frame of a third party has a session for each site that embeds it, and keeps both.
func checkFrames(t *testing.T, s *shopfront) {
	tab := s.Person(t)
	sessions := map[string]pageAnswer{}
	for range 2 {
		for _, host := range []string{"shop", "news"} {
			s.page(t, tab, host)
			got := s.pinned(t, tab, "chat")
			if was, known := sessions[host]; known && was != got {
				t.Errorf("on %s the frame's session was %+v and is %+v", host, was, got)
			}
			sessions[host] = got
		}
	}
	if sessions["shop"].Session == sessions["news"].Session {
		t.Errorf("two sites embed one session: %+v", sessions)
	}
	partitions := map[string]bool{}
	for _, c := range cookiesNamed(t, tab, "__Host-chat") {
		if c.PartitionKey == nil || c.PartitionKey.TopLevelSite == "" {
			t.Fatalf("the frame's cookie is not partitioned: %+v", *c)
		}
		partitions[c.PartitionKey.TopLevelSite] = true
	}
	if len(partitions) != 2 {
		t.Errorf("the frame's cookies are in the partitions %v, want two", partitions)
	}
}

// checkPage: a person clicks through the page, which shows what becomes of the session: found again by a WebSocket,
// ended by a logout, begun again, and moved when its backend is gone. The screenshot is for people.
func checkPage(t *testing.T, s *shopfront) {
	tab := s.Person(t)
	s.page(t, tab, "shop")
	cart, profile := s.pinned(t, tab, "cart"), s.pinned(t, tab, "profile")
	if live := s.card(t, tab, "cart", "live()"); live.Backend != cart.Backend {
		t.Errorf("the WebSocket reached %s, the session is on %s", live.Backend, cart.Backend)
	}
	tab.Click(t, "#cart .logout")
	tab.WaitFor(t, `document.querySelector("#cart .state").textContent === "ended"`)
	if left := cookiesNamed(t, tab, "__Host-cart"); len(left) > 0 {
		t.Errorf("after the logout the browser has %+v", *left[0])
	}
	if next := s.card(t, tab, "cart", "ask()"); next.State != "new" {
		t.Errorf("after the logout: %+v", next)
	}
	if next := s.pinned(t, tab, "cart"); next.Session == cart.Session {
		t.Errorf("after the logout the session is the same: %+v", next)
	}
	if kept := s.pinned(t, tab, "profile"); kept != profile {
		t.Errorf("the cart's logout changed the profile's session from %+v to %+v", profile, kept)
	}
	tab.Click(t, "#plain .often")
	tab.WaitFor(t, `document.querySelectorAll("#plain .dots i").length === 13`)
	s.closePod(profile.Backend)
	moved := s.card(t, tab, "profile", "ask()")
	if moved.State != "moved" || moved.Backend == profile.Backend {
		t.Errorf("the backend is gone, and the page shows %+v", moved)
	}
	if kept := s.pinned(t, tab, "profile"); kept.Backend != moved.Backend {
		t.Errorf("the session moved to %s and went on to %s", moved.Backend, kept.Backend)
	}
	savePicture(t, tab.Screenshot(t))
}

func (s *shopfront) closePod(name string) {
	for _, pod := range s.pods {
		if pod.Name == name {
			pod.Close()
		}
	}
}

// savePicture keeps a screenshot among the test's artifacts and fails if nothing is to be seen in it.
func savePicture(t *testing.T, picture []byte) {
	t.Helper()
	path := filepath.Join(t.ArtifactDir(), "page.png")
	if err := os.WriteFile(path, picture, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("the screenshot is %s", path)
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	colours, size := map[color.Color]bool{}, decoded.Bounds().Size()
	for x := range size.X {
		for y := range size.Y {
			colours[decoded.At(x, y)] = true
		}
	}
	if size.X < 1000 || size.Y < 600 || len(colours) < 100 {
		t.Errorf("the screenshot is %v with %d colours", size, len(colours))
	}
}
