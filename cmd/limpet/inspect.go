package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/inspect"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

const inspectHelp = `inspect finds limpet's tokens, envelopes and tickets in any text and says what each
holds, what the filter makes of it, and how access logs call its session.

The text is FILE or standard input, 10 MiB at the most: a cookie, what curl -v
prints, a HAR file of a browser. Nothing of it is repeated, and no key is printed.
A token is no argument, for others would see it in lists of processes.

The outcome is that of a request with it at the time of --at, as counters and access
logs call it (docs/operations.md); of a session that is pinned it says whether its
host is there. For that it needs the rules, which -f names, and the key ring of --keys
or LIMPET_KEYS. Without one of them it says what can be seen without, unverified.

With --access-log-fields session each line of an access log has a word for its session, which
is another one when another key signs: all since the session began are listed.

Exit codes: 0 something was found, 1 nothing was, or the input is refused, 2 wrong
usage.`

const inspectExamples = `  # a cookie, as a support case has it
  limpet inspect -f gateways/ --keys keys.json < cookie.txt

  # what would have become of it then
  limpet inspect -f gateways/ --keys keys.json --at 2026-11-21T10:42:00Z session.har`

// maxInspected is how much text is looked at.
const maxInspected = 10 << 20

// inspectCommand is "limpet inspect".
type inspectCommand struct {
	input    inputFlags
	target   string
	keysFile string
	at       string
	format   string
	file     string
}

func newInspect() *cobra.Command {
	var ic inspectCommand
	c := &cobra.Command{
		Use:     "inspect [-f PATH...] [--keys FILE] [FILE]",
		Short:   "Say what tokens in a text hold, and what the filter makes of them",
		Long:    inspectHelp,
		Example: inspectExamples,
		Args:    ic.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return ic.run(c, time.Now()) },
	}
	ic.input.registerForSessions(c.Flags(), "the text is standard input or the argument FILE")
	forgetBareFiles(c.Flags())
	ic.input.policies.registerRelease(c.Flags())
	registerTarget(c.Flags(), &ic.target, "what the input is compiled for,")
	registerRing(c.Flags(), &ic.keysFile)
	c.Flags().StringVar(&ic.at, "at", "", "judge as at this `TIME`, such as 2026-11-21T10:42:00Z (default: now)")
	c.Flags().StringVarP(&ic.format, "output", "o", formatText, "print `text|yaml|json`")
	return c
}

func (ic *inspectCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := checkTarget(ic.target); err != nil {
		return err
	}
	if err := checkChoice("output", ic.format, formatText, formatYAML, formatJSON); err != nil {
		return err
	}
	if ic.at != "" {
		if _, err := policyconfig.ParseTime(ic.at); err != nil {
			return usagef("--at %q: %w", ic.at, err)
		}
	}
	switch {
	case len(args) > 1:
		return usagef("name one FILE; see '%s --help'", c.CommandPath())
	case len(args) == 1 && len(args[0]) >= token.TicketLen && !isThere(args[0]):
		return usagef(
			"FILE is no file, and a token is no argument: who lists processes sees it, and shells keep it. Give it on " +
				"standard input",
		)
	case len(args) == 1 && args[0] == "":
		return usagef("FILE \"\": must be the name of a file; without FILE the text is standard input")
	case len(args) == 0 && slices.Contains(ic.input.paths, inputfiles.Stdin):
		return usagef("-f -: standard input has the text; name a FILE, or other files of objects")
	case len(args) == 1:
		ic.file = args[0]
	}
	if !ic.input.isNamed() {
		return nil
	}
	return ic.input.checkFlags(c, nil)
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (ic *inspectCommand) run(c *cobra.Command, now time.Time) error {
	in := inspect.Input{At: now}
	if ic.at != "" {
		at, _ := policyconfig.ParseTime(ic.at)
		in.At = time.Unix(int64(at), 0)
	}
	if ic.keysFile != "" || os.Getenv(policyconfig.DefaultKeysEnv) != "" {
		var err error
		if in.Keys, err = readRing(ic.keysFile, c.ErrOrStderr()); err != nil {
			return err
		}
	}
	if ic.input.isNamed() {
		var err error
		if in.Sessions, err = ic.input.readSessions(c.InOrStdin(), ic.target); err != nil {
			return err
		}
	}
	text, err := ic.read(c.InOrStdin()) // last: who gives it with -f is not to wait for a terminal
	if err != nil {
		return err
	}
	findings, err := inspect.Inspect(text, in)
	if err != nil {
		return err
	}
	if len(findings) == 0 {
		return fmt.Errorf("%s: no token, envelope or ticket in it, by their form", ic.name())
	}
	if ic.format == formatText {
		return inspect.WriteText(c.OutOrStdout(), findings, in.At)
	}
	return printValue(c.OutOrStdout(), ic.format, findings)
}

// read reads the text.
func (ic *inspectCommand) read(stdin io.Reader) (string, error) {
	if ic.file == "" {
		return readInspected(stdin, ic.name())
	}
	f, err := os.Open(ic.file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return readInspected(f, ic.name())
}

// readInspected reads a text that may have tokens.
func readInspected(from io.Reader, name string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxInspected+1))
	if err == nil && len(text) > maxInspected {
		err = fmt.Errorf("%s: more than 10 MiB; cut the part out that has the token", name)
	}
	if err != nil {
		return "", err
	}
	text, _, err = transform.Bytes(unicode.BOMOverride(transform.Nop), text) // PowerShell's ">" writes UTF-16
	return string(text), err
}

// name is what messages call the text.
func (ic *inspectCommand) name() string {
	if ic.file == "" {
		return "standard input"
	}
	return message.MakePrintable(ic.file)
}
