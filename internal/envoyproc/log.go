package envoyproc

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// maxLog is how large a log's file gets before it becomes the older one, which it replaces.
const maxLog = 4 << 20

// maxTail is how much of the end of a log is shown when Envoy can't be started.
const maxTail = 4 << 10

// Log takes an Envoy's log to a file that only its owner can read, and that does not grow without end: of a long one
// there are two files, NAME.old and NAME.
type Log struct {
	file *os.File
	size int
	tail []byte
}

// NewLog makes the file, which must not be there.
func NewLog(name string) (*Log, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Log{file: file}, nil
}

// Name is the file's.
func (l *Log) Name() string { return l.file.Name() }

// Close ends the file, which stays.
func (l *Log) Close() error { return l.file.Close() }

// Write adds to the log.
func (l *Log) Write(p []byte) (int, error) {
	if l.tail = append(l.tail, p...); len(l.tail) > maxTail {
		l.tail = append([]byte(nil), l.tail[len(l.tail)-maxTail:]...)
	}
	if l.size > maxLog {
		if err := l.turn(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += n
	return n, err
}

// turn makes the file the older one, and begins again.
func (l *Log) turn() error {
	name := l.Name()
	if err := errors.Join(l.file.Close(), os.Rename(name, name+".old")); err != nil {
		return err
	}
	next, err := NewLog(name)
	if err == nil {
		l.file, l.size = next.file, 0
	}
	return err
}

// maxLastLines is how many lines are shown.
const maxLastLines = 10

// Explain says of an Envoy that ended before it served that it did, with the last lines of its log; without a log these
// have been seen.
func (l *Log) Explain(ended error, program string) error {
	exit := ExitError{}
	if !errors.As(ended, &exit) || exit.Reason != "" {
		return ended
	}
	exit.Reason = fmt.Sprintf("Envoy (%s) ended with exit code %d before it served", program, exit.Code)
	exit.Code = max(1, exit.Code)
	if l == nil {
		return exit
	}
	lines := strings.Split(strings.TrimSpace(string(l.tail)), "\n")
	lines = lines[max(0, len(lines)-maxLastLines):]
	if lines[0] == "" {
		exit.Reason += ", and said nothing"
		return exit
	}
	exit.Reason += fmt.Sprintf("; the last lines of its log, %s:\n  %s", l.Name(), strings.Join(lines, "\n  "))
	return exit
}
