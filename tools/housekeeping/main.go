// Command housekeeping measures how readable limpet's code is, and holds it to limits: how long functions and lines
// are, which locals take a package-level name, what has no comment. It only parses what it reads; nothing is built.
//
//	housekeeping [-C FOLDER]                       print the measurements
//	housekeeping [-C FOLDER] -list WHAT            list where: shadows, once, long, lines or undocumented
//	housekeeping [-C FOLDER] -check [-tests=false] list what is over a limit, and fail if anything is
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

// run does what the arguments say. Findings are the product of a check, so they go where a table goes.
func run(arguments []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("housekeeping", flag.ExitOnError)
	root := flags.String("C", ".", "the `FOLDER` whose code is read")
	what := flags.String("list", "", "list `WHAT`: shadows, once, long, lines or undocumented")
	check := flags.Bool("check", false, "list what is over a limit, and fail if anything is")
	tests := flags.Bool("tests", true, "check tests too")
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
	case *check:
		return printCheck(stdout, tree, *tests)
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

// printCheck prints what is over a limit and makes an error of it.
func printCheck(w io.Writer, tree *sourceTree, withTests bool) error {
	findings, err := checkTree(tree, withTests)
	if err != nil {
		return err
	}
	printFindings(w, findings)
	if len(findings) > 0 {
		return fmt.Errorf("%d findings; a local that must keep its name goes into %s as path:function:name REASON",
			len(findings), allowListPath)
	}
	return nil
}

func printFindings(w io.Writer, findings []finding) {
	for _, f := range findings {
		fmt.Fprintln(w, f)
	}
}
