/* Records: encoded, decoded in every way, with rules and faults, by name, and through streams. */
#include "check.h"

#define DEEP 500000

typedef struct {
    char flag; /* a gap is behind it */
    double x;
} Point;
typedef struct {
    int step;
    const char *name;
    int n;
    Point *path;
    float level[600];
} Track;
static const iso_field point[] = { ISO_FIELD(Point, flag, "boolean"), ISO_FIELD(Point, x, "double") };
static const iso_field track[] = { ISO_FIELD(Track, step, "int"), ISO_FIELD(Track, name, "string"),
                                   ISO_FIELD(Track, n, "int"), ISO_FIELD(Track, path, "Point[n]"),
                                   ISO_FIELD_UNIT(Track, level, "float[600]", "m") };
static const iso_structure tracks[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE(Track, track) };

/* A receiver's. */
typedef struct {
    int64_t step;
    float pressure;
    short color;
    double level[600];
} Seen;
static const iso_field seen[] = { ISO_FIELD(Seen, step, "int64_t"), ISO_FIELD(Seen, pressure, "float"),
                                  ISO_FIELD(Seen, color, "enumeration{none,red=7}"),
                                  ISO_FIELD_UNIT(Seen, level, "double[600]", "m") };
static const iso_structure seens[] = { ISO_STRUCTURE(Seen, seen) };

typedef struct {
    unsigned char small;
} Narrow;
static const iso_field narrow[] = { ISO_FIELD(Narrow, small, "unsigned char") };
static const iso_structure narrows[] = { ISO_STRUCTURE(Narrow, narrow) };

static iso_format *format_of(const iso_structure *structures, size_t count) {
    iso_format *format;
    DO(iso_format_open(structures, count, &format));
    return format;
}

static Point points[2];
static Track sample(int step) {
    Track track;
    memset(&track, 0xee, sizeof track); /* gaps have something in them */
    memset(points, 0xee, sizeof points);
    points[0].flag = 1;
    points[0].x = 0.5;
    points[1].flag = 0;
    points[1].x = 1.5;
    track.step = step;
    track.name = "Kiel";
    track.n = 2;
    track.path = points;
    memset(track.level, 0, sizeof track.level);
    track.level[599] = 2.5f;
    return track;
}

static void same(const Track *track, int step) {
    CHECK(track->step == step && strcmp(track->name, "Kiel") == 0 && track->n == 2);
    CHECK(track->path[0].flag == 1 && track->path[1].x == 1.5 && track->level[599] == 2.5f);
}

/* The message of a record, in memory that may be changed and is aligned. */
static void *encoded(const iso_format *format, const void *record, size_t *length) {
    const iso_buffer *buffers;
    const void *whole;
    size_t count, i, at = 0;
    char *bytes;
    iso_encoder *encoder;
    DO(iso_encoder_open(format, &encoder));
    DO(iso_encode_whole(encoder, record, &whole, length));
    bytes = (char *)malloc(*length);
    memcpy(bytes, whole, *length);
    DO(iso_encode(encoder, record, &buffers, &count));
    for (i = 0; i < count; at += buffers[i++].length)
        CHECK(memcmp(bytes + at, buffers[i].bytes, buffers[i].length) == 0);
    CHECK(at == *length);
    iso_encoder_close(&encoder);
    return bytes;
}

