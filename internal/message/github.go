package message

import (
	"fmt"
	"io"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/status"
)

// githubLevels are the workflow commands by which GitHub shows findings at their lines.
var githubLevels = map[string]string{"error": "error", "unknown": "warning", "warning": "warning", "advice": "notice"}

// What a workflow command can't have as it is, in its message and in its properties.
var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// PrintForGitHub prints each finding as a workflow command of GitHub Actions.
func PrintForGitHub(to io.Writer, rows []status.Row) {
	for _, r := range rows {
		level, found := githubLevels[r.Severity]
		if !found {
			continue
		}
		place := fmt.Sprintf("file=%s,", githubProperty.Replace(r.File))
		if r.Line > 0 {
			place += fmt.Sprintf("line=%d,", r.Line)
		}
		fmt.Fprintf(to, "::%s %stitle=%s::%s\n", level, place, githubProperty.Replace(string(r.Code)),
			githubMessage.Replace(joinParts(r.Object, r.Path, r.Message)))
	}
}
