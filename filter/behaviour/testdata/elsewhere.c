// Preloaded into Envoy (LD_PRELOAD), this gives it the hosts and the clock of a test: whatever address it connects to, it
// reaches the test's one backend on 127.0.0.1, whose first line then says which address was meant; and its wall clock
// shows the seconds in a file, behind which is 1 and the IPv4 address of a host that takes no connections. Its monotonic clock, by
// which it counts timeouts, stays as it is.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *clock_file;
static int backend;

__attribute__((constructor)) static void begin(void) {
	const char *path = getenv("LIMPET_TEST_CLOCK"), *port = getenv("LIMPET_TEST_BACKEND");
	if (!path || !port) return;
	backend = atoi(port);
	int file = open(path, O_RDONLY);
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
	if (page != MAP_FAILED) clock_file = page;
	close(file);
}

int clock_gettime(clockid_t id, struct timespec *now) {
	int failed = (int)syscall(SYS_clock_gettime, id, now);
	if (clock_file && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec = *clock_file;
	return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
	struct timespec exact;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &exact);
	now->tv_sec = exact.tv_sec;
	now->tv_usec = exact.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *seconds) {
	struct timespec exact;
	clock_gettime(CLOCK_REALTIME, &exact);
	if (seconds) *seconds = exact.tv_sec;
	return exact.tv_sec;
}

static int real_connect(int s, const struct sockaddr *to, socklen_t size) {
	return (int)syscall(SYS_connect, s, to, size);
}

// go connects s to the backend and says which address was meant.
static int go(int s, int family, const char *meant) {
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(backend), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(backend)};
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &six.sin6_addr);
	int flags = fcntl(s, F_GETFL), off = 0;
	if (family == AF_INET6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	fcntl(s, F_SETFL, flags & ~O_NONBLOCK);
	int failed = family == AF_INET ? real_connect(s, (struct sockaddr *)&four, sizeof four) : real_connect(s, (struct sockaddr *)&six, sizeof six);
	if (!failed && write(s, meant, strlen(meant)) < 0) failed = -1;
	fcntl(s, F_SETFL, flags);
	return failed;
}

int connect(int s, const struct sockaddr *to, socklen_t size) {
	char address[INET6_ADDRSTRLEN], meant[80];
	if (!backend) return real_connect(s, to, size);
	if (to->sa_family == AF_INET) {
		const struct sockaddr_in *a = (const struct sockaddr_in *)to;
		if (clock_file && clock_file[1] == (INT64_C(1) << 32 | ntohl(a->sin_addr.s_addr))) {
			errno = ECONNREFUSED;
			return -1;
		}
		inet_ntop(AF_INET, &a->sin_addr, address, sizeof address);
		snprintf(meant, sizeof meant, "%s:%d\n", address, ntohs(a->sin_port));
		return go(s, AF_INET, meant);
	}
	if (to->sa_family == AF_INET6) {
		const struct sockaddr_in6 *a = (const struct sockaddr_in6 *)to;
		inet_ntop(AF_INET6, &a->sin6_addr, address, sizeof address);
		snprintf(meant, sizeof meant, "[%s]:%d\n", address, ntohs(a->sin6_port));
		return go(s, AF_INET6, meant);
	}
	return real_connect(s, to, size);
}
