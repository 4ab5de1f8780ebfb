/* Several kinds of records, in a stream and on a channel. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

enum { SOON = 20000, RIVER = 0, ALARM = 1 };

typedef struct {
    int64_t time;
    double depth;
} River;
static const iso_field river[] = { ISO_FIELD(River, time, "int64_t"), ISO_FIELD(River, depth, "double") };
static const iso_structure rivers[] = { ISO_STRUCTURE(River, river) };

typedef struct {
    const char *text;
    int64_t time;
} Alarm;
static const iso_field alarm_[] = { ISO_FIELD(Alarm, text, "string"), ISO_FIELD(Alarm, time, "int64_t") };
static const iso_structure alarms[] = { ISO_STRUCTURE(Alarm, alarm_) };

/* Another name and other types than River. */
typedef struct {
    float depth;
    int time;
} Gauge;
static const iso_field gauge[] = { ISO_FIELD(Gauge, depth, "float"), ISO_FIELD(Gauge, time, "int") };
static const iso_structure gauges[] = { ISO_STRUCTURE(Gauge, gauge) };

/* Fits neither. */
typedef struct {
    float speed;
} Wind;
static const iso_field wind[] = { ISO_FIELD(Wind, speed, "float") };
static const iso_structure winds[] = { ISO_STRUCTURE(Wind, wind) };

static iso_format *river_format, *alarm_format, *gauge_format, *wind_format;
static iso_kinds *kinds;

static const River a_river = { 1, 4.5 };
static const Alarm an_alarm = { "high", 2 };
static const Gauge a_gauge = { 5.5f, 3 };
static const Wind a_wind = { 9 };

/* A reader that is asked for less. */
static void asked(void) {
    iso_writer *writer;
    iso_reader *reader;
    iso_message message;
    iso_item item;
    int count = 0;
    DO(iso_writer_open_file("asked.iso", &writer));
    DO(iso_writer_write(writer, river_format, &a_river));
    DO(iso_writer_write(writer, alarm_format, &an_alarm));
    DO(iso_writer_write(writer, gauge_format, &a_gauge));
    DO(iso_writer_close(&writer));
    DO(iso_reader_open_file("asked.iso", &reader));
    FAILS(iso_reader_set_query(reader, "where speed >"), ISO_TEXT, "*");
    DO(iso_reader_set_query(reader, "where depth > 1 | select twice = depth + depth"));
    for (;;) {
        DO(iso_reader_next(reader, &message));
        if (message.format == NULL)
            break;
        DO(iso_message_get(&message, "twice", &item));
        CHECK(item.real == 9 || item.real == 11);
        count++;
    }
    CHECK(count == 2); /* the other one has no such field */
    FAILS(iso_reader_set_query(reader, "every 2"), ISO_WRONG_TYPE, "reader");
    iso_reader_close(&reader);
    DO(iso_reader_open_file("asked.iso", &reader));
    DO(iso_reader_set_query(reader, "where nobody > 1"));
    FAILS(iso_reader_next(reader, &message), ISO_NO_SUCH_FIELD, "*");
    iso_reader_close(&reader);
    CHECK(remove("asked.iso") == 0);
}

