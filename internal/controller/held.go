package controller

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"reflect"
	"slices"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/message"
)

// held are the files that are no good as they are. They hold back nobody else's changes: what such a file said when it was good
// goes on, and one that never was is left out.
type held struct {
	// strict says that no file is left out at the beginning.
	strict bool
	// accepted is the input of the last pass, as it was compiled.
	accepted *Input
	// files are the contents of those that are held.
	files map[string][]byte
	// faults are what is wrong with them.
	faults compiler.Errors
}

// compile has an input compiled. If nothing comes out because of files that have changed, they are held.
func (h *held) compile(in Input, compile func(Input) (*pass, error), stderr io.Writer) (*pass, error) {
	h.release(in.Sources)
	var found compiler.Errors // since the last time
	for {
		with := Input{in.Keys, in.Fingerprints, h.putBack(in.Sources)}
		p, err := compile(with)
		var problems compiler.Errors
		if err == nil {
			h.accepted = &with
			h.say(found, stderr)
			return p, nil
		}
		if !errors.As(err, &problems) {
			return nil, err
		}
		found = append(found, problems...)
		if !h.hold(in.Sources, problems) {
			return nil, found
		}
		if with.Sources = h.putBack(in.Sources); h.accepted != nil && reflect.DeepEqual(with, *h.accepted) {
			return nil, found // nothing else has changed
		}
	}
}

// release forgets files that are gone, or read otherwise now.
func (h *held) release(sources []compiler.Source) {
	if len(h.files) == 0 {
		h.faults = nil
		return
	}
	now := map[string][]byte{}
	for _, s := range sources {
		now[s.Name] = s.Data
	}
	maps.DeleteFunc(h.files, func(name string, data []byte) bool { return now[name] == nil || !bytes.Equal(now[name], data) })
	h.faults = slices.DeleteFunc(h.faults, func(p compiler.Problem) bool { return h.files[p.File] == nil })
}

// hold holds the files that the problems are in. It is false if one of them is in no file, or in one that has not changed, and with
// strict before anything was accepted.
func (h *held) hold(sources []compiler.Source, problems compiler.Errors) bool {
	if h.strict && h.accepted == nil {
		return false
	}
	files := map[string][]byte{}
	for _, p := range problems {
		at := slices.IndexFunc(sources, func(s compiler.Source) bool { return s.Name == p.File })
		if at < 0 || h.files[p.File] != nil {
			return false
		}
		if before, was := h.before(p.File); was && bytes.Equal(sources[at].Data, before.Data) {
			return false
		}
		files[p.File] = sources[at].Data
	}
	if h.files == nil {
		h.files = map[string][]byte{}
	}
	maps.Copy(h.files, files)
	h.faults = append(h.faults, problems...)
	return true
}

// putBack gives the sources with those that are held as they were when they were accepted.
func (h *held) putBack(sources []compiler.Source) []compiler.Source {
	if len(h.files) == 0 {
		return sources
	}
	var all []compiler.Source
	for _, s := range sources {
		if h.files[s.Name] == nil {
			all = append(all, s)
		} else if before, was := h.before(s.Name); was {
			all = append(all, before)
		}
	}
	return all
}

// before gives what a file said when it was accepted last; false if it never was.
func (h *held) before(name string) (compiler.Source, bool) {
	if h.accepted == nil {
		return compiler.Source{}, false
	}
	at := slices.IndexFunc(h.accepted.Sources, func(s compiler.Source) bool { return s.Name == name })
	if at < 0 {
		return compiler.Source{}, false
	}
	return h.accepted.Sources[at], true
}

// say says what is newly held while other changes go on.
func (h *held) say(found compiler.Errors, stderr io.Writer) {
	if len(found) == 0 {
		return
	}
	message.PrintErrors(stderr, found)
	files := map[string]bool{}
	for _, p := range found {
		files[p.File] = true
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		goesOn := "it is left out, for it has not been good yet"
		if _, was := h.before(name); was {
			goesOn = "what it said before keeps serving"
		}
		message.Printf(stderr, "%s is not taken over: %s; other files' changes go on", name, goesOn)
	}
}
