package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// There are not more flags than a user can look through: names, and places at which they stand.
func TestFlagsAreFew(t *testing.T) {
	const mostNames, mostPlaces = 80, 200
	takes, places := map[string][]string{}, 0
	for _, c := range listAll(newRoot()) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				takes[f.Name] = append(takes[f.Name], c.CommandPath())
				places++
			}
		})
	}
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(takes)) {
		fmt.Fprintf(&table, "--%s: %s\n", name, strings.Join(takes[name], ", "))
	}
	t.Logf("%d flags at %d places:\n%s", len(takes), places, &table)
	if len(takes) > mostNames || places > mostPlaces {
		t.Errorf("%d flags at %d places, want %d at %d at the most", len(takes), places, mostNames, mostPlaces)
	}
}

// listAll gives a command and all below it, those that help does not list too.
func listAll(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, listAll(sub)...)
	}
	return all
}
