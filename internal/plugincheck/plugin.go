package plugincheck

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// plugin is a filter's configuration.
type plugin struct {
	at     value
	config policyconfig.Config
	// sound says that it has no error, so that it may be compared with what stands around it.
	sound bool
}

// checkDocument checks the filter's JSON in a file of its own.
func (c *checker) checkDocument(d value) { c.parse(d, string(d.file.Data), nil) }

// parse says what the filter says when it loads a text. given are the environment variables that the filter's VM has
// besides this process's own.
func (c *checker) parse(at value, text string, given map[string]string) plugin {
	c.Plugins++
	config, errs := policyconfig.Parse(text)
	for _, e := range errs {
		place := at
		place.line = at.findPath(strings.TrimPrefix(at.path+"."+e.Path, ".")).line
		c.add(place, "%s", e)
	}
	if len(errs) > 0 {
		// what is around it may be right
		named := policyconfig.Config{PinHeader: strings.ToLower(gjson.Get(text, "pinHeader").String())}
		return plugin{at: at, config: named}
	}
	c.pins = append(c.pins, config.PinHeader)
	c.Policies += len(config.Policies)
	c.checkRing(at, config.Keys, given)
	c.checkRevoked(at, config.Policies)
	return plugin{at: at, config: config, sound: true}
}

// checkRing reads the key ring as the filter will, where its variable is here.
func (c *checker) checkRing(at value, keys policyconfig.Keys, given map[string]string) {
	getenv := func(name string) string {
		if text, is := given[name]; is {
			return text
		}
		return c.getenv(name)
	}
	if name := keys.EnvironmentVariable(); name != "" && getenv(name) == "" {
		c.unseen("the environment variable %s, with which the keys would be checked", name)
		return
	}
	_, errs := keys.Load(getenv, token.UnsealText)
	for _, err := range errs {
		c.add(at, "%s", err)
	}
}

// messages that Envoy hands to a plugin as they are, and in binary.
const (
	stringValue = "type.googleapis.com/google.protobuf.StringValue"
	bytesValue  = "type.googleapis.com/google.protobuf.BytesValue"
	structType  = "type.googleapis.com/google.protobuf.Struct"
)

// readMessage gives the text of a filter's configuration in Envoy's, which is a message in an Any.
func (c *checker) readMessage(v value, native bool) (text string, ok bool) {
	content := v.get("value")
	switch kind := v.get("@type"); {
	case v.missing():
		c.add(v, "Required value: the plugin configuration, in a %s", stringValue)
	case native && kind.text() == structType:
		text, err := toJSON(content.node)
		if err != nil {
			c.add(content, "%v", err)
		}
		return text, err == nil
	case kind.text() != stringValue && kind.text() != bytesValue:
		c.add(kind, "Unsupported value: %q: Envoy hands any other message to the filter in binary; supported values: %q, %q",
			kind.text(), stringValue, bytesValue)
	case !content.isText():
		c.add(content, "Invalid value: must be a string that holds JSON; in YAML begin it with \"value: |\"")
	case kind.text() == bytesValue:
		raw, err := base64.StdEncoding.DecodeString(content.text())
		if err != nil {
			c.add(content, "Invalid value: must be base64")
		}
		return string(raw), err == nil
	default:
		return content.text(), true
	}
	c.Plugins++
	return "", false
}

// toJSON writes a part of a document as JSON.
func toJSON(n *yaml.Node) (string, error) {
	if n == nil {
		return "{}", nil
	}
	var content any
	if err := n.Decode(&content); err != nil {
		return "", err
	}
	text, err := json.Marshal(content)
	return string(text), err
}

// isLimpets tells whether a filter is limpet's, by its file, its name or its configuration.
func isLimpets(file, name string, config value) bool {
	text := config.get("value").text()
	return strings.Contains(file, "limpet") || strings.Contains(name, "limpet") ||
		strings.Contains(text, policyconfig.Version) ||
		!config.get("value").get("policies").missing()
}
