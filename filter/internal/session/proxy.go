package session

// Proxy is what an engine needs of the proxy that it runs in, apart from requests and responses.
type Proxy struct {
	// Random fills its argument with random bytes, for nonces.
	Random func([]byte)
	// AppendPin appends a host ("ip:port") in the form in which the proxy's Request.Pin takes it. It is called once for a
	// token that comes again and again.
	AppendPin func(dst, host []byte) []byte
	// Lasting, where a request's memory is taken back at once when the phase ends, says that what is allocated from
	// Lasting(true) to Lasting(false) outlives it. Proxies with a garbage collector have none.
	Lasting func(bool)
	// Own, where there is Lasting, begins memory that is given back by itself: what is allocated until Lasting(false) is
	// in there, until Free.
	Own  func() (memory uintptr)
	Free func(memory uintptr)
	// Log logs a line for whoever runs the proxy.
	Log func(level LogLevel, line string)
	// Refuse says that what comes with a route is broken, once for each name that the route has had.
	Refuse func(route string, errs []error)
}

// LogLevel is a level of the proxy's log, by Envoy's number.
type LogLevel uint32

// The levels of what an engine logs.
const (
	LogInfo     LogLevel = 2
	LogWarn     LogLevel = 3
	LogCritical LogLevel = 5
)

// MaxPin is the longest pin that AppendPin may make: base64 of "[IPv6]:port".
const MaxPin = 64

func (p *Proxy) lasting(on bool) {
	if p.Lasting != nil {
		p.Lasting(on)
	}
}

func (p *Proxy) own() uintptr {
	if p.Own == nil {
		return 0
	}
	return p.Own()
}

func (p *Proxy) log(level LogLevel, line string) {
	if p.Log != nil {
		p.Log(level, line)
	}
}

func (p *Proxy) refuse(route string, errs []error) {
	if p.Refuse != nil {
		p.Refuse(route, errs)
	}
}
