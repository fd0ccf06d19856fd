// Command limpet turns Gateway API YAML into an Envoy configuration whose sessions stick to their backend.
//
// It is commands and flags over package compiler; the machinery that they need is in internal/. Its messages have
// rules. Standard output carries the product and nothing else. Everything said to people goes to standard error, in
// lines that begin with "limpet: ", "error: ", "unknown: ", "warning: " or "advice: "; what goes on from one is
// indented. No message, on either, ever holds a key.
//
// Exit codes: 0 all is well; 1 the input was refused or something failed, and no output was written; 2 the command
// line is wrong; 3 something of the input was left out, and the rest was written. "limpet run" exits as Envoy does, and
// with 1 where that ended with 0 before it served.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/message"
)

func main() {
	root := newRoot()
	nameAsCalled(root, os.Args[0])
	root.SetArgs(os.Args[1:])
	out := &output{File: os.Stdout}
	root.SetOut(out)
	os.Exit(exitCode(os.Stderr, out.judge(root.Execute())))
}

// nameAsCalled has help say "kubectl limpet" where kubectl runs the program as its plugin.
func nameAsCalled(root *cobra.Command, program string) {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if isPlugin(name) {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: strings.ReplaceAll(name, "-", " ")}
	}
}

// usageError is a fault of the command line, as opposed to one of the input.
type usageError struct{ error }

// usagef makes a usageError.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// These end a command whose output has said what is wrong: exit code 1, or 3 if it did its work all the same, and no
// more words.
var (
	errRefused = errors.New("the input is refused")
	errLeftOut = errors.New("something of the input is left out")
)

// exitCode prints what went wrong and returns the exit code for it.
func exitCode(stderr io.Writer, err error) int {
	var (
		ended   envoyproc.ExitError
		usage   usageError
		refused compiler.Errors
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		message.Print(stderr, ended.Reason)
		return ended.Code
	case errors.Is(err, errRefused):
		return 1
	case errors.Is(err, errLeftOut):
		return 3
	case errors.As(err, &usage):
		message.Print(stderr, message.Explain(err))
		return 2
	case errors.As(err, &refused):
		message.PrintProblems(stderr, refused, message.Style{Least: compiler.Advice}.On(stderr))
		message.Printf(stderr, "%s; nothing written", message.CountFindings(refused))
		return 1
	default:
		message.Print(stderr, message.Explain(err))
		return 1
	}
}
