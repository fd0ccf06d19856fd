package resource

import (
	"bytes"
	"iter"
	"maps"
	"slices"

	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Store keeps the objects of sources that change one by one. It serves one change at a time.
type Store struct {
	options Options
	count   func(rep *report.Report, by int)
	sources map[string]*storedSource
	// reporting are the sources with errors or warnings, and partial those with documents that are passed over.
	reporting, partial map[string]bool
	// names are the sources that have a document of each name.
	names sourcesByName
	// gone and came are the objects that are in the sources no more, and now, since changes were taken.
	gone, came *part
}

// storedSource is a source and what became of it.
type storedSource struct {
	source  read.Source
	cache   textCache // of a source with several documents
	objects *part
	rep     report.Report
	// names are those of its documents, and elsewhere says for some of them where the document of another source is that
	// has it.
	names     documentsByName
	elsewhere placesByName
	// alone is what there is to say of the source whatever other sources there are.
	alone *report.Report
}

// NewStore makes an empty one. It tells count of all that there is to say of a source when that comes, by 1, and when
// it goes, by -1.
func NewStore(o Options, count func(rep *report.Report, by int)) *Store {
	return &Store{
		options: o, count: count, sources: map[string]*storedSource{},
		reporting: map[string]bool{}, partial: map[string]bool{},
		names: newSourcesByName(), gone: &part{}, came: &part{},
	}
}

// Set takes in sources that may be new or have changed. Objects whose documents read as before are the same ones,
// wherever in their source they stand.
func (s *Store) Set(sources []read.Source) error {
	sources = slices.DeleteFunc(slices.Clone(sources), func(source read.Source) bool {
		before := s.sources[source.Name]
		return before != nil && bytes.Equal(before.source.Data, source.Data)
	})
	type result struct {
		now *storedSource
		err error
	}
	results := parallel.Map(sources, func(some []read.Source, results []result) {
		for i, source := range some {
			results[i].now, results[i].err = s.admit(source, nil)
		}
	})
	for _, r := range results {
		if r.err != nil {
			return r.err
		}
	}
	for _, r := range results {
		s.replace(r.now)
	}
	return nil
}

// admit admits a source, with what was kept of it. The names of some documents are those of documents elsewhere.
func (s *Store) admit(source read.Source, elsewhere placesByName) (now *storedSource, err error) {
	now = &storedSource{source: source, elsewhere: elsewhere}
	now.alone = &now.rep
	if before := s.sources[source.Name]; before != nil {
		now.cache = before.cache
	}
	if now.cache.texts == nil && bytes.Contains(source.Data, []byte("\n---")) {
		now.cache = newTextCache()
	}
	if now.objects, now.names, err = now.cache.admit([]read.Source{source}, s.options, elsewhere, &now.rep); err != nil {
		return nil, err
	}
	if now.cache.texts != nil {
		now.cache.texts.Sweep()
	}
	return now, nil
}

// VisitObjects visits the objects of all sources, of the kinds that are wanted.
func (s *Store) VisitObjects(wanted func(Traits) bool, visit func(Entry)) {
	for _, source := range s.sources {
		source.objects.Visit(wanted, visit)
	}
}

// replace puts a source in the place of the one that had its name.
func (s *Store) replace(now *storedSource) {
	name, before := now.source.Name, &part{}
	if was := s.sources[name]; was != nil {
		before = was.objects
		s.names.remove(was)
		s.count(&was.rep, -1)
	}
	s.sources[name] = now
	s.names.add(now)
	s.count(&now.rep, 1)
	note(s.reporting, name, !now.rep.Silent())
	note(s.partial, name, len(now.objects.PassedOver) > 0)
	gone, came := compare(before, now.objects)
	s.gone.addAll(gone)
	s.came.addAll(came)
}

// Remove takes a source out.
func (s *Store) Remove(name string) {
	before := s.sources[name]
	if before == nil {
		return
	}
	s.names.remove(before)
	s.count(&before.rep, -1)
	delete(s.sources, name)
	delete(s.reporting, name)
	delete(s.partial, name)
	s.gone.addAll(before.objects)
}

// TakeChanges gives the objects that went and those that came since the last time.
func (s *Store) TakeChanges() (gone, came *Objects) {
	out, in := compare(s.gone, s.came) // for what came and went again has not been there
	s.gone, s.came = &part{}, &part{}
	return &out.Objects, &in.Objects
}

// ChangesSlicesOnly tells whether nothing but EndpointSlices has gone or come since changes were taken, if anything.
func (s *Store) ChangesSlicesOnly() bool { return s.gone.isOfSlices() && s.came.isOfSlices() }

// note puts a name into a set, or takes it out.
func note(set map[string]bool, name string, is bool) {
	if is {
		set[name] = true
	} else {
		delete(set, name)
	}
}

// ReportAll passes on all that there is to say of the sources.
func (s *Store) ReportAll(rep *report.Report) {
	for name := range s.reporting {
		rep.Add(&s.sources[name].rep)
	}
}

// ReportAlone is ReportAll without what is said because of other sources: that an object has its name there.
func (s *Store) ReportAlone(rep *report.Report) {
	for name := range s.reporting {
		rep.Add(s.sources[name].alone)
	}
}

// RefusedOf gives what is refused of a source.
func (s *Store) RefusedOf(name string) report.Errors {
	if !s.reporting[name] {
		return nil
	}
	return s.sources[name].rep.ErrorsFrom(report.Refused)
}

// Names gives the names of all sources, in no order.
func (s *Store) Names() iter.Seq[string] { return maps.Keys(s.sources) }

// PassedOver counts the documents that are none of limpet's business, by kind; nil for none.
func (s *Store) PassedOver() map[string]int {
	if len(s.partial) == 0 {
		return nil
	}
	all := map[string]int{}
	for name := range s.partial {
		for kind, count := range s.sources[name].objects.PassedOver {
			all[kind] += count
		}
	}
	return all
}

// Count is how many objects there are.
func (s *Store) Count() int {
	objects := 0
	for _, one := range s.sources {
		objects += one.objects.count()
	}
	return objects
}
