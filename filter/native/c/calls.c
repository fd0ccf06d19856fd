// The functions that TinyGo's code calls: Envoy's, with structures for arguments, and the system's.
#include "module.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

// Room for the lines of a header map, one for each thread. What Envoy allows for headers bounds it.
static _Thread_local struct {
	struct header *data;
	size_t count;
} room;

// limpet_headers reads all lines of a header map at once: that takes Envoy less than to look one up.
void limpet_headers(struct stream *s, uint32_t type) {
	size_t count = CALLBACK(http_get_headers_size)(s->filter, (int)type);
	if (count > room.count) {
		if (room.data) memory_give(room.data, room.count * sizeof *room.data);
		room.count = 2 * count;
		room.data = memory_take(room.count * sizeof *room.data);
	}
	if (count && !CALLBACK(http_get_headers)(s->filter, (int)type, room.data)) count = 0;
	s->lines = (struct lines){room.data, count, count};
}

uint32_t limpet_attribute(struct stream *s, uint32_t attribute) {
	return CALLBACK(http_filter_get_attribute_string)(s->filter, (int)attribute, &s->text);
}

// limpet_number is an attribute that is a number, 0 where there is none.
uint64_t limpet_number(struct stream *s, uint32_t attribute) {
	uint64_t number;
	return CALLBACK(http_filter_get_attribute_int)(s->filter, (int)attribute, &number) ? number : 0;
}

// The attribute xds.cluster_name has it too, from Envoy 1.40 on.
uint32_t limpet_cluster(struct stream *s) { return CALLBACK(http_get_cluster_name)(s->filter, &s->text); }

uint32_t limpet_metadata(struct stream *s, uint32_t source, const char *name, size_t name_size, const char *key, size_t key_size) {
	return CALLBACK(http_get_metadata_string)(s->filter, (int)source, (struct buffer){name, name_size}, (struct buffer){key, key_size}, &s->text);
}

// limpet_note puts a text into the request's own metadata.
void limpet_note(struct stream *s, const char *name, size_t name_size, const char *key, size_t key_size, const char *value, size_t size) {
	CALLBACK(http_set_dynamic_metadata_string)
	(s->filter, (struct buffer){name, name_size}, (struct buffer){key, key_size}, (struct buffer){value, size});
}

// limpet_reroute has the route chosen anew, by the headers as they are now.
void limpet_reroute(struct stream *s) { CALLBACK(http_clear_route_cache)(s->filter); }

void limpet_answer(struct stream *s, uint32_t status, const char *details, size_t size) {
	CALLBACK(http_send_response)(s->filter, status, NULL, 0, (struct buffer){"", 0}, (struct buffer){details, size});
}

// Whether a header is set, added or removed cannot be helped where Envoy has no such map: the stream is going away.
void limpet_set(struct stream *s, uint32_t type, const char *name, size_t name_size, const char *value, size_t size) {
	CALLBACK(http_set_header)(s->filter, (int)type, (struct buffer){name, name_size}, (struct buffer){value, size});
}

void limpet_add(struct stream *s, uint32_t type, const char *name, size_t name_size, const char *value, size_t size) {
	CALLBACK(http_add_header)(s->filter, (int)type, (struct buffer){name, name_size}, (struct buffer){value, size});
}

uint32_t limpet_pin(struct stream *s, const char *host, size_t size, uint32_t strict) {
	return CALLBACK(http_set_upstream_override_host)(s->filter, (struct buffer){host, size}, strict);
}

void limpet_state(struct stream *s, const char *key, size_t key_size, const char *value, size_t size) {
	CALLBACK(http_set_filter_state_bytes)(s->filter, (struct buffer){key, key_size}, (struct buffer){value, size});
}

void limpet_log(uint32_t level, const char *text, size_t size) { CALLBACK(log)((int)level, (struct buffer){text, size}); }

// limpet_counter and limpet_gauge define a metric; the number that they return is none where Envoy refuses.
size_t limpet_counter(void *config, const char *name, size_t size) {
	size_t id;
	int result = CALLBACK(http_filter_config_define_counter)(config, (struct buffer){name, size}, NULL, 0, &id);
	return result == METRICS_SUCCESS ? id : NO_METRIC;
}

// limpet_labelled defines a counter for each policy and value of a label.
size_t limpet_labelled(void *config, const char *name, size_t size, const char *label, size_t label_size) {
	struct buffer labels[] = {{"policy", strlen("policy")}, {label, label_size}};
	size_t id;
	int result = CALLBACK(http_filter_config_define_counter)(config, (struct buffer){name, size}, labels, 2, &id);
	return result == METRICS_SUCCESS ? id : NO_METRIC;
}

size_t limpet_gauge(void *config, const char *name, size_t size) {
	size_t id;
	int result = CALLBACK(http_filter_config_define_gauge)(config, (struct buffer){name, size}, NULL, 0, &id);
	return result == METRICS_SUCCESS ? id : NO_METRIC;
}

void limpet_count(struct stream *s, size_t id) { CALLBACK(http_filter_increment_counter)(s->filter, id, NULL, 0, 1); }

void limpet_count_labelled(struct stream *s, size_t id, const char *policy, size_t size, const char *outcome, size_t outcome_size, uint64_t by) {
	struct buffer values[] = {{policy, size}, {outcome, outcome_size}};
	CALLBACK(http_filter_increment_counter)(s->filter, id, values, 2, by);
}

void limpet_set_gauge(struct stream *s, size_t id, uint64_t value) {
	CALLBACK(http_filter_set_gauge)(s->filter, id, NULL, 0, value);
}

// limpet_show sets a gauge with the configuration. Envoy 1.38 has no function for that.
void limpet_show(void *config, size_t id, uint64_t value) {
	if (id != NO_METRIC && CALLBACK(http_filter_config_set_gauge)) CALLBACK(http_filter_config_set_gauge)(config, id, NULL, 0, value);
}

uint64_t limpet_memory(void) { return memory_total(); }

int64_t limpet_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec;
}

// Without randomness there are no nonces, and without nonces no tokens.
void limpet_random(void *data, size_t size) {
	if (getrandom(data, size, 0) != (ssize_t)size) abort();
}

// limpet_getenv returns a variable of Envoy's environment, which stays as it is.
const char *limpet_getenv(const char *name, size_t size, size_t *value_size) {
	char text[256];
	if (size >= sizeof text) return NULL;
	memcpy(text, name, size);
	text[size] = 0;
	const char *value = getenv(text);
	if (value) *value_size = strlen(value);
	return value;
}

// TinyGo's runtime asks for these. Envoy has signal handlers of its own, and there are no goroutines to wake.
void tinygo_register_fatal_signals(void) {}
void tinygo_futex_wake_all(void *address) { (void)address; }
