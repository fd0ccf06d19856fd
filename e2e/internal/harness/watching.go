package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Watching is a "limpet run" whose documents and keys a test changes.
type Watching struct {
	*Running
	// Documents are those that it serves.
	Documents Documents

	folder  string
	changes int
	// served says that it is a limpet serve, whose lines are a log's.
	served bool
}

// changeWithin is how long a change may take on a machine that is busy with other tests.
const changeWithin = 5 * time.Minute

// RunWatching starts "limpet run" on documents with the ring in a key file, and waits until it follows them.
func RunWatching(t testing.TB, documents Documents, ring Ring, flags ...string) *Watching {
	t.Helper()
	return RunDraining(t, time.Second, documents, ring, flags...)
}

// RunDraining is RunWatching with the time for which connections go on whose listener has changed; Envoy's own default
// is ten minutes.
func RunDraining(t testing.TB, drain time.Duration, documents Documents, ring Ring, flags ...string) *Watching {
	t.Helper()
	w := &Watching{Documents: documents, folder: t.TempDir()}
	if w.Documents.Port == 0 {
		w.Documents.Port = FreePort(t)
	}
	w.replace(t, "input/documents.yaml", w.Documents.YAML(t))
	w.replace(t, "keys.json", ring.JSON(t))
	flags = append(
		[]string{"-f", filepath.Join(w.folder, "input"), "--keys", filepath.Join(w.folder, "keys.json")},
		flags...)
	w.Running = startLimpet(t, flags, w.Documents.Port, FreePort(t), drain, nil, nil)
	w.await(t, `changes of the input reach Envoy.*`)
	return w
}

// RunFolder is RunWatching on files of the input, by their names, whose first Gateway listens on a port.
func RunFolder(t testing.TB, files map[string]string, port, adminPort int, ring Ring, flags ...string) *Watching {
	t.Helper()
	w := &Watching{folder: t.TempDir()}
	for name, text := range files {
		w.WriteFile(t, name, text)
	}
	w.replace(t, "keys.json", ring.JSON(t))
	flags = append(
		[]string{"-f", filepath.Join(w.folder, "input"), "--keys", filepath.Join(w.folder, "keys.json")},
		flags...)
	w.Running = startLimpet(t, flags, port, adminPort, time.Second, nil, nil)
	w.await(t, `changes of the input reach Envoy.*`)
	return w
}

// RunStdin is RunWatching on documents that come from the standard input, with files of the input besides, by their
// names.
func RunStdin(t testing.TB, documents Documents, files map[string]string) *Watching {
	t.Helper()
	w := &Watching{Documents: documents, folder: t.TempDir()}
	flags := []string{"-f", "-"}
	for name, text := range files {
		w.WriteFile(t, name, text)
		flags = append(flags, "-f", filepath.Join(w.folder, "input", name))
	}
	stdin := strings.NewReader(documents.YAML(t))
	w.Running = startLimpet(t, flags, documents.Port, FreePort(t), time.Second, nil, stdin)
	w.await(t, `changes of the input reach Envoy.*`)
	return w
}

// AwaitLine waits until limpet has said something that is like a pattern, and gives the line.
func (w *Watching) AwaitLine(t testing.TB, pattern string) string {
	t.Helper()
	return w.await(t, pattern)
}

// WriteFile puts a file of the input into place, and does not wait for limpet.
func (w *Watching) WriteFile(t testing.TB, name, text string) {
	t.Helper()
	w.replace(t, "input/"+name, text)
}

// RemoveFile takes a file of the input away.
func (w *Watching) RemoveFile(t testing.TB, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(w.folder, "input", name)); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// Edit puts other documents into place while limpet is away.
func (w *Watching) Edit(t testing.TB, change func(*Documents)) {
	t.Helper()
	change(&w.Documents)
	w.replace(t, "input/documents.yaml", w.Documents.YAML(t))
}

// Set changes the documents and returns when limpet says that the change is live.
func (w *Watching) Set(t testing.TB, change func(*Documents)) string {
	t.Helper()
	change(&w.Documents)
	return w.live(t, w.SetText(t, w.Documents.YAML(t)))
}

// SetKeys is Set for the text of the key ring.
func (w *Watching) SetKeys(t testing.TB, ring string) string {
	t.Helper()
	w.replace(t, "keys.json", ring)
	return w.live(t, w.awaitLine(t))
}

func (w *Watching) live(t testing.TB, line string) string {
	t.Helper()
	word := " live in "
	if w.served {
		word = " served in "
	}
	if !strings.Contains(line, word) {
		t.Fatalf("a change is not live: %s\n%s", line, w.Output())
	}
	if w.served {
		w.AwaitAcknowledged(t)
	}
	return line
}

// SetText puts a text into the documents' place, valid or not, and gives what limpet says of that.
func (w *Watching) SetText(t testing.TB, text string) string {
	t.Helper()
	w.replace(t, "input/documents.yaml", text)
	return w.awaitLine(t)
}

// WriteText is SetText without waiting for limpet.
func (w *Watching) WriteText(t testing.TB, text string) {
	t.Helper()
	w.replace(t, "input/documents.yaml", text)
}

// WriteKeys is SetKeys without waiting for limpet.
func (w *Watching) WriteKeys(t testing.TB, ring string) {
	t.Helper()
	w.replace(t, "keys.json", ring)
}

// Due waits for a change that comes of itself, when a time has passed, and gives what limpet says of it.
func (w *Watching) Due(t testing.TB) string {
	t.Helper()
	return w.live(t, w.awaitLine(t))
}

// Changes is how many changes there were.
func (w *Watching) Changes() int { return w.changes }

// awaitLine waits for the line about the next change.
func (w *Watching) awaitLine(t testing.TB) string {
	t.Helper()
	w.changes++
	if w.served {
		return w.await(t, `msg="change `+strconv.Itoa(w.changes)+` .*`)
	}
	return w.await(t, `limpet: change `+strconv.Itoa(w.changes)+` .*`)
}

// await waits until limpet has said something and gives that.
func (w *Watching) await(t testing.TB, pattern string) string {
	t.Helper()
	line := regexp.MustCompile(pattern + `\n`)
	for deadline := time.Now().Add(changeWithin); ; time.Sleep(5 * time.Millisecond) {
		if found := line.FindString(w.Output()); found != "" {
			return strings.TrimSpace(found)
		}
		select {
		case <-w.done:
			t.Fatalf("limpet run has ended:\n%s", w.Output())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("limpet run does not say %q within %v:\n%s", pattern, changeWithin, w.Output())
		}
	}
}

// replace moves a file into another's place, as editors do.
func (w *Watching) replace(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(w.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// Client returns a client with a cookie jar.
func (w *Watching) Client() *Client { return NewClient(w.Port) }

// Envoy asks the Envoy that limpet runs.
func (w *Watching) Envoy(t testing.TB) *Envoy {
	t.Helper()
	return &Envoy{Compiled: &Compiled{Port: w.Port, AdminPort: w.AdminPort}}
}

// ResidentKB is the resident memory in kB of the Envoy that limpet runs.
func (w *Watching) ResidentKB(t testing.TB) int {
	t.Helper()
	return residentKB(t, w.envoy(t))
}

// envoy is the process that limpet has started.
func (w *Watching) envoy(t testing.TB) int {
	t.Helper()
	limpet := strconv.Itoa(w.command.Process.Pid)
	tasks, err := filepath.Glob("/proc/" + limpet + "/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended
		}
		if children := strings.Fields(string(text)); len(children) > 0 {
			pid, err := strconv.Atoi(children[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("limpet has no child")
	return 0
}
