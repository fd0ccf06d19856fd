package envoyproc

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"syscall"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// Address is one that Envoy will listen on, and the advice for when it cannot.
type Address struct{ hostPort, advice string }

const (
	listenerAdvice = "change the Gateway's port or address"
	adminAdvice    = "put the admin interface elsewhere with --admin"
)

// socketAddress is Envoy's config.core.v3.Address, as far as the compiler uses it.
type socketAddress struct {
	SocketAddress struct {
		Address   string `json:"address"`
		PortValue int    `json:"port_value"`
	} `json:"socket_address"`
}

func (s socketAddress) String() string {
	return net.JoinHostPort(s.SocketAddress.Address, strconv.Itoa(s.SocketAddress.PortValue))
}

// ListenerAddresses gives the addresses of listeners that Envoy discovers.
func ListenerAddresses(listeners []envoy.Resource) []Address {
	var all []Address
	for _, l := range listeners {
		decoded := &listenerv3.Listener{}
		_ = proto.Unmarshal(l.Content, decoded) // it was made from a message
		at := decoded.GetAddress().GetSocketAddress()
		all = append(all, Address{net.JoinHostPort(at.GetAddress(), strconv.Itoa(int(at.GetPortValue()))), listenerAdvice})
	}
	return all
}

// BootstrapAddresses reads the addresses out of an envoy.yaml.
func BootstrapAddresses(bootstrap []byte) ([]Address, error) {
	var b struct {
		Admin *struct {
			Address socketAddress `json:"address"`
		} `json:"admin"`
		StaticResources struct {
			Listeners []struct {
				Address socketAddress `json:"address"`
			} `json:"listeners"`
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal(bootstrap, &b); err != nil {
		return nil, fmt.Errorf("read the compiled %s: %w", compiler.EnvoyFile, err)
	}
	var all []Address
	for _, l := range b.StaticResources.Listeners {
		if l.Address.SocketAddress.PortValue > 0 { // others are inside Envoy
			all = append(all, Address{l.Address.String(), listenerAdvice})
		}
	}
	if b.Admin != nil {
		all = append(all, Address{b.Admin.Address.String(), adminAdvice})
	}
	return all, nil
}

// MachineAddresses are those of this machine's interfaces, in order; none if they can't be had.
func MachineAddresses() (all []netip.Addr) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range interfaces {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			all = append(all, prefix.Addr())
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// FindUnusable tries every address for a moment, and says why some can't be had, with what to do about it.
func FindUnusable(addresses []Address) map[netip.AddrPort]string {
	unusable := map[netip.AddrPort]string{}
	for _, a := range addresses {
		at, err := netip.ParseAddrPort(a.hostPort)
		if err != nil {
			continue // no socket
		}
		if err := CheckFree([]Address{a}); err != nil {
			unusable[at] = err.Error()
		}
	}
	return unusable
}

// AddressesOf gives those of listeners that could not be had.
func AddressesOf(unusable map[netip.AddrPort]string) (all []Address) {
	for at := range unusable {
		all = append(all, Address{at.String(), listenerAdvice})
	}
	return all
}

// IsListener reports whether it is a Gateway's, not the admin interface's.
func (a Address) IsListener() bool { return a.advice == listenerAdvice }

// CheckFree tries every address for a moment. Envoy itself would say less, or nothing: its listeners
// share a port with another Envoy's, and each then gets some of the connections.
func CheckFree(addresses []Address) error {
	var problems []error
	for _, a := range addresses {
		l, err := net.Listen("tcp", a.hostPort)
		if err != nil {
			problems = append(problems, a.explain(err))
			continue
		}
		_ = l.Close()
	}
	return errors.Join(problems...)
}

// explain says what to do about an address on which listening failed.
func (a Address) explain(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another process; stop it, or %s", a.hostPort, a.advice)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: no permission to listen there (ports below 1024 are root's); run as root, or %s",
			a.hostPort, a.advice)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; %s", a.hostPort, a.advice)
	default:
		return fmt.Errorf("listen on %s: %w", a.hostPort, err)
	}
}
