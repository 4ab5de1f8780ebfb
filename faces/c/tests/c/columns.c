/* Columns of records, and Arrow. */
#include "check.h"

enum Light { OFF, ON = 7 };
typedef struct {
    int64_t time;
    float depth[2];
    char station[8];
    unsigned char on;
    enum Light light;
    struct {
        double x, y;
    } at;
} River;
typedef struct {
    double x, y;
} Point;
static const iso_field point[] = { ISO_FIELD(Point, x, "double"), ISO_FIELD(Point, y, "double") };
static const iso_field river[] = {
    ISO_FIELD(River, time, "int64_t"), ISO_FIELD_UNIT(River, depth, "float[2]", "m"), ISO_FIELD(River, station, "char[8]"),
    ISO_FIELD(River, on, "boolean"), ISO_FIELD(River, light, "enumeration{off,on=7}"), ISO_ROW("at", "Point", 0, offsetof(River, at)),
};
static const iso_structure rivers[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE(River, river) };

static River made(int step) {
    River made;
    memset(&made, 0, sizeof made);
    made.time = step;
    made.depth[0] = (float)step + 0.5f;
    made.depth[1] = (float)-step;
    snprintf(made.station, sizeof made.station, "s%d", step);
    made.on = (unsigned char)(step % 2);
    made.light = step % 2 ? ON : OFF;
    made.at.x = step;
    made.at.y = 2 * step;
    return made;
}

static const struct ArrowArray *child(const struct ArrowArray *array, const struct ArrowSchema *schema, int64_t at, const char *format,
                                      const char *name) {
    CHECK(strcmp(schema->children[at]->format, format) == 0 && strcmp(schema->children[at]->name, name) == 0);
    CHECK(array->children[at]->offset == 0 && array->children[at]->null_count == 0);
    return array->children[at];
}

/* The JSON of a record of a batch, by a stream. */
static void sent(iso_arrow *arrow, size_t at, const char *json) {
    const iso_format *format;
    const void *records;
    const char *line;
    size_t count;
    iso_encoder *encoder;
    iso_registry *registry;
    iso_message message;
    const void *bytes;
    size_t length;
    DO(iso_arrow_records(arrow, &format, &records, &count));
    CHECK(at < count);
    DO(iso_encoder_open(format, &encoder));
    DO(iso_registry_open(&registry));
    DO(iso_registry_add(registry, format));
    DO(iso_encode_whole(encoder, (const char *)records + at * iso_format_size(format), &bytes, &length));
    DO(iso_message_parse(registry, bytes, length, &message));
    DO(iso_message_json(&message, &line));
    if (strcmp(line, json) != 0)
        fail(__FILE__, __LINE__, line);
    iso_registry_close(&registry);
    iso_encoder_close(&encoder);
}

typedef struct {
    const char *name;
    double *at;
    int n;
} Mark;
typedef struct {
    const char *title;
    int count, n;
    Mark *marks;
    float *depth;
    int32_t *step;
    enum Light *lights;
} Log;
static const iso_field mark[] = { ISO_FIELD(Mark, name, "string"), ISO_FIELD(Mark, at, "double[n]"), ISO_FIELD(Mark, n, "int") };
static const iso_field logged[] = { ISO_FIELD(Log, title, "string"),        ISO_FIELD(Log, count, "int"),
                                    ISO_FIELD(Log, n, "int"),               ISO_ROW("marks", "Mark[count]", 0, offsetof(Log, marks)),
                                    ISO_FIELD(Log, depth, "float(4)[2][n]"),   ISO_FIELD(Log, step, "int32_t*"),
                                    ISO_FIELD(Log, lights, "enumeration(4){off,on=7}[n]") };
static const iso_structure logs[] = { ISO_STRUCTURE(Mark, mark), ISO_STRUCTURE(Log, logged) };

static int64_t end_of(const struct ArrowArray *list, int64_t row) {
    return ((const int64_t *)list->buffers[1])[row + 1];
}

