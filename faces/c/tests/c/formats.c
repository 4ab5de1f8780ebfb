/* Tables of fields, errors, and what is done with NULL. */
#include "check.h"

typedef struct {
    double x, y;
} Point;
typedef struct {
    signed char a;
    unsigned char b;
    short c;
    unsigned short d;
    int e;
    unsigned f;
    long g;
    unsigned long h;
    long long i;
    size_t j;
    float k;
    double l;
    long double m;
    char n[20];
    int8_t o[2][3];
    Point p;
    Point *q;
    char *r;
    int color;
    int n_x, n_y;
    double *grid;
    Point *path;
    char *names[2];
} All;

static const iso_field point[] = { ISO_FIELD(Point, x, "double"), ISO_FIELD_UNIT(Point, y, "double", "m") };
static const iso_field all[] = {
    ISO_FIELD(All, a, "signed char"), ISO_FIELD(All, b, "unsigned char"), ISO_FIELD(All, c, "short"),
    ISO_FIELD(All, d, "unsigned short"), ISO_FIELD(All, e, "integer"), ISO_FIELD(All, f, "unsigned integer"),
    ISO_FIELD(All, g, "long"), ISO_FIELD(All, h, "unsigned long"), ISO_FIELD(All, i, "long long"),
    ISO_FIELD(All, j, "size_t"), ISO_FIELD(All, k, "float"), ISO_FIELD(All, l, "double"),
    ISO_FIELD(All, m, "long double"), ISO_FIELD(All, n, "char[20]"), ISO_FIELD(All, o, "int8_t[2][3]"),
    ISO_FIELD(All, p, "Point"), ISO_FIELD(All, q, "Point*"), ISO_FIELD(All, r, "string"),
    ISO_FIELD(All, color, "enumeration{red,green=4,blue}"), ISO_FIELD(All, n_x, "int"), ISO_FIELD(All, n_y, "int"),
    ISO_POINTER_UNIT(All, grid, "double[n_x][n_y]", "kg/m3"), ISO_FIELD(All, path, "Point[n_x]"),
    ISO_FIELD(All, names, "string[2]") };
static const iso_structure structures[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE_AS("Everything", All, all) };

static void tables(void) {
    const iso_structure *told;
    const void *description;
    unsigned char token[16], other[16];
    size_t count, length, i;
    iso_format *format, *copy, *again;
    DO(iso_format_open(structures, COUNT(structures), &format));
    CHECK(strcmp(iso_format_name(format), "Everything") == 0);
    CHECK(iso_format_size(format) == sizeof(All));
    told = iso_format_structures(format, &count);
    CHECK(count == 2 && strcmp(told[0].name, "Point") == 0 && told[1].count == COUNT(all));
    CHECK(told[1].size == sizeof(All) && strcmp(told[0].fields[1].unit, "m") == 0);
    for (i = 0; i < COUNT(all); i++) {
        CHECK(strcmp(told[1].fields[i].name, all[i].name) == 0);
        CHECK(told[1].fields[i].offset == all[i].offset && told[1].fields[i].extent == all[i].extent);
    }
    /* What was told can be declared again, parsed again, and is copied: all the same format. */
    DO(iso_format_open(told, count, &again));
    DO(iso_format_token(format, token));
    DO(iso_format_token(again, other));
    CHECK(memcmp(token, other, 16) == 0);
    iso_format_close(&again);
    description = iso_format_description(format, &length);
    DO(iso_format_parse(description, length, &again));
    DO(iso_format_copy(again, &copy));
    iso_format_close(&again);
    iso_format_close(&format);
    DO(iso_format_token(copy, other));
    CHECK(memcmp(token, other, 16) == 0);
    iso_format_close(&copy);
}

typedef struct {
    int n;
    float *values;
    double one;
} Small;

