package load

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"strconv"
)

// Head is a response as it came, from its status line to the empty line.
type Head []byte

// OK tells whether the status is 200.
func (h Head) OK() bool { return bytes.HasPrefix(h, []byte("HTTP/1.1 200 ")) }

// Response parses the head.
func (h Head) Response() (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(h)), nil)
}

// length is the size of the body that follows. Envoy writes names in lower case.
func (h Head) length() (int, error) {
	_, rest, found := bytes.Cut(h, []byte("\r\ncontent-length: "))
	if !found {
		return 0, fmt.Errorf("no content-length in %q", h)
	}
	text, _, _ := bytes.Cut(rest, []byte("\r\n"))
	return strconv.Atoi(string(text))
}

// ReadAnswer reads one answer, body included, and returns its head, for which it uses buf.
func ReadAnswer(reader *bufio.Reader, buf []byte) (Head, error) {
	head, err := readHead(reader, buf[:0])
	if err != nil {
		return head, err
	}
	length, err := Head(head).length()
	if err != nil {
		return head, err
	}
	_, err = reader.Discard(length)
	return head, err
}

// readHead appends the bytes up to and with the next empty line to head.
func readHead(reader *bufio.Reader, head []byte) ([]byte, error) {
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return head, err
		}
		head = append(head, line...)
		if len(line) <= len("\r\n") {
			return head, nil
		}
	}
}