/* Text, arrays of variable length and pointers, which can be null. */
static void varied(void) {
    double at[] = { 0.5, 1.5, 2.5 };
    Mark marks[] = { { "a", at, 1 }, { NULL, NULL, 0 }, { "ccc", at + 1, 2 } };
    float depth[] = { 1, 2, 3, 4 };
    int32_t step = 7;
    enum Light lights[] = { ON, OFF };
    const Log sent[] = { { "first", 2, 2, marks, depth, &step, lights },
                         { NULL, 0, 0, NULL, NULL, NULL, NULL },
                         { "third", 1, 1, marks + 2, depth, NULL, lights } };
    iso_format *format;
    iso_writer *writer;
    iso_reader *reader;
    iso_columns *columns;
    struct ArrowSchema schema;
    struct ArrowArray array;
    const struct ArrowArray *part, *inner;
    const void *values;
    size_t size, i;
    DO(iso_format_open(logs, 2, &format));
    DO(iso_writer_open_file("varied.iso", &writer));
    for (i = 0; i < COUNT(sent); i++)
        DO(iso_writer_write(writer, format, &sent[i]));
    DO(iso_writer_close(&writer));
    DO(iso_columns_open(format, NULL, 0, NULL, ISO_FAULTS_ERROR, &columns));
    DO(iso_reader_open_file("varied.iso", &reader));
    DO(iso_columns_read(columns, reader));
    iso_reader_close(&reader);
    FAILS(iso_columns_values(columns, "title", &values, &size), ISO_WRONG_TYPE, "title");
    DO(iso_columns_arrow(columns, &schema, &array));
    CHECK(iso_columns_rows(columns) == 0 && array.length == 3 && array.n_children == 5 && schema.n_children == 5);
    for (i = 0; i < 5; i++)
        CHECK(array.children[i]->length == 3);
    CHECK(strcmp(schema.children[0]->format, "U") == 0 && schema.children[0]->flags == ARROW_FLAG_NULLABLE);
    part = array.children[0];
    CHECK(part->null_count == 1 && *(const unsigned char *)part->buffers[0] == 5 && end_of(part, 0) == 5 && end_of(part, 1) == 5);
    CHECK(end_of(part, 2) == 10 && memcmp(part->buffers[2], "firstthird", 10) == 0);
    CHECK(strcmp(schema.children[1]->name, "marks") == 0 && strcmp(schema.children[1]->format, "+L") == 0);
    part = child(&array, &schema, 1, "+L", "marks");
    CHECK(end_of(part, 0) == 2 && end_of(part, 1) == 2 && end_of(part, 2) == 3);
    part = child(part, schema.children[1], 0, "+s", "item");
    CHECK(part->length == 3 && part->n_children == 2 && part->children[0]->null_count == 1);
    inner = child(part, schema.children[1]->children[0], 1, "+L", "at");
    CHECK(end_of(inner, 0) == 1 && end_of(inner, 1) == 1 && end_of(inner, 2) == 3);
    CHECK(inner->children[0]->length == 3 && ((const double *)inner->children[0]->buffers[1])[2] == 2.5);
    part = child(&array, &schema, 2, "+L", "depth");
    CHECK(end_of(part, 0) == 2 && end_of(part, 1) == 2 && end_of(part, 2) == 4);
    inner = child(part, schema.children[2], 0, "+L", "item");
    CHECK(end_of(inner, 0) == 2 && end_of(inner, 3) == 6 && ((const float *)inner->children[0]->buffers[1])[3] == 4);
    part = array.children[3];
    CHECK(strcmp(schema.children[3]->format, "i") == 0 && part->null_count == 2 && *(const unsigned char *)part->buffers[0] == 1);
    CHECK(*(const int32_t *)part->buffers[1] == 7);
    part = child(&array, &schema, 4, "+L", "lights");
    part = child(part, schema.children[4], 0, "i", "item");
    CHECK(part->length == 3 && part->dictionary->length == 2 && *(const int32_t *)part->buffers[1] == 1);
    schema.release(&schema);
    array.release(&array);
    iso_columns_close(&columns);
    iso_format_close(&format);
    CHECK(remove("varied.iso") == 0);
}

static void kept(struct ArrowSchema *schema) {
    schema->release = NULL;
}
static void held(struct ArrowArray *array) {
    array->release = NULL;
}

