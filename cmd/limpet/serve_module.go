package main

import (
	"crypto/tls"
	"net/http"
	"time"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/controller"
	"github.com/limpet-proxy/limpet/internal/digest"
	"github.com/limpet-proxy/limpet/internal/serve"
)

// moduleServer gives Envoys limpet.wasm.
type moduleServer struct {
	listen string // empty for not at all
	// path has the hash in it, so that another limpet's module is another resource. All are empty where there is no
	// server.
	path, sum string
	module    []byte
}

// load reads the embedded module.
func (m *moduleServer) load() (err error) {
	if m.listen == "" {
		return nil
	}
	if m.module, err = readModule(); err != nil {
		return err
	}
	m.sum = digest.OfBytes(m.module)
	m.path = "/limpet-" + m.sum[:16] + ".wasm"
	return nil
}

// options adds to the options of a compilation that Envoys fetch the module.
func (m *moduleServer) options(of func(controller.Input) compiler.Options) func(controller.Input) compiler.Options {
	return func(in controller.Input) compiler.Options {
		o := of(in)
		o.Envoy.ModuleSHA256 = m.sum
		return o
	}
}

// writeModuleWithin is how long an Envoy may take to read the module.
const writeModuleWithin = time.Minute

// serveModules begins to give the module to Envoys, which show a certificate as they do to the xDS server. Those that
// have a token instead need not show it: the module is no secret.
func (sc *serveCommand) serveModules(ends chan<- error) error {
	m := &sc.modules
	if m.listen == "" {
		return nil
	}
	at, err := serve.ListenForWeb(m.listen)
	if err != nil {
		return err
	}
	if sc.tls.config != nil {
		at = tls.NewListener(at, sc.tls.config)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+m.path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/wasm")
		_, _ = w.Write(m.module)
	})
	web := serve.NewWeb(mux)
	web.WriteTimeout, web.Protocols = writeModuleWithin, &http.Protocols{}
	web.Protocols.SetHTTP1(true)
	web.Protocols.SetHTTP2(true)
	web.Protocols.SetUnencryptedHTTP2(true)
	go func() { ends <- web.Serve(at) }()
	return nil
}
