package nativetest

import (
	"encoding/binary"
)

// message is what the host is told; its first four bytes are for its length.
type message []byte

func newMessage(what byte) message { return message{0, 0, 0, 0, what} }

func (m message) number(n uint32) message { return binary.LittleEndian.AppendUint32(m, n) }

func (m message) text(s string) message { return append(m.number(uint32(len(s))), s...) }

func (m message) boolean(b bool) message {
	if b {
		return m.number(1)
	}
	return m.number(0)
}

func (m message) headers(lines [][2]string) message {
	m = m.number(uint32(len(lines)))
	for _, line := range lines {
		m = m.text(line[0]).text(line[1])
	}
	return m
}

// answer is what it says.
type answer []byte

func (a *answer) number() uint32 {
	n := binary.LittleEndian.Uint32(*a)
	*a = (*a)[4:]
	return n
}

func (a *answer) text() string {
	n := a.number()
	s := string((*a)[:n])
	*a = (*a)[n:]
	return s
}

func (a *answer) headers() [][2]string {
	lines := make([][2]string, a.number())
	for i := range lines {
		name := a.text()
		lines[i] = [2]string{name, a.text()}
	}
	return lines
}