/* Declares `Small` with one more row. */
static iso_code with(const char *name, const char *type, size_t size, size_t offset, size_t extent) {
    iso_field fields[2];
    iso_structure structure = ISO_STRUCTURE(Small, fields);
    iso_format *format = (iso_format *)&structure;
    iso_code code;
    memset(fields, 0, sizeof fields);
    fields[0].name = "n";
    fields[0].type = "int";
    fields[1].name = name;
    fields[1].type = type;
    fields[1].size = size;
    fields[1].offset = offset;
    fields[1].extent = extent;
    code = iso_format_open(&structure, 1, &format);
    CHECK(code == ISO_OK || format == NULL);
    iso_format_close(&format);
    return code;
}

static void mistakes(void) {
    const size_t at = offsetof(Small, values), one = offsetof(Small, one);
    DO(with("values", "float[n]", 4, at, sizeof(float *)));
    DO(with("values", "float(4)[n]", 0, at, sizeof(float *)));
    DO(with("one", "double", 0, one, sizeof(double)));
    FAILS(with("values", "float[n]", 0, at, sizeof(float *)), ISO_DECLARATION, "Small.values");
    CHECK(strstr(iso_last_error()->expected, "ISO_POINTER"));
    FAILS(with("values", "float[m]", 4, at, sizeof(float *)), ISO_DECLARATION, "Small.values");
    FAILS(with("values", "float[m]", 0, at, sizeof(float *)), ISO_DECLARATION, "Small.values");
    CHECK(strstr(iso_last_error()->text, "`m`, which is no field"));
    FAILS(with("values", "flaot[n]", 4, at, sizeof(float *)), ISO_DECLARATION, "Small.values");
    FAILS(with("one", "float", 0, one, 4 * sizeof(float)), ISO_DECLARATION, "Small.one");
    CHECK(strstr(iso_last_error()->expected, "float[4]") && strstr(iso_last_error()->actual, "16 bytes"));
    FAILS(with("one", "float[3]", 0, one, sizeof(double)), ISO_DECLARATION, "Small.one");
    CHECK(strstr(iso_last_error()->expected, "3 elements"));
    FAILS(with("one", "int", 0, one, sizeof(double)), ISO_DECLARATION, "Small.one");
    CHECK(strstr(iso_last_error()->expected, "4 bytes"));
    FAILS(with("one", "double[2]", 0, one, sizeof(double)), ISO_DECLARATION, "Small.one");
    CHECK(strstr(iso_last_error()->expected, "a member of 16 bytes") && !strcmp(iso_last_error()->actual, "8 bytes"));
    FAILS(with("one", "double", 0, 0, sizeof(double)), ISO_DECLARATION, "Small.one");
    FAILS(with("n", "double", 0, one, sizeof(double)), ISO_DECLARATION, "Small.n");
    FAILS(with("a name", "double", 0, one, sizeof(double)), ISO_DECLARATION, "Small");
    FAILS(with(NULL, "double", 0, one, sizeof(double)), ISO_WRONG_TYPE, "field name");
    FAILS(with("one", NULL, 0, one, sizeof(double)), ISO_WRONG_TYPE, "field type");
    FAILS(with("one", "\xff", 0, one, sizeof(double)), ISO_UTF8, "field type");
}