/* A batch as other programs make it: an offset, a text that is null, a dictionary, a truth. */
static void foreign(void) {
    static const int32_t numbers[] = { 7, 8, 9 }, ends[] = { 0, 2, 2, 5 }, entries[] = { 0, 3, 7 };
    static const unsigned char valid[] = { 5 }, first[] = { 1 }, truths[] = { 4 }, indices[] = { 1, 0, 1 };
    static const signed char below[] = { 1, 0, -1 };
    static const int32_t falling[] = { 0, 2, 1, 5 }, negative[] = { 0, 0, -1, 5 };
    const void *number[] = { NULL, numbers }, *texts[] = { valid, ends, "abcde" }, *truth[] = { NULL, truths };
    const void *index[] = { NULL, indices }, *names[] = { NULL, entries, "lowhigh" }, *whole[] = { NULL };
    const void *null[] = { NULL, NULL };
    struct ArrowSchema schema[6], schemas[6], *parts[4];
    struct ArrowArray array[6], arrays[6], *columns[4];
    static const char *const formats[] = { "i", "u", "b", "C", "u", "+s" }, *const called[] = { "n", "text", "on", "level", "", "" };
    iso_arrow *arrow, *none;
    size_t i;
    memset(schema, 0, sizeof schema);
    memset(array, 0, sizeof array);
    for (i = 0; i < 6; i++) {
        schema[i].format = formats[i];
        schema[i].name = called[i];
        schema[i].release = kept;
        array[i].length = 3;
        array[i].n_buffers = 2;
        array[i].release = held;
    }
    for (i = 0; i < 4; i++) {
        parts[i] = &schema[i];
        columns[i] = &array[i];
    }
    array[1].n_buffers = array[4].n_buffers = 3;
    array[0].buffers = number;
    array[1].buffers = texts;
    array[1].null_count = -1;
    array[2].buffers = truth;
    array[3].buffers = index;
    array[4].buffers = names;
    array[4].length = 2;
    schema[3].dictionary = &schema[4];
    array[3].dictionary = &array[4];
    schema[5].children = parts;
    schema[5].n_children = array[5].n_children = 4;
    array[5].buffers = whole;
    array[5].children = columns;
    /* The first row is left out. */
    array[5].offset = 1;
    array[5].length = 2;
    DO(iso_arrow_open("Gauge", &schema[5], &array[5], &arrow));
    sent(arrow, 0, "{\"n\":8,\"text\":null,\"on\":false,\"level\":\"low\"}");
    sent(arrow, 1, "{\"n\":9,\"text\":\"cde\",\"on\":true,\"level\":\"high\"}");
    iso_arrow_close(&arrow);
    iso_arrow_close(&arrow);
    /* A column with nulls may be null in records. */
    number[0] = valid;
    array[0].null_count = 1;
    DO(iso_arrow_open("Gauge", &schema[5], &array[5], &arrow));
    sent(arrow, 0, "{\"n\":null,\"text\":null,\"on\":false,\"level\":\"low\"}");
    sent(arrow, 1, "{\"n\":9,\"text\":\"cde\",\"on\":true,\"level\":\"high\"}");
    iso_arrow_close(&arrow);
    number[0] = NULL;
    array[0].null_count = 0;
    /* A value of a dictionary may be null. */
    names[0] = first;
    array[4].null_count = 1;
    DO(iso_arrow_open("Gauge", &schema[5], &array[5], &arrow));
    sent(arrow, 0, "{\"n\":8,\"text\":null,\"on\":false,\"level\":\"low\"}");
    sent(arrow, 1, "{\"n\":9,\"text\":\"cde\",\"on\":true,\"level\":null}");
    iso_arrow_close(&arrow);
    names[0] = NULL;
    array[4].null_count = 0;
    index[1] = below;
    schema[3].format = "c";
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_SYMBOL, "[1].level");
    CHECK(strcmp(iso_last_error()->actual, "-1") == 0);
    index[1] = indices;
    schema[3].format = "C";
    /* No row is null. */
    array[5].buffers = texts;
    array[5].null_count = 1;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_NULL, "[0]");
    array[5].buffers = whole;
    array[5].null_count = 0;
    schema[0].format = "+vl";
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_WRONG_TYPE, "Gauge.n");
    FAILS(iso_arrow_open("Gauge", &schema[1], &array[1], &none), ISO_WRONG_TYPE, "Gauge");
    FAILS(iso_arrow_open("Gauge", NULL, &array[5], &none), ISO_WRONG_TYPE, "schema");
    FAILS(iso_arrow_open("Gauge", &schema[5], NULL, &none), ISO_WRONG_TYPE, "array");
    FAILS(iso_arrow_records(NULL, NULL, NULL, NULL), ISO_WRONG_TYPE, "arrow");
    schema[0].format = "i";
    /* Structures that contradict themselves, or each other. */
