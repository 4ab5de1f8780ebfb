/* What the programs of all peers share: the near process is told on its standard input what to do, a line at a time, and
 * answers with nanoseconds. The far process does what each event says. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#ifdef __linux__
#include <sched.h>
#endif
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum mode { TAKE, ECHO, LAST, END };

struct event {
    uint32_t step, mode, count; /* count: of values */
    float *values;
};

/* The arguments are the number of values, and the cores of the near and of the far process, if each is to stay on one. */
static int values_of(int argc, char **argv) {
    return argc > 1 ? atoi(argv[1]) : 0;
}

/* This thread, and those that it starts, stay on the core that is meant for this process. */
static void stay(int argc, char **argv, int far) {
#ifdef __linux__
    cpu_set_t one;
    if (argc <= 2 + far) return;
    CPU_ZERO(&one);
    CPU_SET(atoi(argv[2 + far]), &one);
    (void)sched_setaffinity(0, sizeof one, &one);
#else
    (void)argc, (void)argv, (void)far;
#endif
}

/* Each peer defines these, for both processes. They return 0 if all went well. */
static int post(const struct event *event);
static int next(struct event *event);

/* The far process: returns 1 at the end, and more than 1 if an event is wrong. */
static int handle(struct event *event) {
    static uint32_t step;
    if (event->mode == END) return 1;
    if (event->step != step++ || (event->count > 0 && event->values[event->count - 1] != 0.5f)) return 2;
    if (event->mode == LAST) event->count = 0;
    return event->mode == TAKE ? 0 : 3 * post(event);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The near process, for events of 12 bytes and so many values. */
static int tell(uint32_t count) {
    char words[64];
    uint32_t step = 0;
    float *values = (float *)malloc((count + 1) * sizeof *values);
    for (uint32_t i = 0; i < count; i++) values[i] = 0.5f;
    while (fgets(words, sizeof words, stdin)) {
        unsigned long steps = strtoul(words + 4, NULL, 10);
        int echo = words[1] == 't';
        /* The first event of a round finds the other process asleep, and everything cold. */
        struct event first = {step, ECHO, count, values}, answer;
        if (post(&first) || next(&answer) || answer.step != step++) return 1;
        double start = now();
        for (unsigned long i = 0; i < steps; i++) {
            struct event event = {step, echo ? ECHO : i + 1 == steps ? LAST : TAKE, count, values}, back;
            double begin = now();
            if (post(&event)) return 1;
            if (event.mode != TAKE && (next(&back) || back.step != step)) return 1;
            if (echo) printf("%.0f ", now() - begin);
            step++;
        }
        if (!echo) printf("%.2f", (now() - start) / (double)steps);
        printf("\n");
        fflush(stdout);
    }
    struct event end = {step, END, 0, values};
    (void)post(&end);
    free(values);
    return 0;
}
