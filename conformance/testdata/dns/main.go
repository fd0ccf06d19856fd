// Command dns stands in for CoreDNS: it answers every query with nothing, which is an answer.
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	if err := serve(); err != nil {
		fmt.Println("dns:", err)
		os.Exit(1)
	}
}

func serve() error {
	socket, err := net.ListenPacket("udp", ":53")
	if err != nil {
		return err
	}
	message := make([]byte, 1500)
	for {
		n, from, err := socket.ReadFrom(message)
		if err != nil {
			return err
		}
		if n < 12 {
			continue // no header
		}
		message[2] |= 0x80 // a response
		if _, err := socket.WriteTo(message[:n], from); err != nil {
			return err
		}
	}
}
