package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// difference is one thing that two limpets do not make equally of an input.
type difference struct {
	what   string // such as "configuration envoy.yaml"
	detail string
}

// comparison is what came of comparing two observations.
type comparison struct {
	differences []difference
	// reworded are messages that differ by more than the table's words, of problems that are equal. They are no
	// differences, but a reader shall see them.
	reworded []rewording
}

// rewording is an old message and the new one.
type rewording struct{ old, now string }

func (c *comparison) add(what, detail string) {
	c.differences = append(c.differences, difference{what, detail})
}

// compare compares all that two limpets made of an input.
func compare(old, now *observation, w wordTable) *comparison {
	c := &comparison{}
	c.compareCodes("compile", old.compiled, now.compiled)
	c.compareCodes("check", old.checked, now.checked)
	c.compareFiles(old.files, now.files)
	c.compareProblems(old.problems, now.problems, w)
	if len(old.problems)+len(now.problems) == 0 { // what is not in the report was only said
		c.compareMessages([]string{firstError(old.compiled)}, []string{firstError(now.compiled)}, w)
	}
	c.compareStatuses(old.statuses, now.statuses, w)
	c.compareDescriptions(old.descriptions, now.descriptions, w)
	return c
}

func (c *comparison) compareCodes(command string, old, now reply) {
	if old.Code != now.Code {
		c.add("exit code of "+command, fmt.Sprintf("- %d %s\n+ %d %s",
			old.Code, firstLine(old.Stderr), now.Code, firstLine(now.Stderr)))
	}
}

// firstError is what a command that failed said first.
func firstError(r reply) string {
	if r.Code == 0 {
		return ""
	}
	return firstLine(r.Stderr)
}

func firstLine(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return cutText(string(line))
}

// compareFiles compares configurations byte for byte.
func (c *comparison) compareFiles(old, now map[string][]byte) {
	for _, name := range slices.Sorted(maps.Keys(old)) {
		switch data, has := now[name]; {
		case !has:
			c.add("configuration "+name, "is missing")
		case !bytes.Equal(data, old[name]):
			c.add("configuration "+name, diffLines(string(old[name]), string(data)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, had := old[name]; !had {
			c.add("configuration "+name, "is there, and was not")
		}
	}
}

// diffLines shows the first lines that differ.
func diffLines(old, now string) string {
	before, after := strings.Split(old, "\n"), strings.Split(now, "\n")
	at := 0
	for at < len(before) && at < len(after) && before[at] == after[at] {
		at++
	}
	text := fmt.Sprintf("line %d", at+1)
	const shown = 3
	for _, line := range before[at:min(at+shown, len(before))] {
		text += "\n- " + cutText(line)
	}
	for _, line := range after[at:min(at+shown, len(after))] {
		text += "\n+ " + cutText(line)
	}
	return text
}

// compareProblems compares problems by all but their messages. Their order may change with those.
func (c *comparison) compareProblems(old, now []problem, w wordTable) {
	before, after := groupMessages(old), groupMessages(now)
	for _, key := range sortKeys(before) {
		if len(after[key]) < len(before[key]) {
			c.add("problem", "- "+key.String()+": "+cutText(before[key][0]))
		}
	}
	for _, key := range sortKeys(after) {
		switch {
		case len(after[key]) > len(before[key]):
			c.add("problem", "+ "+key.String()+": "+cutText(after[key][0]))
		case len(after[key]) == len(before[key]):
			c.compareMessages(before[key], after[key], w)
		}
	}
}

func groupMessages(problems []problem) map[problemKey][]string {
	messages := map[problemKey][]string{}
	for _, p := range problems {
		messages[p.problemKey] = append(messages[p.problemKey], p.Message)
	}
	return messages
}

func sortKeys(messages map[problemKey][]string) []problemKey {
	return slices.SortedFunc(maps.Keys(messages), func(a, b problemKey) int {
		return strings.Compare(a.String(), b.String())
	})
}

// compareMessages notes messages of equal problems that differ by more than words. Those that are equal make no pairs,
// for a new wording may have changed the order. There are as many old ones as new ones.
func (c *comparison) compareMessages(old, now []string, w wordTable) {
	var gone []string
	left := slices.Clone(now)
	for _, message := range old {
		at := slices.IndexFunc(left, func(other string) bool { return w.equal(message, other) })
		if at < 0 {
			gone = append(gone, message)
			continue
		}
		left = slices.Delete(left, at, at+1)
	}
	for i, message := range gone {
		c.reworded = append(c.reworded, rewording{cutText(message), cutText(left[i])})
	}
}

// compareStatuses compares statuses in all but words.
func (c *comparison) compareStatuses(old, now []any, w wordTable) {
	for i := range max(len(old), len(now)) {
		switch {
		case i >= len(now):
			c.add("status", "- "+shorten(old[i]))
		case i >= len(old):
			c.add("status", "+ "+shorten(now[i]))
		default:
			if m := compareValues("", old[i], now[i], w); m != nil {
				c.add("status of "+nameObject(old[i]), m.String())
			}
		}
	}
}

// nameObject is an object's kind, namespace and name.
func nameObject(object any) string {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	return fmt.Sprintf("%v %v/%v", fields["kind"], metadata["namespace"], metadata["name"])
}

// compareDescriptions compares descriptions in all but words, and how the commands for them ended.
func (c *comparison) compareDescriptions(old, now map[string]description, w wordTable) {
	for _, object := range slices.Sorted(maps.Keys(old)) {
		before, after := old[object], now[object]
		what := "description of " + object
		if before.code != after.code {
			c.add(what, fmt.Sprintf("exit code\n- %d\n+ %d", before.code, after.code))
			continue
		}
		if m := compareValues("", before.value, after.value, w); m != nil {
			c.add(what, m.String())
		}
	}
}
