// What the module uses of Envoy's dynamic module ABI, as Envoy 1.40 has it (ABI version v0.2.0). Names and types are those
// of Envoy's source/extensions/dynamic_modules/abi/abi.h, without the prefixes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ABI_VERSION "v0.2.0"

// ON names an event hook, which Envoy calls; CALLBACK names a function of Envoy's.
#define ON(name) envoy_dynamic_module_on_##name
#define CALLBACK(name) envoy_dynamic_module_callback_##name

// A buffer of either side. Envoy's are valid until the hook ends or the header map is changed.
struct buffer {
	const char *data;
	size_t size;
};

struct header {
	struct buffer name, value;
};

enum header_type { REQUEST_HEADERS = 0, RESPONSE_HEADERS = 2 };
enum attribute { RESPONSE_CODE_DETAILS = 16, UPSTREAM_ADDRESS = 41, UPSTREAM_REQUEST_ATTEMPT_COUNT = 53, XDS_ROUTE_NAME = 61 };
enum metrics_result { METRICS_SUCCESS = 0 };
enum header_status { HEADERS_CONTINUE = 0, HEADERS_STOP_ITERATION = 1 };
enum metadata_source { METADATA_ROUTE = 1, METADATA_HOST = 3 };

void CALLBACK(log)(int level, struct buffer message);
uint32_t CALLBACK(get_concurrency)(void);
uint32_t CALLBACK(http_filter_get_worker_index)(void *filter);
bool CALLBACK(http_filter_get_attribute_string)(void *filter, int attribute, struct buffer *result);
bool CALLBACK(http_filter_get_attribute_int)(void *filter, int attribute, uint64_t *result);
bool CALLBACK(http_get_cluster_name)(void *filter, struct buffer *result);
bool CALLBACK(http_get_metadata_string)(void *filter, int source, struct buffer name, struct buffer key, struct buffer *result);
void CALLBACK(http_set_dynamic_metadata_string)(void *filter, struct buffer name, struct buffer key, struct buffer value);
void CALLBACK(http_clear_route_cache)(void *filter);
void CALLBACK(http_send_response)(void *filter, uint32_t status, struct header *headers, size_t count, struct buffer body, struct buffer details);
size_t CALLBACK(http_get_headers_size)(void *filter, int type);
bool CALLBACK(http_get_headers)(void *filter, int type, struct header *result);
// A value without bytes removes the header.
bool CALLBACK(http_set_header)(void *filter, int type, struct buffer name, struct buffer value);
bool CALLBACK(http_add_header)(void *filter, int type, struct buffer name, struct buffer value);
bool CALLBACK(http_set_upstream_override_host)(void *filter, struct buffer host, bool strict);
bool CALLBACK(http_set_filter_state_bytes)(void *filter, struct buffer key, struct buffer value);
int CALLBACK(http_filter_config_define_counter)(void *config, struct buffer name, struct buffer *labels, size_t count, size_t *id);
int CALLBACK(http_filter_config_define_gauge)(void *config, struct buffer name, struct buffer *labels, size_t count, size_t *id);
int CALLBACK(http_filter_config_increment_counter)(void *config, size_t id, struct buffer *values, size_t count, uint64_t by) __attribute__((weak));
int CALLBACK(http_filter_config_set_gauge)(void *config, size_t id, struct buffer *values, size_t count, uint64_t value) __attribute__((weak));
int CALLBACK(http_filter_increment_counter)(void *filter, size_t id, struct buffer *values, size_t count, uint64_t by);
int CALLBACK(http_filter_set_gauge)(void *filter, size_t id, struct buffer *values, size_t count, uint64_t value);
