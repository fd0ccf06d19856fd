package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"sync/atomic"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/kubernetes"
	"github.com/limpet-proxy/limpet/internal/serve"
	"github.com/limpet-proxy/limpet/internal/xds"
)

// serveTLS says how the server and Envoys know each other.
type serveTLS struct {
	files    serve.TLSFiles
	secret   string
	names    []string // of the server, in certificates that limpet makes
	domain   string
	audience string

	config *tls.Config // nil for none, once it is loaded
	// trusted are the authorities that the Secret has.
	trusted atomic.Pointer[string]
	tokens  kubernetes.Tokens
}

const defaultDomain = "limpet"

func (s *serveTLS) register(flags *pflag.FlagSet) {
	flags.StringVar(&s.files.Certificate, "tls-cert", "",
		"`FILE` with the server's certificate chain, or secret/NAME for a Secret of\n"+
			"--system-namespace with tls.crt, tls.key and, as --tls-ca, ca.crt; followed, as the next two")
	flags.StringVar(&s.files.Key, "tls-key", "", "`FILE` with its private key")
	flags.StringVar(&s.files.ClientCA, "tls-ca", "", "`FILE` with the authorities that sign Envoys' certificates")
	flags.StringSliceVar(&s.names, "tls-names", nil,
		"make the Secret of --tls-cert if there is none, with an authority of limpet's own,\n"+
			"for a server of these DNS `NAMES`, and renew its certificate")
	flags.StringVar(&s.domain, "trust-domain", defaultDomain, "`DOMAIN` of the URIs in Envoys' certificates")
	flags.StringVar(
		&s.audience,
		"token-audience",
		"",
		"let Envoys show, instead of a certificate, a token of their Gateway's service\naccount that is bound to the "+
			"`AUDIENCE`, such as limpet.dev; ca.crt of\nthe Secret is no authority of clients then",
	)
}

// isOn tells whether connections are encrypted.
func (s *serveTLS) isOn() bool { return s.files.Certificate != "" || s.secret != "" }

// checkFlags refuses what does not go together.
func (s *serveTLS) checkFlags(fromCluster bool) error {
	pair := s.files.Certificate != "" && s.files.Key != ""
	some := s.files.Certificate+s.files.Key+s.files.ClientCA != ""
	if err := s.checkPlace(fromCluster); err != nil {
		return err
	}
	switch {
	case s.secret != "" && some:
		return usagef("--tls-cert secret/%s has --tls-key and --tls-ca, too: leave them out", s.secret)
	case s.audience != "" && s.secret == "" && !pair:
		return usagef(
			"--token-audience needs --tls-cert, and --tls-key where that is a file: a token is not shown in the clear",
		)
	case some && (!pair || s.files.ClientCA == "" && s.audience == ""):
		return usagef("--tls-cert, --tls-key and --tls-ca belong together: name all three")
	default:
		return nil
	}
}

// checkPlace refuses what only an API server has.
func (s *serveTLS) checkPlace(fromCluster bool) error {
	switch {
	case s.secret != "" && !fromCluster:
		return usagef(
			"--tls-cert secret/%s needs an API server: name one with --kubeconfig; a file of that name is ./secret/%[1]s",
			s.secret,
		)
	case len(s.names) > 0 && s.secret == "":
		return usagef("--tls-names needs --tls-cert secret/NAME, the Secret that is made")
	case s.audience != "" && !fromCluster:
		return usagef("--token-audience needs an API server, which reviews the tokens: name one with --kubeconfig")
	default:
		return nil
	}
}

// authenticate knows Envoys by their certificates, and by tokens where these are taken.
func (s *serveTLS) authenticate() xds.Authenticate {
	byCertificate := xds.AuthenticateByCertificate(s.domain)
	if s.audience == "" {
		return byCertificate
	}
	return serve.AuthenticateByToken(&s.tokens, byCertificate)
}

// load reads the files, if there are any.
func (s *serveTLS) load(log *slog.Logger) (err error) {
	if s.files.Certificate != "" {
		s.config, err = serve.LoadTLS(
			s.files,
			s.audience != "",
			func(err error) { log.Error("certificates can't be read", "reason", err) },
		)
	}
	return err
}

// follow reads the files, or the Secret, and begins to have tokens reviewed.
func (s *serveTLS) follow(ctx context.Context, c *cluster) error {
	if s.audience != "" {
		s.tokens.Audience = s.audience
		if err := s.tokens.Begin(c.config, c.source); err != nil {
			return err
		}
	}
	if s.secret == "" {
		return s.load(c.log)
	}
	if err := s.make(ctx, c); err != nil {
		return err
	}
	hot := &serve.HotTLS{Tokens: s.audience != ""}
	s.config = hot.Config()
	return kubernetes.FollowSecret(ctx, c.config, c.flags.namespace, s.secret, c.log, func(data map[string][]byte) error {
		m := serve.TLSMaterial{Certificate: data[corev1.TLSCertKey], Key: data[corev1.TLSPrivateKeyKey]}
		if s.audience == "" {
			m.ClientCA = data[corev1.ServiceAccountRootCAKey]
		}
		authority := string(data[corev1.ServiceAccountRootCAKey])
		s.trusted.Store(&authority)
		return hot.Set(m)
	})
}

// authority has the authorities of the Secret; empty without one.
func (s *serveTLS) authority() string {
	if text := s.trusted.Load(); text != nil {
		return *text
	}
	return ""
}

// make makes the Secret's certificates if need be, and renews them.
func (s *serveTLS) make(ctx context.Context, c *cluster) error {
	if len(s.names) == 0 {
		return nil
	}
	secrets, err := kubernetes.NewSecrets(c.config, c.flags.namespace)
	if err != nil {
		return err
	}
	own := &kubernetes.Certificates{Secrets: secrets, Name: s.secret, Hosts: s.names, Log: c.log}
	return own.Start(ctx)
}
