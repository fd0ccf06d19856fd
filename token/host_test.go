package token

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseHostAccepts(t *testing.T) {
	for _, s := range []string{
		"0.0.0.0:1", "10.0.0.1:8080", "127.0.0.1:80", "255.255.255.255:65535",
		"[::]:1", "[::1]:443", "[::ffff]:80", "[::1:0:0:0]:80", "[1::]:80", "[64:ff9b::a00:1]:80",
		"[2001:db8::1]:8080", "[2001:db8::1:0:0:1]:80", "[1:0:0:2::3]:80", "[1:2:3:4:5:6:7:8]:80", "[1:0:3:4:5:6:7:8]:80",
		"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535",
	} {
		h := mustHost(t, s)
		if h.String() != s || string(h.AppendText([]byte("x"))) != "x"+s {
			t.Errorf("%q is written as %q", s, h)
		}
		if back, ok := hostFromRaw(h.appendRaw(nil)); !ok || back != h {
			t.Errorf("%q comes back from bytes as %q, %v", s, back, ok)
		}
	}
}

func TestParseHostRefuses(t *testing.T) {
	for _, s := range []string{
		"", ":", ":80", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:080", "10.0.0.1:+80", "10.0.0.1:80 ", " 10.0.0.1:80",
		"10.0.0:80", "10.0.0.1.1:80", "010.0.0.1:80", "10.0.0.256:80", "10.0.0.1:80:80", "[10.0.0.1]:80", "10.0.0.1:http", "10.0.0.-1:80",
		"::1:80", "[::1]", "[::1]:", "[::1]:0", "[::1:80", "[::1]80", "[]:80", "[:]:80", "[:::]:80", "[1::2::3]:80", "[::00]:80",
		"[0:0:0:0:0:0:0:1]:80", "[2001:DB8::1]:80", "[2001:0db8::1]:80", "[2001:db8:0:0:1::1]:80", "[1:2:3:4:5:6:7]:80", "[1:2:3:4:5:6:7:8:9]:80",
		"[1:2:3:4:5:6:7::]:80", "[12345::]:80", "[g::]:80", "[fe80::1%eth0]:80", "[fe80::1%25eth0]:80", "[::ffff:10.0.0.1]:80", "[::ffff:a00:1]:80",
		"[::ffff:0:0]:80", "[::10.0.0.1]:80", "[::1:0]:80", "[2001:db8::10.0.0.1]:80", "example.com:80", "unix:///run/x.sock", "10.0.0.1:80\n", "10.0.0.1:80\x00",
		"[fe80::1%" + strings.Repeat("a", 1000) + "]:80", strings.Repeat("1", 1000) + ":80",
	} {
		if h, err := ParseHost(s); err == nil || h != (Host{}) {
			t.Errorf("%q is accepted as %q", s, h)
		}
	}
}

func TestHostsCompare(t *testing.T) {
	a, b := mustHost(t, "10.0.0.1:80"), mustHost(t, "10.0.0.1:80")
	if a != b {
		t.Error("equal hosts differ")
	}
	for _, s := range []string{"10.0.0.2:80", "10.0.0.1:81", "[a00:1::]:80"} {
		if a == mustHost(t, s) {
			t.Errorf("%s equals %s", a, s)
		}
	}
}

// IPv4 addresses have the text that netip gives them, whatever stands before.
func TestAppendTextIsNetips(t *testing.T) {
	dst := make([]byte, 0, 8) // too little room
	for i := range 1 << 16 {
		b := byte(i)
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{b, byte(i >> 8), 255 - b, b / 3}), uint16(i))
		if got := (Host{addr}).AppendText(append(dst[:0], "at "...)); string(got) != "at "+addr.String() {
			t.Fatalf("%q, want %q", got, addr)
		}
	}
	if got := (Host{}).AppendText(nil); len(got) > 0 {
		t.Errorf("no host: %q", got)
	}
}
