package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
)

// TLSMaterial is what the server shows its clients, and the authorities that have signed theirs, as PEM. Without
// authorities no client's certificate is taken.
type TLSMaterial struct{ Certificate, Key, ClientCA []byte }

// config makes a configuration of it.
func (m TLSMaterial) config(tokens bool) (*tls.Config, error) {
	pair, err := tls.X509KeyPair(m.Certificate, m.Key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"},
		// A session that is taken up again would go by the authorities of before.
		SessionTicketsDisabled: true,
	}
	if len(m.ClientCA) == 0 && tokens {
		return config, nil
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if tokens {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if !config.ClientCAs.AppendCertsFromPEM(m.ClientCA) {
		return nil, errors.New("ca.crt: no certificate in it, and so no authority of clients")
	}
	return config, nil
}

// HotTLS is a configuration that changes while the server runs: a connection that begins gets what holds then, and
// those that are there go on.
type HotTLS struct {
	// Tokens says that a client may come without a certificate, and shows a token instead.
	Tokens bool

	current atomic.Pointer[tls.Config]
}

// Set has the material hold from now on; what can't be used changes nothing.
func (h *HotTLS) Set(m TLSMaterial) error {
	next, err := m.config(h.Tokens)
	if err == nil {
		h.current.Store(next)
	}
	return err
}

// Config asks every client for a certificate, unless it may have a token.
func (h *HotTLS) Config() *tls.Config { return newConfig(h.current.Load) }

// newConfig makes a configuration that has each connection get the one of then.
func newConfig(get func() *tls.Config) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return get(), nil },
	}
}

// TLSFiles are the paths of what the server shows its clients, and of the authority that has signed theirs; that may be
// empty.
type TLSFiles struct{ Certificate, Key, ClientCA string }

// recheck is how often files are looked at, at most.
const recheck = time.Second

// LoadTLS makes a configuration that follows files: where they can't be used, what they held before holds.
func LoadTLS(files TLSFiles, tokens bool, warn func(error)) (*tls.Config, error) {
	f := &tlsFollower{files: files, checkedAt: time.Now(), warn: warn}
	f.Tokens = tokens
	if err := f.load(); err != nil {
		return nil, err
	}
	return newConfig(func() *tls.Config { return f.get(time.Now()) }), nil
}

// tlsFollower has what the files held last that can be used.
type tlsFollower struct {
	HotTLS

	files TLSFiles
	warn  func(error)

	lock      sync.Mutex
	holds     TLSMaterial
	checkedAt time.Time
}

func (f *tlsFollower) get(now time.Time) *tls.Config {
	f.lock.Lock()
	defer f.lock.Unlock()
	if now.Sub(f.checkedAt) >= recheck {
		f.checkedAt = now
		if err := f.load(); err != nil {
			f.warn(fmt.Errorf("%w; the certificates of before go on", err))
		}
	}
	return f.current.Load()
}

// load takes what the files hold, if that is something else than before.
func (f *tlsFollower) load() error {
	m, err := f.files.read()
	if err != nil || reflect.DeepEqual(m, f.holds) {
		return err
	}
	if err := f.Set(m); err != nil {
		return fmt.Errorf("%s, %s, %s: %w", f.files.Certificate, f.files.Key, f.files.ClientCA, err)
	}
	f.holds = m
	return nil
}

func (t TLSFiles) read() (m TLSMaterial, err error) {
	var failed [3]error
	m.Certificate, failed[0] = os.ReadFile(t.Certificate)
	m.Key, failed[1] = os.ReadFile(t.Key)
	if t.ClientCA != "" {
		m.ClientCA, failed[2] = os.ReadFile(t.ClientCA)
	}
	return m, errors.Join(failed[:]...)
}
