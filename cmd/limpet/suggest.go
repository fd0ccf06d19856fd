package main

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/limpet-proxy/limpet/internal/suggest"
)

// nearestWord is the word that may have been meant; empty if none is near.
func nearestWord(word string, among []string) string { return suggest.Nearest(word, among) }

// didYouMean is a question to be put behind a message; empty if no word is near.
func didYouMean(word string, among []string) string { return suggest.DidYouMean(word, among) }

// listCommands gives the names of a command's commands.
func listCommands(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

func isDNSLabel(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
