/*
 * The floor for a synchronous generator: one pinned thread, one preadv2(2) an operation, no accounting but a counter.
 * Usage: bare-preadv2 FILE SECONDS CPU. Prints one JSON line {"ops":..,"seconds":..}; 4 KiB aligned uniform offsets.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static volatile sig_atomic_t stop;

static void on_alarm(int signal_number)
{
	(void)signal_number;
	stop = 1;
}

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: %s FILE SECONDS CPU\n", argv[0]);
		return 2;
	}
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(strtoul(argv[3], NULL, 10), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus))
		die("sched_setaffinity");

	/* O_NOATIME, as t/io_uring: an atime check costs about 2 % of a cached read. */
	int fd = open(argv[1], O_RDONLY | O_NOATIME);
	struct stat st;
	if (fd < 0 || fstat(fd, &st))
		die(argv[1]);
	uint64_t blocks = (uint64_t)st.st_size / BLOCK;
	unsigned seconds_asked = (unsigned)strtoul(argv[2], NULL, 10);
	void *buffer;
	if (seconds_asked == 0 || blocks == 0 || blocks > UINT32_MAX || posix_memalign(&buffer, BLOCK, BLOCK)) {
		fprintf(stderr, "%s: needs a whole second or more, and 1 to 2^32-1 blocks of 4 KiB\n", argv[1]);
		return 2;
	}
	struct iovec vec = { .iov_base = buffer, .iov_len = BLOCK };

	struct timespec begin, end;
	uint64_t ops = 0, x = 0x9e3779b97f4a7c15u;
	signal(SIGALRM, on_alarm);
	alarm(seconds_asked);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (!stop) {
		/* xorshift64 (Marsaglia 2003); its high half scaled to [0, blocks) without a division. */
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		off_t offset = (off_t)((((x >> 32) * blocks) >> 32) * BLOCK);
		if (preadv2(fd, &vec, 1, offset, 0) != BLOCK)
			die("preadv2");
		ops++;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	printf("{\"ops\":%llu,\"seconds\":%.9f}\n", (unsigned long long)ops, seconds);
	return 0;
}
