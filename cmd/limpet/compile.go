package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/message"
)

const compileHelp = `compile reads Gateway API YAML and writes configuration.

  -t envoy          envoy.yaml, plugin.json and limpet.wasm: all that Envoy
                    needs
  -t envoy-gateway  envoy-gateway.yaml: the routes and what else Envoy Gateway
                    needs, to be applied; --wasm-url says where it finds the
                    filter
  -t istio          istio.yaml: resources that put limpet into Istio's gateways,
                    which load it from --wasm-url; Istio's own routes may be in
                    the input
  -t plugin         plugin.json alone: the filter's configuration, for an
                    Envoy of your own; --around envoy or istio writes what stands
                    around it too, to be put in place by hand

With --filter native the proxies of Envoy Gateway and Istio load liblimpet.so from
--filter-path, an absolute path in their image, and --wasm-url is not needed.

Without -o the main document (envoy.yaml, envoy-gateway.yaml, istio.yaml or
plugin.json) goes to standard output. Files are written whole or not at all.

Documents of kinds that limpet has no use for are passed over, and counted. What
no API server would admit, and what limpet does not support, is left out: a rule,
a listener or an object, and a file that can't be read; the rest is written, and
the exit code is 3. With --strict nothing is written then. An input of which no
listener is left writes nothing in any case.

Objects that are valid but cannot be honoured (such as a backendRef to a Service
that is missing) get warnings, and their share of the traffic is answered 500,
as the Gateway API asks. --strict refuses them.

Keys sign the sessions. By default the output holds none: Envoy reads the ring
from its own environment, LIMPET_KEYS ('limpet keygen' makes one). --keys FILE
puts the ring into the output instead, sealed: encrypted under the root secret of
--root FILE or LIMPET_ROOT, which Envoy must have in its environment as LIMPET_ROOT
('limpet keygen --root' makes one). With --keys-in-clear whoever can read the output
can read the keys.

Listeners for HTTPS take their certificates from Secrets in the input. The private
keys are in envoy.yaml then, whose mode is 0600.

--report FILE has all of it as JSON, for programs: problems with object, verdict,
reason, file, line, path and message. It is written also when the input is
refused. 'limpet check' says the same of every object, and more.

compile writes once, and ends. 'limpet run' and 'limpet serve' follow the input: each
change reaches an Envoy while it runs, in steps, so that nothing that routes need
is missing at any time.

Exit codes: 0 done, 1 nothing written, 2 wrong usage, 3 written without what is
refused.`

const compileExamples = `  # everything Envoy needs, in the folder out
  limpet compile -f gateways/ -f routes.yaml -t envoy -o out

  # what a cluster has, to look at
  kubectl get gatewayclasses,gateways,httproutes,services,endpointslices \
    -A -o yaml | limpet compile -f -

  # for Envoy Gateway, with the filter from an image
  image=$(limpet image push ghcr.io/example/limpet:v1)
  limpet compile -f routes.yaml -t envoy-gateway --wasm-url "oci://$image" |
    kubectl apply -f -

  # keys in the files, sealed for Envoys that have root.txt in LIMPET_ROOT
  limpet keygen -o keys.json
  limpet keygen --root -o root.txt
  limpet compile -f gateways/ -o out --keys keys.json --root root.txt

  # for an Envoy of your own: the filters and settings around the plugin, to paste
  limpet compile -f routes.yaml -t plugin --around envoy`

// compileCommand is "limpet compile".
type compileCommand struct {
	config configFlags
	target string
	out    string
	report string
	around string
}

func newCompile() *cobra.Command {
	var cc compileCommand
	c := &cobra.Command{
		Use:     "compile PATH... [-t envoy|envoy-gateway|istio|plugin] [-o DIR]",
		Short:   "Compile Gateway API YAML for Envoy, Istio or Envoy Gateway",
		Long:    compileHelp,
		Example: compileExamples,
		Args:    cc.checkFlags,
		RunE:    func(c *cobra.Command, _ []string) error { return cc.run(c) },
	}
	cc.config.register(c)
	cc.config.input.registerLimits(c.Flags())
	cc.config.input.policies.registerAdmitted(c.Flags())
	cc.config.verdict.registerFailOn(c.Flags())
	cc.config.keys.registerRoot(c.Flags())
	cc.config.keys.registerClear(c.Flags())
	cc.config.module.register(c.Flags())
	cc.config.istio.register(c.Flags())
	registerTarget(c.Flags(), &cc.target, "what to make:")
	c.Flags().StringVarP(&cc.out, "output", "o", "", "folder `DIR` for the files (default: standard output)")
	c.Flags().StringVar(&cc.report, "report", "", "write refusals and warnings to `FILE`, as JSON")
	c.Flags().StringVar(&cc.around, "around", "",
		"with -t plugin: write what stands around the plugin too, for `envoy|istio`")
	return c
}

