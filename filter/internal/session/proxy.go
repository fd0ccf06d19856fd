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
}

// MaxPin is the longest pin that AppendPin may make: base64 of "[IPv6]:port".
const MaxPin = 64

func (p *Proxy) lasting(on bool) {
	if p.Lasting != nil {
		p.Lasting(on)
	}
}