static void streams(void) {
    iso_writer *writer;
    iso_reader *reader;
    iso_message message;
    iso_item item;
    const void *record;
    const char *text;
    int kind, count = 0;
    DO(iso_writer_open_file("kinds.iso", &writer));
    DO(iso_writer_write(writer, river_format, &a_river));
    DO(iso_writer_write(writer, alarm_format, &an_alarm));
    DO(iso_writer_write(writer, wind_format, &a_wind));
    DO(iso_writer_write(writer, gauge_format, &a_gauge));
    DO(iso_writer_close(&writer));
    DO(iso_reader_open_file("kinds.iso", &reader));
    for (;;) {
        DO(iso_reader_next(reader, &message));
        if (message.format == NULL)
            break;
        if (count == 2) {
            FAILS(iso_kinds_decode(kinds, &message, &kind, &record), ISO_NO_CONVERSION, "Wind");
            CHECK(kind == -1 && record == NULL);
            CHECK(strstr(iso_last_error()->actual, "not River: ") && strstr(iso_last_error()->actual, "not Alarm: "));
            DO(iso_message_get(&message, "speed", &item));
            CHECK(item.real == 9);
        } else {
            DO(iso_kinds_decode(kinds, &message, &kind, &record));
            CHECK(kind == (count == 1 ? ALARM : RIVER));
        }
        if (count == 0)
            CHECK(((const River *)record)->time == 1 && ((const River *)record)->depth == 4.5);
        if (count == 1)
            CHECK(((const Alarm *)record)->time == 2 && strcmp(((const Alarm *)record)->text, "high") == 0);
        if (count == 3)
            CHECK(((const River *)record)->time == 3 && ((const River *)record)->depth == 5.5);
        count++;
    }
    CHECK(count == 4 && iso_kinds_others(kinds) == 1);
    DO(iso_kinds_explain(kinds, gauge_format, &text));
    CHECK(strncmp(text, "Gauge becomes River: no other kind fits\n  River: takes 2 fields\n  Alarm: does not fit: ", 80) == 0);
    DO(iso_kinds_explain(kinds, wind_format, &text));
    CHECK(strncmp(text, "Wind becomes none of the kinds\n", 31) == 0);
    iso_reader_close(&reader);
    CHECK(remove("kinds.iso") == 0);
}

/* Rivers and gauges come many at once, and alarms one by one. */
static void runs(void) {
    static const River many[] = { { 1, 0.5 }, { 2, 1.5 }, { 3, 2.5 } };
    static const char *const depth[] = { "depth" };
    iso_writer *writer;
    iso_reader *reader;
    iso_columns *columns[2] = { NULL, NULL };
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *records, *values;
    size_t count, size;
    int kind;
    DO(iso_writer_open_file("kinds.iso", &writer));
    DO(iso_writer_write_many(writer, river_format, many, 3));
    DO(iso_writer_write(writer, alarm_format, &an_alarm));
    DO(iso_writer_write(writer, alarm_format, &an_alarm));
    DO(iso_writer_write(writer, wind_format, &a_wind));
    DO(iso_writer_write(writer, gauge_format, &a_gauge));
    DO(iso_writer_close(&writer));

    DO(iso_reader_open_file("kinds.iso", &reader));
    DO(iso_kinds_read(kinds, reader, &kind, &records, &count));
    CHECK(kind == RIVER && count == 3 && memcmp(records, many, sizeof many) == 0);
    DO(iso_kinds_read(kinds, reader, &kind, &records, &count));
    CHECK(kind == ALARM && count == 1 && strcmp(((const Alarm *)records)->text, "high") == 0);
    DO(iso_kinds_read(kinds, reader, &kind, &records, &count));
    CHECK(kind == ALARM && count == 1);
    FAILS(iso_kinds_read(kinds, reader, &kind, &records, &count), ISO_NO_CONVERSION, "Wind");
    CHECK(kind == -1 && records == NULL && count == 0);
    DO(iso_kinds_read(kinds, reader, &kind, &records, &count));
    CHECK(kind == RIVER && count == 1 && ((const River *)records)->depth == 5.5);
    DO(iso_kinds_read(kinds, reader, &kind, &records, &count));
    CHECK(kind == -1 && records == NULL && count == 0);
    FAILS(iso_kinds_read(NULL, reader, &kind, &records, &count), ISO_WRONG_TYPE, "kinds");
    FAILS(iso_kinds_read(kinds, NULL, &kind, &records, &count), ISO_WRONG_TYPE, "reader");
    FAILS(iso_kinds_read(kinds, reader, &kind, &records, NULL), ISO_WRONG_TYPE, "count");
    iso_reader_close(&reader);

    DO(iso_kinds_of(kinds, gauge_format, &kind));
    CHECK(kind == RIVER);
    FAILS(iso_kinds_of(kinds, wind_format, &kind), ISO_NO_CONVERSION, "Wind");
    CHECK(kind == -1);
    FAILS(iso_kinds_of(kinds, NULL, &kind), ISO_WRONG_TYPE, "format");

    /* Columns of each kind. */
    DO(iso_columns_open(river_format, depth, 1, NULL, ISO_FAULTS_ERROR, &columns[RIVER]));
    DO(iso_columns_open(alarm_format, NULL, 0, NULL, ISO_FAULTS_ERROR, &columns[ALARM]));
    DO(iso_reader_open_file("kinds.iso", &reader));
    FAILS(iso_columns_read_kinds(columns, 1, kinds, reader), ISO_WRONG_TYPE, "columns");
    FAILS(iso_columns_read_kinds(NULL, 2, kinds, reader), ISO_WRONG_TYPE, "columns");
    FAILS(iso_columns_read_kinds(columns, 2, NULL, reader), ISO_WRONG_TYPE, "kinds");
    DO(iso_columns_read_kinds(columns, 2, kinds, reader));
    iso_reader_close(&reader);
    CHECK(iso_columns_rows(columns[RIVER]) == 4 && iso_columns_rows(columns[ALARM]) == 2);
    DO(iso_columns_values(columns[RIVER], "depth", &values, &size));
    CHECK(size == 8 && ((const double *)values)[2] == 2.5 && ((const double *)values)[3] == 5.5);
    DO(iso_columns_arrow(columns[ALARM], &schema, &array));
    CHECK(array.length == 2 && array.n_children == 2 && strcmp(schema.children[0]->name, "text") == 0);
    array.release(&array);
    schema.release(&schema);
    iso_columns_close(&columns[ALARM]);
    /* Kinds that are not wanted have no columns. */
    DO(iso_reader_open_file("kinds.iso", &reader));
    DO(iso_columns_read_kinds(columns, 2, kinds, reader));
    CHECK(iso_columns_rows(columns[RIVER]) == 8);
    iso_reader_close(&reader);
    iso_columns_close(&columns[RIVER]);
    CHECK(remove("kinds.iso") == 0);
}