static void encode_and_decode(void) {
    Track sent = sample(5), into;
    const void *record;
    size_t length;
    iso_format *format = format_of(tracks, 2);
    iso_registry *registry, *other;
    iso_decoder *decoder;
    iso_blocks *blocks = NULL, *more = NULL;
    iso_message message;
    iso_item item;
    const char *json;
    unsigned char token[16];
    iso_format *found;
    char *bytes = (char *)encoded(format, &sent, &length);
    DO(iso_registry_open(&registry));
    FAILS(iso_message_parse(registry, bytes, length, &message), ISO_UNKNOWN_FORMAT, "");
    DO(iso_format_token(format, token));
    CHECK(memcmp(iso_last_error()->token, token, sizeof token) == 0);
    CHECK(message.format == NULL);
    DO(iso_registry_share(registry, &other));
    DO(iso_registry_add(other, format));
    iso_registry_close(&other);
    FAILS(iso_message_parse(registry, bytes, length - 1, &message), ISO_CUT, "");
    CHECK(iso_last_error()->token == NULL);
    DO(iso_message_parse(registry, bytes, length, &message));
    CHECK(strcmp(iso_format_name(message.format), "Track") == 0);
    DO(iso_registry_find(registry, token, &found));
    iso_format_close(&found);

    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, &message, &record));
    same((const Track *)record, 5);
    /* Into structs of ours, which outlive decoder and message. */
    FAILS(iso_decode_into(decoder, &message, &into, NULL), ISO_WRONG_TYPE, "blocks");
    DO(iso_decode_into(decoder, &message, &into, &blocks));
    DO(iso_decode_into(decoder, &message, &sent, &more));
    DO(iso_decode_into(decoder, &message, &sent, &more));

    DO(iso_message_get(&message, "path[1].x", &item));
    CHECK(item.kind == ISO_KIND_REAL && item.real == 1.5);
    DO(iso_message_get(&message, "name", &item));
    CHECK(item.kind == ISO_KIND_TEXT && item.length == 4 && memcmp(item.bytes, "Kiel", 4) == 0);
    DO(iso_message_get(&message, "level", &item));
    CHECK(item.kind == ISO_KIND_ARRAY && item.count == 600 && item.length == 2400);
    DO(iso_message_get(&message, "path[0].flag", &item));
    CHECK(item.kind == ISO_KIND_BOOLEAN && item.integer == 1);
    DO(iso_message_get(&message, "path[0]", &item));
    CHECK(item.kind == ISO_KIND_RECORD && item.length == sizeof(Point));
    FAILS(iso_message_get(&message, "path[0].y", &item), ISO_NO_SUCH_FIELD, "path[0]");
    CHECK(item.kind == ISO_KIND_NULL && item.bytes == NULL);
    DO(iso_message_json(&message, &json));
    CHECK(strncmp(json, "{\"step\":5,\"name\":\"Kiel\"", 22) == 0);

    /* In place: the body is 32 bytes behind the start of memory that malloc has aligned. */
    DO(iso_decode_in_place(decoder, format, bytes + 32, length - 32, &record));
    same((const Track *)record, 5);
    CHECK((const char *)record == bytes + 32);
    free(bytes);
    iso_decoder_close(&decoder);
    iso_registry_close(&registry);
    iso_format_close(&format);
    same(&into, 5);
    same(&sent, 5);
    iso_blocks_close(&blocks);
    iso_blocks_close(&more);
    iso_blocks_close(&more);
}

static void broken_records(void) {
    Track broken = sample(1);
    const void *bytes;
    size_t length;
    iso_encoder *encoder;
    iso_format *format = format_of(tracks, 2);
    DO(iso_encoder_open(format, &encoder));
    iso_format_close(&format);
    FAILS(iso_encode_whole(encoder, NULL, &bytes, &length), ISO_WRONG_TYPE, "record");
    points[1].flag = 2;
    FAILS(iso_encode_whole(encoder, &broken, &bytes, &length), ISO_BAD_RECORD, "path[1].flag");
    broken.n = -1;
    FAILS(iso_encode_whole(encoder, &broken, &bytes, &length), ISO_BAD_RECORD, "path");
    broken.n = 2;
    broken.path = NULL;
    FAILS(iso_encode_whole(encoder, &broken, &bytes, &length), ISO_BAD_RECORD, "path");
    broken.n = 0;
    DO(iso_encode_whole(encoder, &broken, &bytes, &length));
    iso_encoder_close(&encoder);
}

/* The record of a receiver that asks for more than there is. */
typedef struct {
    int64_t step;
    double depth;
    int32_t marks[3];
} More;

static const iso_field more_strict[] = { ISO_FIELD(More, step, "int64_t"), ISO_FIELD(More, depth, "double"),
                                         ISO_FIELD(More, marks, "int32_t[3]") };
static const iso_field more_lenient[] = { ISO_FIELD(More, step, "int64_t"),
                                          ISO_FIELD_DEFAULT(More, depth, "double", "-1.5"),
                                          ISO_FIELD_DEFAULT(More, marks, "int32_t[3]", "") };
