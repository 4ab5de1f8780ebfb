/* Channels within one process, between two nodes: sources, sinks of every kind, handlers, descriptors, accounts, threads. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOON = 20000 };

typedef struct {
    uint64_t count;
    double value;
} Tick;
static const iso_field tick[] = { ISO_FIELD(Tick, count, "uint64_t"), ISO_FIELD(Tick, value, "double") };
static const iso_structure ticks[] = { ISO_STRUCTURE(Tick, tick) };

/* What another program has. */
typedef struct {
    float value;
    short count;
    int extra;
} Other;
static const iso_field other[] = { ISO_FIELD(Other, value, "float"), ISO_FIELD(Other, count, "short"),
                                   ISO_FIELD_DEFAULT(Other, extra, "int", "") };
static const iso_structure others[] = { ISO_STRUCTURE_AS("Tick", Other, other) };

typedef struct {
    const char *count;
} Wrong;
static const iso_field wrong[] = { ISO_FIELD(Wrong, count, "string") };
static const iso_structure wrongs[] = { ISO_STRUCTURE(Wrong, wrong) };

static iso_format *tick_format, *other_format, *wrong_format;
static iso_node *here, *there;

static iso_event next(iso_sink *sink, iso_event_kind kind) {
    iso_event event;
    DO(iso_sink_next(sink, SOON, &event));
    CHECK(event.kind == kind);
    return event;
}

static void events(void) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink, *views, *batch;
    iso_sink_options options;
    iso_event event;
    iso_counts counts;
    iso_account accounts[3];
    iso_item item;
    iso_format *type;
    iso_rules *rules;
    iso_stamp stamps[1000];
    static Other room[1000];
    Tick sent = { 0, 0.5 }, many[100];
    size_t sinks, taken = 0;
    uint64_t i;
    const char *fields[] = { "count" };
    DO(iso_channel_create(here, "ticks", tick_format, &channel));
    FAILS(iso_channel_create(here, "ticks", tick_format, &opened), ISO_TAKEN, "*");
    CHECK(strncmp(iso_channel_id(channel), "iso://127.0.0.1:", 16) == 0);
    FAILS(iso_channel_open(there, "ticks", &opened), ISO_ADDRESS, "*");
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_channel_format(opened, &type));
    CHECK(type && strcmp(iso_format_name(type), "Tick") == 0);
    iso_format_close(&type);
    FAILS(iso_sink_open(opened, wrong_format, NULL, NULL, &sink), ISO_NO_CONVERSION, "count");
    FAILS(iso_source_open(channel, wrong_format, &source), ISO_NO_CONVERSION, "count");

    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_source_submit(source, &sent)); /* to nobody */
    CHECK(iso_source_next(source) == 1);
    DO(iso_rules_open(&rules));
    DO(iso_rules_default(rules, "Tick", "extra", "7"));
    memset(&options, 0, sizeof options);
    options.fields = fields;
    options.field_count = 1;
    options.longest = 1 << 20;
    DO(iso_sink_open(opened, other_format, rules, &options, &sink));
    iso_rules_close(&rules);
    DO(iso_sink_open(opened, NULL, NULL, NULL, &views));
    DO(iso_sink_open(channel, other_format, NULL, NULL, &batch));
    DO(iso_source_wait(source, 3, SOON));
    CHECK(iso_source_sinks(source) == 3);
    FAILS(iso_source_wait(source, 4, 10), ISO_DEADLINE, "");
    for (i = 0; i < COUNT(many); i++) {
        many[i].count = i;
        many[i].value = 0.5;
    }
    DO(iso_source_submit_many(source, many, COUNT(many)));
    DO(iso_source_submit_many(source, NULL, 0));
    FAILS(iso_source_submit_many(source, source, (size_t)-1), ISO_SIZE, "records");

    event = next(sink, ISO_EVENT_JOINED);
    CHECK(strcmp(iso_format_name(event.format), "Tick") == 0 && iso_format_size(event.format) == sizeof(Tick));
    CHECK(event.count == 1); /* the one that nobody heard */
    for (i = 0; i < COUNT(many); i++) {
        const Other *record;
        const uint32_t from = event.stamp.source;
        event = next(sink, ISO_EVENT_RECORD);
        record = (const Other *)event.record;
        CHECK(event.stamp.sequence == 1 + i && event.stamp.source == from && event.stamp.nanoseconds > 0 && event.count == 1);
        CHECK((uint64_t)record->count == i && record->value == 0.5f && record->extra == 7);
    }
    DO(iso_sink_next(sink, 0, &event));
    CHECK(event.kind == ISO_EVENT_NOTHING && event.record == NULL);
    FAILS(iso_sink_take(views, room, 10, NULL, 0, &event), ISO_WRONG_TYPE, "sink");

    next(views, ISO_EVENT_JOINED);
    for (i = 0; i < COUNT(many); i++) {
        event = next(views, ISO_EVENT_RECORD);
        DO(iso_message_get(&event.message, "count", &item));
        CHECK(item.whole == i && event.record == NULL);
    }

    DO(iso_sink_take(batch, room, COUNT(room), stamps, SOON, &event));
    CHECK(event.kind == ISO_EVENT_JOINED);
    for (; taken < COUNT(many); taken += (size_t)event.count) {
        DO(iso_sink_take(batch, room + taken, 33, stamps + taken, SOON, &event));
        CHECK(event.kind == ISO_EVENT_RECORD && event.count > 0 && event.count <= 33);
        CHECK(event.stamp.sequence == 1 + taken);
    }
    CHECK(taken == COUNT(many) && room[99].count == 99 && stamps[99].sequence == 100);

    /* An event that does not fit is an error, behind which the sink goes on. */
    sent.count = 70000;
    DO(iso_source_submit(source, &sent));
    sent.count = 7;
    DO(iso_source_submit(source, &sent));
    CHECK(iso_sink_next(sink, SOON, &event) == ISO_OVERFLOW && event.kind == ISO_EVENT_NOTHING);
    CHECK(strstr(iso_last_error()->path, "event 101 of source ") && strstr(iso_last_error()->path, ".count"));
    CHECK(((const Other *)next(sink, ISO_EVENT_RECORD).record)->count == 7);
    DO(iso_sink_counts(sink, &counts));
    CHECK(counts.received == 102 && counts.taken == 102 && counts.lost == 0);

    DO(iso_source_ledger(source, accounts, 1, &sinks));
    CHECK(sinks == 3 && accounts[0].submitted == 102);
    iso_sink_close(&views);
    CHECK(iso_sink_next(batch, SOON, &event) == ISO_OVERFLOW);
    DO(iso_source_end(&source, 0, accounts, 3, &sinks));
    CHECK(source == NULL && sinks == 3);
    for (i = 0; i < sinks; i++)
        CHECK(accounts[i].submitted ==
              accounts[i].acknowledged + accounts[i].superseded + accounts[i].lost + accounts[i].in_flight);
    FAILS(iso_source_submit(source, &sent), ISO_WRONG_TYPE, "source");
    CHECK(strstr(iso_last_error()->text, "expected an open handle, found NULL, as after it was closed"));
    event = next(sink, ISO_EVENT_LEFT);
    CHECK(event.count == 0);
    DO(iso_channel_leave(&opened));
    FAILS(iso_sink_next(sink, SOON, &event), ISO_CLOSED, "channel");
    iso_sink_close(&sink);
    iso_sink_close(&sink);
    iso_sink_close(&batch);
    iso_channel_close(&channel);
    iso_channel_close(&channel);
    iso_source_close(&source);
}

