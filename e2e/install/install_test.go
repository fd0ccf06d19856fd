package install

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/limpet-proxy/limpet/e2e/install/chart"
	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

// page is docs/install.md: its blocks of shell that this test runs, by the heading that they are under.
type page struct {
	titles []string
	blocks map[string][]string
}

const mark = "<!-- not run: TestInstall of e2e/install runs it on a real API server -->\n```sh\n"

func readPage(t *testing.T) page {
	t.Helper()
	text, err := os.ReadFile("../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	p := page{blocks: map[string][]string{}}
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(string(text), -1) {
		title, rest, _ := strings.Cut(section, "\n")
		for _, block := range strings.Split(rest, mark)[1:] {
			script, _, ends := strings.Cut(block, "\n```")
			if !ends {
				t.Fatalf("%s: a block has no end", title)
			}
			if p.blocks[title] == nil {
				p.titles = append(p.titles, title)
			}
			p.blocks[title] = append(p.blocks[title], script)
		}
	}
	return p
}

// shell runs blocks one after the other as a reader would, in one folder.
type shell struct {
	folder string
	env    []string
}

// newShell has the page's commands at hand. What they would download is this tree's: the chart, at the version that they name, and Gateway
// API's CRDs of go.mod's version.
func newShell(t *testing.T, c *cluster) shell {
	t.Helper()
	s := shell{folder: t.TempDir()}
	programs, released := absolute(t, "../../bin"), filepath.Join(t.TempDir(), "limpet")
	if err := chart.Write("../..", released); err != nil {
		t.Fatal(err)
	}
	shims := filepath.Join(s.folder, ".bin")
	for name, text := range map[string]string{
		"helm": `args=() version=
while [ $# -gt 0 ]; do
	case $1 in
	--version) version=$2; shift ;;
	oci://ghcr.io/limpet-proxy/charts/limpet) args+=("$PWD/.chart") ;;
	*) args+=("$1") ;;
	esac
	shift
done
if [ -n "$version" ]; then
	rm -rf .chart && cp -r "` + released + `" .chart
	grep -rlF 0.0.0-unreleased .chart | xargs sed -i "s/0\.0\.0-unreleased/$version/g"
	sed -i '/^kubeVersion:/d' .chart/Chart.yaml # this control plane, built from the module proxy, does not know its own version
fi
exec "` + programs + `/helm" "${args[@]}"
`,
		"kubectl": `args=()
for a in "$@"; do
	case $a in
	https://github.com/kubernetes-sigs/gateway-api/releases/download/*/experimental-install.yaml)
		[ "$(basename "$(dirname "$a")")" = "` + gatewayAPI(t).version + `" ] || { echo "$a: the page names another version than go.mod" >&2; exit 1; }
		mkdir -p .crds && cp "` + gatewayAPI(t).crds + `"/gateway*.yaml .crds && a=.crds ;;
	esac
	args+=("$a")
done
exec "` + programs + `/kubectl" "${args[@]}"
`,
	} {
		writeScript(t, filepath.Join(shims, name), text)
	}
	if err := os.Symlink(c.limpet, filepath.Join(shims, "limpet")); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"PATH=" + shims + ":" + os.Getenv("PATH"), "HOME=" + s.folder, "KUBECONFIG=" + c.Kubeconfig(standin.AdminToken)}
	return s
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/bash\nset -eu\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// gateway is the module of Gateway API that go.mod names.
type gateway struct{ version, crds string }

func gatewayAPI(t *testing.T) gateway {
	t.Helper()
	text, err := exec.Command("go", "list", "-C", "../..", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/gateway-api").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	return gateway{version, filepath.Join(dir, "config/crd/experimental")}
}

// run runs a block, which must succeed, and gives what it prints.
func (s shell) run(t *testing.T, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", "-c", script)
	bash.Dir, bash.Env = s.folder, s.env
	return printed(t, bash)
}

// printed runs a command, which must succeed, and gives what it prints on its standard output.
func printed(t *testing.T, command *exec.Cmd) string {
	t.Helper()
	var stderr strings.Builder
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s%s", err, strings.Join(command.Args, " "), stdout, stderr.String())
	}
	return string(stdout)
}

// installWithin is how long it may take from "helm install" to a request that sticks, on a machine that does nothing else.
const installWithin = 20 * time.Second

// TestInstall does what docs/install.md says, in its order.
func TestInstall(t *testing.T) {
	c := startCluster(t)
	s, p := newShell(t, c), readPage(t)
	want := []string{"In a cluster", "The first Gateway", "Its Envoys", "A request that sticks", "Envoys that limpet runs", "Upgrade", "Other keys", "Uninstall"}
	if !slices.Equal(p.titles, want) || len(p.blocks["In a cluster"]) != 2 || len(p.blocks["Uninstall"]) != 2 {
		t.Fatalf("the page has %q", p.titles)
	}
	first, home := "", ""
	sticks := func(after string) { // the session of the first time, each time
		t.Helper()
		answers := strings.TrimSpace(s.run(t, first+p.blocks["A request that sticks"][0]))
		if strings.Contains(answers, "\n") || !strings.HasPrefix(answers, "10 cart-") {
			t.Fatalf("after %s ten requests of one client are answered by\n%s", after, answers)
		}
		if home == "" {
			home = answers
			first = s.run(t, p.blocks["A request that sticks"][0]+"\nprintf 'COOKIE=%s' \"$cookie\"")
			first = "cookie='" + first[strings.Index(first, "COOKIE=")+len("COOKIE="):] + "'\n"
			home = strings.TrimSpace(s.run(t, first+p.blocks["A request that sticks"][0]))
		}
		if answers != home && after != "the installation" {
			t.Errorf("after %s the session is at %s, and was at %s", after, answers, home)
		}
	}
	s.run(t, p.blocks["In a cluster"][0])
	before := c.quiet(t)
	begun := time.Now()
	s.run(t, p.blocks["In a cluster"][1])
	t.Logf("limpet is ready %.1f s after helm install", time.Since(begun).Seconds())
	s.run(t, p.blocks["The first Gateway"][0])
	s.run(t, p.blocks["Its Envoys"][0])
	sticks("the installation")
	fmt.Printf("install: %.1f s from helm install to a request that sticks\n", time.Since(begun).Seconds())
	if took := time.Since(begun); took > installWithin && os.Getenv("LIMPET_LONG") == "1" {
		t.Errorf("it took %v", took)
	}

	s.run(t, p.blocks["Envoys that limpet runs"][0])
	sticks("limpet's own Envoys")
	url := "http://" + s.run(t, `kubectl -n shop get service edge -o jsonpath='{.spec.clusterIP}'`) + "/cart"
	cookie := strings.Trim(strings.TrimPrefix(strings.TrimSpace(first), "cookie="), "'")
	underLoad(t, "an upgrade", url, cookie, func() { s.run(t, p.blocks["Upgrade"][0]) })
	sticks("the upgrade")
	underLoad(t, "another key", url, cookie, func() { s.run(t, p.blocks["Other keys"][0]) })
	if n := strings.Count(s.run(t, `kubectl -n limpet-system get secret limpet-keys -o jsonpath='{.data.keys\.json}' | base64 -d`), `"id"`); n != 2 {
		t.Errorf("the ring has %d keys after a fresh one came", n)
	}
	sticks("another key")

	s.run(t, p.blocks["Uninstall"][0])
	checkLeft(t, before, c.awaitLeft(t, before))
	s.run(t, p.blocks["Uninstall"][1])
	c.awaitGone(t, before)
}

// underLoad sends requests of one session, one after the other, while something is done: none may fail, and all reach the same Pod.
func underLoad(t *testing.T, what, url, cookie string, do func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan [3]int)
	go func() {
		home, sent, failed, lost := "", 0, 0, 0
		for ; ctx.Err() == nil; sent++ {
			switch at, err := ask(url, cookie); {
			case err != nil:
				failed++
			case home != "" && at != home:
				lost++
			default:
				home = at
			}
		}
		ended <- [3]int{sent, failed, lost}
	}()
	do()
	time.Sleep(2 * time.Second) // for what comes of it
	stop()
	n := <-ended
	fmt.Printf("install: %s under load: %d requests, %d failed, %d of another Pod\n", what, n[0], n[1], n[2])
	if n[0] < 100 || n[1]+n[2] > 0 {
		t.Errorf("%s under load: %d requests, %d failed, %d were answered by another Pod", what, n[0], n[1], n[2])
	}
}

