/* Tables of isoform_reader.h that differ from their structs: each is refused, and the member is named. In C before C11 the
   compiler does not tell the types of members, so that only sizes are compared. */
#define ISOFORM_READER_IMPLEMENTATION
#include "isoform_reader.h"
#include <stdio.h>

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TOLD 1
#else
#define TOLD 0
#endif

typedef struct {
    double x, y;
} Point;
enum Light { OFF, ON };
typedef struct {
    double five[2][2][2][2][2];
    float eight[1][2][1][3][1][2][1][2];
    float rows[2][300];
    double level;
    char tag[8];
    const char *name;
    char *names[2];
    unsigned char on;
    unsigned n;
    enum Light light;
    Point at;
    Point ends[2][3];
} State;

static const iso_want point[] = { ISO_WANT(Point, x, "double"), ISO_WANT(Point, y, "double") };
static const iso_wants point_wants = ISO_WANTS(Point, point);

/* Whether the table is one of its struct. */
static int is_accepted(const iso_want *want) {
    const iso_wants wants = { want, 1, sizeof(State), NULL };
    iso__type type;
    return iso__parse_type(&wants, want, &type);
}

/* What iso_read_into says of a table, before it looks at the message. */
static int code_of(const iso_wants *wants) {
    static iso_wire nothing;
    static iso_reader reader;
    return iso__pair(&reader, &nothing, nothing.structures, wants, 1);
}

typedef struct {
    double x, y;
} Vector;
typedef struct {
    int step;
} Other;

int main(void) {
    const iso_want stated[] = { { "x", "double", 0, sizeof(double), NULL, 0, 0, NULL, 0, { 0 } } };
    const iso_wants of_other_names[] = { ISO_WANTS(Vector, point), ISO_WANTS(Other, point) };
    const iso_wants own[] = { ISO_WANTS(Point, point), ISO_WANTS(Vector, stated), { point, 2, sizeof(Point), NULL } };
    const iso_wants of_other_size = { point, 2, sizeof(State), NULL };
    const iso_want lies[] = {
        ISO_WANT(State, five, "float[64]"), ISO_WANT(State, five, "i64[2][2][2][2][2]"), ISO_WANT(State, eight, "double[12]"),
        ISO_WANT(State, eight, "float[3][8]"), ISO_WANT(State, rows, "float[300][2]"), ISO_WANT(State, rows, "i32[2][300]"),
        ISO_WANT(State, level, "i64"), ISO_WANT(State, level, "float[2]"), ISO_WANT(State, tag, "double"),
        ISO_WANT(State, name, "double"), ISO_WANT(State, name, "char[8]"), ISO_WANT(State, tag, "string"),
        ISO_WANT(State, n, "int"), ISO_WANT(State, n, "float"), ISO_WANT(State, at, "double[2]"),
        ISO_WANT_STRUCT(State, ends, "struct[3][2]", &point_wants), ISO_WANT_STRUCT(State, five, "struct[16]", &point_wants),
    };
    const iso_want truths[] = {
        ISO_WANT(State, five, "double[2][2][2][2][2]"), ISO_WANT(State, five, "double[32]"), ISO_WANT(State, eight, "float[24]"),
        ISO_WANT(State, eight, "float[1][2][1][3][1][2][1][2]"), ISO_WANT(State, rows, "float[2][300]"),
        ISO_WANT(State, level, "double"), ISO_WANT(State, tag, "char[8]"), ISO_WANT(State, tag, "i8[8]"),
        ISO_WANT(State, name, "string"), ISO_WANT(State, names, "string[2]"), ISO_WANT(State, on, "bool"),
        ISO_WANT(State, on, "u8"), ISO_WANT(State, n, "unsigned"), ISO_WANT(State, n, "u32"), ISO_WANT(State, light, "u32"),
        ISO_WANT_STRUCT(State, at, "struct", &point_wants), ISO_WANT_STRUCT(State, ends, "struct[2][3]", &point_wants),
        ISO_WANT_OR_KEEP(State, level, "double"),
    };
    int wrong = 0;
    size_t i;
    for (i = 0; i < sizeof lies / sizeof *lies; i++)
        if (TOLD && is_accepted(&lies[i]))
            wrong = 1, fprintf(stderr, "%s as %s: accepted\n", lies[i].name, lies[i].type);
    for (i = 0; i < sizeof truths / sizeof *truths; i++)
        if (!is_accepted(&truths[i]))
            wrong = 1, fprintf(stderr, "%s as %s: refused\n", truths[i].name, truths[i].type);
    if (code_of(&of_other_names[0]) != ISO_DECLARATION || code_of(&of_other_names[1]) != ISO_DECLARATION ||
        code_of(&of_other_size) != ISO_DECLARATION)
        wrong = 1, fprintf(stderr, "rows of another struct: accepted\n");
    for (i = 0; i < sizeof own / sizeof *own; i++)
        if (code_of(&own[i]) != ISO_REQUIRED)
            wrong = 1, fprintf(stderr, "table %d of its own rows: refused\n", (int)i);
    return wrong;
}
