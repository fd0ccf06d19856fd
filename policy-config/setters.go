package policyconfig

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// The functions here make the setters of the decoder tables, one for each type of field.

// textSetter is for strings that keep a rule.
func textSetter[T any](rule *textRule, get func(*T) *string) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		if s := d.ruled(at, v, rule); s != "" || rule.empty && v.Type == gjson.String && v.Str == "" {
			*get(into) = s
		}
	}
}

// enum is for one of several names.
func enum[T any, E ~string](names []E, get func(*T) *E) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		s, ok := d.str(at, v)
		if !ok {
			return
		}
		for _, name := range names {
			if string(name) == s {
				*get(into) = name
				return
			}
		}
		d.unsupported(at, s, choices(names)+whyNot(at, s))
	}
}

// whyNot is the reason for a choice that others offer and limpet does not.
func whyNot(at *jsonPath, choice string) string {
	if choice == "Query" && at.name == "type" {
		return "; " + NoQuery
	}
	return ""
}

// NoQuery is why no session is in a query parameter.
const NoQuery = "no token goes into a URL, for logs, histories and Referer headers keep those (docs/threat-model.md)"

// boolean is for true and false.
func boolean[T any](get func(*T) *bool) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		if !v.IsBool() {
			d.wrongType(at, v, "true or false")
			return
		}
		*get(into) = v.Type == gjson.True
	}
}

// whole is for whole numbers of a range, written as digits: 25, neither 25.0 nor 2.5e1.
func whole[T any, N ~int | uint32](r wholeRange, get func(*T) *N) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		if v.Type != gjson.Number {
			d.wrongType(at, v, "a whole number")
			return
		}
		n, err := strconv.ParseInt(v.Raw, 10, 64)
		if err != nil || n < r.min || n > r.max || v.Raw == "-0" {
			shown := v.Raw
			if len(shown) > maxQuoted {
				shown = shown[:maxQuoted] + "..."
			}
			d.invalid(at, shown, "must be a whole number from "+strconv.FormatInt(r.min, 10)+" to "+strconv.FormatInt(r.max, 10))
			return
		}
		*get(into) = N(n)
	}
}

// duration is for GEP-2257 durations of a range.
func duration[T any](r durationRange, get func(*T) *Duration) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		s, ok := d.str(at, v)
		if !ok {
			return
		}
		span, err := ParseDuration(s)
		if err != nil {
			d.invalid(at, quote(s), err.Error())
			return
		}
		if span > r.max {
			d.invalid(at, quote(s), "must be at most "+r.max.String())
			return
		}
		*get(into) = span
	}
}

// timestamp is for RFC 3339 times.
func timestamp[T any](get func(*T) *Time) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		s, ok := d.str(at, v)
		if !ok {
			return
		}
		t, err := ParseTime(s)
		if err != nil {
			d.invalid(at, quote(s), err.Error())
			return
		}
		*get(into) = t
	}
}

// secret is for a key's secret. Its faults name neither the text nor its length.
func secret[T any](get func(*T) *Secret) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		s, ok := d.str(at, v)
		if !ok {
			return
		}
		raw, err := decodeBase64(s)
		if err == nil && (len(raw) < MinSecret || len(raw) > MaxSecret) {
			err = errSecretLength
		}
		if err != nil {
			d.invalid(at, redacted, err.Error())
			return
		}
		*get(into) = raw
	}
}

// texts is for lists of strings that keep a rule, each there once. An item with a fault becomes "", so that
// the others keep their places; key says which items are the same.
func texts[T any](count countRange, rule *textRule, key func(string) string, get func(*T) *[]string) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		n, ok := d.size(at, v, count)
		if !ok {
			return
		}
		list := make([]string, n)
		var seen map[string]bool
		if n > 1 {
			seen = make(map[string]bool, n)
		}
		each(at, v, func(here *jsonPath, i int, item gjson.Result) {
			list[i] = d.ruled(here, item, rule)
			if list[i] == "" || seen == nil {
				return
			}
			k := key(list[i])
			if seen[k] {
				d.duplicate(here, list[i], "listed before")
			}
			seen[k] = true
		})
		*get(into) = list
	}
}

// itself is the key of strings that are the same only when they are equal.
func itself(s string) string { return s }

// nested is for an object in an object, whose pointer, if it is one, get makes.
func nested[T, C any](fields []field[C], get func(*T) *C) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		object(d, at, v, fields, get(into))
	}
}

// objects is for lists of objects, each decoded into a value from create.
func objects[T, E any](count countRange, fields []field[E], create func() E, get func(*T) *[]E) setter[T] {
	return func(d *decoder, at *jsonPath, v gjson.Result, into *T) {
		n, ok := d.size(at, v, count)
		if !ok {
			return
		}
		list := make([]E, n)
		each(at, v, func(here *jsonPath, i int, item gjson.Result) {
			list[i] = create()
			object(d, here, item, fields, &list[i])
		})
		*get(into) = list
	}
}