static const iso_field more_wrong[] = { ISO_FIELD_DEFAULT(More, depth, "double", "\"deep\"") };
static const iso_field more_large[] = { ISO_FIELD_DEFAULT(More, marks, "int32_t[3]", "[1, 99999999999, 3]") };

/* The record of a message, in a struct without `depth` and `marks`. */
static void missing(const iso_message *message) {
    const iso_structure strict = ISO_STRUCTURE(More, more_strict), lenient = ISO_STRUCTURE(More, more_lenient);
    const iso_structure wrong = ISO_STRUCTURE(More, more_wrong), large = ISO_STRUCTURE(More, more_large);
    iso_format *format;
    iso_decoder *decoder;
    iso_rules *rules;
    const void *record;
    const More *more;
    DO(iso_format_open(&strict, 1, &format));
    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    FAILS(iso_decode(decoder, message, &record), ISO_REQUIRED, "depth");
    CHECK(strstr(iso_last_error()->expected, "missing = zero, for depth (f64), marks (i32[3])") != NULL);
    iso_decoder_close(&decoder);
    DO(iso_rules_open(&rules));
    FAILS(iso_rules_missing(rules, (iso_missing)2), ISO_WRONG_TYPE, "missing");
    DO(iso_rules_missing(rules, ISO_MISSING_ZERO));
    DO(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, message, &record));
    more = (const More *)record;
    CHECK(more->step == 300 && more->depth == 0 && more->marks[2] == 0);
    iso_decoder_close(&decoder);
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    DO(iso_rules_default(rules, "More", "depth", NULL));
    DO(iso_rules_default(rules, "More", "marks", "7"));
    DO(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, message, &record));
    more = (const More *)record;
    CHECK(more->depth == 0 && more->marks[0] == 7 && more->marks[2] == 7);
    iso_decoder_close(&decoder);
    DO(iso_rules_default(rules, "More", "marks", "3000000000"));
    FAILS(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder), ISO_DECLARATION, "More.marks");
    iso_rules_close(&rules);
    iso_format_close(&format);
    DO(iso_format_open(&lenient, 1, &format));
    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, message, &record));
    more = (const More *)record;
    CHECK(more->step == 300 && more->depth == -1.5 && more->marks[2] == 0);
    iso_decoder_close(&decoder);
    iso_format_close(&format);
    FAILS(iso_format_open(&wrong, 1, &format), ISO_TEXT, "More.depth");
    FAILS(iso_format_open(&large, 1, &format), ISO_DECLARATION, "More.marks[1]");
    CHECK(!strcmp(iso_last_error()->expected, "i32") && !strcmp(iso_last_error()->actual, "99999999999"));
}

