package main

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newMan is for those who package limpet: a release's archives have what it writes.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write limpet's man pages into a folder that is there",
		Hidden: true,
		Args:   func(c *cobra.Command, args []string) error { return oneArg(c, args, "which folder to write them into") },
		RunE: func(c *cobra.Command, args []string) error {
			// Equal programs write equal pages.
			page := &doc.GenManHeader{Source: "limpet " + programVersion(), Manual: "limpet", Date: &time.Time{}}
			c.Root().DisableAutoGenTag = true
			return doc.GenManTree(c.Root(), page, args[0])
		},
	}
}
