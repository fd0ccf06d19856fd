// The event hooks that Envoy wants of an HTTP filter. A request enters TinyGo's code twice: with its headers, and with
// those of the response.
#include "module.h"

#include <stdlib.h>
#include <string.h>

static struct arena initial;
static size_t stream_size;

// Envoy loads a module once for each of its configurations, on its main thread.
const char *ON(program_init)(void) {
	if (!stream_size) {
		memory_use(&initial, &initial);
		limpet_main(0, NULL);
		memory_use(NULL, NULL);
		stream_size = limpet_stream_size();
	}
	return ABI_VERSION;
}

static size_t config_size(uint32_t workers) { return sizeof(struct config) + workers * sizeof(struct engine); }

static void config_free(struct config *c) {
	for (uint32_t i = 0; i < c->workers; i++) memory_free(&c->engines[i].lasting);
	memory_free(&c->shared);
	memory_give(c, config_size(c->workers));
}

static bool config_load(struct config *c, void *envoy, struct buffer text) {
	memory_use(&c->shared, &c->shared);
	c->configuration = limpet_read(text.data, text.size, envoy);
	bool good = c->configuration;
	for (uint32_t i = 0; good && i < c->workers; i++) {
		struct engine *e = &c->engines[i];
		memory_use(&e->lasting, &e->lasting);
		e->worker = limpet_worker(c->configuration);
		good = e->worker;
	}
	memory_use(NULL, NULL);
	return good;
}

// A null pointer has Envoy refuse the configuration.
const void *ON(http_filter_config_new)(void *envoy, struct buffer name, struct buffer text) {
	(void)name;
	uint32_t workers = CALLBACK(get_concurrency)();
	if (!workers) workers = 1;
	struct config *c = memory_take(config_size(workers));
	c->workers = workers;
	if (config_load(c, envoy, text)) return c;
	config_free(c);
	return NULL;
}

// It comes after the last stream, perhaps on a worker.
void ON(http_filter_config_destroy)(const void *config) { config_free((struct config *)config); }

// Streams that ended, for reuse; a worker's streams never leave it. A burst of concurrent ones is given back.
enum { MOST_IDLE = 1024 };
static _Thread_local struct {
	struct stream *first;
	int count;
} idle;

// An idle stream's filter field points to the next one.
const void *ON(http_filter_new)(const void *config, void *filter) {
	struct stream *s = idle.first;
	if (s) {
		idle.first = s->filter;
		idle.count--;
	} else {
		s = memory_take(stream_size);
	}
	s->filter = filter;
	s->config = (struct config *)config;
	s->engine = NULL;
	return s;
}

void ON(http_filter_destroy)(const void *stream) {
	struct stream *s = (struct stream *)stream;
	if (s->engine) limpet_release(s);
	if (idle.count == MOST_IDLE) {
		memory_give(s, stream_size);
		return;
	}
#ifdef POISON
	memset(s, 0xdb, stream_size);
#endif
	s->filter = idle.first;
	idle.first = s;
	idle.count++;
}

int ON(http_filter_request_headers)(void *filter, const void *stream, bool end_of_stream) {
	struct stream *s = (struct stream *)stream;
	(void)end_of_stream;
#ifdef TRAP // for a test alone: what a check of TinyGo's that fails does to Envoy
	limpet_worker(NULL);
#endif
	uint32_t worker = CALLBACK(http_filter_get_worker_index)(filter);
	if (worker >= s->config->workers) return HEADERS_CONTINUE;
	struct engine *e = &s->config->engines[worker];
	memory_begin(&e->lasting);
	enum request_verdict verdict = limpet_request(s, e->worker);
	s->engine = verdict == REQUEST_HAS_POLICY ? e : NULL;
	return verdict == REQUEST_REFUSED ? HEADERS_STOP_ITERATION : HEADERS_CONTINUE;
}

int ON(http_filter_response_headers)(void *filter, const void *stream, bool end_of_stream) {
	struct stream *s = (struct stream *)stream;
	(void)filter;
	if (!s->engine) return HEADERS_CONTINUE; // no policy, or no request: another filter answered first
	memory_begin(&s->engine->lasting);
	limpet_response(s, end_of_stream);
	return HEADERS_CONTINUE;
}

// It comes for every stream, before Envoy destroys the filter.
void ON(http_filter_stream_complete)(void *filter, const void *stream) {
	struct stream *s = (struct stream *)stream;
	(void)filter;
	if (s->engine) limpet_complete(s);
}

// These go on as if the filter were not there: bodies and trailers with their status 0, the others with nothing.
#define PASSES(name) \
	int ON(name)(void) { return 0; }
#define NOTHING(name) \
	void ON(name)(void) {}

PASSES(http_filter_local_reply) // Envoy 1.38 wants it, later ones need not have it
PASSES(http_filter_request_body)
PASSES(http_filter_request_trailers)
PASSES(http_filter_response_body)
PASSES(http_filter_response_trailers)
NOTHING(http_filter_http_callout_done)
NOTHING(http_filter_http_stream_headers)
NOTHING(http_filter_http_stream_data)
NOTHING(http_filter_http_stream_trailers)
NOTHING(http_filter_http_stream_complete)
NOTHING(http_filter_http_stream_reset)
NOTHING(http_filter_scheduled)
NOTHING(http_filter_downstream_above_write_buffer_high_watermark)
NOTHING(http_filter_downstream_below_write_buffer_low_watermark)
