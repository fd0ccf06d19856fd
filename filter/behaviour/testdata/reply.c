// A dynamic module of Envoy that answers in its stead, with the code details that the request's headers ask for: so that a
// test has Envoy's own replies of every sort.
#include "../../native/c/abi.h"

#include <stdlib.h>
#include <string.h>

static int none;

bool CALLBACK(http_get_header)(void *filter, int type, struct buffer name, struct buffer *result, size_t index, size_t *count);
void CALLBACK(http_send_response)(void *filter, uint32_t status, struct header *headers, size_t count, struct buffer body, struct buffer details);

static bool get(void *filter, const char *name, size_t index, struct buffer *value) {
	return CALLBACK(http_get_header)(filter, REQUEST_HEADERS, (struct buffer){name, strlen(name)}, value, index, NULL);
}

const char *ON(program_init)(void) { return ABI_VERSION; }
const void *ON(http_filter_config_new)(void *envoy, struct buffer name, struct buffer config) { return &none; }
const void *ON(http_filter_new)(const void *config, void *filter) { return &none; }

enum { STOP = 1 };

int ON(http_filter_request_headers)(void *filter, const void *module, bool end) {
	struct buffer status, details, line;
	if (!get(filter, "x-test-details", 0, &details) || !get(filter, "x-test-status", 0, &status)) return HEADERS_CONTINUE;
	struct header headers[8];
	size_t count = 0;
	while (count < 8 && get(filter, "x-test-header", count, &line)) {
		const char *colon = memchr(line.data, ':', line.size);
		if (!colon) abort();
		size_t name = (size_t)(colon - line.data);
		headers[count++] = (struct header){{line.data, name}, {colon + 2, line.size - name - 2}};
	}
	char text[4] = {0};
	memcpy(text, status.data, 3);
	CALLBACK(http_send_response)(filter, (uint32_t)atoi(text), headers, count, (struct buffer){"", 0}, details);
	return STOP;
}

#define NOTHING(name) \
	int ON(name)(void) { return 0; }

NOTHING(http_filter_config_destroy)
NOTHING(http_filter_destroy)
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
