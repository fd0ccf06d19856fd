// The module's memory. TinyGo's code allocates and never frees, so it allocates from arenas, which are freed as a whole: one
// for what a package's initialisers make, one for each configuration, one for each engine, and one for each thread, which
// is emptied whenever a hook begins.
#pragma once

#include <stddef.h>

struct chunk;

struct arena {
	char *next, *end;
	struct chunk *last;
};

// memory_use has this thread allocate from the arena, and from the lasting one between limpet_lasting(1) and
// limpet_lasting(0). Without an arena an allocation ends the process.
void memory_use(struct arena *arena, struct arena *lasting);

// memory_begin empties this thread's own arena and uses it.
void memory_begin(struct arena *lasting);

// memory_free gives back all that was allocated from an arena, and leaves it ready for use.
void memory_free(struct arena *arena);

// memory_take and memory_give are for the C parts: zeroed memory that counts.
void *memory_take(size_t size);
void memory_give(void *memory, size_t size);

// memory_total is how many bytes the module holds, in all threads.
size_t memory_total(void);
