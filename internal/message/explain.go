package message

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"syscall"
)

// Explain gives an error's text with limpet's words for what Go says of files and of hosts that do not answer.
func Explain(err error) string {
	text := err.Error()
	visitErrors(err, func(part error) {
		var name, why string
		switch failed := any(part).(type) {
		case *fs.PathError:
			name, why = failed.Path, explainFile(failed.Err)
		case *net.OpError:
			name, why = explainHost(failed)
		}
		if why != "" {
			own := name + ": "
			text = strings.ReplaceAll(text, part.Error(), own+why)
			text = strings.ReplaceAll(text, own+own, own) // where the error around it has the name too
		}
	})
	return text
}

// visitErrors visits an error and all that it wraps.
func visitErrors(err error, visit func(error)) {
	if err == nil {
		return
	}
	visit(err)
	switch outer := any(err).(type) {
	case interface{ Unwrap() error }:
		visitErrors(outer.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, inner := range outer.Unwrap() {
			visitErrors(inner, visit)
		}
	}
}

// noHost is said of a name that leads to no address.
const noHost = "is no host's name here"

func explainFile(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, syscall.EISDIR):
		return "is a folder, not a file"
	default:
		return err.Error()
	}
}

// explainHost says which host does not answer, and why; no reason for what is no matter of a connection.
func explainHost(failed *net.OpError) (name, why string) {
	var unknown *net.DNSError
	var number syscall.Errno
	switch {
	case failed.Op != "dial":
		return "", ""
	case errors.As(failed, &unknown):
		return unknown.Name, noHost
	case failed.Addr == nil:
		return "", ""
	case errors.As(failed, &number):
		return failed.Addr.String(), fmt.Sprintf("nothing answers there: %s", number)
	case failed.Timeout():
		return failed.Addr.String(), "nothing answers there in time"
	default:
		return "", ""
	}
}

// Unanswered says why a request over HTTP has no answer, without the request, which Go's errors repeat.
func Unanswered(err error) error {
	var name *net.DNSError
	var number syscall.Errno
	var unanswered *url.Error
	switch {
	case errors.As(err, &name):
		return errors.New(name.Name + " " + noHost)
	case errors.As(err, &number):
		return number
	case errors.As(err, &unanswered) && unanswered.Timeout():
		return errors.New("it takes too long")
	case errors.As(err, &unanswered):
		return unanswered.Err
	}
	return err
}
