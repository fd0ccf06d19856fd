// Command dns stands in for CoreDNS: it answers every query with nothing, which is an answer.
package main

import (
	"fmt"
	"os"

	"github.com/miekg/dns"
)

func main() {
	handler := dns.HandlerFunc(func(w dns.ResponseWriter, query *dns.Msg) {
		if err := w.WriteMsg(new(dns.Msg).SetReply(query)); err != nil {
			fmt.Println("Error writing DNS:", err)
		}
	})
	if err := dns.ListenAndServe(":53", "udp", handler); err != nil {
		fmt.Println("dns server error:", err)
		os.Exit(1)
	}
}
