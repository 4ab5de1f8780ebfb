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
    return 0;
}