#define LIE(place, value, code, path) \
    do { \
        memcpy(schemas, schema, sizeof schema); \
        memcpy(arrays, array, sizeof array); \
        place = value; \
        FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), code, path); \
        memcpy(schema, schemas, sizeof schema); \
        memcpy(array, arrays, sizeof array); \
    } while (0)
    LIE(array[5].release, NULL, ISO_WRONG_TYPE, "array");
    LIE(schema[5].release, NULL, ISO_WRONG_TYPE, "schema");
    LIE(array[0].release, NULL, ISO_WRONG_TYPE, "Gauge.n");
    LIE(schema[0].release, NULL, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[4].release, NULL, ISO_WRONG_TYPE, "Gauge.level");
    LIE(schema[4].release, NULL, ISO_WRONG_TYPE, "Gauge.level");
    LIE(array[5].length, -1, ISO_WRONG_TYPE, "Gauge");
    LIE(array[5].length, (int64_t)1 << 60, ISO_WRONG_TYPE, "Gauge");
    LIE(array[5].length, 3, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[5].n_children, 3, ISO_WRONG_TYPE, "Gauge");
    LIE(array[5].n_children, -1, ISO_WRONG_TYPE, "Gauge");
    LIE(array[5].children, NULL, ISO_WRONG_TYPE, "Gauge");
    LIE(array[5].buffers, NULL, ISO_WRONG_TYPE, "Gauge");
    LIE(schema[5].children, NULL, ISO_WRONG_TYPE, "Gauge");
    LIE(schema[5].n_children, -1, ISO_WRONG_TYPE, "Gauge");
    LIE(schema[0].format, "+l", ISO_WRONG_TYPE, "Gauge.n");
    LIE(schema[0].format, "+w:2", ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].length, 2, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].offset, -1, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].offset, INT64_MAX, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].buffers, NULL, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].n_buffers, 1, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[0].buffers, null, ISO_WRONG_TYPE, "Gauge.n");
    LIE(array[1].n_buffers, 2, ISO_WRONG_TYPE, "Gauge.text");
    LIE(array[3].dictionary, NULL, ISO_WRONG_TYPE, "Gauge.level");
    LIE(array[4].buffers, NULL, ISO_WRONG_TYPE, "Gauge.level");
    LIE(array[4].length, -1, ISO_WRONG_TYPE, "Gauge.level");
    columns[0] = NULL;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_WRONG_TYPE, "Gauge");
    columns[0] = &array[0];
    texts[0] = NULL;
    texts[1] = falling;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_BAD_RECORD, "[0].text");
    texts[1] = negative;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_BAD_RECORD, "[0].text");
    texts[1] = ends;
    texts[2] = NULL;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_WRONG_TYPE, "[1].text");
    /* Without nulls, nobody looks at each row for one. */
    array[1].null_count = array[5].offset = 0;
    for (i = 0; i < 6; i++)
        array[i].length = (int64_t)1 << 59;
    FAILS(iso_arrow_open("Gauge", &schema[5], &array[5], &none), ISO_SIZE, "Gauge");
}

