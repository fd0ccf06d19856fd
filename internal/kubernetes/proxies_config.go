package kubernetes

import (
	"encoding/json"
	"fmt"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// findConfig merges the ProxyConfigs of a Gateway and its class.
func (p *Proxies) findConfig(g *managedGateway) (*v1alpha1.ProxyConfigSpec, error) {
	var own, class *v1alpha1.ProxyConfigSpec
	if of := g.Spec.Infrastructure; of != nil && of.ParametersRef != nil {
		found, err := p.findProxyConfig(g.Namespace, of.ParametersRef.Name)
		if err != nil {
			return nil, err
		}
		own = found
	}
	if ref := g.class.Spec.ParametersRef; ref != nil && ref.Namespace != nil {
		found, err := p.findProxyConfig(string(*ref.Namespace), ref.Name)
		if err != nil {
			return nil, fmt.Errorf("GatewayClass %s: spec.parametersRef: %w", g.class.Name, err)
		}
		class = found
	}
	return proxies.Merge(class, own)
}

func (p *Proxies) findProxyConfig(namespace, name string) (*v1alpha1.ProxyConfigSpec, error) {
	o, _, err := p.Source.findObject(proxyConfigKind, namespace, name)
	if err != nil {
		return nil, invalidParameters{fmt.Errorf("there is no ProxyConfig %s/%s", namespace, name)}
	}
	config := &v1alpha1.ProxyConfig{}
	if err := json.Unmarshal(o.text, config); err != nil {
		return nil, invalidParameters{fmt.Errorf("ProxyConfig %s/%s: %w", namespace, name, err)}
	}
	return &config.Spec, nil
}
