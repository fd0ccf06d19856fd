// What the C parts and TinyGo's code know of each other.
#pragma once

#include "abi.h"
#include "memory.h"

// The lines of a header map, as Go has a slice of pairs of strings.
struct lines {
	struct header *data;
	size_t size, capacity;
};

// stream is one request and its response. Go's part of it follows; limpet_stream_size has both.
struct stream {
	void *filter;
	struct config *config;
	struct engine *engine;
	struct lines lines;
	struct buffer text;
};

// engine is what one worker has of a configuration.
struct engine {
	struct arena lasting;
	void *worker;
};

// config is one loaded configuration.
struct config {
	struct arena shared;
	void *configuration;
	uint32_t workers;
	struct engine engines[];
};

// counters_keep has a new configuration go on with the labelled counters of a family of those before; NO_METRIC has none. The numbers of
// families are those of metrics.go.
#define NO_METRIC SIZE_MAX
enum family { FAMILY_SESSIONS = 0, FAMILY_WARNINGS = 1 };
void counters_keep(enum family family, void *config, size_t id);

// What TinyGo's code offers. limpet_main runs the packages' initialisers.
int limpet_main(int argc, char **argv);
size_t limpet_stream_size(void);
void *limpet_read(const char *text, size_t size, void *config);
void *limpet_worker(void *configuration);
// limpet_request tells what becomes of a request: its route has no policy, or one, or it was answered for a broken one.
enum request_verdict { REQUEST_PASSES = 0, REQUEST_HAS_POLICY = 1, REQUEST_REFUSED = 2 };
uint32_t limpet_request(struct stream *stream, void *worker);
// limpet_complete is the last that a request with a policy does while Envoy still has its filter, perhaps without a response.
void limpet_complete(struct stream *stream);
// limpet_release ends a request that had a policy.
void limpet_release(struct stream *stream);
void limpet_response(struct stream *stream, uint32_t end_of_stream);
