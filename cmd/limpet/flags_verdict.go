package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// failNever as the value of --fail-on lets everything pass.
const failNever = "never"

// failLevels are the values of --fail-on, and the verdict from which on each fails.
var failLevels = map[string]compiler.Verdict{
	"advice": compiler.Advice, "warning": compiler.Warning, "refused": compiler.Refused,
}

// verdictFlags say what an input may have wrong with it.
type verdictFlags struct {
	strict bool
	failOn string
}

func (v *verdictFlags) register(f *pflag.FlagSet, strict string) {
	f.BoolVar(&v.strict, "strict", false, strict)
}

// registerFailOn is for commands that end with a verdict.
func (v *verdictFlags) registerFailOn(f *pflag.FlagSet) {
	f.StringVar(&v.failOn, "fail-on", "",
		"the least verdict, `advice|warning|refused|never`, that is no success\n(default refused; with --strict warning)")
}

func (v *verdictFlags) checkFlags() error {
	if v.failOn == "" {
		return nil
	}
	return checkChoice("fail-on", v.failOn, "advice", "warning", "refused", failNever)
}

// level is the verdict from which on the input fails; false for never.
func (v *verdictFlags) level() (compiler.Verdict, bool) {
	switch {
	case v.failOn != "":
		return failLevels[v.failOn], v.failOn != failNever
	case v.strict:
		return compiler.Warning, true
	default:
		return compiler.Refused, true
	}
}

// set puts the flags into a compilation's options.
func (v *verdictFlags) set(o *compiler.Options) {
	level, fails := v.level()
	o.Strict, o.FailOn = v.strict && fails, level
}

// errorFor gives the error for an input whose worst verdict this is: with strict nothing was done, else the rest was.
func (v *verdictFlags) errorFor(worst compiler.Verdict) error {
	level, fails := v.level()
	switch {
	case !fails || !worst.AtLeast(level):
		return nil
	case v.strict:
		return errRefused
	default:
		return errLeftOut
	}
}

// kindFlags say what of the input is limpet's.
type kindFlags struct {
	controller  string
	namespace   string
	assumeClass bool
	strictKinds bool
	allowEmpty  bool
}

// register registers what says which objects are limpet's.
func (k *kindFlags) register(f *pflag.FlagSet) {
	f.StringVarP(&k.namespace, "namespace", "n", "", "`NAMESPACE` of documents without one (default \"default\")")
	f.StringVar(&k.controller, "controller-name", "",
		"the controllerName (`NAME`) of limpet's GatewayClasses\n(default \"limpet.dev/gateway-controller\")")
}

// registerAssumed is for commands that say what is served.
func (k *kindFlags) registerAssumed(f *pflag.FlagSet) {
	f.BoolVar(&k.assumeClass, "assume-class", false, "take a GatewayClass that is not in the input for limpet's")
}

// checkFlags refuses values that no API server would take.
func (k *kindFlags) checkFlags() error {
	if k.namespace != "" && !isDNSLabel(k.namespace) {
		return usagef("--namespace %q: must be a name of lower-case letters, digits and dashes", k.namespace)
	}
	domain, path, hasPath := strings.Cut(k.controller, "/")
	if k.controller != "" && (!hasPath || domain == "" || path == "") {
		return usagef(
			"--controller-name %q: must be a domain and a path, such as limpet.dev/gateway-controller",
			k.controller,
		)
	}
	return nil
}

// set puts the flags into a compilation's options.
func (k *kindFlags) set(o *compiler.Options) {
	o.Namespace, o.ControllerName = k.namespace, k.controller
	o.AssumeClass, o.StrictKinds, o.AllowEmpty = k.assumeClass, k.strictKinds, k.allowEmpty
}

// checkChoice refuses a flag's value that is none of those that it can have, with the nearest of them.
func checkChoice(flag, value string, among ...string) error {
	if slices.Contains(among, value) {
		return nil
	}
	last := len(among) - 1
	return usagef(
		"--%s %q: must be %s or %s%s",
		flag,
		value,
		strings.Join(among[:last], ", "),
		among[last],
		didYouMean(value, among),
	)
}

// addDidYouMean adds the nearest flag to an error that names an unknown one.
func addDidYouMean(c *cobra.Command, err error) string {
	_, name, found := strings.Cut(err.Error(), "unknown flag: --")
	if !found {
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := nearestWord(name, names); near != "" {
		return "; did you mean --" + near + "?"
	}
	return ""
}
