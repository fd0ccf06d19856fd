package compiler

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestHostileInput compiles documents that are made to use up memory or time: each is refused, soon, without
// much of either.
func TestHostileInput(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c <= 'z'; c++ {
		fmt.Fprintf(&bomb, "%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c, *%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"20 MB":            {strings.Repeat("# twenty megabytes\n", 20<<20/19), "big.yaml: the file is too large: at most 10 MiB are read"},
		"alias bomb":       {bomb.String(), "aliases expand to more than 100000 values"},
		"many small bombs": {strings.Repeat(strings.SplitAfterN(bomb.String(), "e: ", 2)[0]+"x\n---\n", 2000), "aliases expand to more than 100000 values"},
		"merge bomb":       {mergeBomb(), "aliases expand to more than 100000 values"},
		"deep flow":        {strings.Repeat("[", 1<<20), "broken YAML"},
		"deep blocks":      {strings.Repeat("- ", 1<<20), "broken YAML"},
		"deep JSON":        {strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200), "nested deeper than 100 levels"},
		"long scalar":      {"apiVersion: v1\nkind: " + strings.Repeat("K", 9<<20), "no listener is left"},
		"many documents":   {strings.Repeat("---\nkind: Gateway\n", 20_000), "too many documents for a file of this size"},
		"many errors":      {strings.Repeat("---\nkind: Gateway\nmetadata: {name: a}\n", 20_000), "apiVersion: Required value"},
	} {
		t.Run(name, func(t *testing.T) { refusedSoon(t, []byte(c.text), c.want) })
	}
}

// mergeBomb doubles a mapping with every merge.
func mergeBomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 {k: v}\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&b, "a%d: &a%d {<<: [*a%d, *a%d], k%d: v}\n", i, i, i-1, i-1, i)
	}
	return b.String()
}

func refusedSoon(t *testing.T, text []byte, want string) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	result, err := Compile([]Source{{Name: "big.yaml", Data: text}}, Options{Envoy: &EnvoyOptions{ModulePath: "w"}})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	var problems Errors
	if result != nil || !errors.As(err, &problems) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %.300v, want %s", err, want)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 600<<20 {
		t.Errorf("%d MiB were allocated", used>>20)
	}
	if took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
	for line := range bytes.Lines([]byte(err.Error())) {
		if len(line) > 1500 {
			t.Fatalf("a message of %d bytes: %.100s...", len(line), line)
		}
	}
}
