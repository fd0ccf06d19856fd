// Command demo is what "make run" starts once everything is built: three small backends, "limpet run" on the quick
// start, and a few curl lines to try. It runs until Ctrl-C or SIGTERM and leaves no process behind.
//
// Run it from the repository's root: bin/limpet and examples/quickstart are found from there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

func main() {
	// On Linux limpet is told when the thread that started it ends: that must be the program's end.
	runtime.LockOSThread()
	d := quickstart()
	flag.StringVar(&d.limpet, "limpet", "bin/limpet", "the limpet `program`")
	flag.StringVar(&d.config, "config", "examples/quickstart", "what limpet compiles: a `folder`")
	flag.StringVar(&d.log, "log", "dist/envoy.log", "the `file` for Envoy's log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := d.run(ctx)
	if err != nil && !errors.Is(err, errPrinted) {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

// quickstart is the demonstration of examples/quickstart, whose files say the same addresses.
func quickstart() demo {
	return demo{
		url:      "http://127.0.0.1:10000",
		admin:    "http://127.0.0.1:9901",
		backends: []string{"127.0.0.1:18081", "127.0.0.1:18082", "127.0.0.1:18083"},
		patience: 30 * time.Second,
		out:      os.Stdout,
	}
}
