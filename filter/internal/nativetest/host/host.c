// A small host for the native module: it loads the shared object that ships as Envoy does, and does what it is told on its
// standard input. Package nativetest builds and drives it.
//
// It is stricter than Envoy. What the module reads of a header map or an attribute is a copy on pages of its own, which
// cannot be touched any more once the hook has ended or the map was changed: a module that keeps such a buffer crashes
// here. Clock and randomness are the test's.
//
// Messages both ways are a length of four bytes, little end first, and so many bytes; the fields in them are strings with
// such a length in front. The first byte of a request says what is to be done.
#define _GNU_SOURCE
#include "../../../native/c/abi.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static void die(const char *why) {
	fprintf(stderr, "host: %s\n", why);
	exit(3);
}

// ---- text and messages

struct text {
	char *data;
	size_t size, room;
};

static void append(struct text *t, const void *data, size_t size) {
	if (t->size + size > t->room) {
		t->room = 2 * (t->size + size) + 64;
		t->data = realloc(t->data, t->room);
		if (!t->data) die("out of memory");
	}
	if (size) memcpy(t->data + t->size, data, size);
	t->size += size;
}

static struct text copy(const char *data, size_t size) {
	struct text t = {0};
	append(&t, data, size);
	return t;
}

static void number(struct text *t, uint32_t n) { append(t, &n, sizeof n); }

static void string(struct text *t, const char *data, size_t size) {
	number(t, (uint32_t)size);
	append(t, data, size);
}

static struct text in, out;
static size_t at;

static bool all(int file, char *data, size_t size, bool writing) {
	while (size) {
		ssize_t n = writing ? write(file, data, size) : read(file, data, size);
		if (n <= 0) return false;
		data += n;
		size -= (size_t)n;
	}
	return true;
}

static bool receive(void) {
	uint32_t size;
	if (!all(0, (char *)&size, sizeof size, false)) return false;
	if (in.room < size) {
		in.room = size + 64;
		in.data = realloc(in.data, in.room);
		if (!in.data) die("out of memory");
	}
	in.size = size;
	at = 0;
	return all(0, in.data, size, false);
}

static void answer(void) {
	uint32_t size = (uint32_t)out.size;
	if (!all(1, (char *)&size, sizeof size, true) || !all(1, out.data, out.size, true)) exit(0);
	out.size = 0;
}

static uint32_t take_number(void) {
	uint32_t n;
	if (at + sizeof n > in.size) die("a short message");
	memcpy(&n, in.data + at, sizeof n);
	at += sizeof n;
	return n;
}

static struct buffer take(void) {
	uint32_t size = take_number();
	if (at + size > in.size) die("a short message");
	struct buffer b = {in.data + at, size};
	at += size;
	return b;
}

// ---- what the module may look at

// Lent pages are made unreadable when what they show may have changed.
static struct {
	char *data;
	size_t size;
} lent[256];
static int lents;
static bool relaxed; // long runs leave the pages readable, but overwrite them

static void expire(void) {
	for (int i = 0; i < lents; i++) {
		if (relaxed) {
			memset(lent[i].data, 0xdd, lent[i].size);
			free(lent[i].data);
		} else {
			mprotect(lent[i].data, lent[i].size, PROT_NONE);
		}
	}
	// A freed address could be lent again, so unreadable pages stay for a while.
	static struct {
		char *data;
		size_t size;
	} old[4096];
	static int next;
	for (int i = 0; i < lents && !relaxed; i++) {
		if (old[next].data) munmap(old[next].data, old[next].size);
		old[next].data = lent[i].data;
		old[next].size = lent[i].size;
		next = (next + 1) % 4096;
	}
	lents = 0;
}

static char *lend(size_t size) {
	if (lents == 256) die("too much lent in one hook");
	if (!size) size = 1;
	char *data;
	if (relaxed) {
		data = malloc(size);
	} else {
		size = (size + 4095) & ~(size_t)4095;
		data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (data == MAP_FAILED) data = NULL;
	}
	if (!data) die("out of memory");
	lent[lents].data = data;
	lent[lents++].size = size;
	return data;
}

