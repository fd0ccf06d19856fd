package harness

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Fields are header fields in their order, name and value as they go over the wire. Names are in lower case,
// as HTTP/2 wants them.
type Fields [][2]string

// Raw is the answer to a request sent byte for byte.
type Raw struct {
	// Status is the status code, 0 where Envoy reset the stream or closed the connection instead.
	Status int
	// Header are the response's headers.
	Header http.Header
}

// Wire is a way to send raw requests to an Envoy.
type Wire struct {
	// Name says which protocol it is.
	Name string

	dial  func() (net.Conn, error)
	speak func(conn net.Conn, method, path string, fields Fields) (Raw, error)
}

// rawWithin is how long a raw request may take.
const rawWithin = 2 * time.Minute

// Wires are HTTP/1.1 and HTTP/2 in the clear, and both over TLS on another port.
func (e *Envoy) Wires(certificate Certificate, tlsPort int) []Wire {
	return WiresTo(e.Port, certificate, tlsPort)
}

// WiresTo are the Wires to any two ports on the loopback.
func WiresTo(port int, certificate Certificate, tlsPort int) []Wire {
	clear := func() (net.Conn, error) { return net.Dial("tcp", Loopback(port)) }
	over := func(protocol string) func() (net.Conn, error) {
		config := &tls.Config{RootCAs: certificate.pool(), MinVersion: tls.VersionTLS12, NextProtos: []string{protocol}}
		return func() (net.Conn, error) { return tls.Dial("tcp", Loopback(tlsPort), config) }
	}
	return []Wire{
		{"HTTP/1.1", clear, speakHTTP1},
		{"HTTP/2", clear, speakHTTP2},
		{"HTTP/1.1 over TLS", over("http/1.1"), speakHTTP1},
		{"HTTP/2 over TLS", over("h2"), speakHTTP2},
	}
}

// Send sends one request without a body on a connection of its own. The host is "x".
func (w Wire) Send(t testing.TB, method, path string, fields Fields) Raw {
	t.Helper()
	conn, err := w.dial()
	if err != nil {
		t.Errorf("%s: %v", w.Name, err)
		return Raw{}
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(rawWithin)); err != nil {
		t.Errorf("%s: %v", w.Name, err)
	}
	raw, _ := w.speak(conn, method, path, fields)
	return raw
}

// Leave sends one request and closes the connection without waiting for the answer.
func (w Wire) Leave(t testing.TB, path string, fields Fields) {
	t.Helper()
	conn, err := w.dial()
	if err != nil {
		t.Errorf("%s: %v", w.Name, err)
		return
	}
	timer := time.AfterFunc(10*time.Millisecond, func() { _ = conn.Close() })
	defer timer.Stop()
	if raw, err := w.speak(conn, http.MethodGet, path, fields); err == nil {
		t.Errorf("%s: answered with status %d before the client left", w.Name, raw.Status)
	}
}

func speakHTTP1(conn net.Conn, method, path string, fields Fields) (Raw, error) {
	var request bytes.Buffer
	fmt.Fprintf(&request, "%s %s HTTP/1.1\r\nhost: x\r\n", method, path)
	for _, field := range fields {
		request.WriteString(field[0] + ": " + field[1] + "\r\n")
	}
	request.WriteString("\r\n")
	_, _ = conn.Write(request.Bytes()) // where Envoy stops reading, its answer says why
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		return Raw{}, err
	}
	return Raw{response.StatusCode, response.Header}, response.Body.Close()
}

// speakHTTP2 sends the request as stream 1 of a connection that it begins with prior knowledge (RFC 9113 §3.3).
func speakHTTP2(conn net.Conn, method, path string, fields Fields) (Raw, error) {
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.MaxHeaderListSize = maxHeaders
	all := append(Fields{{":method", method}, {":scheme", "http"}, {":authority", "x"}, {":path", path}}, fields...)
	_ = writeHTTP2(conn, framer, all) // where Envoy stops reading, its answer says why
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return Raw{}, err
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return answerOf(frame)
		case *http2.RSTStreamFrame:
			return Raw{}, fmt.Errorf("reset: %v", frame.ErrCode)
		case *http2.GoAwayFrame:
			return Raw{}, fmt.Errorf("go away: %v", frame.ErrCode)
		}
	}
}

// writeHTTP2 writes the preface, and the fields as one header block in frames of the size that every server takes.
func writeHTTP2(conn net.Conn, framer *http2.Framer, fields Fields) error {
	const frameSize = 16 << 10
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range fields {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return err
		}
	}
	_, err := conn.Write([]byte(http2.ClientPreface))
	err = errors.Join(err, framer.WriteSettings())
	first := block.Next(frameSize)
	err = errors.Join(err, framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: first, EndStream: true, EndHeaders: block.Len() == 0,
	}))
	for block.Len() > 0 {
		next := block.Next(frameSize)
		err = errors.Join(err, framer.WriteContinuation(1, block.Len() == 0, next))
	}
	return err
}

func answerOf(frame *http2.MetaHeadersFrame) (Raw, error) {
	raw := Raw{Header: http.Header{}}
	for _, field := range frame.RegularFields() {
		name := http.CanonicalHeaderKey(strings.ToLower(field.Name))
		raw.Header[name] = append(raw.Header[name], field.Value)
	}
	var err error
	raw.Status, err = strconv.Atoi(frame.PseudoValue("status"))
	return raw, err
}