// ask sends a request, and gives who answers.
func ask(url, cookie string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Cookie", cookie)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	return string(text), err
}

// named are those that the page says stay, as patterns of what objects does.
var named = regexp.MustCompile(`^(customresourcedefinitions /\w+\.limpet\.dev|namespaces /limpet-system|secrets limpet-system/limpet-(keys|root|tls)|` +
	`leases limpet-system/limpet-serve(-\S+)?|configmaps limpet-system/(limpet-\S+|kube-root-ca\.crt)|serviceaccounts limpet-system/default|events \S+|` +
	`apiservices /v1alpha1\.limpet\.dev)$`)

// checkLeft wants nothing that was not there before but what the page names, and all of what must stay.
func checkLeft(t *testing.T, before, after []string) {
	t.Helper()
	text := strings.Join(after, "\n")
	for _, o := range after {
		if !slices.Contains(before, o) && !named.MatchString(o) {
			t.Errorf("left behind: %s", o)
		}
	}
	for _, want := range []string{"secrets limpet-system/limpet-keys", "secrets limpet-system/limpet-root", "sessionpersistencepolicies.limpet.dev"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is gone, and with it what can't be made again", want)
		}
	}
}

// quiet gives the objects when Kubernetes' own controllers have made what they make at their start.
func (c *cluster) quiet(t *testing.T) (now []string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		last := now
		if now = c.objects(t); slices.Equal(now, last) {
			break
		}
		time.Sleep(3 * time.Second)
	}
	return now
}

// awaitLeft gives the objects when the Pods have ended that end, after half a minute at the latest.
func (c *cluster) awaitLeft(t *testing.T, before []string) (now []string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		now = c.objects(t)
		if !slices.ContainsFunc(now, func(o string) bool { return !slices.Contains(before, o) && !named.MatchString(o) }) {
			break
		}
	}
	return now
}

// awaitGone waits until nothing is left but what there was before.
func (c *cluster) awaitGone(t *testing.T, before []string) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		left = slices.DeleteFunc(c.objects(t), func(o string) bool { return slices.Contains(before, o) || strings.HasPrefix(o, "events ") })
		if len(left) == 0 {
			return
		}
	}
	t.Errorf("left behind in the end: %q", left)
}

// objects are all of the cluster: RESOURCE NAMESPACE/NAME.
func (c *cluster) objects(t *testing.T) (all []string) {
	t.Helper()
	lister, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := lister.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range kinds {
		of, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range group.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Name == "componentstatuses" {
				continue
			}
			list, err := client.Resource(of.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				continue // a kind that has gone meanwhile
			}
			for _, o := range list.Items {
				all = append(all, r.Name+" "+o.GetNamespace()+"/"+o.GetName())
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