static struct buffer show(const char *text, size_t size) {
	char *data = lend(size);
	if (size) memcpy(data, text, size); // an empty text may have no address
	return (struct buffer){data, size};
}

// ---- streams

struct line {
	struct text name, value;
};

struct map {
	struct line *lines;
	size_t count;
	bool there;
};

struct stream {
	uint32_t id;
	const void *module;
	struct map maps[4];
	struct text route, cluster, policies, backend, within, details, upstream, pin, state, states, answer;
	bool has_upstream, strict, has_state, rerouted;
	uint32_t attempts;
	uint32_t answered; // by the module, with that status and those details
	struct stream *next;
};

static struct stream *streams;

static void clear(struct map *m) {
	for (size_t i = 0; i < m->count; i++) {
		free(m->lines[i].name.data);
		free(m->lines[i].value.data);
	}
	free(m->lines);
	*m = (struct map){0};
}

static void map_add(struct map *m, struct buffer name, struct buffer value) {
	m->lines = realloc(m->lines, (m->count + 1) * sizeof *m->lines);
	if (!m->lines) die("out of memory");
	m->lines[m->count].name = copy(name.data, name.size);
	m->lines[m->count++].value = copy(value.data, value.size);
}

static bool named(struct line *l, struct buffer name) {
	return l->name.size == name.size && !memcmp(l->name.data, name.data, name.size);
}

static void map_remove(struct map *m, struct buffer name) {
	size_t kept = 0;
	for (size_t i = 0; i < m->count; i++) {
		if (named(&m->lines[i], name)) {
			free(m->lines[i].name.data);
			free(m->lines[i].value.data);
		} else {
			m->lines[kept++] = m->lines[i];
		}
	}
	m->count = kept;
}

static void take_map(struct map *m) {
	clear(m);
	m->there = true;
	for (uint32_t n = take_number(); n; n--) {
		struct buffer name = take();
		map_add(m, name, take());
	}
}

static void give_map(struct map *m) {
	number(&out, (uint32_t)m->count);
	for (size_t i = 0; i < m->count; i++) {
		string(&out, m->lines[i].name.data, m->lines[i].name.size);
		string(&out, m->lines[i].value.data, m->lines[i].value.size);
	}
}

// ---- what Envoy offers

static struct text logged;

void CALLBACK(log)(int level, struct buffer message) {
	if (level < 0 || level > 5) die("a log level that Envoy does not have");
	append(&logged, message.data, message.size);
	append(&logged, "\n", 1);
}

static uint32_t workers = 1, worker;
uint32_t CALLBACK(get_concurrency)(void) { return workers; }
uint32_t CALLBACK(http_filter_get_worker_index)(void *filter) { return worker; }

bool CALLBACK(http_filter_get_attribute_string)(void *filter, int attribute, struct buffer *result) {
	struct stream *s = filter;
	struct text *t = NULL;
	switch (attribute) {
	case XDS_ROUTE_NAME: t = &s->route; break;
	case RESPONSE_CODE_DETAILS: t = &s->details; break;
	case UPSTREAM_ADDRESS: t = s->has_upstream ? &s->upstream : NULL; break;
	default: die("an attribute that the module should not need");
	}
	if (!t || !t->size) return false;
	*result = show(t->data, t->size);
	return true;
}

static bool is(struct buffer b, const char *text) { return b.size == strlen(text) && !memcmp(b.data, text, b.size); }
bool CALLBACK(http_filter_get_attribute_int)(void *filter, int attribute, uint64_t *result) {
	if (attribute != UPSTREAM_REQUEST_ATTEMPT_COUNT) die("a number that the module should not need");
	*result = ((struct stream *)filter)->attempts;
	return true;
}

bool CALLBACK(http_get_metadata_string)(void *filter, int source, struct buffer name, struct buffer key, struct buffer *result) {
	struct stream *s = filter;
	struct text *t = NULL;
	if (source == METADATA_ROUTE && is(name, "limpet") && is(key, "policies")) t = &s->policies;
	if (source == METADATA_HOST && is(name, "limpet") && is(key, "limpet.backend")) t = &s->backend;
	if (!t) die("metadata that the module should not need");
	if (!t->size) return false;
	*result = show(t->data, t->size);
	return true;
}

