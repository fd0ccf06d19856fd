package compiler

import (
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// pluginText stands for the text of the plugin's configuration, which is a golden of its own, and in a route's metadata for
// the policies of that configuration that travel with the route; routesText stands for a listener's routes.
const (
	pluginText = "see plugin"
	routesText = "see routes"
)

// splitBootstrap takes a bootstrap apart and leaves texts where the parts have been.
func splitBootstrap(t *testing.T, bootstrap any, plugin string, values map[string]any) {
	t.Helper()
	before := parseValue(t, marshalValue(t, bootstrap))
	resources, _ := bootstrap.(map[string]any)["static_resources"].(map[string]any)
	config, global := parsePlugin(t, plugin)
	routes := []any{}
	for _, manager := range connectionManagers(resources["listeners"]) {
		routes = append(routes, manager["route_config"])
		manager["route_config"] = routesText
		eachPluginConfiguration(manager, func(configuration map[string]any) {
			if configuration["value"] == global {
				configuration["value"] = pluginText
			}
		})
	}
	unloadPolicies(t, config, routes)
	values["routes"] = shorten(routes)
	for _, name := range []string{"listeners", "clusters"} {
		values[name] = shorten(orEmpty(resources[name]))
		delete(resources, name)
	}
	values["bootstrap"] = shorten(bootstrap)
	if after := joinBootstrap(t, plugin, values); !reflect.DeepEqual(before, after) {
		t.Errorf("taken apart and put together\n%s\nbecame\n%s", marshalValue(t, before), marshalValue(t, after))
	}
}

// joinBootstrap puts the parts of a bootstrap together again: the golden files say all of it.
func joinBootstrap(t *testing.T, plugin string, values map[string]any) any {
	t.Helper()
	values = parseValue(t, marshalValue(t, values)).(map[string]any)
	bootstrap := lengthen(values["bootstrap"]).(map[string]any)
	resources, is := bootstrap["static_resources"].(map[string]any)
	if !is {
		resources = map[string]any{}
	}
	listeners, clusters := lengthen(values["listeners"]).([]any), lengthen(values["clusters"]).([]any)
	routes := lengthen(values["routes"]).([]any)
	config, global := parsePlugin(t, plugin)
	loadPolicies(t, config, routes)
	for i, manager := range connectionManagers(listeners) {
		manager["route_config"] = routes[i]
		eachPluginConfiguration(manager, func(configuration map[string]any) {
			if configuration["value"] == pluginText {
				configuration["value"] = global
			}
		})
	}
	if len(listeners) > 0 {
		resources["listeners"] = listeners
	}
	if len(clusters) > 0 {
		resources["clusters"] = clusters
	}
	return bootstrap
}

// parsePlugin reads a plugin's configuration, and gives the text of what is global in it.
func parsePlugin(t *testing.T, text string) (config policyconfig.Config, global string) {
	t.Helper()
	config, errs := policyconfig.Parse(text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	rest := config
	rest.Policies = nil
	data, err := policyconfig.Marshal(rest)
	if err != nil {
		t.Fatal(err)
	}
	return config, string(data)
}

// unloadPolicies takes the policies of a configuration out of the routes that they travel with.
func unloadPolicies(t *testing.T, config policyconfig.Config, routes any) {
	t.Helper()
	eachMapping(routes, func(route map[string]any) {
		text, _ := route["name"].(string)
		name, _, carries := policyconfig.CutIdentity(text)
		if !carries {
			return
		}
		before := route["metadata"]
		route["name"], route["metadata"] = name, pluginText
		loadPolicies(t, config, route)
		if route["name"] == text && reflect.DeepEqual(route["metadata"], before) {
			route["name"], route["metadata"] = name, pluginText
		} else {
			t.Errorf("route %s does not have the plugin's policies: %v", text, before)
		}
	})
}

// loadPolicies undoes unloadPolicies.
func loadPolicies(t *testing.T, config policyconfig.Config, routes any) {
	t.Helper()
	eachMapping(routes, func(route map[string]any) {
		if route["metadata"] != pluginText {
			return
		}
		name, text, err := policyconfig.WriteRoute(route["name"].(string), config.Policies, config.PinHeader)
		if err != nil {
			t.Fatal(err)
		}
		route["name"] = name
		route["metadata"] = map[string]any{"filter_metadata": map[string]any{
			policyconfig.RouteMetadata: map[string]any{policyconfig.RouteField: text},
		}}
	})
}

func marshalValue(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func orEmpty(list any) any {
	if list == nil {
		return []any{}
	}
	return list
}

// connectionManagers are the HTTP connection managers of listeners, in their order.
func connectionManagers(listeners any) []map[string]any {
	var managers []map[string]any
	eachMapping(listeners, func(mapping map[string]any) {
		if kind, _ := mapping["@type"].(string); strings.HasSuffix(kind, ".HttpConnectionManager") {
			managers = append(managers, mapping)
		}
	})
	return managers
}

func eachPluginConfiguration(manager any, visit func(map[string]any)) {
	eachMapping(manager, func(mapping map[string]any) {
		if kind, _ := mapping["@type"].(string); strings.HasSuffix(kind, ".Wasm") {
			visit(mapping["config"].(map[string]any)["configuration"].(map[string]any))
		}
	})
}

// eachMapping visits a value's mappings, those of lists in their order.
func eachMapping(value any, visit func(map[string]any)) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			eachMapping(item, visit)
		}
	case map[string]any:
		visit(v)
		for _, inner := range v {
			eachMapping(inner, visit)
		}
	}
}

