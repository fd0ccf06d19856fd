package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// allowListPath is where the tree has its allow list: a line for each local that may shadow a package-level name, as
// path:function:name and the reason. Empty lines and lines that begin with # say nothing.
const allowListPath = "tools/housekeeping/allowed-shadows.txt"

// maxAllowed is the most entries that the allow list may have.
const maxAllowed = 10

// allowList is what the file says, line by line.
type allowList []*allowEntry

type allowEntry struct {
	key, reason string
	line        int
	isUsed      bool
}

// readAllowList reads the tree's allow list; a tree without one allows nothing.
func readAllowList(root string) (allowList, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(allowListPath)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list allowList
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, _ := strings.Cut(line, " ")
		list = append(list, &allowEntry{key: key, reason: strings.TrimSpace(reason), line: number})
	}
	return list, nil
}

// permit says whether the list has a shadow, and notes that the entry is of use.
func (l allowList) permit(key string) bool {
	for _, entry := range l {
		if entry.key == key {
			entry.isUsed = true
			return true
		}
	}
	return false
}

// findFaults lists the entries without a reason and those that are too many.
func (l allowList) findFaults() []finding {
	var faults []finding
	for i, entry := range l {
		if entry.reason == "" {
			faults = append(faults, entry.report("has no reason; write it after the name"))
		}
		if i >= maxAllowed {
			text := fmt.Sprintf("is one too many; rename the local, at most %d may stay", maxAllowed)
			faults = append(faults, entry.report(text))
		}
	}
	return faults
}

// findUnused lists the entries that no shadow needs any more.
func (l allowList) findUnused() []finding {
	var unused []finding
	for _, entry := range l {
		if !entry.isUsed {
			unused = append(unused, entry.report("shadows nothing; remove the line"))
		}
	}
	return unused
}

func (e *allowEntry) report(text string) finding {
	return finding{path: allowListPath, line: e.line, text: e.key + " " + text}
}
