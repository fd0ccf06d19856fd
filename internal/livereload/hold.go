package livereload

import (
	"errors"
	"reflect"
	"slices"

	"github.com/limpet-proxy/limpet/compiler"
)

// compileHolding compiles the inputs. Files that have become worse, so that a change as a whole can't be taken over, are held at
// what they were: they may not be written to their end, and are no reason for other changes to wait. Where there is no other
// change the error is theirs, once.
func (d *Dynamic) compileHolding(in Inputs) (Inputs, *compiler.Result, error) {
	result, err := d.compileWithout(in)
	var problems compiler.Errors
	if err == nil || d.good == nil || d.Options(in).Strict || !errors.As(err, &problems) {
		d.held = nil
		return in, result, err
	}
	rest, fresh := d.holdBack(in, problems), d.listNotHeld(problems)
	d.held = problems
	if len(fresh) > 0 && reflect.DeepEqual(rest, *d.good) {
		return in, nil, err
	}
	result, again := d.compileWithout(rest)
	if again != nil {
		return in, nil, err
	}
	d.fresh = append(d.fresh, fresh...)
	return rest, result, nil
}

// holdBack gives the inputs with the files of the problems as they were when they were good last.
func (d *Dynamic) holdBack(in Inputs, problems compiler.Errors) Inputs {
	held := map[string]bool{}
	for _, p := range problems {
		held[p.File] = true
	}
	good := map[string]compiler.Source{}
	for _, s := range d.good.Sources {
		good[s.Name] = s
	}
	rest := Inputs{Keys: in.Keys}
	for _, s := range in.Sources {
		old, known := good[s.Name]
		switch {
		case !held[s.Name]:
			rest.Sources = append(rest.Sources, s)
		case known:
			rest.Sources = append(rest.Sources, old)
		}
	}
	return rest
}

// listNotHeld lists the problems that have not been told of the files that are held.
func (d *Dynamic) listNotHeld(problems []compiler.Problem) (fresh []compiler.Problem) {
	for _, p := range problems {
		if !slices.ContainsFunc(d.held, func(q compiler.Problem) bool {
			return q.Object == p.Object && q.Path == p.Path && q.Message == p.Message
		}) {
			fresh = append(fresh, p)
		}
	}
	return fresh
}

// withHeld gives a result with what there is to say of files that are held.
func withHeld(result *compiler.Result, held []compiler.Problem) *compiler.Result {
	if result == nil || len(held) == 0 {
		return result
	}
	whole := *result
	whole.Warnings = append(slices.Clone(result.Warnings), held...)
	return &whole
}
