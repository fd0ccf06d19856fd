package load

import (
	"bufio"
	"net"
)

// Serve serves a listener until it is closed: every request, which has no body, gets 200, these header lines ("Name:
// value") and no body, whatever it asks. Where drops is not 0, a connection is closed in place of its answer number
// drops.
func Serve(listener net.Listener, drops int, lines ...string) {
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n")
	for _, line := range lines {
		answer = append(answer, line+"\r\n"...)
	}
	answer = append(answer, "\r\n"...)
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go answerAll(connection, answer, drops)
	}
}

// answerAll answers each head of a request on a connection, until the proxy closes it or, where drops is not 0, for
// so many requests less one.
func answerAll(connection net.Conn, answer []byte, drops int) {
	defer func() { _ = connection.Close() }()
	reader := bufio.NewReaderSize(connection, BufferSize)
	var head []byte
	for count := 1; ; count++ {
		var err error
		if head, err = readHead(reader, head[:0]); err != nil || count == drops {
			return
		}
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}
