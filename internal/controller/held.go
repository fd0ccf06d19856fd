package controller

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/message"
)

// held are the invalid files. They hold back no changes of other files: the last good version of such a file stays in
// effect, and one that was never good is left out. Where the only fault of a file is that some of its objects are not
// supported, these alone are held.
type held struct {
	// strict says that no file is left out at the beginning.
	strict bool
	// accepted is the input of the last pass, as it was compiled.
	accepted *Input
	files    map[string]heldFile
}

// heldFile is a file that is held.
type heldFile struct {
	// data is the file's content, and instead the content that is used; nil for none.
	data    []byte
	instead *compiler.Source
	// absent has the objects that are held alone, and whether they are left out by that; nil where the whole file is held.
	absent map[string]bool
	faults compiler.Errors
}

// compile has an input compiled. If nothing comes out because of files that have changed, they are held.
func (h *held) compile(in Input, compile func(Input) (*pass, error), stderr io.Writer) (*pass, error) {
	var found compiler.Errors // since the last time
	with := in
	with.Sources = h.putBack(in.Sources)
	for {
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
		if with.Sources = h.putBack(in.Sources); h.accepted != nil && with.equal(h.accepted) {
			return nil, found // nothing else has changed
		}
	}
}

// hold holds the files that the problems are in, or objects of them. It is false if one of the problems is in no file,
// or in one that has not changed, and with strict before anything was accepted.
func (h *held) hold(sources read.List, problems compiler.Errors) bool {
	if h.strict && h.accepted == nil {
		return false
	}
	in, files := map[string]compiler.Errors{}, map[string]heldFile{}
	maps.Copy(files, h.files)
	for _, p := range problems {
		in[p.File] = append(in[p.File], p)
	}
	for name, wrong := range in {
		now, isThere := sources.Find(name)
		already, is := files[name]
		if !isThere || is && already.absent == nil {
			return false
		}
		before, was := h.before(name)
		if was && bytes.Equal(now.Data, before.Data) {
			return false
		}
		files[name] = newHeldFile(now, before, was, !is, append(already.faults, wrong...))
	}
	h.files = files
	return true
}

// newHeldFile holds a file, or, if that is wanted and can be, the objects in it that problems are about.
func newHeldFile(now, before compiler.Source, was, alone bool, problems compiler.Errors) heldFile {
	isMore := func(p compiler.Problem) bool { return !p.Unsupported }
	if alone && !slices.ContainsFunc(problems, isMore) {
		if kept, absent, ok := read.KeepObjects(now, before, problems); ok {
			return heldFile{now.Data, &kept, absent, problems}
		}
	}
	if was {
		return heldFile{data: now.Data, instead: &before, faults: problems}
	}
	return heldFile{data: now.Data, faults: problems}
}

// holdLeftOut holds the files that the first pass has left out, for they can't be read.
func (h *held) holdLeftOut(sources read.List, problems []compiler.Problem) {
	for _, p := range problems {
		now, isThere := sources.Find(p.File)
		if !isThere || p.Object != "" || !p.LeftOut {
			continue
		}
		if h.files == nil {
			h.files = map[string]heldFile{}
		}
		h.files[p.File] = heldFile{data: now.Data, faults: append(h.files[p.File].faults, p)}
	}
	h.accepted.Sources = h.putBack(sources)
}

// listFaults lists what is wrong with the files that are held.
func (h *held) listFaults() (all compiler.Errors) {
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		all = append(all, h.files[name].faults...)
	}
	return all
}

// putBack returns the sources, with the held ones as they were when they were last accepted. Files that are gone, or
// read otherwise now, are held no more.
func (h *held) putBack(sources read.List) read.List {
	if len(h.files) == 0 {
		return sources
	}
	var all []compiler.Source
	still := map[string]heldFile{}
	for s := range sources.All() {
		f, is := h.files[s.Name]
		if !is || !bytes.Equal(s.Data, f.data) {
			all = append(all, s)
			continue
		}
		still[s.Name] = f
		if f.instead != nil {
			all = append(all, *f.instead)
		}
	}
	h.files = still
	return read.NewList(all...)
}

// before returns a file as it was last accepted; false if it never was.
func (h *held) before(name string) (compiler.Source, bool) {
	if h.accepted == nil {
		return compiler.Source{}, false
	}
	return h.accepted.Sources.Find(name)
}

// say says what is newly held while other changes go on.
func (h *held) say(found compiler.Errors, stderr io.Writer) {
	if len(found) == 0 {
		return
	}
	message.PrintProblems(stderr, found, message.Style{})
	printed := map[string]bool{}
	for _, p := range found {
		what, others := p.File, "other files' changes go on"
		_, was := h.before(p.File)
		if absent := h.files[p.File].absent; absent != nil {
			what, others, was = p.Object+" in "+p.File, "all else of the file goes on", !absent[p.Object]
		}
		goesOn := "it is left out, for it has not been good yet"
		if was {
			goesOn = "what it said before keeps serving"
		}
		if !printed[what] {
			printed[what] = true
			message.Printf(stderr, "%s is not taken over: %s; %s", what, goesOn, others)
		}
	}
}