static void evolution(void) {
    Track sent = sample(300);
    const void *record;
    const Seen *got;
    size_t length;
    iso_format *format = format_of(tracks, 2), *wanted = format_of(seens, 1), *tight = format_of(narrows, 1);
    iso_registry *registry;
    iso_decoder *decoder;
    iso_rules *rules;
    iso_message message;
    char *nested;
    void *bytes = encoded(format, &sent, &length);
    DO(iso_registry_open(&registry));
    DO(iso_registry_add(registry, format));
    DO(iso_message_parse(registry, bytes, length, &message));
    missing(&message);
    DO(iso_rules_open(&rules));
    DO(iso_rules_default(rules, "Seen", "pressure", "1013.25"));
    DO(iso_rules_default(rules, "Seen", "color", "\"red\""));
    DO(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, &message, &record));
    got = (const Seen *)record;
    CHECK(got->step == 300 && got->pressure == 1013.25f && got->color == 7 && got->level[599] == 2.5);
    CHECK(iso_decoder_copied(decoder) == sizeof(Seen));
    iso_decoder_close(&decoder);
    DO(iso_rules_required(rules, "Seen", "color"));
    DO(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder));
    FAILS(iso_decode(decoder, &message, &record), ISO_REQUIRED, "color");
    CHECK(record == NULL);
    iso_decoder_close(&decoder);
    DO(iso_rules_default(rules, "Seen", "step", "many"));
    FAILS(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder), ISO_TEXT, "Seen.step");
    CHECK(decoder == NULL);
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    DO(iso_rules_default(rules, "Seen", "step", "1, \"step\": 2")); /* no value, but a part of a record */
    FAILS(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder), ISO_TEXT, "Seen.step");
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    /* Nested so deep that a parser that calls itself for each level would have no stack left. */
    nested = (char *)calloc(2 * DEEP + 1, 1);
    memset(nested, '[', DEEP);
    DO(iso_rules_default(rules, "Seen", "step", nested));
    FAILS(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder), ISO_TEXT, "Seen.step");
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    memset(nested + DEEP, ']', DEEP);
    DO(iso_rules_default(rules, "Seen", "level", nested));
    FAILS(iso_decoder_open(wanted, rules, ISO_FAULTS_ERROR, &decoder), ISO_TEXT, "Seen.level");
    free(nested);
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    DO(iso_rules_alias(rules, "Narrow", "large", "step"));
    FAILS(iso_decoder_open(tight, rules, ISO_FAULTS_ERROR, &decoder), ISO_NO_SUCH_FIELD, "Narrow.large");
    iso_rules_close(&rules);
    DO(iso_rules_open(&rules));
    FAILS(iso_rules_alias(rules, "Narrow", "small", "nonsense..[3]"), ISO_DECLARATION, "Narrow.small");
    DO(iso_rules_alias(rules, "Narrow", "small", "step"));
    DO(iso_decoder_open(tight, rules, ISO_FAULTS_ERROR, &decoder));
    FAILS(iso_decode(decoder, &message, &record), ISO_OVERFLOW, "small");
    iso_decoder_close(&decoder);
    DO(iso_decoder_open(tight, rules, ISO_FAULTS_SATURATE, &decoder));
    DO(iso_decode(decoder, &message, &record));
    CHECK(((const Narrow *)record)->small == 255);
    iso_decoder_close(&decoder);
    FAILS(iso_decoder_open(tight, rules, (iso_faults)3, &decoder), ISO_WRONG_TYPE, "faults");
    iso_rules_close(&rules);
    iso_registry_close(&registry);
    iso_format_close(&format);
    iso_format_close(&wanted);
    iso_format_close(&tight);
    free(bytes);
}

/* The same place, as two fields and as a structure. */
typedef struct {
    double lat;
    float lon;
    int step;
} Flat;
typedef struct {
    double lat, lon;
} Place;
typedef struct {
    int64_t step;
    Place at;
} Nested;
static const iso_field flat[] = { ISO_FIELD(Flat, lat, "double"), ISO_FIELD(Flat, lon, "float"),
                                  ISO_FIELD(Flat, step, "int") };
static const iso_field place[] = { ISO_FIELD(Place, lat, "double"), ISO_FIELD(Place, lon, "double") };
static const iso_field nested[] = { ISO_FIELD(Nested, step, "int64_t"), ISO_FIELD_STRUCT(Nested, at, "Place", Place) };
static const iso_structure flats[] = { ISO_STRUCTURE(Flat, flat) };
static const iso_structure nesteds[] = { ISO_STRUCTURE(Place, place), ISO_STRUCTURE(Nested, nested) };

/* Each is received as the other, by aliases that are paths; without them, neither is. */
static void flat_and_nested(void) {
    const Flat two = { 54.25, 10.5f, 7 };
    const Nested one = { 7, { 54.25, 10.5 } };
    iso_format *of_flat = format_of(flats, 1), *of_nested = format_of(nesteds, 2);
    iso_registry *registry;
    iso_decoder *decoder;
    iso_rules *rules;
    iso_message message;
    const void *record;
    size_t length;
    void *bytes = encoded(of_flat, &two, &length);
    DO(iso_registry_open(&registry));
    DO(iso_registry_add(registry, of_flat));
    DO(iso_registry_add(registry, of_nested));
    DO(iso_message_parse(registry, bytes, length, &message));
    DO(iso_decoder_open(of_nested, NULL, ISO_FAULTS_ERROR, &decoder));
    FAILS(iso_decode(decoder, &message, &record), ISO_REQUIRED, "at.lat");
    iso_decoder_close(&decoder);
    DO(iso_rules_open(&rules));
    DO(iso_rules_alias(rules, "Nested", "at", "."));
    DO(iso_decoder_open(of_nested, rules, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, &message, &record));
    CHECK(memcmp(record, &one, sizeof one) == 0);
    iso_decoder_close(&decoder);
    iso_rules_close(&rules);
    free(bytes);

    bytes = encoded(of_nested, &one, &length);
    DO(iso_message_parse(registry, bytes, length, &message));
    DO(iso_decoder_open(of_flat, NULL, ISO_FAULTS_ERROR, &decoder));
    FAILS(iso_decode(decoder, &message, &record), ISO_REQUIRED, "lat");
    iso_decoder_close(&decoder);
    DO(iso_rules_open(&rules));
    DO(iso_rules_alias(rules, "Flat", "lat", "at.lat"));
    DO(iso_rules_alias(rules, "Flat", "lon", "at.lon"));
    DO(iso_decoder_open(of_flat, rules, ISO_FAULTS_ERROR, &decoder));
    DO(iso_decode(decoder, &message, &record));
    CHECK(memcmp(record, &two, sizeof two) == 0);
    iso_decoder_close(&decoder);
    iso_rules_close(&rules);
    free(bytes);
    iso_registry_close(&registry);
    iso_format_close(&of_flat);
    iso_format_close(&of_nested);
}

