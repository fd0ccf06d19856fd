package lower

import (
	"cmp"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/gateway"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// defaultRedirect is the status where none is written; its schema has the same default.
const defaultRedirect = 302

// lowerRedirect lowers a redirect, but for a port that is not written: see finishRedirect.
func lowerRedirect(f *gatewayv1.HTTPRequestRedirectFilter) *ir.Redirect {
	if f == nil {
		return nil
	}
	r := &ir.Redirect{Path: lowerPathEdit(f.Path), Status: defaultRedirect}
	if f.Scheme != nil {
		r.Scheme = *f.Scheme
	}
	if f.Hostname != nil {
		r.Host = string(*f.Hostname)
	}
	if f.Port != nil {
		r.Port = uint16(*f.Port)
	}
	if f.StatusCode != nil {
		r.Status = *f.StatusCode
	}
	return r
}

// schemePorts are those that no one writes.
var schemePorts = map[string]uint16{"http": 80, "https": 443}

// finishRedirect returns a rule's redirect for requests on one port. A redirect without a port gets the scheme's port
// if it has a scheme, and else the listener's. The scheme's default port is not written (HTTPRequestRedirectFilter,
// port).
func finishRedirect(r *ir.Redirect, port gateway.Port) *ir.Redirect {
	if r == nil {
		return nil
	}
	own := "http"
	if port.TLS {
		own = "https"
	}
	finished, scheme := *r, cmp.Or(r.Scheme, own)
	if r.Port == 0 && r.Scheme == "" {
		finished.Port = port.Number
	}
	if finished.Port == schemePorts[scheme] {
		finished.Port = 0
	}
	return &finished
}

// lowerRewrite adds a filter to what others do: a rule may have one for the host, and one for the path.
func lowerRewrite(before *ir.Rewrite, f *gatewayv1.HTTPURLRewriteFilter) *ir.Rewrite {
	if f == nil {
		return before
	}
	r := &ir.Rewrite{}
	if before != nil {
		*r = *before
	}
	if f.Path != nil {
		r.Path = lowerPathEdit(f.Path)
	}
	if f.Hostname != nil {
		r.Host = string(*f.Hostname)
	}
	return r
}

func lowerPathEdit(p *gatewayv1.HTTPPathModifier) *ir.PathEdit {
	switch {
	case p == nil:
		return nil
	case p.Type == gatewayv1.PrefixMatchHTTPPathModifier && p.ReplacePrefixMatch != nil:
		return &ir.PathEdit{Prefix: true, Value: *p.ReplacePrefixMatch}
	case p.Type == gatewayv1.FullPathHTTPPathModifier && p.ReplaceFullPath != nil:
		return &ir.PathEdit{Value: *p.ReplaceFullPath}
	default:
		return nil
	}
}
