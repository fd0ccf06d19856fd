package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// reply is how a command of limpet ended.
type reply struct {
	Code           int
	Stdout, Stderr []byte
}

// crashed is the code of a command that ended in a panic, or not at all.
const crashed = -1

// runner runs a command of one limpet.
type runner func(args []string) (reply, error)

// patience is how long one command may take, on a machine that has much else to do. After that nothing is known.
var patience = 5 * time.Minute

// batchVariable is set for builds of this tool, see batch.go.txt.
const batchVariable = "LIMPET_SAME_BATCH"

// environment is that of every limpet: the root secret under which the goldens' ring is sealed.
func environment() []string { return append(os.Environ(), "LIMPET_ROOT="+goldenRoot) }

// runProcess gives a runner that starts a process for each command, for a limpet as it is shipped.
func runProcess(binary string) runner {
	return func(args []string) (reply, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var stdout, stderr bytes.Buffer
		command := exec.CommandContext(ctx, binary, args...)
		command.Env, command.Stdout, command.Stderr = environment(), &stdout, &stderr
		err := command.Run()
		if ctx.Err() != nil {
			return reply{}, errTooLong(args)
		}
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			return reply{}, err
		}
		r := reply{command.ProcessState.ExitCode(), stdout.Bytes(), stderr.Bytes()}
		if bytes.HasPrefix(r.Stderr, []byte("panic: ")) {
			r.Code = crashed // of which Go makes 2
		}
		return r, nil
	}
}

// batch is a process that runs commands one after the other. It is not safe for concurrent use.
type batch struct {
	binary  string
	process *exec.Cmd // nil before the first command, and after a crash
	in      io.WriteCloser
	out     *json.Decoder
	stderr  *bytes.Buffer
}

// run runs a command. Where it takes the process with it, that is its reply, and the next one gets a new process.
func (b *batch) run(args []string) (reply, error) {
	if b.process == nil {
		if err := b.start(); err != nil {
			return reply{}, err
		}
	}
	process := b.process.Process
	watchdog := time.AfterFunc(patience, func() { _ = process.Kill() })
	err := json.NewEncoder(b.in).Encode(args)
	var r reply
	if err == nil {
		err = b.out.Decode(&r)
	}
	inTime := watchdog.Stop()
	if err == nil && inTime {
		return r, nil
	}
	b.close()
	if !inTime {
		return reply{}, errTooLong(args)
	}
	return reply{Code: crashed, Stderr: b.stderr.Bytes()}, nil
}

func errTooLong(args []string) error {
	return fmt.Errorf("limpet %s takes longer than %v", strings.Join(args, " "), patience)
}

func (b *batch) start() (err error) {
	command := exec.Command(b.binary)
	b.stderr = &bytes.Buffer{}
	command.Env, command.Stderr = append(environment(), batchVariable+"=1"), b.stderr
	if b.in, err = command.StdinPipe(); err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	b.out = json.NewDecoder(out)
	if err := command.Start(); err != nil {
		return err
	}
	b.process = command
	return nil
}

// close ends the process.
func (b *batch) close() {
	if b.process != nil {
		_ = b.in.Close()
		_ = b.process.Wait()
		b.process = nil
	}
}
