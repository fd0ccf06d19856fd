package main

import (
	"io"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/inputfiles"
	"github.com/limpet-proxy/limpet/internal/message"
)

// followFiles has a controller follow the files that the flags name. They must not have been read before.
func (f *configFlags) followFiles(c *controller.Controller, stderr io.Writer) {
	paths := slices.Clone(f.input.paths)
	for _, secret := range []string{f.keys.file, f.keys.rootFile} {
		if secret != "" {
			paths = append(paths, secret)
		}
	}
	c.Changes, c.Stderr, c.Strict = inputfiles.NewWatcher(paths...), stderr, f.verdict.strict
	c.Style = f.style(stderr)
	c.Read = func(stderr io.Writer) (controller.Input, error) { return f.read(nil, stderr) }
}

// envoyOptions gives [configFlags.options] for inputs that are followed.
func (f *configFlags) envoyOptions(modulePath string) func(controller.Input) compiler.Options {
	return func(in controller.Input) compiler.Options { return f.options(in, compiler.TargetEnvoy, modulePath) }
}

// readOnce reads what does not show when it changes: the standard input, URLs and kustomizations. The rest is left to
// be followed.
func (f *inputFlags) readOnce(stdin io.Reader, stderr io.Writer) (err error) {
	once := inputFlags{kustomizations: f.kustomizations}
	f.paths = slices.DeleteFunc(slices.Clone(f.paths), func(path string) bool {
		isOnce := path == inputfiles.Stdin || inputfiles.IsURL(path)
		if isOnce {
			once.paths = append(once.paths, path)
		}
		return isOnce
	})
	f.kustomizations = nil
	if f.once, err = once.readSources(stdin); err != nil || len(f.once) == 0 {
		return err
	}
	names := append(slices.Clone(once.paths), once.kustomizations...)
	message.Printf(stderr, "read once, so that changes there reach no Envoy: %s", strings.Join(names, ", "))
	return nil
}
