/* What ISO_EMIT puts into records, and when; in a forked process, too. For C11 and C++. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

enum { SOON = 20000 };

static int evaluated;

static int count_up(void) { return ++evaluated; }

enum stage { LOW, FLOOD = 7 };

static const iso_symbol STAGES[] = { { "Low", LOW }, { "Flood", FLOOD } };

static void emit(int step, double *depth, size_t n) {
    const double grid[2][3] = { { 0, 1, 2 }, { 10, 11, 12 } };
    unsigned char mask[2][2] = { { 1, 2 }, { 3, 4 } };
    enum stage stage = step % 2 == 0 ? FLOOD : LOW;
    const float level[2] = { 0.5f, 1.5f };
    const char *station = "Old Mill";
    unsigned char flags = 200;
    long long big = -1;
    ISO_EMIT("river/step", ISO_SHOW(step), ISO_SHOW(station), ISO_SHOW(flags), ISO_SHOW(big),
             ISO_SHOW_ARRAY_UNIT(depth, n, "m"), ISO_SHOW_ARRAY_AS("levels", "m", level, 2), ISO_SHOW_AS("half", "s", 0.5),
             ISO_SHOW_GRID_UNIT(grid, 2, 3, "m"), ISO_SHOW_GRID(mask, 2, 2), ISO_SHOW_GRID_AS("flat", NULL, &grid[0][0], 3, 2),
             ISO_SHOW_ENUM(stage, STAGES), ISO_SHOW_AS("count", NULL, count_up()), ISO_SHOW_AS("wet", NULL, depth != NULL), ISO_SHOW_AS("text", NULL, "x"));
}

static iso_event next(iso_sink *sink) {
    iso_event event;
    do
        DO(iso_sink_next(sink, SOON, &event));
    while (event.kind == ISO_EVENT_JOINED);
    CHECK(event.kind == ISO_EVENT_RECORD);
    return event;
}

static void values(const iso_event *event, int step, size_t n) {
    iso_item item;
    DO(iso_message_get(&event->message, "step", &item));
    CHECK(item.integer == step);
    DO(iso_message_get(&event->message, "station", &item));
    CHECK(item.length == 8 && memcmp(item.bytes, "Old Mill", 8) == 0);
    DO(iso_message_get(&event->message, "flags", &item));
    CHECK(item.integer == 200);
    DO(iso_message_get(&event->message, "big", &item));
    CHECK(item.integer == -1);
    DO(iso_message_get(&event->message, "depth", &item));
    CHECK(item.count == n);
    DO(iso_message_get(&event->message, "levels[1]", &item));
    CHECK(item.real == 1.5);
    DO(iso_message_get(&event->message, "grid[1][0]", &item));
    CHECK(item.real == 10);
    DO(iso_message_get(&event->message, "grid_dim1", &item));
    CHECK(item.integer == 3);
    DO(iso_message_get(&event->message, "mask[1][1]", &item));
    CHECK(item.integer == 4);
    DO(iso_message_get(&event->message, "flat[2][1]", &item));
    CHECK(item.real == 12);
    DO(iso_message_get(&event->message, "stage", &item));
    CHECK(item.kind == ISO_KIND_SYMBOL && item.integer == (step % 2 == 0 ? FLOOD : LOW));
    CHECK(item.length == (step % 2 == 0 ? 5 : 3) && memcmp(item.bytes, step % 2 == 0 ? "Flood" : "Low", item.length) == 0);
    DO(iso_message_get(&event->message, "half", &item));
    CHECK(item.real == 0.5);
}

int main(void) {
    double depth[3] = { 1, 2, 3 };
    iso_emitting *emitting, *second;
    iso_node *node;
    iso_channel *channel;
    iso_sink *sink;
    iso_event event;
    iso_item item;
    iso_counts counts;
    iso_value value = ISO_SHOW_AS("wrong", NULL, 7);
    static iso_place place, none;
    const char *id;
    pid_t child;
    int status, i;

    emit(0, depth, 3); /* before anybody can listen */
    FAILS(iso_emit_start("no/name", &emitting), ISO_ADDRESS, "*");
    DO(iso_emit_start("isoform-tests-c", &emitting));
    FAILS(iso_emit_start("isoform-tests-c-2", &second), ISO_TAKEN, "isoform-tests-c-2");
    CHECK(second == NULL);
    FAILS(iso_emit_id(emitting, "other", &id), ISO_NO_SUCH_CHANNEL, "other");
    DO(iso_emit_id(emitting, "river.step", &id));
    emit(1, depth, 3);
    CHECK(evaluated == 0);

    DO(iso_node_open(NULL, 0, &node));
    DO(iso_channel_open(node, id, &channel));
    DO(iso_sink_open(channel, NULL, NULL, NULL, &sink));
    /* The first that is heard has all that follow behind it. */
    for (i = 2; evaluated == 0; i++)
        emit(i, depth, 3);
    event = next(sink);
    values(&event, i - 1, 3);
    /* Those that nobody heard have numbers from 0 on, and the sink knows how many they were. */
    CHECK(event.stamp.sequence == (uint64_t)(i - 1));
    DO(iso_sink_counts(sink, &counts));
    CHECK(counts.earlier == (uint64_t)(i - 1) && counts.lost == 0);
    emit(i, NULL, 0);
    event = next(sink);
    values(&event, i, 0);
    DO(iso_message_get(&event.message, "count", &item));
    CHECK(item.integer == 2);
    DO(iso_message_get(&event.message, "depth_len", &item));
    CHECK(item.integer == 0);

    /* What is no value fails, and is not emitted. */
    CHECK(iso_emit_begin(&place, "river/step") == 1);
    value.kind = 9;
    FAILS(iso_emit(&place, &value, 1), ISO_WRONG_TYPE, "wrong");
    value.kind = 1, value.rank = 5;
    FAILS(iso_emit(&place, &value, 1), ISO_WRONG_TYPE, "wrong");
    value.rank = 1, value.dims[0] = 2;
    FAILS(iso_emit(&place, &value, 1), ISO_WRONG_TYPE, "wrong");
    FAILS(iso_emit(&place, NULL, 1), ISO_WRONG_TYPE, "values");
    FAILS(iso_emit(NULL, &value, 1), ISO_WRONG_TYPE, "place");
    FAILS(iso_emit(&none, &value, 1), ISO_WRONG_TYPE, "place");
    CHECK(iso_emit_failed() == 3);
    /* So does a number that belongs to no symbol, and symbols that are none. */
    value = ISO_SHOW_ENUM_AS("stage", 1, STAGES);
    FAILS(iso_emit(&place, &value, 1), ISO_BAD_RECORD, "stage");
    value.dims[0] = 0;
    FAILS(iso_emit(&place, &value, 1), ISO_DECLARATION, "*");
    CHECK(iso_emit_failed() == 5);
    /* Of ISO_EMIT, too, it is known how often it failed, and why. */
    ISO_EMIT("river/step", ISO_SHOW_AS("not a name", NULL, 7));
    CHECK(iso_emit_failed() == 6 && iso_last_error()->code == ISO_DECLARATION);

    /* A forked process emits nothing, and ends as usual. */
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        emit(1000, depth, 3);
        emit(1001, depth, 3);
        iso_emit_stop(&emitting);
        _exit(emitting == NULL && iso_emit_begin(&place, "river/step") == 0 ? 0 : 3);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    emit(i + 1, depth, 3);
    event = next(sink);
    values(&event, i + 1, 3);

    iso_emit_stop(&emitting);
    emit(i + 2, depth, 3);
    CHECK(iso_emit_failed() == 6);
    DO(iso_sink_next(sink, SOON, &event));
    CHECK(event.kind == ISO_EVENT_LEFT);
    iso_sink_close(&sink);
    iso_channel_close(&channel);
    iso_node_close(&node);
    return 0;
}