/* Lists of numbers, of text and of structs, as other programs make them; and a list that is null. */
static void lists(void) {
    static const int32_t ends[] = { 0, 2, 2, 3 }, letters[] = { 0, 1, 1, 3 };
    static const double numbers[] = { 0.5, 1.5, 2.5 };
    static const unsigned char valid[] = { 5 };
    const void *list[] = { NULL, ends }, *number[] = { NULL, numbers }, *texts[] = { NULL, letters, "abc" }, *whole[] = { NULL };
    struct ArrowSchema schema[8], *items[3], *parts[3], *inner[2];
    struct ArrowArray array[8], *values[3], *columns[3], *of[2];
    /* x: [f64]; names: [text]; spots: [{x: f64, at: [f64]}] */
    static const char *const formats[] = { "+l", "+l", "+l", "g", "u", "+s", "+l", "+s" };
    static const char *const called[] = { "x", "names", "spots", "item", "item", "item", "x_len", "" };
    iso_arrow *arrow, *none;
    size_t i;
    memset(schema, 0, sizeof schema);
    memset(array, 0, sizeof array);
    for (i = 0; i < 8; i++) {
        schema[i].format = formats[i];
        schema[i].name = called[i];
        schema[i].release = kept;
        array[i].length = 3;
        array[i].n_buffers = 2;
        array[i].buffers = list;
        array[i].release = held;
    }
    for (i = 0; i < 3; i++) {
        parts[i] = &schema[i];
        columns[i] = &array[i];
        items[i] = &schema[3 + i];
        values[i] = &array[3 + i];
        schema[i].children = &items[i];
        array[i].children = &values[i];
        schema[i].n_children = array[i].n_children = 1;
    }
    array[3].buffers = number;
    array[4].buffers = texts;
    array[4].n_buffers = 3;
    array[5].buffers = whole;
    inner[0] = &schema[3];
    inner[1] = &schema[6];
    of[0] = &array[3];
    of[1] = &array[6];
    schema[5].children = inner;
    array[5].children = of;
    schema[5].n_children = array[5].n_children = 2;
    schema[6].children = &items[0];
    array[6].children = &values[0];
    schema[6].n_children = array[6].n_children = 1;
    schema[7].children = parts;
    array[7].children = columns;
    schema[7].n_children = array[7].n_children = 3;
    array[7].buffers = whole;
    array[7].n_buffers = 1;
    DO(iso_arrow_open("Ship", &schema[7], &array[7], &arrow));
    sent(arrow, 0,
         "{\"x\":[0.5,1.5],\"x_len\":2,\"names\":[\"a\",\"\"],\"names_len\":2,"
         "\"spots\":[{\"item\":0.5,\"x_len\":[0.5,1.5],\"x_len_len\":2},{\"item\":1.5,\"x_len\":[],\"x_len_len\":0}],\"spots_len\":2}");
    sent(arrow, 1, "{\"x\":[],\"x_len\":0,\"names\":[],\"names_len\":0,\"spots\":[],\"spots_len\":0}");
    sent(arrow, 2,
         "{\"x\":[2.5],\"x_len\":1,\"names\":[\"bc\"],\"names_len\":1,\"spots\":[{\"item\":2.5,\"x_len\":[2.5],\"x_len_len\":1}],"
         "\"spots_len\":1}");
    iso_arrow_close(&arrow);
    /* The elements of a list are there. */
    array[4].length = 2;
    FAILS(iso_arrow_open("Ship", &schema[7], &array[7], &none), ISO_BAD_RECORD, "[2].names");
    array[4].length = 3;
    /* The name of a length is none of the columns'. */
    schema[1].name = "x_len";
    DO(iso_arrow_open("Ship", &schema[7], &array[7], &arrow));
    sent(arrow, 1, "{\"x\":[],\"x_len_\":0,\"x_len\":[],\"x_len_len\":0,\"spots\":[],\"spots_len\":0}");
    iso_arrow_close(&arrow);
    /* Neither a list nor an element of one can be null, unless it is text. */
    list[0] = valid;
    array[1].null_count = 1;
    FAILS(iso_arrow_open("Ship", &schema[7], &array[7], &none), ISO_NULL, "[1].x_len");
    array[1].null_count = 0;
    number[0] = valid;
    array[3].null_count = 1;
    FAILS(iso_arrow_open("Ship", &schema[7], &array[7], &none), ISO_NULL, "[0].x");
    array[3].null_count = 0;
    schema[1].children = &parts[0];
    array[1].children = &columns[0];
    FAILS(iso_arrow_open("Ship", &schema[7], &array[7], &none), ISO_WRONG_TYPE, "Ship.x_len");
}

