package keyfile

import (
	"errors"
	"fmt"

	"sigs.k8s.io/yaml"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// RingName is the name under which limpet puts a key ring into a Secret.
const RingName = "keys.json"

// ringNames are those under which a Secret may hold a key ring: that of a file, and that of the variable.
var ringNames = []string{RingName, policyconfig.DefaultKeysEnv}

// secretManifest is what may hold a key ring in place of its own format.
type secretManifest struct {
	Kind       string            `json:"kind"`
	Data       map[string][]byte `json:"data"`
	StringData map[string]string `json:"stringData"`
}

// parseSecret reads a manifest; false for what is none, which is then read as a ring.
func parseSecret(data string) (secret secretManifest, is bool) {
	err := yaml.Unmarshal([]byte(data), &secret)
	return secret, err == nil && secret.Kind == "Secret"
}

// extractRing gives the key ring's text: the data itself, or what a manifest of a Kubernetes Secret holds. Its errors
// never show a value.
func extractRing(data string) (string, error) {
	secret, is := parseSecret(data)
	if !is {
		return data, nil
	}
	var found []string
	for _, name := range ringNames {
		if text, has := secret.StringData[name]; has { // it goes before data, as on an API server
			found = append(found, text)
		} else if text, has := secret.Data[name]; has {
			found = append(found, string(text))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the Secret must hold one key ring, under the name %s or %s", ringNames[0], ringNames[1])
	}
	if found[0] == "" {
		return "", errors.New("the Secret's key ring is empty")
	}
	return found[0], nil
}
