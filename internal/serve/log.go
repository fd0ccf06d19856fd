package serve

import (
	"log/slog"
	"strings"
	"time"

	"github.com/limpet-proxy/limpet/internal/xds"
)

// Log writes what an xDS server has to say.
type Log struct {
	To *slog.Logger
	// Answered, if there is one, is called when an Envoy has taken a change as a whole, or rejected something.
	Answered func(rejects bool)
}

func (l Log) answered(rejects bool) {
	if l.Answered != nil {
		l.Answered(rejects)
	}
}

func about(c xds.ClientStatus) []any {
	return []any{"gateway", c.Gateway, "node", c.Node, "address", c.Address}
}

// Connected is for an Envoy that has come.
func (l Log) Connected(c xds.ClientStatus) {
	l.To.Info("Envoy connected", append(about(c), "version", c.Version, "identity", c.Identity)...)
	if c.Warning != "" {
		l.To.Warn("Envoy may not do", append(about(c), "reason", c.Warning)...)
	}
}

// Disconnected is for one that has gone.
func (l Log) Disconnected(c xds.ClientStatus, why error) {
	reason := ""
	if why != nil {
		reason = why.Error()
	}
	l.To.Info("Envoy disconnected", append(about(c), "reason", reason)...)
}

// Refused is for a client that gets nothing.
func (l Log) Refused(address string, why error) {
	l.To.Warn("client refused", "address", address, "reason", why.Error())
}

// Rejected is for what an Envoy did not take.
func (l Log) Rejected(c xds.ClientStatus, r xds.Rejection) {
	l.To.Error("Envoy rejects a resource; what it had of it before, if anything, keeps serving",
		append(about(c), "type", r.Type, "name", r.Name, "message", ExplainRejection(r))...)
	l.answered(true)
}

// ExplainRejection gives Envoy's words, and where to look: of a plugin that is refused they never say why.
func ExplainRejection(r xds.Rejection) string {
	if !strings.Contains(r.Words, "Unable to create Wasm plugin") {
		return r.Words
	}
	return r.Words + "; Envoy's own log says why, most often that its environment has no LIMPET_KEYS, or no limpet.wasm " +
		"is where --filter-path says"
}

// Late is for an Envoy that owes an answer.
func (l Log) Late(c xds.ClientStatus) {
	l.To.Warn("Envoy is late; others are not held up", append(about(c), "reason", c.Late)...)
}

// Live is for an Envoy that has all of a change.
func (l Log) Live(c xds.ClientStatus, took time.Duration) {
	if len(c.Rejected) > 0 {
		return
	}
	l.To.Info("change is live", append(about(c), "generation", c.Generation, "ms", took.Milliseconds())...)
	l.answered(false)
}

// Lines writes lines of package message as records; what goes on from a line is part of its record.
type Lines struct{ To *slog.Logger }

// Write takes whole lines.
func (w Lines) Write(text []byte) (int, error) {
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\n  ", "; ")) {
		line = strings.TrimSuffix(line, "\n")
		if rest, found := strings.CutPrefix(line, "error: "); found {
			w.To.Error(rest)
		} else if rest, found := strings.CutPrefix(line, "warning: "); found {
			w.To.Warn(rest)
		} else if rest, found := strings.CutPrefix(line, "advice: "); found {
			w.To.Info("advice: " + rest)
		} else {
			w.To.Info(strings.TrimPrefix(line, "limpet: "))
		}
	}
	return len(text), nil
}