void CALLBACK(http_set_dynamic_metadata_string)(void *filter, struct buffer name, struct buffer key, struct buffer value) {
	struct stream *s = filter;
	if (!is(name, "envoy.lb") || !is(key, "limpet.backend")) die("metadata that the module should not set");
	s->within.size = 0;
	append(&s->within, value.data, value.size);
}

void CALLBACK(http_clear_route_cache)(void *filter) { ((struct stream *)filter)->rerouted = true; }

void CALLBACK(http_send_response)(void *filter, uint32_t status, struct header *headers, size_t count, struct buffer body, struct buffer details) {
	struct stream *s = filter;
	(void)headers;
	if (count || body.size) die("an answer with more than a status");
	s->answered = status;
	append(&s->answer, details.data, details.size);
}

bool CALLBACK(http_get_cluster_name)(void *filter, struct buffer *result) {
	struct stream *s = filter;
	*result = show(s->cluster.data, s->cluster.size);
	return true;
}

static struct map *map_of(void *filter, int type) {
	struct stream *s = filter;
	if (type != REQUEST_HEADERS && type != RESPONSE_HEADERS) die("a header map that Envoy does not have");
	return &s->maps[type];
}

size_t CALLBACK(http_get_headers_size)(void *filter, int type) { return map_of(filter, type)->count; }

bool CALLBACK(http_get_headers)(void *filter, int type, struct header *result) {
	struct map *m = map_of(filter, type);
	if (!m->there) return false;
	size_t size = 0;
	for (size_t i = 0; i < m->count; i++) size += m->lines[i].name.size + m->lines[i].value.size;
	char *data = lend(size);
	for (size_t i = 0; i < m->count; i++) {
		struct line *l = &m->lines[i];
		if (l->name.size) memcpy(data, l->name.data, l->name.size);
		result[i].name = (struct buffer){data, l->name.size};
		data += l->name.size;
		if (l->value.size) memcpy(data, l->value.data, l->value.size);
		result[i].value = (struct buffer){data, l->value.size};
		data += l->value.size;
	}
	return true;
}

bool CALLBACK(http_set_header)(void *filter, int type, struct buffer name, struct buffer value) {
	struct map *m = map_of(filter, type);
	if (!m->there) return false;
	struct text n = copy(name.data, name.size), v = copy(value.data, value.size);
	expire();
	map_remove(m, (struct buffer){n.data, n.size});
	if (v.size) map_add(m, (struct buffer){n.data, n.size}, (struct buffer){v.data, v.size});
	free(n.data);
	free(v.data);
	return true;
}

bool CALLBACK(http_add_header)(void *filter, int type, struct buffer name, struct buffer value) {
	struct map *m = map_of(filter, type);
	if (!m->there || !value.size) return false;
	struct text n = copy(name.data, name.size), v = copy(value.data, value.size);
	expire();
	map_add(m, (struct buffer){n.data, n.size}, (struct buffer){v.data, v.size});
	free(n.data);
	free(v.data);
	return true;
}

bool CALLBACK(http_set_upstream_override_host)(void *filter, struct buffer host, bool strict) {
	struct stream *s = filter;
	s->pin.size = 0;
	append(&s->pin, host.data, host.size);
	s->strict = strict;
	return true;
}

bool CALLBACK(http_set_filter_state_bytes)(void *filter, struct buffer key, struct buffer value) {
	struct stream *s = filter;
	if (key.size < 6 || memcmp(key.data, "limpet", 6)) die("an unknown filter state");
	if (key.size > 6) { // lines of NAME=VALUE, the last of a name counts
		append(&s->states, key.data, key.size);
		append(&s->states, "=", 1);
		append(&s->states, value.data, value.size);
		append(&s->states, "\n", 1);
		return true;
	}
	s->state.size = 0;
	append(&s->state, value.data, value.size);
	s->has_state = true;
	return true;
}

