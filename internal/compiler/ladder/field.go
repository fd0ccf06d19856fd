package ladder

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/policy-config"
)

type (
	settings = v1alpha1.SessionSettings
	policy   = policyconfig.Policy
)

// row is one field of the table, which merges on its own (S7). All of them merge alike: the strongest block's value
// holds whole.
type row struct {
	// name is the path in a SessionPersistencePolicy's block, such as cookie.sameSite; of several ways to write
	// it, the first.
	name string
	// inline is where inline blocks have the field, if elsewhere than under its name.
	inline map[Generation]string
	// cookie says that the field means nothing to type Header (S11).
	cookie bool
	// computed says that the caller works out what holds where nobody writes the field.
	computed bool
	// read gives what settings write, nil for nothing. at is where, if it hangs on more than the generation. With an
	// error the value is the one that is written.
	read func(s *settings, g Generation) (value any, at string, err error)
	// apply puts a value into the plugin's configuration, builtIn gives what stands there before. Both are nil for
	// fields that the plugin has no use for.
	apply   func(p *policy, value any)
	builtIn func(p *policy) any
}

// plain is a field that both sides hold in the same way.
func plain[T any](name string, from func(*settings) *T, to func(*policy) *T) row {
	return converted(name, from, func(v T) (T, error) { return v, nil }, to)
}

// converted is a field whose value has another type in the plugin's configuration; to is nil if it is not there.
func converted[S, T any](name string, from func(*settings) *S, convert func(S) (T, error), to func(*policy) *T) row {
	f := row{name: name, read: func(s *settings, _ Generation) (any, string, error) {
		written := from(s)
		if written == nil {
			return nil, "", nil
		}
		value, err := convert(*written)
		if err != nil {
			return *written, "", err
		}
		return value, "", nil
	}}
	if to != nil {
		f.apply = func(p *policy, value any) { *to(p) = value.(T) }
		f.builtIn = func(p *policy) any { return *to(p) }
	}
	return f
}

// cookieField is a member of cookie.
func cookieField[S, T any](name string, from func(*v1alpha1.Cookie) *S, convert func(S) (T, error), to func(*policyconfig.Cookie) *T) row {
	f := converted("cookie."+name, within(func(s *settings) *v1alpha1.Cookie { return s.Cookie }, from), convert,
		func(p *policy) *T { return to(p.Cookie) })
	f.cookie = true
	return f
}

// within gives the members of a mapping that may be absent.
func within[M, T any](outer func(*settings) *M, inner func(*M) *T) func(*settings) *T {
	return func(s *settings) *T {
		if m := outer(s); m != nil {
			return inner(m)
		}
		return nil
	}
}

// pathIn is where a block has the field, from the block on.
func (f *row) pathIn(g Generation) string {
	if at, ok := f.inline[g]; ok {
		return at
	}
	return f.name
}

// written reads the field of a block; its value is nil if the block does not write it.
func (f *row) written(b *Block) (Written, error) {
	value, at, err := f.read(b.Settings, b.Shows)
	if value == nil {
		return Written{}, nil
	}
	if at == "" {
		at = f.pathIn(b.Shows)
	}
	return Written{Value: value, Text: text(value), Rung: b.Rung, Source: b.Source, Path: b.Path + "." + at}, err
}

// text writes a value so that equal values have equal texts, whichever way they are written.
func text(value any) string {
	switch v := value.(type) {
	case []string:
		return strings.Join(v, "; ")
	case string:
		if v == "" {
			return `""`
		}
	}
	return fmt.Sprint(value)
}

// defaultOf is the value of the field where nobody writes it, nil for none or one that the caller computes.
func (f *row) defaultOf(p *policy) any {
	if f.builtIn == nil || f.computed {
		return nil
	}
	value := f.builtIn(p)
	switch value.(type) {
	case bool, int, uint32:
		return value
	}
	if reflect.ValueOf(value).IsZero() {
		return nil // no text, no time, no limit
	}
	return value
}
