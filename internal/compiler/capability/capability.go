// Package capability is how emitters say what their targets can do. Each emitter declares an answer for every feature;
// docs/targets.md is written from the declarations, and tests hold them to what the emitters do: a Yes has an effect in
// the target's files, a No is reported, Theirs is neither, and a feature without an answer fails.
package capability

// Support is how much of a feature a target carries.
type Support string

// The answers.
const (
	// Yes: what is asked for holds on the target.
	Yes Support = "yes"
	// Differs: it holds, but not as on a plain Envoy, or there not to the letter; the note says how.
	Differs Support = "differs"
	// Theirs: the target's control plane reads it in the documents that limpet reads, and limpet adds nothing to that.
	Theirs Support = "theirs"
	// No: it has no effect, and the report says so with the object and the path.
	No Support = "no"
	// Fixed: the compiler always writes the default, and no input asks for anything else.
	Fixed Support = "fixed"
)

// Answer is a target's for one feature. Every one but Yes has a note, a clause of a sentence.
type Answer struct {
	Support Support
	Note    string
}

// Declaration has a target's answers by feature: "plugin PATH" for a field of the plugin configuration, "KIND PATH" for
// a field of a kind, without its leading spec, and "across WHAT" for what is more than a field.
type Declaration map[string]Answer

// Answer gives the answer for a feature; false if there is none.
func (d Declaration) Answer(feature string) (Answer, bool) {
	if a, own := d[feature]; own {
		return a, true
	}
	a, of := common[feature]
	return a, of
}