int main(void) {
    enum { ROWS = 10 };
    const char *const some[] = { "at.x", "time" }, *const wrong[] = { "nothing" };
    iso_format *format;
    iso_writer *writer;
    iso_reader *reader;
    iso_columns *columns, *none;
    iso_message message;
    struct ArrowSchema schema;
    struct ArrowArray array;
    const struct ArrowArray *part;
    const void *values;
    size_t size;
    int i;
    DO(iso_format_open(rivers, 2, &format));
    DO(iso_writer_open_file("columns.iso", &writer));
    for (i = 0; i < ROWS; i++) {
        const River record = made(i);
        DO(iso_writer_write(writer, format, &record));
    }
    DO(iso_writer_close(&writer));

    FAILS(iso_columns_open(format, wrong, 1, NULL, ISO_FAULTS_ERROR, &none), ISO_NO_SUCH_FIELD, "nothing");
    FAILS(iso_columns_open(NULL, NULL, 0, NULL, ISO_FAULTS_ERROR, &none), ISO_WRONG_TYPE, "format");
    DO(iso_columns_open(format, NULL, 0, NULL, ISO_FAULTS_ERROR, &columns));
    DO(iso_reader_open_file("columns.iso", &reader));
    DO(iso_columns_read(columns, reader));
    iso_reader_close(&reader);
    CHECK(iso_columns_rows(columns) == ROWS && iso_columns_rows(NULL) == 0);
    FAILS(iso_columns_arrow(columns, NULL, &array), ISO_WRONG_TYPE, "schema");
    DO(iso_columns_arrow(columns, &schema, &array));
    CHECK(iso_columns_rows(columns) == 0);
    CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 6 && array.length == ROWS && array.n_children == 6);
    CHECK(((const int64_t *)child(&array, &schema, 0, "l", "time")->buffers[1])[9] == 9);
    part = child(&array, &schema, 1, "+w:2", "depth");
    CHECK(schema.children[1]->metadata != NULL && strcmp(schema.children[1]->children[0]->format, "f") == 0);
    CHECK(part->length == ROWS && ((const float *)part->children[0]->buffers[1])[19] == -9);
    part = child(&array, &schema, 2, "U", "station");
    CHECK(((const int64_t *)part->buffers[1])[2] == 4 && memcmp((const char *)part->buffers[2] + 2, "s1", 2) == 0);
    CHECK(*(const unsigned char *)child(&array, &schema, 3, "b", "on")->buffers[1] == 0xaa);
    part = child(&array, &schema, 4, "i", "light");
    CHECK(((const int32_t *)part->buffers[1])[3] == 1 && part->dictionary->length == 2);
    part = child(&array, &schema, 5, "+s", "at");
    CHECK(((const double *)part->children[1]->buffers[1])[4] == 8);
    {
        /* And back. */
        iso_arrow *arrow;
        DO(iso_arrow_open("River", &schema, &array, &arrow));
        sent(arrow, 3,
             "{\"time\":3,\"depth\":[3.5,-3.0],\"station\":\"s3\",\"on\":true,\"light\":\"on\",\"at\":{\"x\":3.0,\"y\":6.0}}");
        iso_arrow_close(&arrow);
    }
    schema.release(&schema);
    array.release(&array);
    CHECK(schema.release == NULL && array.release == NULL);
    iso_columns_close(&columns);

    /* Some fields, from single messages. Rows that are not taken are freed. */
    DO(iso_columns_open(format, some, 2, NULL, ISO_FAULTS_ERROR, &columns));
    DO(iso_reader_open_file("columns.iso", &reader));
    for (i = 0; i < 3; i++) {
        DO(iso_reader_next(reader, &message));
        DO(iso_columns_add(columns, &message));
    }
    FAILS(iso_columns_add(columns, NULL), ISO_WRONG_TYPE, "message");
    DO(iso_columns_values(columns, "at.x", &values, &size));
    CHECK(size == sizeof(double) && ((const double *)values)[2] == 2);
    FAILS(iso_columns_values(columns, "light", &values, &size), ISO_NO_SUCH_FIELD, "light");
    DO(iso_columns_arrow(columns, &schema, &array));
    CHECK(array.length == 3 && ((const double *)child(&array, &schema, 0, "g", "at.x")->buffers[1])[1] == 1);
    /* A consumer may move a structure, and then release that. */
    {
        struct ArrowArray moved = array;
        array.release = NULL;
        moved.release(&moved);
    }
    schema.release(&schema);
    DO(iso_columns_add(columns, &message));
    iso_reader_close(&reader);
    iso_columns_close(&columns);
    iso_columns_close(&columns);
    iso_format_close(&format);
    CHECK(remove("columns.iso") == 0);
    foreign();
    varied();
    lists();
    return 0;
}
