package wasmtest

import (
	"errors"
	"maps"
	"slices"
)

// actionContinue is a header callback's answer that lets the stream go on; every other one holds it.
const actionContinue = 0

var (
	errHeld      = errors.New("the guest holds the stream and gives no answer")
	errLateReply = errors.New("the guest answered a response with a reply of its own")
)

// Stream is one HTTP request and its response. The guest hears of it at the first callback.
type Stream struct {
	vm                *VM
	id                uint32 // 0 until the guest knows the stream
	request, response headers
	props             map[string]string // the caller's, shared by many streams
	ownProps          map[string]string // set later, for this stream alone
	state             map[string]string // what the guest set
	local             *LocalReply
	logging, closed   bool
}

// NewStream begins a request. props are what the guest can read as properties: the parts of a path joined with dots,
// such as "xds.route_name", and the value's bytes as Envoy gives them (texts as they are, numbers as 8 bytes, little
// end first). The map is only read, so streams may share it.
func (vm *VM) NewStream(props map[string]string) *Stream {
	return &Stream{vm: vm, props: props}
}

// RequestHeaders runs the request-headers callback on a copy of h and returns what goes on to the next filter, or the
// reply that the guest gives itself. Names may be in any case and come back in lower case.
func (s *Stream) RequestHeaders(h [][2]string, endOfStream bool) (out [][2]string, local *LocalReply, err error) {
	if err := s.create(); err != nil {
		return nil, nil, err
	}
	s.request.fill(h)
	held, err := s.headers(&s.vm.guest.requestHeaders, &s.request, endOfStream)
	if err != nil {
		return nil, nil, err
	}
	if s.local != nil {
		return nil, s.local, nil
	}
	if held {
		return nil, nil, errHeld
	}
	return s.request.out(), nil, nil
}

// ResponseHeaders runs the response-headers callback on a copy of h and returns what goes on towards the client. A
// stream that never had request headers passes unseen, as in Envoy.
func (s *Stream) ResponseHeaders(h [][2]string, endOfStream bool) (out [][2]string, err error) {
	before := s.local
	s.response.fill(h)
	if s.id == 0 {
		s.response.open = false
		return s.response.out(), s.vm.err
	}
	held, err := s.headers(&s.vm.guest.responseHeaders, &s.response, endOfStream)
	switch {
	case err != nil:
		return nil, err
	case s.local != before:
		return nil, errLateReply
	case held:
		return nil, errHeld
	}
	return s.response.out(), nil
}

// headers runs a header callback. A map whose message goes on is taken away from the guest.
func (s *Stream) headers(cb *callback, m *headers, endOfStream bool) (held bool, err error) {
	end := uint64(0)
	if endOfStream {
		end = 1
	}
	before := s.local
	action, err := s.vm.call(s, cb, uint64(s.id), uint64(len(m.lines)), end)
	held = action != actionContinue || s.local != before
	m.open = held
	return held, err
}

// SetProperty adds or changes a property of this stream, such as response.code_details before the response.
func (s *Stream) SetProperty(path, value string) {
	if s.ownProps == nil {
		s.ownProps = map[string]string{}
	}
	s.ownProps[path] = value
}

func (s *Stream) property(path []byte) (string, bool) {
	if value, ok := s.ownProps[string(path)]; ok {
		return value, true
	}
	value, ok := s.props[string(path)]
	return value, ok
}

// FilterState returns what the guest set with proxy_set_property, by joined path. Envoy's access log has the value
// under FILTER_STATE(wasm.PATH:PLAIN).
func (s *Stream) FilterState() map[string]string {
	return maps.Clone(s.state)
}

// Close ends the stream as Envoy does: the log callback, which still can read the headers, then the end of the context.
// A trap in it shows in VM.Err.
func (s *Stream) Close() {
	if s.closed || s.create() != nil {
		return
	}
	s.closed = true
	s.request.open, s.response.open, s.logging = false, false, true
	_, _ = s.vm.call(s, &s.vm.guest.log, uint64(s.id))
	s.logging = false
	_, _ = s.vm.call(s, &s.vm.guest.done, uint64(s.id))
	_, _ = s.vm.call(s, &s.vm.guest.delete, uint64(s.id))
	s.forget()
}

// create makes the stream known to the guest, once.
func (s *Stream) create() error {
	if s.id != 0 {
		return s.vm.err
	}
	s.vm.lastID++
	s.id = s.vm.lastID
	s.vm.open = append(s.vm.open, s)
	_, err := s.vm.call(s, &s.vm.guest.contextCreate, uint64(s.id), rootID)
	return err
}

func (s *Stream) forget() {
	if at := slices.Index(s.vm.open, s); at >= 0 {
		last := len(s.vm.open) - 1
		s.vm.open[at] = s.vm.open[last]
		s.vm.open[last] = nil
		s.vm.open = s.vm.open[:last]
	}
}
