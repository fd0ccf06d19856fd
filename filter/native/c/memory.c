#include "memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, CHUNK = 64 << 10, OWN_CHUNK = 2 << 10 };

// The address sanitizer's build knows what of a chunk is allocated. TinyGo's code is not instrumented, but copies and fills
// memory through the C library, where the sanitizer looks.
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define CLOSE(memory, size) __asan_poison_memory_region(memory, size)
#define OPEN(memory, size) __asan_unpoison_memory_region(memory, size)
enum { GAP = ALIGNMENT }; // between two allocations
#else
#define CLOSE(memory, size) (void)0
#define OPEN(memory, size) (void)0
enum { GAP = 0 };
#endif

// A chunk begins with this; allocations follow.
struct chunk {
	struct chunk *before;
	size_t size;
};

_Static_assert(sizeof(struct chunk) % ALIGNMENT == 0, "allocations must be aligned");

static atomic_size_t total;

// What the thread allocates from.
static _Thread_local struct arena *current, *lasting, *resting;
static _Thread_local struct arena own;

void *memory_take(size_t size) {
	void *memory = calloc(1, size);
	if (!memory) abort();
	atomic_fetch_add_explicit(&total, size, memory_order_relaxed);
	return memory;
}

// POISON builds fill what is given back, so that whoever still uses it goes wrong at once.
void memory_give(void *memory, size_t size) {
#ifdef POISON
	memset(memory, 0xdb, size);
#endif
	atomic_fetch_sub_explicit(&total, size, memory_order_relaxed);
	free(memory);
}

size_t memory_total(void) { return atomic_load_explicit(&total, memory_order_relaxed); }

static void grow(struct arena *arena, size_t size) {
	if (size > SIZE_MAX / 2) abort();
	size_t whole = size + sizeof(struct chunk) + GAP;
	size_t least = arena->least ? arena->least : CHUNK;
	if (whole < least) whole = least;
	struct chunk *chunk = memory_take(whole);
	chunk->before = arena->last;
	chunk->size = whole;
	arena->last = chunk;
	arena->next = (char *)(chunk + 1);
	arena->end = (char *)chunk + whole;
	CLOSE(arena->next, whole - sizeof *chunk);
}

static void free_until(struct arena *arena, struct chunk *kept) {
	while (arena->last != kept) {
		struct chunk *chunk = arena->last;
		arena->last = chunk->before;
		OPEN(chunk, chunk->size);
		memory_give(chunk, chunk->size);
	}
}

// Memory that is given back by itself, in the list of the lasting arena that was used.
struct owned {
	struct arena arena;
	struct owned *next, **link;
};

void memory_free(struct arena *arena) {
	while (arena->owned) limpet_give(arena->owned);
	free_until(arena, NULL);
	arena->next = arena->end = NULL;
}

void *limpet_own(void) {
	if (!lasting) abort();
	struct owned *own = memory_take(sizeof *own);
	own->arena.least = OWN_CHUNK;
	own->next = lasting->owned;
	if (own->next) own->next->link = &own->next;
	own->link = &lasting->owned;
	lasting->owned = own;
	current = &own->arena;
	return own;
}

void limpet_give(void *memory) {
	struct owned *own = memory;
	*own->link = own->next;
	if (own->next) own->next->link = own->link;
	memory_free(&own->arena);
	memory_give(own, sizeof *own);
}

void memory_use(struct arena *arena, struct arena *lasts) {
	current = resting = arena;
	lasting = lasts;
}

// The first chunk of a thread's arena stays; it was sized for nearly every request.
static void empty(struct arena *arena) {
	if (!arena->last) return;
	struct chunk *first = arena->last;
	while (first->before) first = first->before;
	free_until(arena, first);
	char *start = (char *)(first + 1);
#ifdef POISON
	memset(start, 0xdb, first->size - sizeof *first);
#endif
	CLOSE(start, first->size - sizeof *first);
	arena->next = start;
	arena->end = (char *)first + first->size;
}

void memory_begin(struct arena *lasts) {
	empty(&own);
	memory_use(&own, lasts);
}

void limpet_lasting(uint32_t on) { current = on ? lasting : resting; }

// limpet_allocate is TinyGo's runtime.alloc: zeroed memory.
void *limpet_allocate(size_t size) {
	static char nothing;
	struct arena *arena = current;
	if (size == 0) return &nothing;
	if (!arena || size > SIZE_MAX / 2) abort();
	size_t asked = size;
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (size + GAP > (size_t)(arena->end - arena->next)) grow(arena, size);
	void *memory = arena->next;
	arena->next += size + GAP;
	OPEN(memory, asked);
	return memset(memory, 0, asked);
}
