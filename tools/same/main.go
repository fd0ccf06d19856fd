// Command same compiles many inputs with the limpet of an older revision and with that of the working tree, and tells
// what they do not do equally. It is for changes that must not change anything.
//
// The inputs are the golden ones and the examples of the old revision, each golden one for every target, and random
// combinations and changes of golden ones, always the same. Of each input are compared
//
//   - the configurations, byte for byte;
//   - the problems: object, verdict, reason, file, line and path of each, as "limpet compile --report" has them;
//   - the statuses that "limpet check -o yaml" prints, in all but the words of words.txt and the time;
//   - the descriptions that "limpet describe -o json" prints, in all but those words and renamed keys;
//   - the exit codes.
//
// Messages may have new words; those that words.txt does not explain are listed, for a reader to look at.
//
// Both limpets are built with one stand-in for the filter and run in processes that take one command after the other
// (batch.go.txt). With -old and -new they are binaries as they are, and each command is a process of its own.
// The exit code is 0 if all is the same, 1 if something differs and 2 if the comparison failed.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"time"
)

// settings are the command line.
type settings struct {
	revision string
	old, now string
	random   int
	seed     uint64
	filter   string
	workers  int
}

func main() {
	var s settings
	flag.StringVar(&s.revision, "revision", "8700c4a9", "the old `REVISION`, whose inputs are taken too")
	flag.StringVar(&s.old, "old", "", "the old limpet's binary `FILE` instead of a build; needs -new")
	flag.StringVar(&s.now, "new", "", "the new limpet's binary `FILE`; both must embed one filter")
	flag.IntVar(&s.random, "random", 5000, "how `MANY` inputs to make at random")
	flag.Uint64Var(&s.seed, "seed", 1, "`NUMBER` that random inputs depend on")
	flag.StringVar(&s.filter, "run", "", "only inputs whose names the `REGEXP` matches, such as ^random/17$")
	flag.IntVar(&s.workers, "workers", runtime.NumCPU(), "how `MANY` inputs to compile at once")
	flag.Parse()
	r, err := s.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "same:", err)
		os.Exit(2)
	}
	r.print(os.Stdout)
	if r.differing > 0 {
		os.Exit(1)
	}
}

func (s *settings) run() (*summary, error) {
	pattern, err := regexp.Compile(s.filter)
	if err != nil {
		return nil, err
	}
	table, err := parseWords(wordFile)
	if err != nil {
		return nil, err
	}
	root, err := git(".", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	trees, own, err := cacheDirs(root)
	if err != nil {
		return nil, err
	}
	tree, err := checkout(root, s.revision, trees)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(memoryDir(), "limpet-same-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	inputs, err := s.inputs(tree, dir, pattern)
	if err != nil {
		return nil, err
	}
	c := &comparer{words: table, dir: dir, kept: filepath.Join(own, "differences")}
	if c.starters, err = s.starters(tree, root, own); err != nil {
		return nil, err
	}
	return c.compareAll(inputs, s.workers, s.filter == "")
}

// memoryDir is where files cost no disk, if there is such a place; else "", the usual place for temporary files.
func memoryDir() string {
	const dir = "/dev/shm"
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return ""
}

// inputs are all inputs of the old tree, and those made of them.
func (s *settings) inputs(tree, dir string, pattern *regexp.Regexp) ([]input, error) {
	keyFile, err := writeKeys(dir)
	if err != nil {
		return nil, err
	}
	goldens, err := readGoldens(tree, keyFile)
	if err != nil {
		return nil, err
	}
	all, err := readExamples(tree)
	if err != nil {
		return nil, err
	}
	for _, g := range goldens {
		all = append(all, g.input)
	}
	c := newCorpus(goldens, s.seed)
	all = append(all, c.crossTargets()...)
	for i := range s.random {
		all = append(all, c.random(i+1))
	}
	var chosen []input
	for _, in := range all {
		if pattern.MatchString(in.name) {
			chosen = append(chosen, in)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-run %q matches none of %d inputs", s.filter, len(all))
	}
	return chosen, nil
}

// starter starts a limpet for one worker; stop ends it.
type starter func() (run runner, stop func())

// starters give the old limpet and the new one.
func (s *settings) starters(tree, root, own string) (both [2]starter, err error) {
	switch {
	case (s.old == "") != (s.now == ""):
		return both, fmt.Errorf("-old and -new go together: both must embed one filter")
	case s.old != "":
		for i, binary := range []string{s.old, s.now} {
			both[i] = func() (runner, func()) { return runProcess(binary), func() {} }
		}
		return both, nil
	}
	for i, b := range []struct {
		tree, name string
		entry      entry
	}{{tree, "old", oldEntry}, {root, "new", newEntry}} {
		started := time.Now()
		binary, err := build(b.tree, b.entry, filepath.Join(own, b.name))
		if err != nil {
			return both, err
		}
		fmt.Fprintf(os.Stderr, "same: built the %s limpet in %.0f s\n", b.name, time.Since(started).Seconds())
		both[i] = func() (runner, func()) {
			process := &batch{binary: binary}
			return process.run, process.close
		}
	}
	return both, nil
}
