package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/limpet-proxy/limpet/internal/freeport"
	"github.com/limpet-proxy/limpet/token"
)

// The key material of the scripts, 32 bytes each.
const (
	testSecret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTMyYiE"
	testRoot   = "cm9vdC1yb290LXJvb3Qtcm9vdC1yb290LXJvb3QtMzI"
)

// commands are the scripts' own commands, in addition to testscript's.
var commands = map[string]func(*testscript.TestScript, bool, []string){
	"exits":     cmdExits,
	"expand":    cmdExpand,
	"freeport":  cmdFreePort,
	"gone":      cmdGone,
	"leaks":     cmdLeaks,
	"listen":    cmdListen,
	"listens":   cmdListens,
	"mode":      cmdMode,
	"registry":  cmdRegistry,
	"terminate": cmdTerminate,
	"unseals":   cmdUnseals,
	"waitfor":   cmdWaitFor,
}

// cmdExits is "exits CODE PROGRAM ARG...": the program ends with that exit code.
func cmdExits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// cmdExpand is "expand FILE...": environment variables in the files are replaced by their values.
func cmdExpand(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args {
		text := os.Expand(ts.ReadFile(file), ts.Getenv)
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// cmdFreePort is "freeport NAME...": sets each variable to a loopback port that is free.
func cmdFreePort(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		port, err := freeport.Find()
		ts.Check(err)
		ts.Setenv(name, strconv.Itoa(port))
	}
}

// cmdListen is "listen ADDRESS": takes the address until the script ends.
func cmdListen(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.Listen("tcp", args[0])
	ts.Check(err)
	ts.Defer(func() { _ = l.Close() })
}

// cmdRegistry is "registry NAME": sets the variable to the loopback address of an OCI registry, over plain HTTP, that
// lives until the script ends.
func cmdRegistry(ts *testscript.TestScript, _ bool, args []string) {
	quiet := registry.Logger(log.New(io.Discard, "", 0))
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), quiet))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.Listener.Addr().String())
}

// cmdMode is "mode OCTAL FILE...": the files have these permissions.
func cmdMode(ts *testscript.TestScript, _ bool, args []string) {
	for _, file := range args[1:] {
		info, err := os.Stat(ts.MkAbs(file))
		ts.Check(err)
		if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
			ts.Fatalf("%s has mode %s, want %s", file, got, args[0])
		}
	}
}

// cmdLeaks is "[!] leaks stdout|stderr|FILE|FOLDER...": one of the two secrets is in there, in any encoding that a
// careless program might give it.
func cmdLeaks(ts *testscript.TestScript, neg bool, args []string) {
	for _, what := range args {
		text := readAll(ts, what)
		for _, form := range append(encodeAll(testSecret), encodeAll(testRoot)...) {
			if found := bytes.Contains(text, form); found == neg {
				if neg {
					ts.Fatalf("%s holds %q", what, form)
				}
				continue
			} else if found {
				return
			}
		}
	}
	if !neg {
		ts.Fatalf("no secret in %v", args)
	}
}

// readAll gives the contents of a stream, a file, or all files below a folder.
func readAll(ts *testscript.TestScript, what string) []byte {
	if what == "stdout" || what == "stderr" {
		return []byte(ts.ReadFile(what))
	}
	var all []byte
	ts.Check(filepath.WalkDir(ts.MkAbs(what), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	}))
	return all
}

// encodeAll gives the ways to write a secret given as base64url.
func encodeAll(text string) [][]byte {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		panic(err)
	}
	decimal := fmt.Sprintf("%d", raw)
	return [][]byte{
		[]byte(text),
		raw,
		[]byte(base64.RawStdEncoding.EncodeToString(raw)),
		[]byte(hex.EncodeToString(raw)),
		[]byte(strings.Trim(decimal, "[]")),
		[]byte(strings.ReplaceAll(strings.Trim(decimal, "[]"), " ", ",")),
	}
}

// cmdUnseals is "unseals PLUGIN_JSON": the keys in it, unsealed under $ROOT, are the ring in $RING.
func cmdUnseals(ts *testscript.TestScript, _ bool, args []string) {
	roots, err := token.ParseRoots(ts.Getenv("ROOT"))
	ts.Check(err)
	sealed := gjson.Get(ts.ReadFile(args[0]), "keys.sealed").String()
	ring, err := token.Unseal(roots, sealed)
	ts.Check(err)
	if got, want := string(ring), ts.Getenv("RING"); got != want {
		ts.Fatalf("unsealed %s, want %s", got, want)
	}
}

// cmdTerminate is "terminate": SIGTERM to the program that was last put into the background.
func cmdTerminate(ts *testscript.TestScript, _ bool, _ []string) {
	all := ts.BackgroundCmds()
	ts.Check(all[len(all)-1].Process.Signal(syscall.SIGTERM))
}

// within10s repeats a check until it holds.
func within10s(holds func() bool) bool {
	for range 200 {
		if holds() {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// cmdWaitFor is "waitfor FILE": the file appears.
func cmdWaitFor(ts *testscript.TestScript, _ bool, args []string) {
	appeared := within10s(func() bool {
		info, err := os.Stat(ts.MkAbs(args[0]))
		return err == nil && info.Size() > 0
	})
	if !appeared {
		ts.Fatalf("%s does not appear", args[0])
	}
}

// cmdListens is "listens ADDRESS": something listens there.
func cmdListens(ts *testscript.TestScript, _ bool, args []string) {
	listens := within10s(func() bool {
		connection, err := net.Dial("tcp", args[0])
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	if !listens {
		ts.Fatalf("nothing listens at %s", args[0])
	}
}

// cmdGone is "gone FILE": the process whose id is in the file ends. Dead and not yet waited for counts as gone.
func cmdGone(ts *testscript.TestScript, _ bool, args []string) {
	pid, err := strconv.Atoi(ts.ReadFile(args[0]))
	ts.Check(err)
	ended := within10s(func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return syscall.Kill(pid, 0) != nil || (err == nil && bytes.Contains(status, []byte("State:\tZ")))
	})
	if !ended {
		ts.Fatalf("process %d is still there", pid)
	}
}
