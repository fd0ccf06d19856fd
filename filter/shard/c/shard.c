// A dynamic module for Envoy's early header mutation (ABI v0.2.0). It writes a header with the name of its site, which is its configuration,
// and the shard of the request's host: two hexadecimal digits of a hash. Hosts that Envoy takes for the same have the same shard, and
// nothing is looked up. A client's own header of that name is replaced.
#include "../../native/c/abi.h"

// Of Envoy's C library, whichever that is: without its headers and its file the module is built for any architecture on any machine.
void *malloc(size_t size);
void free(void *memory);
void *memcpy(void *to, const void *from, size_t size);

bool CALLBACK(early_header_mutation_get_header_value)(void *request, struct buffer name, struct buffer *value, size_t index, size_t *count);
bool CALLBACK(early_header_mutation_set_header)(void *request, struct buffer name, struct buffer value);

#define TEXT(literal) ((struct buffer){literal, sizeof literal - 1})
#define MOST_SITE 512 // bytes

struct site {
	size_t size;
	char name[MOST_SITE];
};

const char *ON(program_init)(void) { return ABI_VERSION; }

// A configuration that is too long, or none, is refused, and so is the listener.
const void *ON(early_header_mutation_config_new)(void *envoy, struct buffer name, struct buffer config) {
	if (config.size == 0 || config.size > MOST_SITE)
		return NULL;
	struct site *site = malloc(sizeof *site);
	if (site == NULL)
		return NULL;
	site->size = config.size;
	memcpy(site->name, config.data, config.size);
	return site;
}

void ON(early_header_mutation_config_destroy)(const void *site) { free((void *)site); }

static unsigned char lower(unsigned char c) { return c >= 'A' && c <= 'Z' ? c | 0x20 : c; }

// without_port gives the size of a host without the port that Envoy leaves out: from the last colon on, unless that is in an IPv6 address.
static size_t without_port(struct buffer host) {
	for (size_t i = host.size; i > 0; i--) {
		if (host.data[i - 1] == ']')
			break;
		if (host.data[i - 1] == ':')
			return i - 1;
	}
	return host.size;
}

// shard_of is FNV-1a, folded.
static unsigned char shard_of(struct buffer host) {
	uint32_t hash = 2166136261u;
	for (size_t i = 0, end = without_port(host); i < end; i++)
		hash = (hash ^ lower((unsigned char)host.data[i])) * 16777619u;
	return (unsigned char)(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24);
}

bool ON(early_header_mutation_mutate)(const void *config, void *request) {
	static const char digits[] = "0123456789abcdef";
	const struct site *site = config;
	struct buffer host = {NULL, 0};
	size_t count = 0;
	if (!CALLBACK(early_header_mutation_get_header_value)(request, TEXT(":authority"), &host, 0, &count))
		host.size = 0;
	unsigned char shard = shard_of(host);
	char value[MOST_SITE + 3];
	memcpy(value, site->name, site->size);
	value[site->size] = '#';
	value[site->size + 1] = digits[shard >> 4];
	value[site->size + 2] = digits[shard & 15];
	CALLBACK(early_header_mutation_set_header)(request, TEXT("x-limpet-shard"), (struct buffer){value, site->size + 3});
	return true;
}