/* A stream in memory. */
typedef struct {
    char bytes[100000];
    size_t length, at, limit, pause; /* `get` says once that no more has come, when it has come to `pause` */
} Memory;

static int put(void *context, const void *bytes, size_t count) {
    Memory *memory = (Memory *)context;
    if (memory->length + count > memory->limit)
        return 5;
    memcpy(memory->bytes + memory->length, bytes, count);
    memory->length += count;
    return 0;
}

static ptrdiff_t get(void *context, void *bytes, size_t room) {
    Memory *memory = (Memory *)context;
    size_t count = (memory->pause ? memory->pause : memory->length) - memory->at;
    if (!count)
        memory->pause = 0;
    count = count < room ? count : room;
    count = count < 1000 ? count : 1000;
    memcpy(bytes, memory->bytes + memory->at, count);
    memory->at += count;
    return (ptrdiff_t)count;
}

static ptrdiff_t get_nothing(void *context, void *bytes, size_t room) {
    (void)context, (void)bytes, (void)room;
    return -1;
}

static void streams(void) {
    static Memory memory, passed;
    Track sent = sample(0);
    Narrow many[3] = { { 1 }, { 2 }, { 3 } };
    Track both[2];
    const void *record;
    int step, steps = 0, others = 0;
    iso_format *format = format_of(tracks, 2), *tight = format_of(narrows, 1);
    iso_writer *writer, *other;
    iso_reader *reader;
    iso_decoder *decoder;
    iso_message message;
    iso_item item;
    memory.limit = passed.limit = sizeof memory.bytes;
    DO(iso_writer_open(put, &memory, &writer));
    for (step = 0; step < 5; step++) {
        sent.step = step;
        DO(iso_writer_write(writer, format, &sent));
    }
    DO(iso_writer_write_many(writer, tight, many, COUNT(many)));
    DO(iso_writer_write_many(writer, tight, many, 0));
    both[0] = sent;
    both[1] = sent;
    both[0].step = 5;
    both[1].step = 6;
    DO(iso_writer_write_many(writer, format, both, 2));
    both[1].n = -1;
    FAILS(iso_writer_write_many(writer, format, both + 1, 1), ISO_BAD_RECORD, "[0].path");
    memory.limit = memory.length + 40;
    FAILS(iso_writer_write(writer, format, &sent), ISO_IO, "");
    FAILS(iso_writer_write(writer, tight, many), ISO_IO, "");
    DO(iso_writer_close(&writer));
    memory.length -= memory.length % 16 ? memory.length % 16 : 0;

    DO(iso_writer_open(put, &passed, &other));
    DO(iso_reader_open(get, &memory, &reader));
    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    while (iso_reader_next(reader, &message) == ISO_OK && message.format) {
        DO(iso_writer_pass(other, &message));
        if (strcmp(iso_format_name(message.format), "Narrow") == 0) {
            DO(iso_message_get(&message, "small", &item));
            CHECK(item.integer == ++others && item.kind == ISO_KIND_INTEGER);
            FAILS(iso_decode(decoder, &message, &record), ISO_NO_CONVERSION, "Track");
        } else {
            DO(iso_decode(decoder, &message, &record));
            same((const Track *)record, steps++);
        }
    }
    /* What was written in part is where the stream is cut. */
    CHECK(steps == 7 && others == 3 && iso_last_error()->code == ISO_CUT && iso_reader_goes_on(reader) == 0);
    iso_reader_close(&reader);
    DO(iso_writer_close(&other));

    DO(iso_reader_open(get, &passed, &reader));
    for (steps = 0; steps < 7;) {
        const iso_code code = iso_reader_read(reader, decoder, &record);
        CHECK(iso_reader_goes_on(reader));
        if (code == ISO_OK)
            same((const Track *)record, steps++);
        else
            CHECK(code == ISO_NO_CONVERSION && record == NULL);
    }
    DO(iso_reader_read(reader, decoder, &record));
    CHECK(record == NULL);
    iso_reader_close(&reader);
    DO(iso_reader_open(get_nothing, NULL, &reader));
    FAILS(iso_reader_next(reader, &message), ISO_IO, "");
    iso_reader_close(&reader);
    iso_reader_close(&reader);
    iso_decoder_close(&decoder);
    iso_format_close(&format);
    iso_format_close(&tight);
}

