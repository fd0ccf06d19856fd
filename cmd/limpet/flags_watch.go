package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/livereload"
	"github.com/limpet-proxy/limpet/internal/memory"
)

// defaultEndpointFiles leaves room for five Envoys of one user among the 128 inotify instances that Linux gives each.
const defaultEndpointFiles = 16

// maxEndpointFiles bounds what --endpoint-files may ask for.
const maxEndpointFiles = 100_000

// watchFlags say whether and how configuration changes while Envoy runs.
type watchFlags struct {
	on            bool
	endpointFiles int
}

func (w *watchFlags) register(f *pflag.FlagSet, usage string) {
	f.BoolVar(&w.on, "watch", false, usage)
	f.IntVar(&w.endpointFiles, "endpoint-files", defaultEndpointFiles,
		"with --watch: up to `N` clusters, each has a file for its endpoints")
}

// check refuses flags that make no sense together.
func (w *watchFlags) check(c *cobra.Command, input *inputFlags) error {
	switch {
	case !w.on && c.Flags().Changed("endpoint-files"):
		return usagef("--endpoint-files needs --watch")
	case !w.on:
		return nil
	case w.endpointFiles < 0 || w.endpointFiles > maxEndpointFiles:
		return usagef("--endpoint-files %d: must be 0 to %d", w.endpointFiles, maxEndpointFiles)
	default:
		return input.checkWatchable("--watch")
	}
}

// newReconciler makes what keeps an output up to date with the files that the flags name. It must be made before they
// are read for the first time.
func (f *configFlags) newReconciler(stderr io.Writer) *livereload.Reconciler {
	paths := slices.Clone(f.input.paths)
	for _, secret := range []string{f.keys.file, f.keys.rootFile} {
		if secret != "" {
			paths = append(paths, secret)
		}
	}
	return &livereload.Reconciler{
		Changes: inputfiles.NewWatcher(paths...),
		Read:    func(stderr io.Writer) (livereload.Inputs, error) { return f.read(nil, stderr) },
		Stderr:  stderr,
		Strict:  f.verdict.strict,
	}
}

// cachedOptions gives [configFlags.options] for inputs that are compiled again and again.
func (f *configFlags) cachedOptions(target compiler.Target, modulePath string) func(livereload.Inputs) compiler.Options {
	cache := compiler.NewCache()
	return func(in livereload.Inputs) compiler.Options {
		o := f.options(in, target, modulePath)
		o.Cache = cache
		return o
	}
}

// newDynamic makes the output for an Envoy that runs on the envoy.yaml in a folder.
func (f *configFlags) newDynamic(dir string, w *watchFlags, known *memory.Memory) (*livereload.Dynamic, error) {
	modulePath, err := f.filter.pathUnder(dir)
	if err != nil {
		return nil, err
	}
	d, err := livereload.NewDynamic(dir, known)
	if err != nil {
		return nil, err
	}
	d.Options, d.FileMode = f.cachedOptions(compiler.TargetEnvoy, modulePath), f.keys.fileMode
	d.EndpointFiles = w.endpointFiles
	return d, nil
}