// Metrics are never forgotten; a test's host has few.
struct metric {
	struct text name, label; // the last of its labels, where it has any
	uint64_t value;
	bool used;
};
static struct metric *metrics;
static size_t metric_count;

static size_t metric_named(const char *data, size_t size) {
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].name.size == size && !memcmp(metrics[i].name.data, data, size)) return i;
	metrics = realloc(metrics, (metric_count + 1) * sizeof *metrics);
	if (!metrics) die("out of memory");
	metrics[metric_count] = (struct metric){.name = copy(data, size)};
	return metric_count++;
}

int CALLBACK(http_filter_config_define_counter)(void *config, struct buffer name, struct buffer *labels, size_t count, size_t *id) {
	*id = metric_named(name.data, name.size);
	if (count == 2 && !metrics[*id].label.data) metrics[*id].label = copy(labels[1].data, labels[1].size);
	return METRICS_SUCCESS;
}

int CALLBACK(http_filter_config_define_gauge)(void *config, struct buffer name, struct buffer *labels, size_t count, size_t *id) {
	*id = metric_named(name.data, name.size);
	return METRICS_SUCCESS;
}

int CALLBACK(http_filter_config_increment_counter)(void *config, size_t id, struct buffer *values, size_t count, uint64_t by) {
	(void)config;
	return CALLBACK(http_filter_increment_counter)(NULL, id, values, count, by);
}

int CALLBACK(http_filter_increment_counter)(void *filter, size_t id, struct buffer *values, size_t count, uint64_t by) {
	if (count == 2) { // as Envoy names what has labels
		struct text name = copy(metrics[id].name.data, metrics[id].name.size);
		append(&name, ".policy.", 8);
		append(&name, values[0].data, values[0].size);
		append(&name, ".", 1);
		append(&name, metrics[id].label.data, metrics[id].label.size);
		append(&name, ".", 1);
		append(&name, values[1].data, values[1].size);
		id = metric_named(name.data, name.size);
		free(name.data);
	}
	if (id >= metric_count) die("an unknown counter");
	metrics[id].value += by;
	metrics[id].used = true;
	return METRICS_SUCCESS;
}

int CALLBACK(http_filter_config_set_gauge)(void *config, size_t id, struct buffer *values, size_t count, uint64_t value) {
	(void)config;
	return CALLBACK(http_filter_set_gauge)(NULL, id, values, count, value);
}

int CALLBACK(http_filter_set_gauge)(void *filter, size_t id, struct buffer *values, size_t count, uint64_t value) {
	if (id >= metric_count) die("an unknown gauge");
	metrics[id].value = value;
	metrics[id].used = true;
	return METRICS_SUCCESS;
}

// ---- the system, as the test wants it

static int64_t clock_now = 1800000000;

int clock_gettime(clockid_t id, struct timespec *now) {
	*now = (struct timespec){.tv_sec = clock_now};
	return 0;
}

// Random bytes are the same in every run, and never the same twice in one.
ssize_t getrandom(void *data, size_t size, unsigned flags) {
	static uint64_t state = 0x9e3779b97f4a7c15;
	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		((char *)data)[i] = (char)(state >> 32);
	}
	return (ssize_t)size;
}

// ---- the module

static struct {
	const char *(*init)(void);
	const void *(*config_new)(void *, struct buffer, struct buffer);
	void (*config_destroy)(const void *);
	const void *(*filter_new)(const void *, void *);
	void (*stream_complete)(void *, const void *);
	void (*filter_destroy)(const void *);
	int (*request)(void *, const void *, bool);
	int (*response)(void *, const void *, bool);
} module;

static void *hook(void *library, const char *name) {
	char symbol[128];
	snprintf(symbol, sizeof symbol, "envoy_dynamic_module_on_%s", name);
	void *found = dlsym(library, symbol);
	if (!found) die(dlerror());
	return found;
}

