package harness

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Deployment is what a test runs: documents, keys, and changes to what the compiler makes of them.
type Deployment struct {
	Documents Documents
	// Keys is the ring in LIMPET_KEYS; the zero value makes one.
	Keys Ring
	// Policies changes the plugin configuration: options that HTTPRoute has no field for.
	Policies func(*policyconfig.Config)
	// Tree changes the Envoy configuration, after Policies.
	Tree func(Tree)
	// Flags are further flags of limpet compile.
	Flags []string
	// ExitCode is that of limpet compile: 3 where something of the input is left out.
	ExitCode int
	// CompileEnv are further variables in limpet compile's environment.
	CompileEnv []string
	// Env is Envoy's environment; nil means LIMPET_KEYS with Keys and nothing else.
	Env []string
	// Workers is Envoy's number of worker threads. Default 1.
	Workers int
	// LogLevel is Envoy's. Default "warning".
	LogLevel string
}

// Compiled is an Envoy configuration made by bin/limpet, ready to start.
type Compiled struct {
	// Dir holds envoy.yaml, plugin.json and limpet.wasm.
	Dir string
	// Port is the plain listener's, AdminPort the admin interface's, and TLSPort that of the HTTPS listeners, if any.
	Port, AdminPort, TLSPort int
	// Config is the plugin configuration that Envoy will get.
	Config policyconfig.Config
	// Output is what limpet wrote to stdout and stderr.
	Output string

	deployment Deployment
	shipped    Shipped
	cluster    string // that Envoy calls itself part of; empty for "e2e"
}

// Compile runs bin/limpet compile on the documents and applies the deployment's changes.
func Compile(t testing.TB, d Deployment) *Compiled {
	t.Helper()
	c := &Compiled{Dir: t.TempDir(), AdminPort: FreePort(t), shipped: Find(t)}
	if d.Documents.Port == 0 {
		d.Documents.Port = FreePort(t)
	}
	if d.Documents.TLSPort == 0 && len(d.Documents.Sites) > 0 {
		d.Documents.TLSPort = FreePort(t)
	}
	if len(d.Keys.keys) == 0 {
		d.Keys = NewRing("first")
	}
	c.deployment, c.Port, c.TLSPort = d, d.Documents.Port, d.Documents.TLSPort
	input := filepath.Join(t.TempDir(), "documents.yaml")
	if err := os.WriteFile(input, []byte(d.Documents.YAML(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := append([]string{
		"compile", "-v", "-f", input, "-t", "envoy", "-o", c.Dir,
		"--bind", "127.0.0.1", "--admin", Loopback(c.AdminPort),
	}, d.Flags...)
	code, stdout, stderr := Limpet(t, d.CompileEnv, flags...)
	if code != d.ExitCode {
		t.Fatalf("limpet compile: exit code %d\n%s", code, stderr)
	}
	c.Output = stdout + stderr
	c.change(t)
	return c
}

// change applies the deployment's changes to the compiled envoy.yaml; without any the file stays as compiled.
func (c *Compiled) change(t testing.TB) {
	t.Helper()
	path := filepath.Join(c.Dir, "envoy.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tree := parseTree(t, text)
	c.Config = tree.Plugin(t)
	if c.deployment.Policies == nil && c.deployment.Tree == nil {
		return
	}
	if c.deployment.Policies != nil {
		c.deployment.Policies(&c.Config)
		tree.SetPlugin(t, c.Config)
	}
	if c.deployment.Tree != nil {
		c.deployment.Tree(tree)
	}
	tree.write(t, path)
}

// Policy is the policy whose session has that name.
func (c *Compiled) Policy(t testing.TB, sessionName string) *policyconfig.Policy {
	t.Helper()
	return PolicyOf(t, &c.Config, sessionName)
}

// Keys is the ring that the deployment runs with.
func (c *Compiled) Keys() Ring { return c.deployment.Keys }

// Limpet runs bin/limpet in the root of the tree, to its end, with more variables in its environment.
func Limpet(t testing.TB, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	shipped := Find(t)
	var out, err bytes.Buffer
	command := exec.Command(shipped.Limpet, withFilter(args)...)
	command.Dir, command.Stdout, command.Stderr = shipped.Root, &out, &err
	command.Env = append(environment("ENVOY="+shipped.Envoy), env...)
	if failure := command.Run(); command.ProcessState == nil {
		t.Fatalf("limpet %s: %v", strings.Join(args, " "), failure)
	}
	return command.ProcessState.ExitCode(), out.String(), err.String()
}

// environment is the little of the test's own environment that programs get, and more variables.
func environment(more ...string) []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
	if limit := os.Getenv("GOMEMLIMIT"); limit != "" {
		env = append(env, "GOMEMLIMIT="+limit)
	}
	return append(env, more...)
}
