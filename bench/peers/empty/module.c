// The least that a dynamic module of Envoy 1.40 can be: every hook that Envoy wants of an HTTP filter, and nothing in them.
#include "../../../filter/native/c/abi.h"

static int none;

const char *ON(program_init)(void) { return ABI_VERSION; }
const void *ON(http_filter_config_new)(void *envoy, struct buffer name, struct buffer config) { return &none; }
const void *ON(http_filter_new)(const void *config, void *filter) { return &none; }

#define NOTHING(name) \
	int ON(name)(void) { return 0; }

NOTHING(http_filter_config_destroy)
NOTHING(http_filter_destroy)
NOTHING(http_filter_request_headers)
NOTHING(http_filter_request_body)
NOTHING(http_filter_request_trailers)
NOTHING(http_filter_response_headers)
NOTHING(http_filter_response_body)
NOTHING(http_filter_response_trailers)
NOTHING(http_filter_stream_complete)
NOTHING(http_filter_http_callout_done)
NOTHING(http_filter_http_stream_headers)
NOTHING(http_filter_http_stream_data)
NOTHING(http_filter_http_stream_trailers)
NOTHING(http_filter_http_stream_complete)
NOTHING(http_filter_http_stream_reset)
NOTHING(http_filter_scheduled)
NOTHING(http_filter_downstream_above_write_buffer_high_watermark)
NOTHING(http_filter_downstream_below_write_buffer_low_watermark)
