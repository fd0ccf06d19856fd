// Command housekeeping measures how readable limpet's code is: how long functions and lines are, which locals take
// a package-level name, what has no comment. It only parses what it reads; nothing is built.
//
//	housekeeping [-C FOLDER]            print the measurements
//	housekeeping [-C FOLDER] -list WHAT list where: shadows, once, long, lines or undocumented
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "housekeeping:", err)
		os.Exit(1)
	}
}

// run does what the arguments say.
func run(arguments []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("housekeeping", flag.ExitOnError)
	root := flags.String("C", ".", "the `FOLDER` whose code is read")
	what := flags.String("list", "", "list `WHAT`: shadows, once, long, lines or undocumented")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: unexpected argument; see -help", flags.Arg(0))
	}
	tree, err := readTree(*root)
	switch {
	case err != nil:
		return err
	case *what != "":
		return printList(stdout, tree, *what)
	}
	return printTable(stdout, tree)
}

// printList prints the places of one measurement.
func printList(w io.Writer, tree *sourceTree, what string) error {
	var findings []finding
	switch what {
	case "shadows":
		for _, s := range findLocals(tree).shadows {
			findings = append(findings, s.finding)
		}
	case "once":
		findings = findUsedOnce(tree)
	case "long":
		findings = findLongFunctions(tree)
	case "lines":
		findings = findWideLines(tree, goodColumns)
	case "undocumented":
		findings = findUndocumented(tree)
	default:
		return fmt.Errorf("-list %s: must be shadows, once, long, lines or undocumented", what)
	}
	printFindings(w, findings)
	return nil
}

func printFindings(w io.Writer, findings []finding) {
	for _, f := range findings {
		fmt.Fprintln(w, f)
	}
}
