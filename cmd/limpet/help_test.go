package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// The help of each command fits a screen and names each flag; with --all each is explained.
func TestHelpFitsAScreen(t *testing.T) {
	const mostLines = 59
	for _, c := range listAll(newRoot()) {
		if c.HasSubCommands() {
			continue
		}
		path := strings.Fields(c.CommandPath())[1:]
		short, whole := printHelp(t, append(path, "--help")), printHelp(t, append(path, "--help", "--all"))
		if n := strings.Count(short, "\n"); n > mostLines {
			t.Errorf("%s --help: %d lines, want %d at the most", c.CommandPath(), n, mostLines)
		}
		if !strings.Contains(whole, strings.TrimSpace(c.Long)) {
			t.Errorf("%s --help --all lacks some of its text", c.CommandPath())
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !regexp.MustCompile(`--` + f.Name + `\b`).MatchString(short) {
				t.Errorf("%s --help lacks --%s", c.CommandPath(), f.Name)
			}
			if explained := regexp.MustCompile(`(?m)^ +(-., )?--` + f.Name + `\b`); !explained.MatchString(whole) {
				t.Errorf("%s --help --all does not explain --%s", c.CommandPath(), f.Name)
			}
		})
	}
}

func printHelp(t *testing.T, args []string) string {
	t.Helper()
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out.String()
}

// Each flag is of one group, and each name of a group and of those that are used most is a flag's.
func TestFlagGroups(t *testing.T) {
	grouped := map[string]int{}
	for _, g := range flagGroups {
		for _, name := range g.names {
			grouped[name]++
		}
	}
	flags := map[string]bool{}
	for _, c := range listAll(newRoot()) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags[f.Name] = !f.Hidden && f.Name != "help" })
	}
	for name, is := range flags {
		if is && grouped[name] != 1 {
			t.Errorf("--%s is in %d groups", name, grouped[name])
		}
	}
	for name := range grouped {
		if !flags[name] {
			t.Errorf("no command has --%s, which is in a group", name)
		}
	}
	for _, name := range mostUsed {
		if !flags[name] {
			t.Errorf("no command has --%s, which is used most", name)
		}
	}
}
