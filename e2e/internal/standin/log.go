package standin

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// podLog is what a Pod has said: lines in a file, each with its time in front.
type podLog struct {
	path string
	lock sync.Mutex
	part []byte // of a line that is not whole
}

// Write takes what a process says.
func (l *podLog) Write(text []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	whole := bytes.LastIndexByte(text, '\n') + 1
	if whole == 0 {
		l.part = append(l.part, text...)
		return len(text), nil
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	var out bytes.Buffer
	for line := range bytes.Lines(append(l.part, text[:whole]...)) {
		fmt.Fprintf(&out, "%s %s", now, line)
	}
	l.part = bytes.Clone(text[whole:])
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if _, err := file.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// since gives the lines that are as old as a time, or less.
func (l *podLog) since(at time.Time) string {
	text, _ := os.ReadFile(l.path)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		stamp, rest, _ := strings.Cut(line, " ")
		if written, err := time.Parse(time.RFC3339Nano, stamp); err == nil && !written.Before(at) {
			out.WriteString(rest)
		}
	}
	return out.String()
}

// Logs gives the end of what all Pods have said, for a test that has failed.
func (n *Node) Logs() string {
	n.lock.Lock()
	defer n.lock.Unlock()
	var all strings.Builder
	for _, p := range n.pods {
		text, _ := os.ReadFile(p.log.path)
		fmt.Fprintf(&all, "--- %s (%s)\n%s\n", p.object.Name, p.ip, text[max(0, len(text)-3000):])
	}
	return all.String()
}

// answer answers the API server, which asks a kubelet for logs, /containerLogs/NAMESPACE/POD/CONTAINER?sinceTime=TIME,
// and for connections, /portForward/NAMESPACE/POD.
func (n *Node) answer(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if len(parts) < 3 || parts[0] != "containerLogs" && parts[0] != "portForward" {
		http.Error(w, "there are logs and connections alone", http.StatusNotFound)
		return
	}
	p := n.findPod(parts[1], parts[2])
	switch {
	case p == nil:
		http.Error(w, "no such Pod", http.StatusNotFound)
	case parts[0] == "portForward":
		p.forward(w, r)
	default:
		since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
		fmt.Fprint(w, p.log.since(since))
	}
}

func (n *Node) findPod(namespace, name string) *pod {
	n.lock.Lock()
	defer n.lock.Unlock()
	for _, p := range n.pods {
		if p.object.Namespace == namespace && p.object.Name == name && p.leave != nil {
			return p
		}
	}
	return nil
}