static void nulls(void) {
    iso_format *format = NULL;
    iso_encoder *encoder = NULL;
    iso_decoder *decoder = NULL;
    iso_registry *registry = NULL;
    iso_rules *rules = NULL;
    iso_writer *writer = NULL;
    iso_reader *reader = NULL;
    iso_blocks *blocks = NULL;
    iso_message message = { NULL, NULL, 0 };
    const void *record;
    size_t count = 7;
    iso_format_close(NULL);
    iso_format_close(&format);
    iso_encoder_close(&encoder);
    iso_decoder_close(&decoder);
    iso_registry_close(&registry);
    iso_rules_close(&rules);
    iso_reader_close(&reader);
    iso_blocks_close(&blocks);
    DO(iso_writer_close(&writer));
    DO(iso_writer_close(NULL));
    FAILS(iso_format_open(structures, 2, NULL), ISO_WRONG_TYPE, "format");
    FAILS(iso_format_open(NULL, 2, &format), ISO_WRONG_TYPE, "structures");
    FAILS(iso_format_open(NULL, 0, &format), ISO_DECLARATION, "structures");
    FAILS(iso_format_open(structures, (size_t)-1, &format), ISO_SIZE, "structures");
    FAILS(iso_format_parse("nonsense", (size_t)-1, &format), ISO_SIZE, "description");
    FAILS(iso_format_load("/no/such.xsd", "Gauge", &format), ISO_SOURCE, "/no/such.xsd");
    FAILS(iso_format_load(NULL, "Gauge", &format), ISO_WRONG_TYPE, "place");
    FAILS(iso_format_parse("nonsense", 8, &format), ISO_VERSION, "");
    FAILS(iso_encoder_open(NULL, &encoder), ISO_WRONG_TYPE, "format");
    FAILS(iso_decoder_open(NULL, NULL, ISO_FAULTS_ERROR, &decoder), ISO_WRONG_TYPE, "format");
    FAILS(iso_decode(NULL, &message, &record), ISO_WRONG_TYPE, "message");
    FAILS(iso_writer_write(NULL, NULL, NULL), ISO_WRONG_TYPE, "writer");
    FAILS(iso_reader_read(NULL, NULL, &record), ISO_WRONG_TYPE, "decoder");
    FAILS(iso_reader_next(NULL, &message), ISO_WRONG_TYPE, "reader");
    FAILS(iso_reader_open_file("/nowhere/at/all", &reader), ISO_IO, "/nowhere/at/all");
    CHECK(reader == NULL && record == NULL && message.format == NULL);
    CHECK(iso_format_size(NULL) == 0 && iso_format_name(NULL)[0] == '\0');
    CHECK(iso_format_structures(NULL, &count) == NULL && count == 0);
    /* An open handle is closed once. */
    DO(iso_format_open(structures, 2, &format));
    iso_format_close(&format);
    CHECK(format == NULL);
    iso_format_close(&format);
}

static void codes(void) {
    CHECK(strcmp(iso_code_name(ISO_NO_SUCH_FIELD), "NoSuchField") == 0);
    CHECK(strcmp(iso_code_text(ISO_OVERFLOW), "overflow") == 0);
    CHECK(strcmp(iso_code_text(ISO_OK), "no error") == 0);
    CHECK(iso_code_name((iso_code)99) == NULL && iso_code_class((iso_code)99) == ISO_CLASS_NONE);
    CHECK(iso_code_class(ISO_DECLARATION) == ISO_CLASS_BAD_INPUT && iso_code_class(ISO_CLOSED) == ISO_CLASS_UNAVAILABLE);
    CHECK(strlen(iso_version()) >= 5);
}

/* Structs without names within a struct. */
static void unnamed(void) {
    typedef struct { int x; float y; } Inner;
    typedef struct { int step; struct { int x; float y; } inner; } Outer;
    const iso_field inners[] = { ISO_FIELD(Inner, x, "int"), ISO_FIELD(Inner, y, "float") };
    const iso_field outers[] = { ISO_FIELD(Outer, step, "int"), ISO_FIELD(Outer, inner, "Inner") };
    iso_structure both[2];
    iso_format *format;
    const iso_structure inner = ISO_STRUCTURE(Inner, inners), outer = ISO_STRUCTURE(Outer, outers);
    both[0] = inner;
    both[1] = outer;
    DO(iso_format_open(both, 2, &format));
    CHECK(iso_format_size(format) == sizeof(Outer));
    iso_format_close(&format);
}

int main(void) {
    unnamed();
    CHECK(iso_last_error()->code == ISO_OK && iso_last_error()->path[0] == '\0');
    codes();
    tables();
    mistakes();
    nulls();
    return 0;
}
