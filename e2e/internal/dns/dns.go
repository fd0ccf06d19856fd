// Package dns is a name server for tests.
package dns

import (
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Server is a server for a few names, on UDP.
type Server struct {
	Port int

	socket net.PacketConn
	mutex  sync.Mutex
	names  map[string][]string
}

// Start starts a server at an address. names has the addresses of each name.
func Start(address string, names map[string][]string) (*Server, error) {
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	s := &Server{Port: socket.LocalAddr().(*net.UDPAddr).Port, socket: socket, names: map[string][]string{}}
	for name, addresses := range names {
		s.names[name] = addresses
	}
	go s.serve()
	return s, nil
}

// Stop ends the server.
func (s *Server) Stop() { _ = s.socket.Close() }

// Set gives a name other addresses.
func (s *Server) Set(name string, addresses ...string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.names[name] = addresses
}

func (s *Server) serve() {
	buffer := make([]byte, 4096)
	for {
		n, from, err := s.socket.ReadFrom(buffer)
		if err != nil {
			return // closed
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		answer := s.answer(&question)
		if text, err := answer.Pack(); err == nil {
			_, _ = s.socket.WriteTo(text, from) // who does not get it asks again
		}
	}
}

// answer answers with the addresses of the name and a TTL of a second.
func (s *Server) answer(question *dnsmessage.Message) *dnsmessage.Message {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	asked := question.Questions[0]
	addresses, known := s.names[strings.ToLower(strings.TrimSuffix(asked.Name.String(), "."))]
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