static int is_ready(int fd, int milliseconds) {
    struct pollfd entry;
    entry.fd = fd;
    entry.events = POLLIN;
    entry.revents = 0;
    return poll(&entry, 1, milliseconds) == 1;
}

static void count_up(void *context, const iso_event *event) {
    if (event->kind == ISO_EVENT_RECORD)
        *(uint64_t *)context += (uint64_t)((const Other *)event->record)->count;
}

/* A function that asks for the counts of its handler, and closes it at its first record. */
typedef struct {
    iso_handler *handler;
    uint64_t records, calls_behind;
} Once;

static void once(void *context, const iso_event *event) {
    Once *self = (Once *)context;
    iso_counts counts;
    self->calls_behind += self->handler == NULL;
    if (event->kind != ISO_EVENT_RECORD || !self->handler)
        return;
    self->records++;
    DO(iso_handler_counts(self->handler, &counts));
    CHECK(counts.received == 3 && counts.taken == 1);
    iso_handler_close(&self->handler);
}

static void closed_from_within(void) {
    iso_channel *channel;
    iso_source *source;
    Once self = { NULL, 0, 0 };
    const Tick sent[3] = { { 1, 0.5 }, { 2, 0.5 }, { 3, 0.5 } };
    size_t count;
    DO(iso_channel_create(here, "once", tick_format, &channel));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_handler_open(channel, tick_format, NULL, NULL, once, &self, &self.handler));
    DO(iso_source_submit_many(source, sent, COUNT(sent)));
    while (self.handler)
        DO(iso_node_poll(here, SOON, &count));
    DO(iso_source_submit_many(source, sent, COUNT(sent)));
    DO(iso_node_poll(here, 0, &count));
    CHECK(count == 0 && self.records == 1 && self.calls_behind == 0);
    iso_source_close(&source);
    iso_channel_close(&channel);
}