static void submit(iso_channel *channel, const iso_format *format, const void *record, size_t sinks) {
    iso_source *source;
    iso_account accounts[2];
    DO(iso_source_open(channel, format, &source));
    DO(iso_source_wait(source, sinks, SOON));
    DO(iso_source_submit(source, record));
    DO(iso_source_end(&source, 0, accounts, 2, NULL));
}

/* The next record. */
static iso_event next(iso_sink *sink) {
    iso_event event;
    do {
        DO(iso_sink_next(sink, SOON, &event));
        CHECK(event.kind != ISO_EVENT_NOTHING && event.kind != ISO_EVENT_REFUSED);
    } while (event.kind != ISO_EVENT_RECORD);
    return event;
}

/* Many records of one kind at once, from a channel. */
static void taken(void) {
    static const River many[] = { { 1, 0.5 }, { 2, 1.5 }, { 3, 2.5 } };
    static const char *const text[] = { "depth", "text" }, *const wrong[] = { "depth", "txet" };
    iso_sink_options options;
    iso_node *node;
    iso_channel *channel;
    iso_source *rivers_, *alarms_, *winds_;
    iso_sink *sink, *counting, *plain;
    iso_stamp stamps[8];
    iso_event event;
    River room[8];
    memset(&options, 0, sizeof options);
    options.fields = wrong;
    options.field_count = 2;
    DO(iso_node_open(NULL, 0, &node));
    DO(iso_channel_create(node, "news", NULL, &channel));
    FAILS(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_MESSAGES, &options, &sink), ISO_NO_SUCH_FIELD, "fields");
    CHECK(strcmp(iso_last_error()->expected, "one of time, depth, text") == 0);
    FAILS(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_REFUSE, &options, &sink), ISO_NO_SUCH_FIELD, "fields");
    options.fields = text;
    DO(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_MESSAGES, &options, &sink));
    DO(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_COUNT, &options, &counting));
    DO(iso_sink_open(channel, river_format, NULL, NULL, &plain));
    DO(iso_source_open(channel, river_format, &rivers_));
    DO(iso_source_open(channel, wind_format, &winds_));
    DO(iso_source_open(channel, alarm_format, &alarms_));
    DO(iso_source_submit_many(rivers_, many, 3));
    DO(iso_source_submit(winds_, &a_wind));
    DO(iso_source_submit(alarms_, &an_alarm));
    DO(iso_source_submit_many(rivers_, many, 2));
    do
        DO(iso_sink_take(sink, NULL, 8, stamps, SOON, &event));
    while (event.kind == ISO_EVENT_JOINED);
    CHECK(event.kind == ISO_EVENT_RECORD && event.which == RIVER && event.count == 3);
    CHECK(memcmp(event.record, many, sizeof many) == 0 && stamps[2].sequence == 2 && event.stamp.sequence == 0);
    DO(iso_sink_take(sink, NULL, 8, NULL, SOON, &event));
    CHECK(event.which == -1 && event.record == NULL && event.count == 1 && iso_sink_others(sink) == 1);
    DO(iso_sink_take(sink, NULL, 8, stamps, SOON, &event));
    CHECK(event.which == ALARM && event.count == 1 && strcmp(((const Alarm *)event.record)->text, "high") == 0);
    DO(iso_sink_take(sink, NULL, 1, stamps, SOON, &event));
    CHECK(event.which == RIVER && event.count == 1 && stamps[0].sequence == 3);
    FAILS(iso_sink_take(sink, room, 8, stamps, SOON, &event), ISO_WRONG_TYPE, "records");
    CHECK(event.kind == ISO_EVENT_NOTHING);
    FAILS(iso_sink_take(plain, NULL, 8, stamps, SOON, &event), ISO_WRONG_TYPE, "records");
    do
        DO(iso_sink_take(counting, NULL, 8, stamps, SOON, &event));
    while (event.kind == ISO_EVENT_JOINED);
    CHECK(event.which == RIVER && event.count == 3 && iso_sink_others(counting) == 0);
    DO(iso_sink_take(counting, NULL, 8, stamps, SOON, &event));
    CHECK(event.which == ALARM && iso_sink_others(counting) == 1);
    iso_source_close(&rivers_);
    iso_source_close(&winds_);
    iso_source_close(&alarms_);
    iso_sink_close(&plain);
    iso_sink_close(&counting);
    iso_sink_close(&sink);
    iso_channel_close(&channel);
    iso_node_close(&node);
}

