// The module's memory. TinyGo's code allocates and never frees, so it allocates from arenas, which are freed as a whole: one
// for what a package's initialisers make, one for each configuration, one for each engine, and one for each thread, which
// is emptied whenever a hook begins.
#pragma once

#include <stddef.h>

struct chunk;
struct owned;

struct arena {
	char *next, *end;
	struct chunk *last;
	size_t least; // of a chunk; 0 is the usual
	struct owned *owned; // by limpet_own, and freed with it
};

// memory_use has this thread allocate from the arena, and from the lasting one between limpet_lasting(1) and
// limpet_lasting(0). Without an arena an allocation ends the process.
void memory_use(struct arena *arena, struct arena *lasting);

// memory_begin empties this thread's own arena and uses it.
void memory_begin(struct arena *lasting);

// memory_free gives back all that was allocated from an arena, and leaves it ready for use.
void memory_free(struct arena *arena);

// limpet_own has this thread allocate from memory of its own until limpet_lasting(0), and limpet_give gives that back. What is
// not given back by itself is with the lasting arena.
void *limpet_own(void);
void limpet_give(void *memory);

// memory_take and memory_give are for the C parts: zeroed memory that counts.
void *memory_take(size_t size);
void memory_give(void *memory, size_t size);

// memory_total is how many bytes the module holds, in all threads.
size_t memory_total(void);