static void descriptors_and_handlers(void) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink;
    iso_handler *handler;
    iso_counts counts;
    iso_event event;
    Tick sent = { 0, 0.5 };
    uint64_t sum = 0, i;
    size_t count;
    int fd, node_fd;
    DO(iso_channel_create(here, "handled", NULL, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_sink_open(opened, other_format, NULL, NULL, &sink));
    FAILS(iso_handler_open(opened, NULL, NULL, NULL, count_up, &sum, &handler), ISO_WRONG_TYPE, "format");
    FAILS(iso_handler_open(opened, other_format, NULL, NULL, NULL, &sum, &handler), ISO_WRONG_TYPE, "function");
    DO(iso_handler_open(opened, other_format, NULL, NULL, count_up, &sum, &handler));
    DO(iso_source_wait(source, 2, SOON));
    DO(iso_sink_fd(sink, &fd));
    DO(iso_node_fd(there, &node_fd));
    for (i = 1; i <= 100; i++) {
        sent.count = i;
        DO(iso_source_submit(source, &sent));
        while (sum < i * (i + 1) / 2) {
            CHECK(is_ready(node_fd, SOON));
            do
                DO(iso_node_poll(there, 0, &count));
            while (count > 0);
        }
        for (event.kind = ISO_EVENT_NOTHING; event.kind != ISO_EVENT_RECORD;) {
            CHECK(is_ready(fd, SOON));
            DO(iso_sink_next(sink, 0, &event));
        }
        DO(iso_sink_next(sink, 0, &event));
        CHECK(event.kind == ISO_EVENT_NOTHING && !is_ready(fd, 0));
    }
    DO(iso_handler_counts(handler, &counts));
    CHECK(counts.taken == 100);
    iso_handler_close(&handler);
    iso_handler_close(&handler);
    iso_source_close(&source);
    iso_sink_close(&sink);
    iso_channel_close(&opened);
    iso_channel_close(&channel);
}

/* A sink that must have what its source does not grant is refused. One that takes nothing is told that events are dropped. */
static void grants(void) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink;
    iso_sink_options options;
    iso_account account;
    Tick sent = { 0, 0.5 };
    memset(&options, 0, sizeof options);
    options.policy = ISO_POLICY_LOSSLESS;
    options.window_events = 1;
    DO(iso_channel_create(here, "grants", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_sink_open(opened, tick_format, NULL, &options, &sink));
    CHECK(next(sink, ISO_EVENT_REFUSED).error->code == ISO_NOT_GRANTED);
    DO(iso_sink_set_policy(sink, ISO_POLICY_BLOCK, 0, 0));
    DO(iso_source_wait(source, 1, SOON));
    for (; sent.count < 1000; sent.count++)
        DO(iso_source_submit(source, &sent));
    next(sink, ISO_EVENT_JOINED);
    next(sink, ISO_EVENT_RECORD);
    CHECK(next(sink, ISO_EVENT_GRANTED).reason == ISO_REASON_SLOW);
    DO(iso_source_ledger(source, &account, 1, NULL));
    CHECK(account.changes == 1 && account.waited > 0 && account.submitted == 1000);
    iso_source_close(&source);
    iso_sink_close(&sink);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
}

typedef struct {
    uint32_t number;
    const char *name;
    uint64_t count;
    double *cells;
} Image;
static const iso_field image[] = { ISO_FIELD(Image, number, "uint32_t"), ISO_FIELD(Image, name, "string"),
                                   ISO_FIELD(Image, count, "uint64_t"), ISO_FIELD(Image, cells, "double[count]") };
static const iso_structure images[] = { ISO_STRUCTURE(Image, image) };

