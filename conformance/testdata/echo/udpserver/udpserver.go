// Package udpserver answers the datagrams of the conformance tests, as upstream's does, but that it listens on one address
// alone; and DNS queries in place of coredns.
package udpserver

import (
	"encoding/json"
	"fmt"
	"net"
	"os"

	"github.com/miekg/dns"
	"sigs.k8s.io/gateway-api/conformance/echo-basic/udpechoserver"
)

// Main echoes datagrams.
func Main() {
	conn, err := net.ListenPacket("udp", net.JoinHostPort(os.Getenv("POD_IP"), "8080"))
	if err != nil {
		fmt.Println("echo server error:", err)
		os.Exit(1)
	}
	buffer := make([]byte, 1024)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			fmt.Println("Error reading UDP:", err)
			continue
		}
		answer := udpechoserver.EchoResponse{Request: string(buffer[:n])}
		answer.Namespace, answer.Service, answer.Pod = os.Getenv("NAMESPACE"), os.Getenv("SERVICE_NAME"), os.Getenv("POD_NAME")
		payload, err := json.Marshal(answer)
		if err == nil {
			_, err = conn.WriteTo(payload, from)
		}
		if err != nil {
			fmt.Println("Error writing UDP:", err)
		}
	}
}

// DNS answers every query with nothing, which is an answer.
func DNS() {
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		if err := w.WriteMsg(new(dns.Msg).SetReply(query)); err != nil {
			fmt.Println("Error writing DNS:", err)
		}
	})
	if err := dns.ListenAndServe(net.JoinHostPort(os.Getenv("POD_IP"), "53"), "udp", handler); err != nil {
		fmt.Println("dns server error:", err)
		os.Exit(1)
	}
}
