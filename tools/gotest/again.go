package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// mayRunAgain tells whether what failed is up to so many tests, and nothing else: no package itself, and none that did
// not run all of its tests.
func (p *progress) mayRunAgain(most int) bool {
	count := 0
	for _, tests := range p.failed {
		if count += len(tests); len(tests) == 0 {
			return false
		}
	}
	return count > 0 && count <= most
}

// runAgain runs tests that failed once more, by package, and says which of them pass now. What they said when they
// failed stands above.
func runAgain(
	arguments []string, failed map[string][]string, stdout, stderr io.Writer, every time.Duration,
) (int, error) {
	for _, suite := range slices.Sorted(maps.Keys(failed)) {
		tests := strings.Join(failed[suite], ", ")
		fmt.Fprintf(stderr, "test:   once more: %s in %s\n", tests, suite)
		again := append(flagsOf(arguments), "-count=1", "-run", "^("+strings.Join(failed[suite], "|")+")$", suite)
		if code, err := runOnce(again, newProgress(stdout, stderr), every); code != 0 || err != nil {
			return code, err
		}
		fmt.Fprintf(stderr, "test:   FLAKY: failed, and passed when run once more: %s in %s\n", tests, suite)
	}
	return 0, nil
}

// flagsOf are go test's arguments without the packages.
func flagsOf(arguments []string) (flags []string) {
	for i := 0; i < len(arguments); i++ {
		if !strings.HasPrefix(arguments[i], "-") {
			continue
		}
		flags = append(flags, arguments[i])
		if slices.Contains([]string{"-parallel", "-run", "-skip", "-timeout"}, arguments[i]) && i+1 < len(arguments) {
			i++
			flags = append(flags, arguments[i])
		}
	}
	return flags
}