/* A sink sees the first fields of long events, and declines the rest of all of them: some in time. */
static void heads(void) {
    enum { EVENTS = 10, CELLS = 4 << 20 };
    iso_format *format;
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink;
    iso_sink_options options;
    iso_account account;
    Image sent = { 0, "Kiel", CELLS, NULL };
    int late = 0, declined = 0;
    sent.cells = (double *)calloc(CELLS, sizeof *sent.cells);
    memset(&options, 0, sizeof options);
    options.heads = 1;
    DO(iso_format_open(images, 1, &format));
    DO(iso_channel_create(here, "images", format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_source_open(channel, format, &source));
    DO(iso_sink_open(opened, NULL, NULL, &options, &sink));
    DO(iso_source_wait(source, 1, SOON));
    next(sink, ISO_EVENT_JOINED);
    for (; sent.number < EVENTS; sent.number++) {
        iso_event event;
        DO(iso_source_submit(source, &sent));
        DO(iso_sink_next(sink, SOON, &event));
        if (event.kind == ISO_EVENT_HEAD) {
            iso_item item;
            const iso_stamp stamp = event.stamp;
            CHECK(strcmp(iso_format_name(event.format), "Image") == 0 && event.count > CELLS * sizeof *sent.cells);
            DO(iso_message_get(&event.message, "number", &item));
            CHECK(item.integer == sent.number && stamp.sequence == sent.number);
            DO(iso_message_get(&event.message, "count", &item));
            CHECK(item.integer == CELLS);
            FAILS(iso_message_get(&event.message, "name", &item), ISO_NO_SUCH_FIELD, "*");
            DO(iso_sink_decline(sink, &stamp, NULL));
            DO(iso_sink_next(sink, SOON, &event));
            CHECK(event.kind == ISO_EVENT_RECORD || (event.kind == ISO_EVENT_GAP && event.cause == ISO_CAUSE_DECLINED));
            CHECK(event.stamp.sequence == sent.number);
            declined += event.kind == ISO_EVENT_GAP;
            late = 1;
            DO(iso_sink_decline(sink, &stamp, &late));
            CHECK(!late);
        }
    }
    CHECK(declined > 0);
    DO(iso_source_end(&source, SOON, &account, 1, NULL));
    CHECK(account.lost_for[ISO_CAUSE_DECLINED] == (uint64_t)declined);
    CHECK(account.acknowledged + account.lost == EVENTS);
    iso_sink_close(&sink);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
    iso_format_close(&format);
    free(sent.cells);
}

/* A source takes as many sinks of one node as its options say, and gives their queries as little time. */
static void limits_of_a_source(void) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink, *other;
    iso_source_options options;
    iso_sink_options wanted;
    iso_account account;
    Tick sent = { 1, 0.5 };
    memset(&options, 0, sizeof options);
    memset(&wanted, 0, sizeof wanted);
    options.query_once_us = 1;
    options.query_second_us = 1;
    options.most_sinks = 1;
    wanted.query = "where value > 0";
    DO(iso_channel_create(here, "limits", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_source_open_with(channel, tick_format, &options, &source));
    DO(iso_sink_open(opened, tick_format, NULL, &wanted, &sink));
    next(sink, ISO_EVENT_JOINED);
    DO(iso_sink_open(opened, tick_format, NULL, NULL, &other));
    CHECK(next(other, ISO_EVENT_REFUSED).error->code == ISO_PEERS);
    /* A query takes 20 nanoseconds at least, and has a microsecond, and may owe one. */
    for (; sent.count <= 1000; sent.count++)
        DO(iso_source_submit(source, &sent));
    DO(iso_source_ledger(source, &account, 1, NULL));
    CHECK(account.submitted == 1000 && account.lost_for[ISO_CAUSE_THINNED] >= 800);
    iso_source_close(&source);
    iso_sink_close(&sink);
    iso_sink_close(&other);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
}

/* What viewers choose, as the source has it and as a viewer has it. */
typedef struct Detail {
    int64_t level;
    double scale;
} Detail;
static const iso_field detail[] = { ISO_FIELD(Detail, level, "int64_t"), ISO_FIELD(Detail, scale, "double") };
static const iso_structure details[] = { ISO_STRUCTURE(Detail, detail) };
typedef struct Level {
    short level;
} Level;
static const iso_field level[] = { ISO_FIELD(Level, level, "short") };
static const iso_structure levels[] = { ISO_STRUCTURE(Level, level) };

/* The level in values of parameters. */
static int64_t level_of(const iso_message *values) {
    iso_item item;
    DO(iso_message_get(values, "level", &item));
    return item.integer;
}

/* The demand for a level, once there is one. */
static iso_demand demand_for(iso_source *source, int64_t wanted) {
    for (;;) {
        iso_demand demands[17];
        size_t count = 0, i;
        int is_new = 0;
        DO(iso_source_demands(source, demands, COUNT(demands), &count));
        for (i = 0; i < count && i < COUNT(demands); i++)
            if (level_of(&demands[i].values) == wanted)
                return demands[i];
        DO(iso_source_new_demands(source, SOON, &is_new));
        CHECK(is_new);
    }
}

/* A source generates what its sinks ask for: each demand once, and nothing for nobody. */
static void parameters(void) {
    iso_format *detail_format, *level_format;
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *fine, *plain;
    iso_source_options options;
    iso_sink_options wanted;
    iso_account accounts[2];
    iso_demand demand;
    iso_event event;
    const Detail defaults = { 1, 0.5 };
    const Level three = { 3 }, four = { 4 }, nine = { 9 };
    Tick sent = { 1, 0.5 };
    size_t count = 9, i;
    int is_new = 1;
    DO(iso_format_open(details, 1, &detail_format));
    DO(iso_format_open(levels, 1, &level_format));
    memset(&options, 0, sizeof options);
    memset(&wanted, 0, sizeof wanted);
    options.parameters_format = detail_format;
    options.parameters = &defaults;
    wanted.parameters_format = level_format;
    wanted.parameters = &three;
    DO(iso_channel_create(here, "parameters", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_source_open_with(channel, tick_format, &options, &source));
    DO(iso_source_demands(source, NULL, 0, &count));
    DO(iso_source_new_demands(source, 0, &is_new));
    CHECK(count == 0 && !is_new);
    DO(iso_sink_open(opened, tick_format, NULL, &wanted, &fine));
    DO(iso_sink_open(opened, tick_format, NULL, NULL, &plain));
    demand = demand_for(source, 3);
    CHECK(demand.sinks == 1);
    DO(iso_source_submit_for(source, demand.number, &sent));
    sent.count = 2;
    DO(iso_source_submit_for(source, demand_for(source, 1).number, &sent));
    next(fine, ISO_EVENT_JOINED);
    event = next(fine, ISO_EVENT_GIVEN);
    CHECK(level_of(&event.message) == 3 && event.stamp.sequence == 0 && event.count == 0 && event.error == NULL);
    CHECK(((const Tick *)next(fine, ISO_EVENT_RECORD).record)->count == 1);
    next(plain, ISO_EVENT_JOINED);
    event = next(plain, ISO_EVENT_GIVEN);
    CHECK(level_of(&event.message) == 1);
    CHECK(((const Tick *)next(plain, ISO_EVENT_RECORD).record)->count == 2);

    /* Another level, of which less is granted, and one that is refused. */
    DO(iso_sink_set_parameters(fine, level_format, &nine));
    DO(iso_source_grant(source, demand_for(source, 9).number, level_format, &four));
    event = next(fine, ISO_EVENT_GIVEN);
    CHECK(level_of(&event.message) == 9 && event.count == 1);
    event = next(fine, ISO_EVENT_GIVEN);
    CHECK(level_of(&event.message) == 4 && event.stamp.sequence == 2);
    DO(iso_sink_set_parameters(fine, tick_format, &sent));
    event = next(fine, ISO_EVENT_GIVEN);
    CHECK(level_of(&event.message) == 4 && event.error->code == ISO_NO_SUCH_FIELD);
    DO(iso_sink_set_parameters(fine, level_format, &nine));
    DO(iso_source_refuse(source, demand_for(source, 9).number, "a level of at most 4"));
    next(fine, ISO_EVENT_GIVEN);
    next(fine, ISO_EVENT_LEFT);
    event = next(fine, ISO_EVENT_REFUSED);
    CHECK(event.error->code == ISO_NOT_GRANTED && strstr(event.error->text, "a level of at most 4"));
    FAILS(iso_source_submit_for(source, 0, NULL), ISO_WRONG_TYPE, "record");
    FAILS(iso_source_grant(source, 0, NULL, &four), ISO_WRONG_TYPE, "format");
    FAILS(iso_sink_set_parameters(fine, level_format, NULL), ISO_WRONG_TYPE, "values");
    DO(iso_source_submit_for(source, 99, &sent)); /* for nobody */

    DO(iso_source_end(&source, SOON, accounts, COUNT(accounts), &count));
    for (i = 0; i < count && i < COUNT(accounts); i++)
        CHECK(accounts[i].submitted == accounts[i].acknowledged + accounts[i].skipped + accounts[i].lost);
    iso_sink_close(&fine);
    iso_sink_close(&plain);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
    iso_format_close(&detail_format);
    iso_format_close(&level_format);
}

/* A sink that takes nothing holds its source up for as long as that is patient: once a window is full whose one half is given, and
   the other as usual. */
static void patience(uint64_t window_events, uint64_t window_bytes) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink;
    iso_sink_options options;
    iso_source_options lossless;
    Tick sent = { 0, 0.5 };
    iso_code code = ISO_OK;
    memset(&options, 0, sizeof options);
    options.policy = ISO_POLICY_LOSSLESS;
    options.window_events = window_events;
    options.window_bytes = window_bytes;
    DO(iso_channel_create(here, "patience", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    memset(&lossless, 0, sizeof lossless);
    lossless.lossless = 1;
    DO(iso_source_open_with(channel, tick_format, &lossless, &source));
    DO(iso_sink_open(opened, tick_format, NULL, &options, &sink));
    DO(iso_source_wait(source, 1, SOON));
    DO(iso_source_set_patience(source, 10));
    for (; code == ISO_OK && sent.count < 100000; sent.count++)
        code = iso_source_submit(source, &sent);
    CHECK(code == ISO_DEADLINE && iso_last_error()->code == ISO_DEADLINE);
    next(sink, ISO_EVENT_JOINED);
    CHECK(next(sink, ISO_EVENT_RECORD).stamp.sequence == 0);
    DO(iso_source_set_patience(source, ISO_FOREVER));
    iso_source_close(&source);
    iso_sink_close(&sink);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
}

typedef struct {
    double levels[1024];
} Wave;
static const iso_field wave[] = { ISO_FIELD(Wave, levels, "double[1024]") };
static const iso_structure waves[] = { ISO_STRUCTURE(Wave, wave) };

/* What waits for a sink that drops the oldest has a bound, though none was given. */
static void bound(void) {
    iso_event event;
    iso_counts counts;
    iso_channel *channel;
    iso_source *source;
    iso_sink *sink;
    iso_format *wave_format;
    iso_sink_options options;
    iso_account account;
    static Wave sent;
    int i;
    memset(&options, 0, sizeof options);
    options.policy = ISO_POLICY_DROP_OLDEST;
    options.window_events = 1;
    DO(iso_format_open(waves, 1, &wave_format));
    DO(iso_channel_create(here, "bound", wave_format, &channel));
    DO(iso_source_open(channel, wave_format, &source));
    DO(iso_sink_open(channel, wave_format, NULL, &options, &sink));
    for (i = 0; i < 1000; i++)
        DO(iso_source_submit(source, &sent));
    DO(iso_source_ledger(source, &account, 1, NULL));
    CHECK(account.in_flight > 400 && account.in_flight < 600 && account.lost_for[ISO_CAUSE_OVERRUN] == account.lost);
    iso_sink_close(&sink);
    /* Of a sink that wants the latest event only, newer events supersede the others: nothing is lost. */
    options.policy = ISO_POLICY_LATEST;
    DO(iso_sink_open(channel, wave_format, NULL, &options, &sink));
    for (i = 0; i < 10; i++)
        DO(iso_source_submit(source, &sent));
    DO(iso_source_ledger(source, &account, 1, NULL));
    CHECK(account.submitted == 10 && account.in_flight == 2 && account.superseded == 8 && account.lost == 0);
    CHECK(account.lost_for[ISO_CAUSE_SUPERSEDED] == 0);
    next(sink, ISO_EVENT_JOINED);
    next(sink, ISO_EVENT_RECORD);
    event = next(sink, ISO_EVENT_GAP);
    CHECK(event.count == 8 && event.cause == ISO_CAUSE_SUPERSEDED);
    DO(iso_sink_counts(sink, &counts));
    CHECK(counts.superseded == 8 && counts.lost == 0);
    iso_sink_close(&sink);
    iso_source_close(&source);
    iso_channel_close(&channel);
    iso_format_close(&wave_format);
}

/* The source sends only what the query wants. */
static void queries(void) {
    iso_channel *channel, *opened;
    iso_source *source;
    iso_sink *sink;
    iso_sink_options options;
    iso_account account;
    iso_event event;
    Tick sent = { 0, 0.5 };
    memset(&options, 0, sizeof options);
    DO(iso_channel_create(here, "asked", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    options.query = "where count >";
    FAILS(iso_sink_open(opened, tick_format, NULL, &options, &sink), ISO_TEXT, "*");
    options.query = "where level > 2";
    FAILS(iso_sink_open(opened, tick_format, NULL, &options, &sink), ISO_NO_SUCH_FIELD, "*");
    options.query = "where count % 4 == 2";
    DO(iso_sink_open(opened, tick_format, NULL, &options, &sink));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_source_wait(source, 1, SOON));
    next(sink, ISO_EVENT_JOINED);
    for (; sent.count < 8; sent.count++)
        DO(iso_source_submit(source, &sent));
    event = next(sink, ISO_EVENT_RECORD);
    CHECK(((const Tick *)event.record)->count == 2 && event.stamp.sequence == 2);
    event = next(sink, ISO_EVENT_RECORD);
    CHECK(((const Tick *)event.record)->count == 6 && event.stamp.sequence == 6);
    DO(iso_source_ledger(source, &account, 1, NULL));
    CHECK(account.submitted == 8 && account.skipped == 6 && account.lost == 0);
    iso_sink_close(&sink);
    iso_source_close(&source);
    iso_channel_close(&opened);
    DO(iso_channel_leave(&channel));
}

/* What a query gives of a channel is a channel, by its id or by a name. */
static void derived(void) {
    iso_channel *channel, *few, *named, *opened[2];
    iso_source *source;
    iso_sink *sinks[2];
    iso_sink_options options;
    iso_event event;
    Tick sent = { 0, 0.5 };
    size_t i;
    memset(&options, 0, sizeof options);
    DO(iso_channel_create(here, "whole", tick_format, &channel));
    FAILS(iso_channel_derive(NULL, "every 2", NULL, &few), ISO_WRONG_TYPE, "channel");
    FAILS(iso_channel_derive(channel, NULL, NULL, &few), ISO_WRONG_TYPE, "query");
    FAILS(iso_channel_derive(channel, "where count >", NULL, &few), ISO_TEXT, "*");
    FAILS(iso_channel_derive(channel, "where level > 2", NULL, &few), ISO_NO_SUCH_FIELD, "*");
    FAILS(iso_channel_derive(channel, "every 2", "whole", &few), ISO_TAKEN, "*");
    DO(iso_channel_derive(channel, "where count >= 2", NULL, &few));
    DO(iso_channel_derive(few, "every 2", "few", &named));
    CHECK(strstr(iso_channel_id(few), "query=where%20count%20%3E%3D%202") != NULL);
    CHECK(strstr(iso_channel_id(named), "/few/") != NULL && strstr(iso_channel_id(named), "query") == NULL);
    FAILS(iso_source_open(few, tick_format, &source), ISO_WRONG_TYPE, "source");
    DO(iso_channel_open(there, iso_channel_id(few), &opened[0]));
    DO(iso_channel_open(there, iso_channel_id(named), &opened[1]));
    DO(iso_sink_open(opened[0], tick_format, NULL, NULL, &sinks[0]));
    options.query = "where count > 2";
    DO(iso_sink_open(opened[1], tick_format, NULL, &options, &sinks[1]));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_source_wait(source, 2, SOON));
    for (i = 0; i < COUNT(sinks); i++)
        next(sinks[i], ISO_EVENT_JOINED);
    for (; sent.count < 8; sent.count++)
        DO(iso_source_submit(source, &sent));
    event = next(sinks[0], ISO_EVENT_RECORD);
    CHECK(((const Tick *)event.record)->count == 2);
    event = next(sinks[1], ISO_EVENT_RECORD);
    CHECK(((const Tick *)event.record)->count == 4 && event.stamp.sequence == 4);
    iso_channel_close(&named);
    FAILS(iso_channel_derive(few, "every 2", "few/", &named), ISO_ADDRESS, "*");
    for (i = 0; i < COUNT(sinks); i++) {
        iso_sink_close(&sinks[i]);
        iso_channel_close(&opened[i]);
    }
    iso_source_close(&source);
    iso_channel_close(&few);
    DO(iso_channel_leave(&channel));
}

enum { EVENTS = 2000 };

static void *submit(void *channel) {
    iso_source *source;
    Tick sent = { 0, 0.5 };
    DO(iso_source_open((const iso_channel *)channel, tick_format, &source));
    DO(iso_source_wait(source, 1, SOON));
    for (; sent.count < EVENTS; sent.count++)
        DO(iso_source_submit(source, &sent));
    FAILS(iso_source_submit(NULL, &sent), ISO_WRONG_TYPE, "source"); /* an error of this thread */
    DO(iso_source_end(&source, SOON, NULL, 0, NULL));
    return NULL;
}

/* Formats and channels are used by all threads at once, and errors are each thread's own. */
static void threads(void) {
    iso_channel *channel, *opened;
    iso_sink *sink;
    iso_event event;
    pthread_t submitting[3];
    uint64_t came = 0;
    size_t i, left = 0;
    FAILS(iso_source_submit(NULL, &came), ISO_WRONG_TYPE, "source");
    FAILS(iso_writer_flush(NULL), ISO_WRONG_TYPE, "writer");
    DO(iso_channel_create(here, "threads", tick_format, &channel));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_sink_open(opened, other_format, NULL, NULL, &sink));
    for (i = 0; i < COUNT(submitting); i++)
        CHECK(pthread_create(&submitting[i], NULL, submit, channel) == 0);
    while (left < COUNT(submitting)) {
        DO(iso_sink_next(sink, SOON, &event));
        came += event.kind == ISO_EVENT_RECORD;
        left += event.kind == ISO_EVENT_LEFT;
        CHECK(event.kind != ISO_EVENT_LEFT || event.count < COUNT(submitting));
        CHECK(event.kind != ISO_EVENT_NOTHING && event.kind != ISO_EVENT_GAP);
    }
    for (i = 0; i < COUNT(submitting); i++)
        CHECK(pthread_join(submitting[i], NULL) == 0);
    CHECK(came == COUNT(submitting) * EVENTS && event.kind == ISO_EVENT_LEFT && event.count == 0);
    CHECK(strcmp(iso_last_error()->path, "writer") == 0);
    iso_sink_close(&sink);
    iso_channel_close(&opened);
    iso_channel_close(&channel);
}

/* What others are told in place of the address at which a node listens. */
static void advertised(void) {
    iso_node *node;
    iso_channel *channel;
    DO(iso_node_open("advertise=gateway.example:7000 127.0.0.1:0", 0, &node));
    CHECK(strcmp(iso_node_address(node), "tcp:gateway.example:7000") == 0);
    DO(iso_channel_create(node, "ticks", NULL, &channel));
    CHECK(strncmp(iso_channel_id(channel), "iso://gateway.example:7000/ticks/", 33) == 0);
    iso_channel_close(&channel);
    iso_node_close(&node);
}

/* A sink is told if the rules of the source's node do not let it subscribe, and a source if those of the sink's do not let it publish. */
static void rules(void) {
    char file[] = "/tmp/isoform-rules-XXXXXX", options[64];
    static const char rule[] = "allow anyone see on ticks\n";
    iso_node *strict;
    iso_channel *channel, *opened;
    iso_source *source, *foreign;
    iso_sink *sink;
    int made = mkstemp(file);
    CHECK(made >= 0 && write(made, rule, sizeof rule - 1) == (ssize_t)sizeof rule - 1 && close(made) == 0);
    CHECK(snprintf(options, sizeof options, "rules=%s", file) > 0);
    DO(iso_node_open(options, 0, &strict));
    CHECK(remove(file) == 0);
    DO(iso_channel_create(strict, "ticks", NULL, &channel));
    DO(iso_source_open(channel, tick_format, &source));
    DO(iso_channel_open(there, iso_channel_id(channel), &opened));
    DO(iso_sink_open(opened, tick_format, NULL, NULL, &sink));
    CHECK(next(sink, ISO_EVENT_REFUSED).error->code == ISO_FORBIDDEN);
    iso_sink_close(&sink);
    DO(iso_source_open(opened, tick_format, &foreign));
    DO(iso_sink_open(channel, tick_format, NULL, NULL, &sink));
    CHECK(iso_source_wait(foreign, 1, 500) == ISO_FORBIDDEN && iso_source_declined(foreign) == ISO_FORBIDDEN);
    CHECK(strstr(iso_last_error()->text, "the right to publish") && !strstr(iso_last_error()->text, "line"));
    DO(iso_source_declined(source));
    iso_sink_close(&sink);
    iso_source_close(&foreign);
    iso_channel_close(&opened);
    iso_source_close(&source);
    iso_channel_close(&channel);
    iso_node_close(&strict);
}

int main(void) {
    FAILS(iso_node_open("not an address", 0, &here), ISO_ADDRESS, "*");
    FAILS(iso_node_open("192.0.2.1:0", 0, &here), ISO_INSECURE, "*");
    FAILS(iso_node_open(NULL, 4, &here), ISO_WRONG_TYPE, "flags");
    FAILS(iso_node_open("key=secret", 0, &here), ISO_ADDRESS, "key");
    FAILS(iso_node_open("identity=/nowhere.pem", 0, &here), ISO_IO, "tls");
    FAILS(iso_node_open("identity-key=/nowhere.key identity=/nowhere.pem trust=/nowhere.ca trust-name=*.x revoked=/no trust-platform",
                        0, &here),
          ISO_IO, "tls");
    FAILS(iso_node_open("rules=/nowhere", 0, &here), ISO_IO, "/nowhere");
    FAILS(iso_node_open("advertise=0.0.0.0:7000", 0, &here), ISO_ADDRESS, "advertise");
    CHECK(here == NULL);
    DO(iso_node_open(NULL, 0, &here));
    DO(iso_node_open("127.0.0.1:0", 0, &there));
    CHECK(strncmp(iso_node_address(there), "tcp:127.0.0.1:", 14) == 0);
    DO(iso_format_open(ticks, 1, &tick_format));
    DO(iso_format_open(others, 1, &other_format));
    DO(iso_format_open(wrongs, 1, &wrong_format));
    events();
    descriptors_and_handlers();
    closed_from_within();
    grants();
    heads();
    limits_of_a_source();
    parameters();
    patience(4, 0);
    patience(0, 1 << 30);
    bound();
    queries();
    derived();
    threads();
    advertised();
    rules();
    iso_format_close(&tick_format);
    iso_format_close(&other_format);
    iso_format_close(&wrong_format);
    iso_node_close(&here);
    iso_node_close(&there);
    iso_node_close(&there);
    return 0;
}
