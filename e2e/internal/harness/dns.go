package harness

import (
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// DNS is a server for a few names, on UDP.
type DNS struct {
	Port int

	mutex sync.Mutex
	names map[string][]string
}

// StartDNS starts a server that ends with the test.
func StartDNS(t testing.TB, names map[string][]string) *DNS {
	t.Helper()
	return StartDNSAt(t, "127.0.0.1:0", names)
}

// StartDNSAt is StartDNS at an address.
func StartDNSAt(t testing.TB, address string, names map[string][]string) *DNS {
	t.Helper()
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	d := &DNS{Port: socket.LocalAddr().(*net.UDPAddr).Port, names: names}
	go d.serve(socket)
	return d
}

// Set gives a name other addresses.
func (d *DNS) Set(name string, addresses ...string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.names[name] = addresses
}

func (d *DNS) serve(socket net.PacketConn) {
	buffer := make([]byte, 4096)
	for {
		n, from, err := socket.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		answer := d.answer(&question)
		if text, err := answer.Pack(); err == nil {
			_, _ = socket.WriteTo(text, from) // who does not get it asks again
		}
	}
}

// answer answers with the addresses of the name, for a second.
func (d *DNS) answer(question *dnsmessage.Message) *dnsmessage.Message {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	asked := question.Questions[0]
	addresses, known := d.names[strings.ToLower(strings.TrimSuffix(asked.Name.String(), "."))]
	answer := &dnsmessage.Message{Questions: question.Questions}
	answer.ID, answer.Response, answer.Authoritative, answer.RecursionAvailable = question.ID, true, true, true
	if !known {
		answer.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		if asked.Type == dnsmessage.TypeA {
			answer.Answers = append(answer.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(address).As4()},
			})
		}
	}
	return answer
}

// AskDNS has a configuration's clusters ask this server for names.
func (d *DNS) AskDNS(tree Tree) {
	for _, c := range tree.Find(func(m map[string]any) bool { return m["typed_dns_resolver_config"] != nil }) {
		resolver := c["typed_dns_resolver_config"].(map[string]any)["typed_config"].(map[string]any)
		resolver["resolvers"] = []any{map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": d.Port}}}
	}
}
