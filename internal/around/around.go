// Package around writes what has to stand around a plugin configuration of limpet's that is put in place by hand: the
// fence, the filter that pins, and what routes need, for Envoy or for Istio.
package around

import (
	"bytes"
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The proxies that it is written for.
const (
	Envoy = "envoy"
	Istio = "istio"
)

//go:embed *.yaml.tmpl
var texts embed.FS

var templates = template.Must(
	template.New("").Funcs(template.FuncMap{"indent": indent, "routes": routes}).ParseFS(texts, "*.yaml.tmpl"),
)

// content is what a template gets.
type content struct {
	policyconfig.Config
	// Text is the plugin's JSON, and Struct the same as YAML.
	Text, Struct string
	// Backend is the header that names a session's backend, empty where no policy needs it; Variable is that of the keys.
	Backend, Variable string
}

// Write writes it for a plugin's JSON.
func Write(proxy string, text []byte) ([]byte, error) {
	config, errs := policyconfig.Parse(string(text))
	if err := errs.Err(); err != nil {
		return nil, err
	}
	asYAML, err := yaml.JSONToYAML(text)
	if err != nil {
		return nil, err
	}
	c := content{Config: config, Text: string(text), Struct: string(asYAML), Variable: config.Keys.EnvironmentVariable()}
	if slices.ContainsFunc(
		config.Policies,
		func(p policyconfig.Policy) bool { return p.OnHostLost == policyconfig.RebalanceWithin },
	) {
		c.Backend = policyconfig.BackendHeader(config.PinHeader)
	}
	var out bytes.Buffer
	if err := templates.ExecuteTemplate(&out, proxy+".yaml.tmpl", c); err != nil {
		return nil, fmt.Errorf("for %s: %w", proxy, err)
	}
	return out.Bytes(), nil
}

// indent moves all lines to the right.
func indent(by int, text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", by))
}

// route is one that policies are for.
type route struct {
	Name string
	Fail bool
}

// routes are those of the policies, each once, in their order.
func routes(policies []policyconfig.Policy) (list []route) {
	for _, p := range policies {
		for _, name := range p.Routes {
			if !slices.ContainsFunc(list, func(r route) bool { return r.Name == name }) {
				list = append(list, route{name, p.OnHostLost == policyconfig.Fail})
			}
		}
	}
	return list
}