static void load(const char *path) {
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) die(dlerror());
	module.init = hook(library, "program_init");
	module.config_new = hook(library, "http_filter_config_new");
	module.config_destroy = hook(library, "http_filter_config_destroy");
	module.filter_new = hook(library, "http_filter_new");
	module.stream_complete = hook(library, "http_filter_stream_complete");
	module.filter_destroy = hook(library, "http_filter_destroy");
	module.request = hook(library, "http_filter_request_headers");
	module.response = hook(library, "http_filter_response_headers");
	if (strcmp(module.init(), ABI_VERSION)) die("another ABI version");
}

static const void *config;

// configure takes (text, count of variables, names and values...) and loads that in place of the configuration before.
static void configure(void) {
	struct buffer text = take();
	for (uint32_t n = take_number(); n; n--) {
		struct buffer name = take(), value = take();
		char *n0 = strndup(name.data, name.size), *v0 = strndup(value.data, value.size);
		setenv(n0, v0, 1);
		free(n0);
		free(v0);
	}
	logged.size = 0;
	struct buffer name = {"limpet", 6};
	struct buffer shown = show(text.data, text.size);
	const void *next = module.config_new(&workers, name, shown);
	expire();
	if (next) {
		if (config) module.config_destroy(config);
		config = next;
	}
	number(&out, next != NULL);
	string(&out, logged.data, logged.size);
}

// What the metadata of the next requests' route has.
static struct text policies;

static void set_policies(void) {
	struct buffer text = take();
	policies.size = 0;
	append(&policies, text.data, text.size);
}

static struct stream *begin(uint32_t id, struct buffer route, struct buffer cluster) {
	struct stream *s = calloc(1, sizeof *s);
	if (!s) die("out of memory");
	s->id = id;
	s->route = copy(route.data, route.size);
	s->cluster = copy(cluster.data, cluster.size);
	append(&s->policies, policies.data, policies.size);
	s->module = module.filter_new(config, s);
	s->next = streams;
	streams = s;
	return s;
}

static struct stream *find(uint32_t id) {
	for (struct stream *s = streams; s; s = s->next)
		if (s->id == id) return s;
	die("an unknown stream");
	return NULL;
}

static void end(struct stream *s) {
	module.stream_complete(s, s->module);
	module.filter_destroy(s->module);
	struct stream **p = &streams;
	while (*p != s) p = &(*p)->next;
	*p = s->next;
	for (int i = 0; i < 4; i++) clear(&s->maps[i]);
	free(s->route.data);
	free(s->cluster.data);
	free(s->policies.data);
	free(s->backend.data);
	free(s->within.data);
	free(s->answer.data);
	free(s->details.data);
	free(s->upstream.data);
	free(s->pin.data);
	free(s->state.data);
	free(s->states.data);
	free(s);
}

static void run_request(struct stream *s) {
	if ((module.request(s, s->module, true) == HEADERS_STOP_ITERATION) != (s->answered != 0))
		die("the module stopped a request without an answer, or answered without that");
	expire();
}

static void run_response(struct stream *s, bool headers_only) {
	if (module.response(s, s->module, headers_only)) die("the module stopped a response");
	expire();
}

// request takes (stream, route, cluster, headers) and gives (headers, pinned host, strict, the module's answer and its details,
// the backend that the load balancer is told, whether the route is chosen anew).
static void request(void) {
	uint32_t id = take_number();
	struct buffer route = take();
	struct stream *s = begin(id, route, take());
	take_map(&s->maps[REQUEST_HEADERS]);
	run_request(s);
	give_map(&s->maps[REQUEST_HEADERS]);
	string(&out, s->pin.data, s->pin.size);
	number(&out, s->strict);
	number(&out, s->answered);
	string(&out, s->answer.data, s->answer.size);
	string(&out, s->within.data, s->within.size);
	number(&out, s->rerouted);
}

