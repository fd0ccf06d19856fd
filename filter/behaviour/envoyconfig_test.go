package behaviour

import (
	"encoding/json"
	"fmt"
)

// object is a piece of an Envoy configuration.
type object = map[string]any

const typeURL = "type.googleapis.com/envoy."

func typed(name string, fields object) object {
	fields["@type"] = typeURL + name
	return fields
}

func loopback(port int) object {
	return object{"socket_address": object{"address": "127.0.0.1", "port_value": port}}
}

func file(path string) object {
	return object{"path_config_source": object{"path": path}, "resource_api_version": "V3"}
}

// clusters are those that tests send requests to. All have the hosts of the test.
var clusters = []string{"c", "c1", "c2", "c3"}

// bootstrap has Envoy read its listeners from one file and the hosts from another. Who names a host in x-test-host gets it
// where the filter names none.
func (e *envoy) bootstrap() object {
	all := make([]any, len(clusters))
	for i, name := range clusters {
		all[i] = object{
			"name": name, "type": "EDS", "connect_timeout": "5s",
			"eds_cluster_config": object{"eds_config": file(e.path("hosts.json")), "service_name": "hosts"},
			"load_balancing_policy": object{"policies": []any{object{"typed_extension_config": object{
				"name": "override_host",
				"typed_config": typed("extensions.load_balancing_policies.override_host.v3.OverrideHost", object{
					"override_host_sources": []any{object{"header": "x-test-host"}},
					"fallback_policy": object{"policies": []any{object{"typed_extension_config": object{
						"name":         "round_robin",
						"typed_config": typed("extensions.load_balancing_policies.round_robin.v3.RoundRobin", object{}),
					}}}},
				}),
			}}}},
		}
	}
	return object{
		"node":              object{"id": "test", "cluster": "test"},
		"admin":             object{"address": loopback(e.admin)},
		"dynamic_resources": object{"lds_config": file(e.path("listeners.json"))},
		"static_resources":  object{"clusters": all},
	}
}

// routes are the routes of tests and their clusters, each of which a request chooses by a header.
func routes() []any {
	var all []any
	for _, route := range []string{"r", "r2", "other"} {
		for _, cluster := range clusters {
			all = append(all, object{
				"name":  route,
				"match": object{"prefix": "/", "headers": []any{exactly("x-test-route", route), exactly("x-test-cluster", cluster)}},
				"route": object{
					"cluster": cluster, "timeout": "30s", "retry_policy": object{"retry_on": "connect-failure", "num_retries": 1},
				},
			})
		}
	}
	return append(all, object{"name": "which", "match": object{"prefix": "/"}, "direct_response": object{"status": 200}})
}

func exactly(name, value string) object {
	return object{"name": name, "string_match": object{"exact": value}}
}

// native is the shipped native module with a configuration.
func (e *envoy) native(config string) []any { return []any{dynamicModule("limpet", e.module, config)} }

// wasm is the shipped limpet.wasm, and stateful_session, which carries its decisions out.
func wasm(path, config string) []any {
	vm := object{
		"runtime":               "envoy.wasm.runtime.v8",
		"code":                  object{"local": object{"filename": path}},
		"environment_variables": object{"host_env_keys": []any{"LIMPET_KEYS"}},
	}
	text := object{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config}
	return []any{
		object{"name": "limpet", "typed_config": typed("extensions.filters.http.wasm.v3.Wasm", object{
			"config": object{"name": "limpet", "vm_config": vm, "configuration": text},
		})},
		object{"name": "pin", "typed_config": typed("extensions.filters.http.stateful_session.v3.StatefulSession", object{
			"session_state": object{
				"name":         "envoy.http.stateful_session.header",
				"typed_config": typed("extensions.http.stateful_session.header.v3.HeaderBasedSessionState", object{"name": pinHeader}),
			},
		})},
	}
}

// listener runs filters. Responses say which configuration it is.
func (e *envoy) listener(filters []any, generation int) object {
	manager := object{
		"stat_prefix":         "test",
		"generate_request_id": false,
		"stream_idle_timeout": "30s",
		"route_config": object{
			"virtual_hosts":           []any{object{"name": "v", "domains": []any{"*"}, "routes": routes()}},
			"response_headers_to_add": []any{object{"header": object{"key": "x-test-generation", "value": fmt.Sprint(generation)}}},
		},
		"http_filters": append(filters,
			dynamicModule("reply", e.reply, ""),
			object{"name": "router", "typed_config": typed("extensions.filters.http.router.v3.Router", object{})}),
		"access_log": []any{object{"name": "file", "typed_config": typed("extensions.access_loggers.file.v3.FileAccessLog", object{
			"path":       e.path("access.log"),
			"log_format": object{"text_format_source": object{"inline_string": logLine()}},
		})}},
	}
	return typed("config.listener.v3.Listener", object{
		"name": "test", "address": loopback(e.port),
		"filter_chains": []any{object{"filters": []any{object{
			"name": "http", "typed_config": typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", manager),
		}}}},
	})
}

// loggedStates is the filter state in the access log, in that order.
var loggedStates = []string{"limpet_outcome", "limpet_policy", "limpet_age", "limpet_host", "limpet_reason", "limpet_session", "limpet_mirror"}

func logLine() string {
	line := "%REQ(x-test-id)% %FILTER_STATE(limpet:PLAIN)%"
	for _, name := range loggedStates {
		line += "\t%FILTER_STATE(" + name + ":PLAIN)%"
	}
	return line + "\n"
}

func dynamicModule(name, path, config string) object {
	return object{"name": name, "typed_config": typed("extensions.filters.http.dynamic_modules.v3.DynamicModuleFilter", object{
		"dynamic_module_config": object{"name": name, "module": object{"local": object{"filename": path}}},
		"filter_name":           name,
		"filter_config":         object{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config},
	})}
}

// assignment are the hosts of all clusters.
func assignment(hosts []string) object {
	var endpoints []any
	for _, host := range hosts {
		address, port := splitHost(host)
		endpoints = append(endpoints, object{"endpoint": object{"address": object{
			"socket_address": object{"address": address, "port_value": port},
		}}})
	}
	return typed("config.endpoint.v3.ClusterLoadAssignment", object{
		"cluster_name": "hosts", "endpoints": []any{object{"lb_endpoints": endpoints}},
	})
}

// discovery is what a file that Envoy watches holds.
func discovery(version int, resources ...any) []byte {
	text, err := json.Marshal(object{"version_info": fmt.Sprint(version), "resources": resources})
	if err != nil {
		panic(err)
	}
	return text
}
