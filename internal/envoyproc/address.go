package envoyproc

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

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

// Closing is how long an Envoy may take to close the sockets of listeners that it has acknowledged to have dropped.
const Closing = time.Second

// FindUnusable tries every address of a listener for a moment, and says why some can't be had, with what to do about
// it. One that is in use is tried again for so long, all in all.
func FindUnusable(listeners []netip.AddrPort, patience time.Duration) map[netip.AddrPort]string {
	unusable := map[netip.AddrPort]string{}
	end := time.Now().Add(patience)
	for _, at := range listeners {
		check := func() error { return checkFree(at.String(), "change the Gateway's port or address") }
		err := check()
		for errors.Is(err, errInUse) && time.Now().Before(end) {
			time.Sleep(patience / 20)
			err = check()
		}
		if err != nil {
			unusable[at] = err.Error()
		}
	}
	return unusable
}

var errInUse = errors.New("is in use by another process")

// CheckAdminFree gives what is wrong with the address of the admin interface.
func CheckAdminFree(address string) error {
	return checkFree(address, "put the admin interface elsewhere with --admin")
}

// checkFree tries an address for a moment. Envoy itself would say less, or nothing: its listeners share a port with
// another Envoy's, and each then gets some of the connections.
func checkFree(address, advice string) error {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s %w; stop it, or %s", address, errInUse, advice)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: no permission to listen there (ports below 1024 are root's); run as root, or %s",
			address, advice)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; %s", address, advice)
	default:
		return fmt.Errorf("listen on %s: %w", address, err)
	}
}
