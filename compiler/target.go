package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/compiler/ir"
)

// Target is what a compilation writes.
type Target string

// The targets: a complete Envoy bootstrap beside the plugin configuration, or the latter alone.
const (
	TargetEnvoy  Target = "envoy"
	TargetPlugin Target = "plugin"
)

// The names of the files of a result.
const (
	PluginFile = "plugin.json"
	EnvoyFile  = "envoy.yaml"
)

// File is a file of a result.
type File struct {
	Name string
	Data []byte
}

// emitters has, for each target, the function that gives the files of a judgement, in the order to be written in: a file
// comes after all that it needs, and the document that people ask for comes last.
var emitters = []struct {
	target Target
	emit   func(*judgement, *Options, *Result) ([]File, error)
}{
	{TargetEnvoy, emitEnvoy},
	{TargetPlugin, emitPlugin},
}

// Targets are the names of all targets, the default one first.
func Targets() []string {
	names := make([]string, len(emitters))
	for i, e := range emitters {
		names[i] = string(e.target)
	}
	return names
}

// check gives an error when there is no such target.
func (t Target) check() error {
	if slices.Contains(Targets(), string(t)) {
		return nil
	}
	return fmt.Errorf("target: Unsupported value: %q: supported values: %s", t, `"`+strings.Join(Targets(), `", "`)+`"`)
}

// files are those of the target, which check has found to exist.
func (t Target) files(j *judgement, o *Options, r *Result) ([]File, error) {
	for _, e := range emitters {
		if e.target == t {
			return e.emit(j, o, r)
		}
	}
	return nil, t.check()
}

func emitPlugin(_ *judgement, _ *Options, r *Result) ([]File, error) {
	return []File{{PluginFile, r.PluginJSON}}, nil
}

func emitEnvoy(j *judgement, o *Options, r *Result) ([]File, error) {
	r.PrivateKeys = slices.ContainsFunc(j.config.Listeners, func(l ir.Listener) bool { return len(l.Sites) > 0 })
	bootstrap, err := envoy.Emit(j.config, envoy.Settings{
		Admin: j.settings.admin, WasmPath: o.WasmPath, Plugin: r.Plugin, PluginJSON: r.PluginJSON,
	})
	return []File{{PluginFile, r.PluginJSON}, {EnvoyFile, bootstrap}}, err
}
