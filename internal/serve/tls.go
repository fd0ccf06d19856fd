package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// TLSFiles are the paths of what the server shows its clients, and of the authority that has signed theirs.
type TLSFiles struct{ Certificate, Key, ClientCA string }

// recheck is how often files are looked at, at most.
const recheck = time.Second

// LoadTLS makes a configuration that asks every client for a certificate. It follows the files: a connection that begins
// gets what they hold then, and where they can't be used, what they held before.
func LoadTLS(files TLSFiles, warn func(error)) (*tls.Config, error) {
	current, err := files.load()
	if err != nil {
		return nil, err
	}
	f := &tlsFollower{files: files, current: current, stamp: files.stamp(), looked: time.Now(), warn: warn}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.get(time.Now()), nil },
	}, nil
}

// tlsFollower has what the files held last.
type tlsFollower struct {
	files TLSFiles
	warn  func(error)

	lock    sync.Mutex
	current *tls.Config
	stamp   string
	looked  time.Time
}

func (f *tlsFollower) get(now time.Time) *tls.Config {
	f.lock.Lock()
	defer f.lock.Unlock()
	if now.Sub(f.looked) < recheck {
		return f.current
	}
	f.looked = now
	if stamp := f.files.stamp(); stamp != f.stamp {
		next, err := f.files.load()
		if err != nil {
			f.warn(fmt.Errorf("%w; the certificates of before go on", err))
			return f.current
		}
		f.current, f.stamp = next, stamp
	}
	return f.current
}

func (t TLSFiles) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(t.ClientCA)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return nil, errors.New(t.ClientCA + ": no certificate in it")
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: authorities,
		// A session that is taken up again would go by the authorities of before.
		SessionTicketsDisabled: true,
	}, nil
}

// stamp changes with the files.
func (t TLSFiles) stamp() (all string) {
	for _, path := range []string{t.Certificate, t.Key, t.ClientCA} {
		if info, err := os.Stat(path); err == nil {
			all += fmt.Sprintf("%d %d ", info.Size(), info.ModTime().UnixNano())
		}
	}
	return all
}
