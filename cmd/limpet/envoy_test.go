package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// fakeEnvoy stands in for Envoy: it notes how it was called in the file envoy.txt and its process id in envoy.pid, both
// in the current folder. Then it waits for SIGTERM or SIGINT and exits with 0. FAKE_ENVOY tells it to end
// by itself: "exit N" or "die" (of SIGKILL).
func fakeEnvoy() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	mustWrite("envoy.txt", describeCall(os.Args[1:]))
	mustWrite("envoy.pid", strconv.Itoa(os.Getpid()))
	fmt.Println("Envoy's own output")
	fmt.Fprintln(os.Stderr, "Envoy's own log")
	if code, ok := strings.CutPrefix(os.Getenv("FAKE_ENVOY"), "exit "); ok {
		n, err := strconv.Atoi(code)
		if err != nil {
			panic(err)
		}
		os.Exit(n)
	}
	if os.Getenv("FAKE_ENVOY") == "die" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	fmt.Println("got", <-signals)
}

// describeCall describes the command line, what is in the folder of its configuration, and the ring in the environment:
// whether there is one that can be used, never what it is.
func describeCall(args []string) string {
	dir := filepath.Dir(args[1])
	var b strings.Builder
	fmt.Fprintln(&b, "flags:", strings.ReplaceAll(strings.Join(args, " "), dir, "DIR"))
	files, err := os.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "file: %s %s\n", info.Mode(), f.Name())
	}
	config, err := os.ReadFile(args[1])
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(&b, "asks limpet:", strings.Contains(string(config), "path: "+socketIn(dir)))
	ring, err := keyfile.Parse(policyconfig.DefaultKeysEnv, os.Getenv(policyconfig.DefaultKeysEnv))
	fmt.Fprintln(&b, "ring:", len(ring.Keys), "keys", err == nil)
	mustWrite("dir.txt", dir)
	return b.String()
}

func mustWrite(file, text string) {
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		panic(err)
	}
}
