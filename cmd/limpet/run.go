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
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/envoyproc"
	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/message"
	"github.com/limpet-proxy/limpet/internal/serve"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

const runHelp = `run compiles like 'limpet compile -t envoy', and runs an Envoy that serves the
result: one for all Gateways of the input, which may share ports.

Envoy is the program that the environment variable ENVOY names, or "envoy" on PATH.
Everything after -- is handed to it. SIGINT and SIGTERM reach
it; when it has ended, limpet exits with Envoy's exit code. Envoy does not
outlive limpet.

Every change of the input, and of the file that --keys names, reaches Envoy while
it runs: it asks limpet over a socket in a temporary folder that only its owner
can enter. Clusters, endpoints and session policies come first, then the routes to
them, and what they replace goes last; Envoy acknowledges each step. When the input
is refused, or Envoy rejects a part of it, what there was goes on. Standard input,
URLs and kustomizations are read once.

A listener whose address is not free is left out, and comes once it is.

When Envoy serves, run says at which addresses, and how to try a session there.
Access logs are on standard output. Where standard error is a terminal, Envoy's own
log goes to a file instead, whose name run says and which stays when the run ends; of
a long one the last megabytes are kept. Where it is none, that log has warnings alone,
unless there is a --log-level behind --.

Without --keys and without LIMPET_KEYS in the environment, run makes a key ring
for this run alone. LIMPET_KEYS is read once, when Envoy starts. The ring of --keys
is sealed under the root secret in LIMPET_ROOT, or under one that run makes for
this run.`

const runExamples = `  # edit and see
  limpet run -f examples/quickstart --bind 127.0.0.1

  # sessions that survive a restart
  export LIMPET_KEYS="$(limpet keygen)"
  limpet run -f gateways/ -f routes.yaml

  # flags for Envoy
  limpet run -f gateways/ -- --concurrency 2 --log-level warning`

// runCommand is "limpet run".
type runCommand struct {
	config configFlags
}

func newRun() *cobra.Command {
	var rc runCommand
	c := &cobra.Command{
		Use:     "run PATH... [-- ENVOY-FLAG...]",
		Short:   "Compile, and run an Envoy that follows the input",
		Long:    runHelp,
		Example: runExamples,
		Args: func(c *cobra.Command, args []string) error {
			paths, _ := splitAtDash(c, args)
			return rc.config.checkFlags(c, paths)
		},
		RunE: func(c *cobra.Command, args []string) error {
			_, flags := splitAtDash(c, args)
			return rc.run(c, flags)
		},
	}
	rc.config.register(c)
	rc.config.local = true
	return c
}

// splitAtDash gives the arguments before "--" and after it.
func splitAtDash(c *cobra.Command, args []string) (before, after []string) {
	if n := c.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func (rc *runCommand) run(c *cobra.Command, envoyFlags []string) error {
	program, err := envoyproc.Find()
	if err != nil {
		return err
	}
	if err := rc.checkVersion(c.ErrOrStderr(), program); err != nil {
		return err
	}
	if err := rc.config.keys.fixRoots(c.ErrOrStderr()); err != nil {
		return err
	}
	// The name is fixed before anything is compiled, for the filter's path is part of the configuration.
	// The folder itself comes later: until then there is nothing to clean up.
	dir := filepath.Join(os.TempDir(), "limpet-run-"+rand.Text()[:13]) // short, for a socket's path is in it
	files, err := rc.files(dir)
	if err != nil {
		return err
	}
	d, err := rc.deploy(c, dir)
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
	if err := write(dir, files); err != nil {
		return err
	}
	seen := !message.IsTerminal(c.ErrOrStderr())
	cmd := exec.Command(program, listArgs(dir, envoyFlags, seen)...)
	cmd.Env = environment
	cmd.Stdout, cmd.Stderr = c.OutOrStdout(), c.ErrOrStderr()
	var log *envoyproc.Log
	if !seen {
		if log, err = envoyproc.NewLog(dir + ".log"); err != nil {
			return err
		}
		defer func() { _ = log.Close() }()
		cmd.Stderr, cmd.WaitDelay = log, envoyproc.Grace
		message.Printf(c.ErrOrStderr(), "Envoy's log goes to %s", log.Name())
	}
	end, err := d.serve(socketIn(dir), signals)
	if err != nil {
		return err
	}
	err = envoyproc.Supervise(cmd, signals, envoyproc.Grace)
	end()
	if !d.own.hasServed() {
		err = log.Explain(err, program)
	}
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

// listArgs gives Envoy's arguments, its own flags last. Of a log that is seen among what limpet says it is told to keep
// to warnings: it begins with a hundred lines of what is built in.
func listArgs(dir string, own []string, seen bool) []string {
	has := func(flag string) bool {
		return slices.ContainsFunc(own, func(arg string) bool { return strings.Contains(arg, flag) })
	}
	args := []string{"-c", filepath.Join(dir, compiler.EnvoyFile), "--disable-hot-restart"}
	if !has("unknown-dynamic-fields") {
		args = append(args, "--ignore-unknown-dynamic-fields")
	}
	if seen && !has("log-level") && !slices.Contains(own, "-l") {
		args = append(args, "--log-level", "warning", "--component-log-level", "wasm:info")
	}
	return append(args, own...)
}

// socketIn is where limpet listens for the Envoy of a folder.
func socketIn(dir string) string { return filepath.Join(dir, "xds.sock") }

// files is what Envoy starts from, and its modules: a limpet without one says so before it looks at the input.
func (rc *runCommand) files(dir string) ([]atomicfile.File, error) {
	b := envoy.ServerBootstrap{Server: serve.SocketPrefix + socketIn(dir)}
	rc.config.admin.set(&b)
	text, err := b.YAML()
	if err != nil {
		return nil, err
	}
	files := []atomicfile.File{{Name: compiler.EnvoyFile, Data: text, Mode: 0o600}}
	if rc.config.filter.place == "" {
		filter, err := rc.config.filter.file()
		if err != nil {
			return nil, err
		}
		files = append(files, filter)
	}
	return append(files, shardFiles()...), nil
}

// write makes the folder, with the files in it.
func write(dir string, files []atomicfile.File) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return atomicfile.WriteAll(dir, files)
}

// environment is Envoy's: limpet's own, with a key ring in LIMPET_KEYS where Envoy will look for one, or with the root
// secret of a sealed ring. A ring that Envoy's filter would refuse is refused here, where the message is easier to
// find.
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
	message.Printf(
		stderr,
		"%s is not set: made a key ring for this run; its sessions end with it",
		policyconfig.DefaultKeysEnv,
	)
	return append(os.Environ(), policyconfig.DefaultKeysEnv+"="+string(ring)), nil
}
