package harness

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
)

// actWithin is the time limit of one action in a tab.
const actWithin = 3 * time.Minute

// Browser is a headless Chromium that knows no hosts but those below localhost, which are all 127.0.0.1.
type Browser struct{ ctx context.Context }

// NewBrowser starts the Chromium that the environment variable CHROMIUM names; without one it does as Find. It trusts
// the certificates with these public keys (base64 of their SHA-256) and no others besides the system's.
func NewBrowser(t testing.TB, pins string) *Browser {
	t.Helper()
	program, err := exec.LookPath(os.Getenv("CHROMIUM"))
	if err != nil {
		Missing(t, "the environment variable CHROMIUM names no program")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program),
		chromedp.NoSandbox, // it refuses to start as root with one
		chromedp.DisableGPU,
		chromedp.WSURLReadTimeout(actWithin),
		chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("host-resolver-rules", "MAP *.localhost 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.Flag("ignore-certificate-errors-spki-list", pins),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	return &Browser{ctx}
}

// Tab is a tab of a user who has no cookies at first.
type Tab struct{ ctx context.Context }

// Person opens a tab for a new person.
func (b *Browser) Person(t testing.TB) *Tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1200, 940)); err != nil {
		t.Fatalf("open a tab: %v", err)
	}
	return &Tab{ctx}
}

// act runs something in the tab.
func act[T any](t testing.TB, tab *Tab, what string, action chromedp.Action[T]) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, actWithin)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return value
}

// Open goes to a URL, as a person does who types it.
func (tab *Tab) Open(t testing.TB, url string) {
	t.Helper()
	act(t, tab, "open "+url, chromedp.Navigate(url))
}

// Script evaluates JavaScript in the tab's page, waits for what it promises, and gives the value.
func Script[T any](t testing.TB, tab *Tab, script string) T {
	t.Helper()
	return act(t, tab, script, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

// Click clicks on the element that a CSS selector finds.
func (tab *Tab) Click(t testing.TB, selector string) {
	t.Helper()
	act(t, tab, "click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// WaitFor waits until a JavaScript expression is true. The page may change meanwhile.
func (tab *Tab) WaitFor(t testing.TB, expression string) {
	t.Helper()
	deadline := time.Now().Add(actWithin)
	for {
		ctx, cancel := context.WithTimeout(tab.ctx, actWithin)
		is, err := chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		cancel()
		if err == nil && is {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s (%v)", actWithin, expression, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Cookies are all that the person has, of every site.
func (tab *Tab) Cookies(t testing.TB) []*network.Cookie {
	t.Helper()
	person := chromedp.FromContext(tab.ctx).BrowserContextID
	result, err := chromedp.CallBrowser(tab.ctx, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: person})
	if err != nil {
		t.Fatalf("read the cookies: %v", err)
	}
	return result.Cookies
}

// Screenshot is a PNG of what the person sees.
func (tab *Tab) Screenshot(t testing.TB) []byte {
	t.Helper()
	return act(t, tab, "take a screenshot", chromedp.CaptureScreenshot())
}
