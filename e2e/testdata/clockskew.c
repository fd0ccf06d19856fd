// Preloaded into Envoy (LD_PRELOAD), this moves its wall clock by LIMPET_E2E_SKEW seconds. Its monotonic clock, by
// which it counts timeouts, stays as it is.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long skew;

__attribute__((constructor)) static void begin(void) {
	const char *text = getenv("LIMPET_E2E_SKEW");
	if (text) skew = atol(text);
}

int clock_gettime(clockid_t id, struct timespec *now) {
	int failed = syscall(SYS_clock_gettime, id, now);
	if (!failed && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) now->tv_sec += skew;
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
