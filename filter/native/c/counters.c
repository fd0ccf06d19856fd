// The labelled counters that requests have used, of all configurations. Envoy forgets such a counter with the configuration that it
// was counted for, unless a new one has counted by then; and a module can't define one ahead. So a new configuration adds 0 to
// each of them, before the old one goes.
#include "module.h"

#include <stdatomic.h>
#include <string.h>

// What is remembered is never given back, so there is a bound; counters beyond it begin anew with a new configuration.
enum { MOST = 20000, SLOTS = 4096 };

struct remembered {
	struct remembered *next;
	enum family family;
	struct buffer values[2]; // policy, and outcome or cause; the bytes follow
};

static _Atomic(struct remembered *) slots[SLOTS];
static atomic_uint count;

static uint32_t slot_of(enum family family, const struct buffer *values) {
	uint32_t hash = 2166136261u ^ family;
	for (int v = 0; v < 2; v++)
		for (size_t i = 0; i < values[v].size; i++) hash = (hash ^ (unsigned char)values[v].data[i]) * 16777619u;
	return (hash ^ hash >> 16) % SLOTS;
}

static bool same(struct buffer a, struct buffer b) { return a.size == b.size && !memcmp(a.data, b.data, a.size); }

static bool is_known(const struct remembered *r, enum family family, const struct buffer *values) {
	for (; r; r = r->next)
		if (r->family == family && same(r->values[0], values[0]) && same(r->values[1], values[1])) return true;
	return false;
}

static struct remembered *copy(enum family family, const struct buffer *values) {
	struct remembered *r = memory_take(sizeof *r + values[0].size + values[1].size);
	char *bytes = (char *)(r + 1);
	r->family = family;
	for (int v = 0; v < 2; v++) {
		memcpy(bytes, values[v].data, values[v].size);
		r->values[v] = (struct buffer){bytes, values[v].size};
		bytes += values[v].size;
	}
	return r;
}

// limpet_remember remembers a policy's counter of an outcome, or of a warning's cause. Workers come here together: one that finds another's new entry looks
// again, and what two have remembered at the same time is there once.
void limpet_remember(enum family family, const char *policy, size_t size, const char *value, size_t value_size) {
	struct buffer values[] = {{policy, size}, {value, value_size}};
	_Atomic(struct remembered *) *slot = &slots[slot_of(family, values)];
	struct remembered *head = atomic_load(slot), *fresh = NULL;
	while (!is_known(head, family, values)) {
		if (!fresh) {
			if (atomic_fetch_add(&count, 1) >= MOST) {
				atomic_fetch_sub(&count, 1);
				return;
			}
			fresh = copy(family, values);
		}
		fresh->next = head;
		if (atomic_compare_exchange_strong(slot, &head, fresh)) return;
	}
	if (fresh) {
		memory_give(fresh, sizeof *fresh + size + value_size);
		atomic_fetch_sub(&count, 1);
	}
}

// counters_keep has a new configuration count 0 of all of a family. Envoy 1.38 has no function for that.
void counters_keep(enum family family, void *config, size_t id) {
	if (id == NO_METRIC || !CALLBACK(http_filter_config_increment_counter)) return;
	for (int i = 0; i < SLOTS; i++)
		for (struct remembered *r = atomic_load(&slots[i]); r; r = r->next)
			if (r->family == family) CALLBACK(http_filter_config_increment_counter)(config, id, r->values, 2, 0);
}