/* The format is known before the body: the program peeks, skips, and chooses where a body goes. */
static void chosen(void) {
    static Memory memory;
    static const Narrow many[3] = { { 1 }, { 2 }, { 3 } };
    double body[1000];
    Track sent = sample(7);
    const void *record;
    int skipped;
    iso_format *format = format_of(tracks, 2), *tight = format_of(narrows, 1);
    iso_writer *writer;
    iso_reader *reader;
    iso_decoder *decoder;
    iso_message message;
    iso_item item;
    memory.limit = sizeof memory.bytes;
    DO(iso_writer_open(put, &memory, &writer));
    DO(iso_writer_write_many(writer, tight, many, COUNT(many)));
    DO(iso_writer_write(writer, format, &sent));
    DO(iso_writer_close(&writer));

    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    DO(iso_reader_open(get, &memory, &reader));
    DO(iso_reader_peek(reader, &message));
    CHECK(strcmp(iso_format_name(message.format), "Narrow") == 0 && message.length == sizeof(Narrow) && !message.body);
    FAILS(iso_message_get(&message, "small", &item), ISO_WRONG_TYPE, "message");
    DO(iso_reader_next(reader, &message));
    DO(iso_message_get(&message, "small", &item));
    CHECK(item.integer == 1);
    DO(iso_reader_skip(reader, &skipped));
    CHECK(skipped == 1);
    DO(iso_reader_skip(reader, NULL));
    DO(iso_reader_peek(reader, &message));
    CHECK(strcmp(iso_format_name(message.format), "Track") == 0 && message.length > 2400 && message.length < sizeof body);
    /* A body is so long that it has not come: only the header has been taken, and what came with it. */
    CHECK(memory.at < memory.length);
    FAILS(iso_reader_read_into(reader, body, 100, &message), ISO_MESSAGE_SIZE, "*");
    CHECK(!message.format && iso_reader_goes_on(reader));
    FAILS(iso_reader_read_into(reader, NULL, 100, &message), ISO_WRONG_TYPE, "body");
    /* A file may still grow: what has come of a body is kept. */
    memory.pause = memory.length - 300;
    FAILS(iso_reader_read_into(reader, body, sizeof body, &message), ISO_CUT, "*");
    CHECK(!message.format && !iso_reader_goes_on(reader));
    DO(iso_reader_read_into(reader, body, sizeof body, &message));
    CHECK(message.body == body);
    DO(iso_decode(decoder, &message, &record));
    same((const Track *)record, 7);
    DO(iso_reader_peek(reader, &message));
    CHECK(!message.format);
    DO(iso_reader_read_into(reader, body, sizeof body, &message));
    CHECK(!message.format);
    DO(iso_reader_skip(reader, &skipped));
    CHECK(skipped == 0 && iso_reader_goes_on(reader));
    FAILS(iso_reader_peek(NULL, &message), ISO_WRONG_TYPE, "reader");
    FAILS(iso_reader_skip(NULL, &skipped), ISO_WRONG_TYPE, "reader");
    FAILS(iso_reader_read_into(NULL, body, 1, &message), ISO_WRONG_TYPE, "reader");
    iso_reader_close(&reader);
    iso_decoder_close(&decoder);
    iso_format_close(&format);
    iso_format_close(&tight);
}