// response takes (stream, cluster, details, upstream, whether there is one, its backend, headers only, attempts, headers) and gives
// (headers, whether there is a filter state for logs, that, all other filter state).
static void response(void) {
	struct stream *s = find(take_number());
	struct buffer cluster = take();
	s->cluster.size = 0;
	append(&s->cluster, cluster.data, cluster.size);
	struct buffer details = take(), upstream = take();
	s->details.size = s->upstream.size = 0;
	append(&s->details, details.data, details.size);
	append(&s->upstream, upstream.data, upstream.size);
	s->has_upstream = take_number();
	struct buffer backend = take();
	s->backend.size = 0;
	append(&s->backend, backend.data, backend.size);
	bool headers_only = take_number();
	s->attempts = take_number();
	take_map(&s->maps[RESPONSE_HEADERS]);
	run_response(s, headers_only);
	give_map(&s->maps[RESPONSE_HEADERS]);
	number(&out, s->has_state);
	string(&out, s->state.data, s->state.size);
	string(&out, s->states.data, s->states.size);
}

static void give_metrics(void) {
	uint32_t count = 0;
	for (size_t i = 0; i < metric_count; i++) count += metrics[i].used;
	number(&out, count);
	for (size_t i = 0; i < metric_count; i++) {
		if (!metrics[i].used) continue;
		string(&out, metrics[i].name.data, metrics[i].name.size);
		char text[32];
		int size = snprintf(text, sizeof text, "%llu", (unsigned long long)metrics[i].value);
		string(&out, text, (size_t)size);
	}
}

static size_t held(void) {
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

static void give_size(size_t size) {
	char text[32];
	string(&out, text, (size_t)snprintf(text, sizeof text, "%zu", size));
}

// repeat takes (times, route, upstream, count of cookies, cookies...): so many requests with the cookies in turn, and responses
// of that upstream. It gives how many were pinned, and how many bytes were in use after a tenth of them and at the end.
static void repeat(void) {
	uint32_t times = take_number(), pinned = 0;
	struct buffer route = take(), upstream = take(), cluster = {"c", 1}, via = {"via_upstream", 12};
	uint32_t count = take_number();
	struct buffer *cookies = calloc(count, sizeof *cookies);
	for (uint32_t i = 0; i < count; i++) cookies[i] = take();
	size_t warm = 0;
	relaxed = true;
	for (uint32_t i = 0; i < times; i++) {
		if (i == times / 10) warm = held();
		struct stream *s = begin(i, route, cluster);
		s->maps[REQUEST_HEADERS].there = s->maps[RESPONSE_HEADERS].there = true;
		map_add(&s->maps[REQUEST_HEADERS], (struct buffer){":method", 7}, (struct buffer){"GET", 3});
		if (cookies[i % count].size) map_add(&s->maps[REQUEST_HEADERS], (struct buffer){"cookie", 6}, cookies[i % count]);
		run_request(s);
		pinned += s->pin.size != 0;
		append(&s->upstream, upstream.data, upstream.size);
		append(&s->details, via.data, via.size);
		s->has_upstream = true;
		map_add(&s->maps[RESPONSE_HEADERS], (struct buffer){":status", 7}, (struct buffer){"200", 3});
		run_response(s, false);
		end(s);
	}
	relaxed = false;
	free(cookies);
	number(&out, pinned);
	give_size(warm);
	give_size(held());
}

// set_clock takes a time in seconds, as digits.
static void set_clock(void) {
	char text[32];
	snprintf(text, sizeof text, "%.*s", (int)(in.size - at), in.data + at);
	clock_now = strtoll(text, NULL, 10);
}

int main(int count, char **arguments) {
	if (count != 2) die("usage: host MODULE");
	append(&out, NULL, 0);
	load(arguments[1]);
	while (receive()) {
		if (!in.size) die("an empty message");
		switch (in.data[at++]) {
		case 'c': configure(); break;
		case 't': set_clock(); break;
		case 'q': request(); break;
		case 'r': response(); break;
		case 'p': set_policies(); break;
		case 'e': end(find(take_number())); break;
		case 'm': give_metrics(); break;
		case 'n': repeat(); break;
		default: die("an unknown message");
		}
		answer();
	}
	while (streams) end(streams);
	if (config) module.config_destroy(config);
	return 0;
}
