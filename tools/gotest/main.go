// Command gotest runs go test with the arguments that it is given and says on stderr, every 15 seconds, what is under
// way: a package whose tests take minutes is silent until its end otherwise. Stdout is what go test itself prints, a
// line for each package and all output of tests that fail; so is the exit code. With SLOWEST=50 in the environment it
// says at the end which fifty tests took longest, and with AGAIN=3 up to three tests that fail run once more.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// interval is how often to say what is under way, as in tools/step.sh.
const interval = 15 * time.Second

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr, interval)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
	}
	os.Exit(code)
}

// testsFailed is go test's exit code where packages or tests failed, and nothing befell itself.
const testsFailed = 1

// run gives go test's exit code, and an error where go test could not be run at all.
func run(arguments []string, stdout, stderr io.Writer, every time.Duration) (int, error) {
	p := newProgress(stdout, stderr)
	code, err := runOnce(arguments, p, every)
	if count, err := strconv.Atoi(os.Getenv("SLOWEST")); err == nil {
		p.listSlowest(count)
	}
	most, _ := strconv.Atoi(os.Getenv("AGAIN"))
	if code != testsFailed || err != nil || !p.mayRunAgain(most) {
		return code, err
	}
	return runAgain(arguments, p.failed, stdout, stderr, every)
}

// runOnce runs go test.
func runOnce(arguments []string, p *progress, every time.Duration) (int, error) {
	command := exec.Command("go", append([]string{"test", "-json"}, arguments...)...)
	command.Stderr = p.stderr
	events, err := command.StdoutPipe()
	if err != nil {
		return 1, err
	}
	if err := command.Start(); err != nil {
		return 1, err
	}
	readErr := follow(events, p, every)
	err = command.Wait()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil:
		return 1, err
	case readErr != nil:
		return 1, readErr
	}
	return 0, nil
}

// follow hands lines to the progress as they come, and lets it speak at every interval.
func follow(events io.Reader, p *progress, every time.Duration) error {
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(events)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				if err != io.EOF {
					failed <- err
				}
				return
			}
		}
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.speak()
		case line, more := <-lines:
			if more {
				p.line(line)
				continue
			}
			select {
			case err := <-failed:
				return err
			default:
				return nil
			}
		}
	}
}