static void explained(void) {
    iso_decoder *decoder;
    const char *text;
    DO(iso_decoder_open(river_format, NULL, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decoder_explain(decoder, gauge_format, &text));
    CHECK(strstr(text, "wire    Gauge  ") == text && strstr(text, "\ndepth  ") != NULL);
    DO(iso_decoder_explain(decoder, wind_format, &text));
    CHECK(strstr(text, "in common") != NULL);
    /* A pair that is refused has no cost. */
    DO(iso_decoder_explain_timed(decoder, wind_format, &text));
    CHECK(strstr(text, "measured on this") == NULL && strstr(text, "in common") != NULL);
    DO(iso_decoder_explain_timed(decoder, gauge_format, &text));
    CHECK(strstr(text, "\ncost, measured on this ") != NULL && strstr(text, "  all steps, interpreted\n") != NULL);
    FAILS(iso_decoder_explain_timed(decoder, NULL, &text), ISO_WRONG_TYPE, "sender");
    FAILS(iso_decoder_explain(decoder, NULL, &text), ISO_WRONG_TYPE, "sender");
    CHECK(text == NULL);
    FAILS(iso_decoder_explain(NULL, wind_format, &text), ISO_WRONG_TYPE, "decoder");
    FAILS(iso_decoder_explain(decoder, wind_format, NULL), ISO_WRONG_TYPE, "text");
    iso_decoder_close(&decoder);
}

static void channels(void) {
    iso_node *node;
    iso_channel *channel;
    iso_sink *sink, *lenient;
    iso_source *source;
    iso_event event;
    iso_item item;
    iso_counts counts;
    DO(iso_node_open(NULL, 0, &node));
    DO(iso_channel_create(node, "news", NULL, &channel));
    FAILS(iso_sink_open_kinds(channel, NULL, ISO_OTHERS_REFUSE, NULL, &sink), ISO_WRONG_TYPE, "kinds");
    FAILS(iso_sink_open_kinds(channel, kinds, (iso_others)3, NULL, &sink), ISO_WRONG_TYPE, "others");
    DO(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_REFUSE, NULL, &sink));
    DO(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_MESSAGES, NULL, &lenient));
    submit(channel, river_format, &a_river, 2);
    event = next(sink);
    CHECK(event.which == RIVER && ((const River *)event.record)->depth == 4.5);
    submit(channel, alarm_format, &an_alarm, 2);
    event = next(sink);
    CHECK(event.which == ALARM && strcmp(((const Alarm *)event.record)->text, "high") == 0);
    submit(channel, gauge_format, &a_gauge, 2);
    event = next(sink);
    CHECK(event.which == RIVER && ((const River *)event.record)->depth == 5.5);
    DO(iso_source_open(channel, wind_format, &source));
    DO(iso_source_submit(source, &a_wind));
    do
        DO(iso_sink_next(sink, SOON, &event));
    while (event.kind == ISO_EVENT_LEFT);
    CHECK(event.kind == ISO_EVENT_REFUSED && event.error->code == ISO_NO_CONVERSION && event.which == -1);
    CHECK(strcmp(event.error->path, "Wind") == 0);
    DO(iso_sink_counts(sink, &counts));
    CHECK(counts.refused == 1 && counts.unfit == 0);
    CHECK(next(lenient).which == RIVER && next(lenient).which == ALARM && next(lenient).which == RIVER);
    event = next(lenient);
    CHECK(event.which == -1 && event.record == NULL);
    DO(iso_message_get(&event.message, "speed", &item));
    CHECK(item.real == 9);
    iso_source_close(&source);
    iso_sink_close(&lenient);
    iso_sink_close(&sink);
    iso_channel_close(&channel);
    iso_node_close(&node);
}

