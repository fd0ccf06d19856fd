package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary plays other parts when this variable names one.
const part = "DEMO_TEST_PART"

// TestMain lets the test binary stand in for limpet, and for the demo where it must be killed.
func TestMain(m *testing.M) {
	switch os.Getenv(part) {
	case "limpet":
		os.Exit(fakeLimpet())
	case "demo":
		os.Exit(wholeDemo())
	default:
		os.Exit(m.Run())
	}
}

// fakeLimpet serves on the address in FAKE_SERVE until SIGTERM, or ends by itself as FAKE_END says: "at-once";
// "with-log", which is at once, but Envoy has logged something; or "later", which is after its first request.
// FAKE_PID names a file for its process id.
func fakeLimpet() int {
	switch os.Getenv("FAKE_END") {
	case "with-log":
		_ = os.WriteFile(os.Args[len(os.Args)-1], []byte("bad luck\n"), 0o600)
		return 1
	case "at-once":
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{
		Addr: os.Getenv("FAKE_SERVE"),
		Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			if os.Getenv("FAKE_END") == "later" {
				time.AfterFunc(50*time.Millisecond, stop)
			}
		}),
	}
	if err := os.WriteFile(os.Getenv("FAKE_PID"), fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return 1
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return 1
	}
	return 0
}

// wholeDemo is a demo without backends, to be killed.
func wholeDemo() int {
	if err := os.Setenv(part, "limpet"); err != nil {
		return 1
	}
	d := demo{
		limpet:   os.Args[0],
		log:      os.Getenv("FAKE_PID") + ".log",
		url:      "http://" + os.Getenv("FAKE_SERVE"),
		patience: patience,
		out:      io.Discard,
	}
	if err := d.run(context.Background()); err != nil {
		return 1
	}
	return 0
}

// gone waits until no process of that id runs. A dead process that no parent has waited for counts as gone.
func gone(pid int) bool {
	return await(func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		return syscall.Kill(pid, 0) != nil || err == nil && strings.Contains(string(status), "State:\tZ")
	})
}

// patience is how long what must come may take, on a machine that is busy.
const patience = 2 * time.Minute

// await repeats a check until it holds.
func await(holds func() bool) bool {
	for end := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
