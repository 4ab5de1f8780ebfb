/* One program by either header: a table and its records do not change when a program moves from isoform_writer.h to the library,
   and the stream is the same to the byte. */
#ifdef BY_WRITER
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"
#else
#include <isoform.h>
#endif
#include <stdio.h>
#include <string.h>

typedef struct {
    char set;
    double x, y;
} Point;
typedef struct {
    long id;
    const char *name;
    short n_x, n_y;
    float *grid;
    Point home;
    Point *path;
    const char *tags[2];
    int color;
    long double exact;
    unsigned char bytes[3];
    char text[5];
    int *one;
} Track;

static const iso_field point[] = { ISO_FIELD(Point, set, "boolean"), ISO_FIELD(Point, x, "double"),
                                   ISO_FIELD_UNIT(Point, y, "double", "m") };
static const iso_field track[] = {
    ISO_FIELD(Track, id, "long"), ISO_FIELD(Track, name, "string"), ISO_FIELD(Track, n_x, "short"),
    ISO_FIELD(Track, n_y, "integer"), ISO_POINTER_UNIT(Track, grid, "float[n_x][n_y]", "kg/m3"),
    ISO_FIELD(Track, home, "Point"), ISO_FIELD(Track, path, "Point[n_x]"), ISO_FIELD(Track, tags, "char*[2]"),
    ISO_FIELD(Track, color, "enumeration{red,green=4}"), ISO_FIELD(Track, exact, "long double"),
    ISO_FIELD(Track, bytes, "uint8_t[3]"), ISO_FIELD(Track, text, "char[5]"), ISO_FIELD(Track, one, "int*") };
static const iso_structure structures[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE(Track, track) };

static float grid[2000];
static Point points[2];
static int one = 11;

static void fill(Track *record, int step) {
    memset(record, step, sizeof *record); /* gaps with something in them */
    memset(points, 0x77, sizeof points);
    points[0].set = record->home.set = 1;
    points[1].set = 0;
    points[0].x = points[0].y = points[1].x = points[1].y = record->home.x = record->home.y = 0.5 * step;
    record->id = -step;
    record->name = step % 2 ? NULL : "T1";
    record->n_x = 2;
    record->n_y = (short)(step * 100);
    record->grid = grid;
    record->path = points;
    record->tags[0] = "a";
    record->tags[1] = "";
    record->color = 4;
    record->exact = step / 3.0L;
    memcpy(record->bytes, "\1\2\3", 3);
    memcpy(record->text, "text\0", 5);
    record->one = step % 2 ? &one : NULL;
}

#ifdef BY_WRITER
int main(void) {
    Track record;
    iso_error error;
    iso_writer writer;
    int step;
    iso_format *format = iso_declare(structures, 2, &error);
    if (!format)
        return fprintf(stderr, "%s\n", error.text), 1;
    iso_open_file(&writer, stdout);
    for (step = 1; step < 10; step++) {
        fill(&record, step);
        if (iso_write(&writer, format, &record))
            return fprintf(stderr, "%s\n", writer.error.text), 1;
    }
    iso_release(format);
    return 0;
}
#else
int main(void) {
    Track record;
    int step;
    iso_format *format = NULL;
    iso_writer *writer = NULL;
    iso_code code = iso_format_open(structures, 2, &format);
    if (!code)
        code = iso_writer_open_file("-", &writer);
    for (step = 1; !code && step < 10; step++) {
        fill(&record, step);
        code = iso_writer_write(writer, format, &record);
    }
    if (!code)
        code = iso_writer_close(&writer);
    if (code)
        fprintf(stderr, "%s\n", iso_last_error()->text);
    iso_writer_close(&writer);
    iso_format_close(&format);
    return code != ISO_OK;
}
#endif