typedef struct {
    int records, others, joined;
    double depth;
} Seen;

static void on_river(void *context, const iso_event *event) {
    Seen *seen = (Seen *)context;
    CHECK(event->kind == ISO_EVENT_RECORD && event->which == RIVER);
    seen->depth += ((const River *)event->record)->depth;
    seen->records++;
}

static void on_alarm(void *context, const iso_event *event) {
    CHECK(event->kind == ISO_EVENT_RECORD && event->which == ALARM);
    CHECK(strcmp(((const Alarm *)event->record)->text, "high") == 0);
    ((Seen *)context)->records++;
}

static void on_other(void *context, const iso_event *event) {
    Seen *seen = (Seen *)context;
    iso_item item;
    seen->joined += event->kind == ISO_EVENT_JOINED;
    if (event->kind == ISO_EVENT_RECORD && event->which == -1) {
        DO(iso_message_get(&event->message, "speed", &item));
        CHECK(event->record == NULL && item.real == 9);
        seen->others++;
    }
    if (event->kind == ISO_EVENT_RECORD && event->which == ALARM)
        seen->records += 100;
}

static void handlers(void) {
    const iso_format *const formats[] = { river_format, wind_format, alarm_format, gauge_format };
    const void *const records[] = { &a_river, &a_wind, &an_alarm, &a_gauge };
    Seen seen = { 0, 0, 0, 0 }, counted = { 0, 0, 0, 0 };
    iso_node *node;
    iso_channel *channel;
    iso_source *sources[4];
    iso_handler *handler, *counting;
    iso_sink *sink;
    iso_event event;
    iso_counts counts;
    size_t count, i;
    int last = 0;
    DO(iso_node_open(NULL, 0, &node));
    DO(iso_channel_create(node, "news", NULL, &channel));
    FAILS(iso_kinds_handle(kinds, 2, on_river, &seen), ISO_WRONG_TYPE, "kind");
    FAILS(iso_kinds_handle(kinds, -1, on_river, &seen), ISO_WRONG_TYPE, "kind");
    FAILS(iso_kinds_handle(kinds, 0, NULL, &seen), ISO_WRONG_TYPE, "handle");
    FAILS(iso_handler_open_kinds(channel, NULL, ISO_OTHERS_COUNT, NULL, NULL, NULL, &handler), ISO_WRONG_TYPE, "kinds");
    DO(iso_kinds_handle(kinds, RIVER, on_river, &seen));
    /* Kinds without a function go to the last one. */
    DO(iso_handler_open_kinds(channel, kinds, ISO_OTHERS_MESSAGES, NULL, on_other, &seen, &handler));
    DO(iso_kinds_handle(kinds, RIVER, on_river, &counted));
    DO(iso_kinds_handle(kinds, ALARM, on_alarm, &counted));
    DO(iso_handler_open_kinds(channel, kinds, ISO_OTHERS_COUNT, NULL, NULL, NULL, &counting));
    DO(iso_sink_open_kinds(channel, kinds, ISO_OTHERS_COUNT, NULL, &sink));
    for (i = 0; i < 4; i++) {
        DO(iso_source_open(channel, formats[i], &sources[i]));
        DO(iso_source_submit(sources[i], records[i]));
    }
    do
        DO(iso_node_poll(node, 0, &count));
    while (count > 0);
    CHECK(seen.records == 102 && seen.depth == 10 && seen.others == 1 && seen.joined == 4);
    CHECK(counted.records == 3 && counted.depth == 10 && counted.others == 0);
    CHECK(iso_handler_others(handler) == 1 && iso_handler_others(counting) == 1 && iso_handler_others(NULL) == 0);
    DO(iso_handler_counts(counting, &counts));
    CHECK(counts.taken == 4 && counts.lost == 0);
    do {
        DO(iso_sink_next(sink, 0, &event));
        CHECK(event.kind != ISO_EVENT_RECORD || event.which >= 0);
        last += event.kind == ISO_EVENT_RECORD;
    } while (event.kind != ISO_EVENT_NOTHING);
    CHECK(last == 3 && iso_sink_others(sink) == 1 && iso_sink_others(NULL) == 0);
    for (i = 0; i < 4; i++)
        iso_source_close(&sources[i]);
    iso_sink_close(&sink);
    iso_handler_close(&counting);
    iso_handler_close(&handler);
    iso_channel_close(&channel);
    iso_node_close(&node);
}