// shorten writes addresses as texts, endpoints that are nothing else too, the endpoints of a cluster next to its
// name, and a virtual host whose name is its only domain as that and its routes.
func shorten(value any) any {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			v[i] = shorten(item)
		}
	case map[string]any:
		for key, inner := range v {
			v[key] = shorten(inner)
		}
		return shortenMapping(v)
	}
	return value
}

func shortenMapping(v map[string]any) any {
	if socket, is := v["socket_address"].(map[string]any); is && len(v) == 1 && len(socket) == 2 && net.ParseIP(fmt.Sprint(socket["address"])) != nil {
		return net.JoinHostPort(fmt.Sprint(socket["address"]), fmt.Sprint(socket["port_value"]))
	}
	endpoint, _ := v["endpoint"].(map[string]any)
	if len(v) == 1 && len(endpoint) == 1 && isAddress(endpoint["address"]) {
		return endpoint["address"]
	}
	name, named := v["name"].(string)
	if named && len(v) == 3 && v["routes"] != nil && reflect.DeepEqual(v["domains"], []any{name}) {
		return map[string]any{name: v["routes"]}
	}
	assignment, _ := v["load_assignment"].(map[string]any)
	if named && assignment["cluster_name"] == name && len(assignment) == 2 && assignment["endpoints"] != nil {
		delete(v, "load_assignment")
		v["endpoints"] = assignment["endpoints"]
	}
	return v
}

var addressText = regexp.MustCompile(`^(?:\d+\.\d+\.\d+\.\d+|\[[0-9a-f:.]+\]):\d+$`)

func isAddress(value any) bool {
	text, is := value.(string)
	return is && addressText.MatchString(text)
}

// lengthen undoes shorten.
func lengthen(value any) any {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if v[i] = lengthen(item); isAddress(item) {
				v[i] = map[string]any{"endpoint": map[string]any{"address": socketAddress(item)}}
			}
		}
	case map[string]any:
		for key, inner := range v {
			if v[key] = lengthen(inner); key == "address" && isAddress(inner) {
				v[key] = socketAddress(inner)
			}
		}
		lengthenHosts(v["virtual_hosts"])
		if endpoints, has := v["endpoints"]; has && v["name"] != nil {
			delete(v, "endpoints")
			v["load_assignment"] = map[string]any{"cluster_name": v["name"], "endpoints": endpoints}
		}
	}
	return value
}

func lengthenHosts(hosts any) {
	list, _ := hosts.([]any)
	for i, host := range list {
		if mapping := host.(map[string]any); len(mapping) == 1 {
			for name, routes := range mapping {
				list[i] = map[string]any{"name": name, "domains": []any{name}, "routes": routes}
			}
		}
	}
}

func socketAddress(text any) any {
	host, port, _ := net.SplitHostPort(text.(string))
	number, _ := strconv.ParseFloat(port, 64)
	return map[string]any{"socket_address": map[string]any{"address": host, "port_value": number}}
}
