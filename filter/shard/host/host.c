// Envoy's side of what limpet-shard.so needs, for tests. It is given the module and a site's name, reads hosts, a line each, and prints the
// header that the module writes. What the module may read of a request ends where memory does: the host is in a block of its own.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/c/abi.h"

static struct buffer authority;
static bool has_authority;
static char written[1024];

__attribute__((visibility("default"))) bool CALLBACK(early_header_mutation_get_header_value)(
	void *request, struct buffer name, struct buffer *value, size_t index, size_t *count) {
	*count = has_authority;
	if (!has_authority || name.size != 10 || memcmp(name.data, ":authority", 10) != 0)
		return false;
	*value = authority;
	return true;
}

__attribute__((visibility("default"))) bool CALLBACK(early_header_mutation_set_header)(void *request, struct buffer name, struct buffer value) {
	snprintf(written, sizeof written, "%.*s: %.*s", (int)name.size, name.data, (int)value.size, value.data);
	return true;
}

int main(int argc, char **argv) {
	void *module = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (argc != 3 || module == NULL) {
		fprintf(stderr, "%s\n", argc == 3 ? dlerror() : "usage: host MODULE SITE");
		return 2;
	}
	const char *(*init)(void) = dlsym(module, "envoy_dynamic_module_on_program_init");
	const void *(*make)(void *, struct buffer, struct buffer) = dlsym(module, "envoy_dynamic_module_on_early_header_mutation_config_new");
	void (*destroy)(const void *) = dlsym(module, "envoy_dynamic_module_on_early_header_mutation_config_destroy");
	bool (*mutate)(const void *, void *) = dlsym(module, "envoy_dynamic_module_on_early_header_mutation_mutate");
	if (!init || !make || !destroy || !mutate || strcmp(init(), ABI_VERSION) != 0) {
		fprintf(stderr, "a hook is missing, or the ABI is another\n");
		return 2;
	}
	char *text = strdup(argv[2]);
	const void *site = make(NULL, (struct buffer){"shard", 5}, (struct buffer){text, strlen(text)});
	memset(text, '?', strlen(text)); // Envoy's text is gone once the hook ends
	free(text);
	if (site == NULL) {
		printf("refused\n");
		return 0;
	}
	char *line = NULL;
	size_t room = 0;
	for (ssize_t size; (size = getline(&line, &room, stdin)) >= 0;) {
		if (size > 0 && line[size - 1] == '\n')
			size--;
		has_authority = size != 1 || line[0] != '-'; // a line "-" is a request without a host
		char *own = malloc(size + !size);
		memcpy(own, line, size);
		authority = (struct buffer){own, size};
		written[0] = 0;
		if (!mutate(site, own))
			printf("stopped ");
		printf("%s\n", written);
		free(own);
	}
	free(line);
	destroy(site);
	return 0;
}
