package precedence

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

type (
	sessionSettings = v1alpha1.SessionSettings
	pluginPolicy    = policyconfig.Policy
)

// fieldRow is one field of the table, which merges on its own (S7). All of them merge alike: the strongest block's
// value holds whole.
type fieldRow struct {
	// name is the path in a SessionPersistencePolicy's block, such as cookie.sameSite; of several forms, the
	// first.
	name string
	// inlineNames is where inline blocks have the field, if elsewhere than under its name.
	inlineNames map[sessionapi.APIRelease]string
	// cookieOnly says that the field means nothing to type Header (S11).
	cookieOnly bool
	// computedLater says that the caller works out the value where no block writes the field.
	computedLater bool
	// read gives what settings write, nil for nothing. at is where, if it depends on more than the release. With an
	// error the value is the one that is written.
	read func(s *sessionSettings, g sessionapi.APIRelease) (value any, at string, err error)
	// apply puts a value into the plugin's configuration, and builtIn returns the value there before. Both are nil for
	// fields that the plugin does not have.
	apply   func(p *pluginPolicy, value any)
	builtIn func(p *pluginPolicy) any
}

// plainField is a field of the same type on both sides.
func plainField[T any](name string, from func(*sessionSettings) *T, to func(*pluginPolicy) *T) fieldRow {
	return convertedField(name, from, func(v T) (T, error) { return v, nil }, to)
}

// convertedField is a field whose value has another type in the plugin's configuration; to is nil if it is not there.
func convertedField[S, T any](
	name string,
	from func(*sessionSettings) *S,
	convert func(S) (T, error),
	to func(*pluginPolicy) *T,
) fieldRow {
	f := fieldRow{name: name, read: func(s *sessionSettings, _ sessionapi.APIRelease) (any, string, error) {
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
		f.apply = func(p *pluginPolicy, value any) { *to(p) = value.(T) }
		f.builtIn = func(p *pluginPolicy) any { return *to(p) }
	}
	return f
}

// cookieField is a member of cookie.
func cookieField[S, T any](
	name string,
	from func(*v1alpha1.Cookie) *S,
	convert func(S) (T, error),
	to func(*policyconfig.Cookie) *T,
) fieldRow {
	f := convertedField(
		"cookie."+name,
		readMember(func(s *sessionSettings) *v1alpha1.Cookie { return s.Cookie }, from),
		convert,
		func(p *pluginPolicy) *T { return to(p.Cookie) },
	)
	f.cookieOnly = true
	return f
}

// readMember gives the members of a mapping that may be absent.
func readMember[M, T any](outer func(*sessionSettings) *M, inner func(*M) *T) func(*sessionSettings) *T {
	return func(s *sessionSettings) *T {
		if m := outer(s); m != nil {
			return inner(m)
		}
		return nil
	}
}

// pathIn is where a block has the field, from the block on.
func (f *fieldRow) pathIn(g sessionapi.APIRelease) string {
	if at, ok := f.inlineNames[g]; ok {
		return at
	}
	return f.name
}

// readBlock reads the field of a block; nil if the block has no say.
func (f *fieldRow) readBlock(b *SettingsBlock) (*FieldValue, error) {
	value, at, err := f.read(b.Settings, b.Release)
	if value == nil {
		return f.readUnset(b), nil
	}
	if at == "" {
		at = f.pathIn(b.Release)
	}
	return &FieldValue{
		Value:  value,
		Text:   formatValue(value),
		Level:  b.Level,
		Origin: b.Origin,
		Path:   b.Path + "." + at,
	}, err
}

// formatValue writes a value so that equal values have equal texts, whichever way they are written.
func formatValue(value any) string {
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

// defaultValue is the value of the field where no block writes it, nil for none or one that the caller computes.
func (f *fieldRow) defaultValue(p *pluginPolicy) any {
	if f.builtIn == nil || f.computedLater {
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