/* Of three sealed messages, the second is damaged. */
static void sealed(void) {
    static Memory memory;
    static const Narrow sent[3] = { { 1 }, { 2 }, { 3 } };
    uint64_t from, to, begins[3];
    int resumed, i;
    iso_format *format = format_of(narrows, 1);
    iso_writer *writer;
    iso_reader *reader;
    iso_message message;
    memory.limit = sizeof memory.bytes;
    DO(iso_writer_open(put, &memory, &writer));
    DO(iso_writer_set_sealed(writer, 1));
    for (i = 0; i < 3; i++) {
        begins[i] = memory.length;
        DO(iso_writer_write(writer, format, &sent[i]));
    }
    DO(iso_writer_close(&writer));
    memory.bytes[begins[1] + 48 + 32] ^= 1;

    DO(iso_reader_open(get, &memory, &reader));
    DO(iso_reader_next(reader, &message));
    DO(iso_reader_resume(reader, &resumed, NULL, NULL));
    CHECK(!resumed);
    FAILS(iso_reader_next(reader, &message), ISO_DAMAGED, "");
    CHECK(!iso_reader_goes_on(reader));
    DO(iso_reader_resume(reader, &resumed, &from, &to));
    CHECK(resumed && from == begins[1] && to == begins[2] && iso_reader_goes_on(reader));
    DO(iso_reader_next(reader, &message));
    CHECK(message.format);
    DO(iso_reader_next(reader, &message));
    CHECK(!message.format);
    FAILS(iso_reader_resume(NULL, &resumed, NULL, NULL), ISO_WRONG_TYPE, "reader");
    iso_reader_close(&reader);
    iso_format_close(&format);
}

/* A stream that was cut is healed before it goes on. */
static void appended(void) {
    static Memory memory;
    static const Narrow sent[3] = { { 1 }, { 2 }, { 3 } };
    const char *path = "appended.iso", *beside = "appended.iso.cut";
    uint64_t bytes, at;
    const char *aside;
    int i, found[2] = { 0, 0 };
    iso_format *format = format_of(narrows, 1);
    iso_writer *writer, *other = NULL;
    iso_reader *reader;
    iso_message message;
    FILE *file;
    remove(beside);
    memory.limit = sizeof memory.bytes;
    DO(iso_writer_open(put, &memory, &writer));
    for (i = 0; i < 2; i++)
        DO(iso_writer_write(writer, format, &sent[i]));
    DO(iso_writer_close(&writer));
    CHECK((file = fopen(path, "wb")) && fwrite(memory.bytes, 1, memory.length - 20, file) == memory.length - 20);
    CHECK(!fclose(file));

    DO(iso_writer_append_file(path, &writer));
    DO(iso_writer_healed(writer, &bytes, &at, &aside));
    CHECK(bytes == 28 && at == memory.length - 48 && !strcmp(aside, beside));
    FAILS(iso_writer_append_file(path, &other), ISO_IO, "appended.iso");
    CHECK(!other);
    DO(iso_writer_write(writer, format, &sent[2]));
    DO(iso_writer_close(&writer));
    DO(iso_writer_append_file(path, &writer));
    DO(iso_writer_healed(writer, &bytes, NULL, NULL));
    CHECK(!bytes);
    DO(iso_writer_close(&writer));

    DO(iso_reader_open_file(path, &reader));
    for (i = 0; i < 2; i++) {
        DO(iso_reader_next(reader, &message));
        CHECK(message.format);
        memcpy(&found[i], message.body, sizeof(int));
    }
    CHECK(found[0] == 1 && found[1] == 3);
    DO(iso_reader_next(reader, &message));
    CHECK(!message.format);
    iso_reader_close(&reader);
    FAILS(iso_writer_healed(NULL, &bytes, NULL, NULL), ISO_WRONG_TYPE, "writer");
    FAILS(iso_writer_append_file("no/such/folder/file", &writer), ISO_IO, "no/such/folder/file");
    CHECK(!remove(path) && !remove(beside));
    iso_format_close(&format);
}

int main(void) {
    encode_and_decode();
    broken_records();
    evolution();
    flat_and_nested();
    streams();
    chosen();
    sealed();
    appended();
    return 0;
}
