package envoyproc

import (
	"context"
	"os/exec"
	"regexp"
	"time"
)

var versionText = regexp.MustCompile(`version: [0-9a-f]+/([0-9][^/\s]*)/`)

// Version asks a program which Envoy it is, such as 1.40.0; empty for one that does not say.
func Version(program string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	text, _ := exec.CommandContext(ctx, program, "--version").Output() // without an answer nothing is known
	if m := versionText.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}