// checkFlags refuses a wrong command line before anything is read.
func (cc *compileCommand) checkFlags(c *cobra.Command, args []string) error {
	if err := checkTarget(cc.target); err != nil {
		return err
	}
	cc.config.keys.target = cc.target
	if err := cc.checkAround(); err != nil {
		return err
	}
	if err := cc.config.checkFlags(c, args); err != nil {
		return err
	}
	if err := cc.config.checkFilter(compiler.Target(cc.target)); err != nil {
		return err
	}
	if err := cc.config.module.checkFlags(compiler.Target(cc.target), cc.config.filter.isNative()); err != nil {
		return err
	}
	return cc.config.istio.checkFlags(compiler.Target(cc.target))
}

func (cc *compileCommand) run(c *cobra.Command) error {
	if cc.out == "" {
		return cc.print(c)
	}
	modulePath, err := cc.config.filter.pathUnder(cc.out)
	if err != nil {
		return err
	}
	result, err := cc.compile(c, modulePath)
	if err != nil {
		return err
	}
	files, err := cc.outputFiles(result)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteAll(cc.out, files); err != nil {
		return fmt.Errorf("%w; nothing written", err)
	}
	cc.config.keys.warnOfOpenFolder(c.ErrOrStderr(), result, cc.out)
	cc.config.keys.printExposure(c.ErrOrStderr(), result, "the folder "+cc.out+" (files of mode 0600)")
	return cc.verdictOf(c, result)
}

// compile compiles, prints the warnings and writes the report, also of what is refused.
func (cc *compileCommand) compile(c *cobra.Command, modulePath string) (*compiler.Result, error) {
	result, err := cc.config.compile(c, compiler.Target(cc.target), modulePath)
	var refused compiler.Errors
	if err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	if result != nil {
		err = errors.Join(err, cc.addAround(result))
		message.PrintProblems(c.ErrOrStderr(), result.Warnings, cc.config.style(c.ErrOrStderr()))
		message.PrintPassedOver(c.ErrOrStderr(), result.PassedOver)
	}
	if failed := cc.writeReport(refused, result); failed != nil {
		if err == nil {
			return nil, failed
		}
		message.Print(c.ErrOrStderr(), failed.Error())
	}
	return result, err
}

// print writes the main document to standard output, for people and pipes.
func (cc *compileCommand) print(c *cobra.Command) error {
	modulePath, found, err := cc.printedPath()
	if err != nil {
		return err
	}
	result, err := cc.compile(c, modulePath)
	if err != nil {
		return err
	}
	if !found {
		message.Printf(c.ErrOrStderr(), "this envoy.yaml loads %s from Envoy's working folder; "+
			"--filter-path names another place, -o writes a copy", modulePath)
	}
	if _, err := c.OutOrStdout().Write(result.Main()); err != nil {
		return err
	}
	cc.config.keys.printExposure(c.ErrOrStderr(), result, "this output")
	return cc.verdictOf(c, result)
}

// printedPath is where an Envoy that runs on what is printed finds the filter; found says that it needs no copy in its
// working folder.
func (cc *compileCommand) printedPath() (path string, found bool, err error) {
	filter := &cc.config.filter
	if compiler.Target(cc.target) != compiler.TargetEnvoy || filter.place != "" {
		return filter.place, true, nil
	}
	path, err = filter.name()
	return path, false, err
}

// verdictOf ends a compilation whose output is written, with a line on what there is to say of it if that is no
// success.
func (cc *compileCommand) verdictOf(c *cobra.Command, result *compiler.Result) error {
	err := cc.config.verdict.errorFor(compiler.Worst(result.Warnings))
	if errors.Is(err, errLeftOut) {
		message.Printf(c.ErrOrStderr(), "%s; the rest is written", message.CountFindings(result.Warnings))
	}
	return err
}

// outputFiles are the files of the target.
func (cc *compileCommand) outputFiles(r *compiler.Result) ([]atomicfile.File, error) {
	var filter *filterFlags
	if target := compiler.Target(cc.target); target == compiler.TargetEnvoy || target == compiler.TargetIstio {
		filter = &cc.config.filter
	}
	return outputFiles(r, filter, cc.config.keys.fileMode(r))
}

// outputFiles are the files of a result and the filter, if it is wanted there. The main document is the last: it
// appears when all that it needs is there.
func outputFiles(r *compiler.Result, filter *filterFlags, mode fs.FileMode) ([]atomicfile.File, error) {
	var files []atomicfile.File
	if filter != nil && filter.nativePath() == "" { // else the operator has it
		file, err := filter.file()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	for _, f := range r.Files {
		files = append(files, atomicfile.File{Name: f.Name, Data: f.Data, Mode: mode})
	}
	return files, nil
}
