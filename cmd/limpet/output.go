package main

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// output is the standard output. It remembers what could not be written there, so that who prints many lines need not
// ask after each.
type output struct {
	*os.File
	failed error
}

// Write writes the product.
func (o *output) Write(text []byte) (int, error) {
	n, err := o.File.Write(text)
	if err != nil {
		err = fmt.Errorf("write to standard output: %w", err)
		o.failed = err
	}
	return n, err
}

// writeMade writes a text, unless making it has failed.
func writeMade(to io.Writer, text []byte, err error) error {
	if err == nil {
		_, err = to.Write(text)
	}
	return err
}

// judge gives a command's error: that of the output where the command has no words of its own.
func (o *output) judge(err error) error {
	if o.failed != nil && (err == nil || errors.Is(err, errRefused) || errors.Is(err, errLeftOut)) {
		return o.failed
	}
	return err
}