int main(void) {
    iso_message none = { NULL, NULL, 0 };
    iso_kinds *empty;
    const void *record;
    int kind;
    DO(iso_format_open(rivers, 1, &river_format));
    DO(iso_format_open(alarms, 1, &alarm_format));
    DO(iso_format_open(gauges, 1, &gauge_format));
    DO(iso_format_open(winds, 1, &wind_format));
    DO(iso_kinds_open(&kinds));
    FAILS(iso_kinds_add(kinds, NULL, NULL, ISO_FAULTS_ERROR), ISO_WRONG_TYPE, "format");
    FAILS(iso_kinds_add(kinds, river_format, NULL, (iso_faults)9), ISO_WRONG_TYPE, "faults");
    DO(iso_kinds_add(kinds, river_format, NULL, ISO_FAULTS_ERROR));
    DO(iso_kinds_add(kinds, alarm_format, NULL, ISO_FAULTS_ERROR));
    FAILS(iso_kinds_decode(kinds, &none, &kind, &record), ISO_WRONG_TYPE, "message");
    DO(iso_kinds_open(&empty));
    iso_kinds_close(&empty);
    iso_kinds_close(&empty);
    streams();
    asked();
    runs();
    taken();
    explained();
    channels();
    handlers();
    iso_kinds_close(&kinds);
    iso_format_close(&wind_format);
    iso_format_close(&gauge_format);
    iso_format_close(&alarm_format);
    iso_format_close(&river_format);
    return 0;
}
