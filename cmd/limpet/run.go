package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/atomicfile"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const runHelp = `run compiles like 'limpet compile -t envoy', into a temporary folder, and runs
Envoy on the result.

Envoy is the program that --envoy names, or the environment variable ENVOY, or
"envoy" on PATH. Everything after -- is handed to it. SIGINT and SIGTERM reach
it; when it has ended, the folder is removed and limpet exits with Envoy's exit
code. Envoy does not outlive limpet.

With --watch every change of the input, and of the file that --keys names,
reaches Envoy while it runs: clusters, endpoints and session policies first, then
the routes to them, and what they replace goes last. Envoy's own counters confirm
each step, and only changes of ports and certificates touch listeners. When the
input is refused, or Envoy rejects it, the last good configuration keeps serving.

Without --keys and without LIMPET_KEYS in the environment, run makes a key ring
for this run alone. LIMPET_KEYS is read once, when Envoy starts. The ring of --keys
is sealed under the root secret of --root or LIMPET_ROOT, or under one that run
makes for this run.`

const runExamples = `  limpet run -f examples/quickstart --bind 127.0.0.1

  # sessions that survive a restart
  export LIMPET_KEYS="$(limpet keygen)"
  limpet run -f gateways/ -f routes.yaml

  # edit and see
  limpet run --watch -f examples/quickstart --bind 127.0.0.1

  # flags for Envoy
  limpet run -f gateways/ -- --concurrency 2 --log-level warning`

// runCommand is "limpet run".
type runCommand struct {
	config configFlags
	watch  watchFlags
	envoy  string
}

func newRun() *cobra.Command {
	var rc runCommand
	c := &cobra.Command{
		Use:     "run -f PATH... [--watch] [-- ENVOY-FLAG...]",
		Short:   "Compile, and run Envoy on the result",
		Long:    runHelp,
		Example: runExamples,
		Args: func(c *cobra.Command, args []string) error {
			paths, _ := splitAtDash(c, args)
			return rc.check(c, paths)
		},
		RunE: func(c *cobra.Command, args []string) error {
			_, flags := splitAtDash(c, args)
			return rc.run(c, flags)
		},
	}
	rc.config.register(c)
	rc.config.local = true
	rc.watch.register(c.Flags(), "follow the input: every change reaches Envoy while it runs")
	c.Flags().StringVar(&rc.envoy, "envoy", "", "run the Envoy at `PATH` (default: $ENVOY, or envoy on PATH)")
	return c
}

// splitAtDash parts the arguments before "--" from those after it.
func splitAtDash(c *cobra.Command, args []string) (before, after []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

// check refuses a wrong command line before anything is read.
func (rc *runCommand) check(c *cobra.Command, paths []string) error {
	if err := rc.config.check(c, paths); err != nil {
		return err
	}
	if rc.watch.on && rc.config.admin == compiler.NoAdmin {
		return usagef("--watch needs Envoy's admin interface, which says when a change is live: leave --admin none out")
	}
	return rc.watch.check(c, &rc.config.input)
}

func (rc *runCommand) run(c *cobra.Command, envoyFlags []string) error {
	program, err := envoyproc.Find(rc.envoy)
	if err != nil {
		return err
	}
	if err := rc.checkVersion(c.ErrOrStderr(), program); err != nil {
		return err
	}
	// The name is fixed before anything is compiled, for the module's path is part of the configuration.
	// The folder itself comes later: until then there is nothing to clean up.
	dir := filepath.Join(os.TempDir(), "limpet-run-"+rand.Text())
	if err := rc.config.keys.fixRoots(c.ErrOrStderr()); err != nil {
		return err
	}
	d, err := rc.prepare(c, dir)
	if err != nil {
		return err
	}
	environment, err := rc.environment(c.ErrOrStderr())
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer os.RemoveAll(dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if err := d.write(dir); err != nil {
		return err
	}
	rc.config.keys.printExposure(c.ErrOrStderr(), d.result, "Envoy's configuration in "+dir)
	cmd := exec.Command(program, rc.listArgs(dir, envoyFlags)...)
	cmd.Env = environment
	cmd.Stdout, cmd.Stderr = c.OutOrStdout(), d.log
	end := d.followInput(signals)
	err = envoyproc.Supervise(cmd, signals, envoyproc.Grace)
	end()
	return cmp.Or(d.failed, err)
}

// checkVersion refuses an Envoy that can't load the native filter, and warns of one with which that was not tried.
func (rc *runCommand) checkVersion(stderr io.Writer, program string) error {
	if !rc.config.filter.isNative() {
		return nil
	}
	fault, doubt := filtermodule.JudgeEnvoy(envoyproc.Version(program))
	if fault != "" {
		return errors.New(fault)
	}
	if doubt != "" {
		message.PrintWarning(stderr, doubt)
	}
	return nil
}

// listArgs are Envoy's. What Envoy discovers was made for it, so it need not look for fields that it does not know, which takes it
// a fifth of the time of every change. It would not refuse them either, unless it is told so.
func (rc *runCommand) listArgs(dir string, own []string) []string {
	args := []string{"-c", filepath.Join(dir, compiler.EnvoyFile), "--disable-hot-restart"}
	if rc.watch.on && !slices.ContainsFunc(own, func(arg string) bool { return strings.Contains(arg, "unknown-dynamic-fields") }) {
		args = append(args, "--ignore-unknown-dynamic-fields")
	}
	return append(args, own...)
}

// prepare compiles, and makes sure that Envoy could listen on every address of the result. Warnings come after that:
// what keeps Envoy from starting shall not drown in them.
func (rc *runCommand) prepare(c *cobra.Command, dir string) (*deployment, error) {
	d, err := rc.deploy(c, dir)
	if err != nil {
		return nil, err
	}
	d.files = []atomicfile.File{{Name: compiler.EnvoyFile, Data: d.result.Main(), Mode: 0o600}}
	if rc.config.filter.path() == "" {
		if d.files, err = outputFiles(d.result, &rc.config.filter, 0o600); err != nil {
			return nil, err
		}
	}
	addresses, err := envoyproc.BootstrapAddresses(d.result.Main())
	if err != nil {
		return nil, err
	}
	if d.result.Discovery != nil {
		addresses = append(addresses, envoyproc.ListenerAddresses(d.result.Discovery.Listeners)...)
	}
	if err := envoyproc.CheckFree(addresses); err != nil {
		return nil, err
	}
	message.PrintProblems(c.ErrOrStderr(), d.result.Warnings)
	message.PrintPassedOver(c.ErrOrStderr(), d.result.PassedOver)
	return d, nil
}

// environment is Envoy's: limpet's own, with a key ring in LIMPET_KEYS where Envoy will look for one, or with the root
// secret of a sealed ring. A ring that Envoy's filter would refuse is refused here, where the message is easier to find.
func (rc *runCommand) environment(stderr io.Writer) ([]string, error) {
	if roots := rc.config.keys.fixed; roots != nil {
		return append(os.Environ(), policyconfig.RootSecretEnv+"="+keyfile.RootsText(roots)), nil
	}
	if rc.config.keys.file != "" {
		return os.Environ(), nil
	}
	if ring := os.Getenv(policyconfig.DefaultKeysEnv); ring != "" {
		_, err := keyfile.Parse(policyconfig.DefaultKeysEnv, ring)
		return os.Environ(), err
	}
	ring, err := keyfile.Marshal(keyfile.NewRing("this-run"))
	if err != nil {
		return nil, err
	}
	message.Printf(stderr, "%s is not set: made a key ring for this run; its sessions end with it", policyconfig.DefaultKeysEnv)
	return append(os.Environ(), policyconfig.DefaultKeysEnv+"="+string(ring)), nil
}
