// Command measure tells what no linter does of how readable limpet is: how long functions and lines are, which small
// functions one place uses, and how many words the pages have that people write.
//
//	measure         print the measurements
//	measure WHAT    list where: once, long, lines or words
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	t, err := readTree(".")
	if err == nil {
		err = t.print(strings.Join(os.Args[1:], " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
}

// What is listed: functions longer than longFunction, functions used once of at most smallFunction lines, and lines
// wider than wideLine. The pages may have mostWords.
const (
	longFunction  = 40
	smallFunction = 8
	wideLine      = 120
	mostWords     = 60_000
)

func (t *tree) print(what string) error {
	switch what {
	case "once":
		t.listOnce()
	case "long":
		for _, f := range t.functions {
			if f.lines > longFunction {
				fmt.Printf("%s: %s has %d lines\n", f.at, f.name, f.lines)
			}
		}
	case "lines":
		fmt.Println(strings.Join(t.wide, "\n"))
	case "words":
		for _, p := range t.pages {
			fmt.Printf("%6d %s\n", p.words, p.path)
		}
		fmt.Printf("%6d in all\n", t.words())
		return t.checkWords()
	case "":
		t.printTable()
	default:
		return fmt.Errorf("%s: must be once, long, lines or words", what)
	}
	return nil
}

func (t *tree) printTable() {
	var lengths []int
	for _, f := range t.functions {
		lengths = append(lengths, f.lines)
	}
	slices.Sort(lengths)
	at := func(percent int) int { return lengths[min(len(lengths)*percent/100, len(lengths)-1)] }
	fmt.Printf("lines of Go: %d in %d files, and %d of tests\n", t.code, t.files, t.tests)
	fmt.Printf("lines of a function, median / p90 / max: %d / %d / %d\n", at(50), at(90), at(100))
	fmt.Printf("functions used once, of %d lines or fewer: %d\n", smallFunction, len(t.findOnce()))
	fmt.Printf("lines over %d columns: %d\n", wideLine, len(t.wide))
	fmt.Printf("words of pages, without what is generated: %d\n", t.words())
}

func (t *tree) checkWords() error {
	if n := t.words(); n > mostWords {
		return fmt.Errorf("the pages have %d words, and %d at most are wanted: for a new sentence one goes", n, mostWords)
	}
	return nil
}

func (t *tree) words() (sum int) {
	for _, p := range t.pages {
		sum += p.words
	}
	return sum
}
