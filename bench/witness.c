/*
 * A third instrument beside a program that measures reads and its own account of them: loaded before libc (LD_PRELOAD),
 * it takes the time before and after each read(2) or pread(2) of one size, however libc is asked for it, on the monotonic clock that all processes
 * of a machine share, and makes some reads slower than others, so that percentiles lie far apart and processes differ.
 *
 *     cc -O2 -shared -fPIC witness.c -o witness.so
 *     env LD_PRELOAD=witness.so WITNESS=DIRECTORY WITNESS_BYTES=20480 PROGRAM …
 *
 * Each process takes the first number that is free in DIRECTORY and writes into the file of that name: how many reads
 * there were (8 bytes), then the begin and the end of each in nanoseconds (8 bytes each). Whoever reads the file may set the
 * count to 0 between two measurements. Its memory is there before the program's main, so that noting a read faults no page.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Reads beyond these are counted and not kept. */
enum { KEPT = 1 << 18 };

/* The least delay of a read; a process with an odd number delays its reads so many times as long. */
enum { LEAST_NS = 20000, SLOWER = 8 };

struct seen {
	_Atomic uint64_t count;
	struct {
		uint64_t begin, end;
	} reads[KEPT];
};

static struct seen *seen;
static size_t bytes;
static uint64_t least_ns = LEAST_NS;
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_pread)(int, void *, size_t, off_t);
static long (*real_syscall)(long, ...);

static _Noreturn void die(const char *what)
{
	perror(what);
	_exit(1);
}

/* Asked also before `begin`, by what other libraries do when they are loaded. */
static void find(void)
{
	if (real_syscall)
		return;
	real_read = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	real_pread = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread64");
	real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

__attribute__((constructor)) static void begin(void)
{
	find();
	const char *directory = getenv("WITNESS"), *size = getenv("WITNESS_BYTES");
	if (!directory || !size)
		return;
	bytes = strtoul(size, NULL, 10);
	char path[4096];
	int file = -1;
	unsigned number = 0;
	for (; file < 0; number++) {
		snprintf(path, sizeof path, "%s/%u", directory, number);
		file = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (file < 0 && errno != EEXIST)
			die(path);
	}
	if ((number - 1) % 2)
		least_ns *= SLOWER;
	if (ftruncate(file, sizeof *seen))
		die(path);
	void *memory = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
	if (memory == MAP_FAILED)
		die(path);
	close(file);
	seen = memory;
}

static uint64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Half of all delays are below 1.7 times the least, one of a hundred is above 10 times, one of a thousand above 32 times it. */
static uint64_t delay(void)
{
	static _Thread_local uint64_t x;
	if (!x)
		x = now() * 0x9e3779b97f4a7c15u | 1;
	/* xorshift64 (Marsaglia 2003). */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	unsigned doubled = (unsigned)__builtin_ctzll(x | 1u << 14) / 2;
	return (least_ns + (least_ns * (x >> 44) >> 20)) << doubled;
}

static uint64_t waited(void)
{
	uint64_t begun = now(), until = begun + delay();
	while (now() < until)
		;
	return begun;
}

static void note(uint64_t begun)
{
	uint64_t ended = now(), number = atomic_fetch_add_explicit(&seen->count, 1, memory_order_relaxed);
	if (number < KEPT) {
		seen->reads[number].begin = begun;
		seen->reads[number].end = ended;
	}
}

ssize_t read(int file, void *buffer, size_t size)
{
	find();
	if (!seen || size != bytes)
		return real_read(file, buffer, size);
	uint64_t begun = waited();
	ssize_t got = real_read(file, buffer, size);
	note(begun);
	return got;
}

ssize_t pread64(int file, void *buffer, size_t size, off_t offset)
{
	find();
	if (!seen || size != bytes)
		return real_pread(file, buffer, size, offset);
	uint64_t begun = waited();
	ssize_t got = real_pread(file, buffer, size, offset);
	note(begun);
	return got;
}

ssize_t pread(int file, void *buffer, size_t size, off_t offset)
{
	return pread64(file, buffer, size, offset);
}

/* Takes as many words as any system call has, as libc's own does. */
long syscall(long number, ...)
{
	find();
	long words[6];
	va_list given;
	va_start(given, number);
	for (int word = 0; word < 6; word++)
		words[word] = va_arg(given, long);
	va_end(given);
	int is_read = seen && (number == SYS_pread64 || number == SYS_read) && (size_t)words[2] == bytes;
	uint64_t begun = is_read ? waited() : 0;
	long got = real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
	if (is_read)
		note(begun);
	return got;
}
