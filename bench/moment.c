/*
 * The least that processes which begin at one moment can be: waits for a moment of the monotonic clock, which all
 * processes of a machine share, and prints when it was there. Awake for the last 20 ms, so that no late sleep is in it.
 *
 *     cc -O2 moment.c -o moment && ./moment NANOSECONDS
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { AWAKE_NS = 20000000, SECOND_NS = 1000000000 };

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

int main(int count, char **words)
{
	uint64_t moment = count == 2 ? strtoull(words[1], NULL, 10) : 0, seen;
	if (moment < now() + AWAKE_NS)
		return 2; /* too late to be there, or no moment */
	uint64_t near = moment - AWAKE_NS;
	struct timespec until = { (time_t)(near / SECOND_NS), (long)(near % SECOND_NS) };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	while ((seen = now()) < moment)
		;
	printf("%llu\n", (unsigned long long)seen);
	return 0;
}
