/* Tables that differ from their structs, by either header: each is refused, and the member is named. In C before C11 the
   compiler does not tell the types of members, so that only sizes are compared. */
#ifdef BY_WRITER
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"
#else
#include <isoform.h>
#endif
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#ifdef __cplusplus
#include <array>
#include <complex>
#endif

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TOLD 1
#else
#define TOLD 0
#endif

#ifdef __cplusplus
#define PAIR "Own, for a member struct Own"
#define OWN "Point, for a member struct Point"
#define OTHER "Point"
#define OWN_OR_ROW "ISO_ROW"
#define PATH "Point* or Point[n], for a member struct Point *"
#define EIGHT "Eight"
#define EITHER "Either"
#else
#define PAIR "since the member is a struct or a union, or ISO_ROW"
#define OWN PAIR
#define OTHER "the member's own struct in ISO_FIELD_STRUCT, or ISO_ROW"
#define OWN_OR_ROW "since the member is a pointer, or ISO_ROW"
#define PATH "such as Point* or Point[n], since the member is a pointer, or ISO_ROW"
#define EIGHT PAIR
#define EITHER PAIR
#endif

typedef struct {
    double x, y;
} Point;
typedef struct {
    double x, y;
} Vector;
typedef struct {
    double re, im;
} Own;
enum Light { OFF, ON };
typedef struct {
    int whole;
    float part;
} Eight;
union Either {
    double level;
    long long count;
};

typedef struct {
    float u[64];
    float rows[2][300];
    double level;
    double *grid;
    char tag[8];
    char *name;
    unsigned char on;
    long long count;
    unsigned short half;
    int n;
    unsigned counts[3];
    float cube[2][3][4];
    short deep[2][3][4][5];
    double five[2][2][2][2][2];
    float eight[1][2][1][3][1][2][1][2];
    char tiny[2][2][2];
    Point at;
    Point ends[2][3];
    Point *path;
    const Point *const home;
    Own pair;
    enum Light light;
    volatile unsigned state;
    double (*pairs)[2];
    const char *names[4];
    double **table;
    char **words;
    const char *const *labels;
    Point **routes;
    void *any;
    wchar_t *wide;
    int (*call)(void);
    Eight eight_bytes;
    union Either either;
    long flags[2];
    float *depth;
#ifdef __cplusplus
    bool is_open;
    std::complex<double> wave;
    std::complex<float> waves[3];
    std::array<std::array<float, 3>, 2> grids;
#else
    _Bool is_open;
    double _Complex wave;
    float _Complex waves[3];
    float grids[2][3];
#endif
} State;

static const iso_field point[] = { ISO_FIELD(Point, x, "double"), ISO_FIELD(Point, y, "double") };
static const iso_field vector_[] = { ISO_FIELD(Vector, x, "double"), ISO_FIELD(Vector, y, "double") };

/* The error of tables, or NULL. */
static const char *undeclared(const iso_structure *structures, size_t count) {
    iso_format *format;
#ifdef BY_WRITER
    static iso_error error;
    format = iso_declare(structures, count, &error);
    iso_release(format);
    return format ? NULL : error.text;
#else
    static char text[1000];
    if (iso_format_open(structures, count, &format) != ISO_OK) {
        const iso_error *error = iso_last_error();
        snprintf(text, sizeof text, "%s", error->text);
        return text;
    }
    iso_format_close(&format);
    return NULL;
#endif
}

/* The error of a table with one row, or NULL. */
static const char *refused(iso_field row) {
    static iso_field rows[2];
    const iso_structure structures[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE_AS("Arrow", Vector, vector_),
                                         ISO_STRUCTURE(State, rows) };
    iso_field n = ISO_FIELD(State, n, "int");
    rows[0] = row;
    rows[1] = n;
    return undeclared(structures, 3);
}

static int wrong;

static void lie(iso_field row, const char *fits) {
    const char *text = TOLD ? refused(row) : "";
    if (TOLD && (!text || !strstr(text, row.name) || !strstr(text, fits))) {
        fprintf(stderr, "%s as %s: %s\n", row.name, row.type, text ? text : "accepted");
        wrong = 1;
    }
}

static void truth(iso_field row) {
    const char *text = refused(row);
    if (text) {
        fprintf(stderr, "%s as %s: %s\n", row.name, row.type, text);
        wrong = 1;
    }
}

typedef struct tagged {
    int step;
} tagged;

/* The rows of another struct, in the table of one. */
static void rows_of_others(void) {
    typedef struct {
        int step;
    } Small;
    static const iso_field small[] = { ISO_FIELD(Small, step, "int") };
    static const iso_field by_tag[] = { ISO_FIELD(struct tagged, step, "int") };
    static const iso_field stated[] = { ISO_ROW("x", "double", 8, 0) };
    iso_field unnamed[] = { ISO_FIELD(Small, step, "int") };
    const iso_structure others[] = { ISO_STRUCTURE(Vector, point), ISO_STRUCTURE_AS("Arrow", Point, small), ISO_STRUCTURE(Point, unnamed) };
    const iso_structure own[] = { ISO_STRUCTURE(tagged, by_tag), ISO_STRUCTURE(Vector, stated) };
    static const char *const says[][2] = { { "Vector.x: expected a row of Vector", "found a row of Point" },
                                           { "Arrow.step: expected a row of Point", "Small" },
                                           { "Point.step: expected a row of a struct of 16 bytes", "one of 4 bytes" } };
    size_t i;
    unnamed[0].struct_name = NULL;
    unnamed[0].struct_of = NULL;
    for (i = 0; i < sizeof others / sizeof *others; i++) {
        const char *text = undeclared(&others[i], 1);
        if (!text || !strstr(text, says[i][0]) || !strstr(text, says[i][1]))
            wrong = 1, fprintf(stderr, "rows of another struct than %s: %s\n", others[i].name, text ? text : "accepted");
    }
    for (i = 0; i < sizeof own / sizeof *own; i++)
        if (undeclared(&own[i], 1))
            wrong = 1, fprintf(stderr, "rows of %s: %s\n", own[i].name, undeclared(&own[i], 1));
}

int main(void) {
    const iso_field lies[] = {
        ISO_FIELD(State, u, "float[32]"),      ISO_FIELD(State, level, "float"),  ISO_FIELD(State, level, "int64_t"),
        ISO_POINTER(State, grid, "float[n]"),  ISO_FIELD(State, tag, "string"),   ISO_FIELD(State, name, "char[8]"),
        ISO_FIELD(State, grid, "long long"),   ISO_FIELD(State, count, "double"), ISO_FIELD(State, u, "double[32]"),
        ISO_FIELD(State, rows, "double[2][150]"),
        ISO_FIELD(State, counts, "int[3]"),
        ISO_FIELD(State, rows, "float[300][2]"), ISO_FIELD(State, cube, "double[2][3][2]"), ISO_FIELD(State, cube, "float[2][4][3]"),
        ISO_FIELD(State, deep, "float[2][3][4][2]"), ISO_FIELD(State, deep, "short[3][2][4][5]"), ISO_FIELD(State, wave, "double[2]"),
        ISO_FIELD(State, waves, "double[3]"), ISO_FIELD(State, pair, "double[2]"), ISO_FIELD(State, pair, "complex float"),
        ISO_FIELD(State, at, "double[2]"), ISO_FIELD(State, grids, "int[2][3]"), ISO_FIELD(State, grids, "float[3][2]"),
        ISO_FIELD(State, light, "float"), ISO_FIELD_STRUCT(State, at, "Arrow", Point), ISO_FIELD_STRUCT(State, ends, "Arrow[2][3]", Point),
        ISO_FIELD_STRUCT(State, path, "Arrow[n]", Point), ISO_FIELD_STRUCT(State, path, "Point", Point),
        ISO_FIELD_STRUCT(State, at, "Point*", Point), ISO_FIELD_STRUCT(State, ends, "Point[3][2]", Point),
        ISO_FIELD(State, is_open, "int"), ISO_FIELD(State, depth, "float"), ISO_FIELD(State, level, "float64"),
        ISO_FIELD(State, five, "float[64]"), ISO_FIELD(State, five, "int64_t[2][2][2][2][2]"), ISO_FIELD(State, five, "float[2][2][2][2][2]"),
        ISO_FIELD(State, eight, "double[12]"), ISO_FIELD(State, eight, "float[3][8]"), ISO_FIELD(State, tiny, "double"),
    };
    static const char *const fits[] = { "float", "double", "double", "double", "char", "string", "double", "long long", "float", "float",
        "unsigned int[3]", "float[2][300]", "float[2][3][4]", "float[2][3][4]", "short[2][3][4][5]", "short[2][3][4][5]", "double complex",
        "float complex[3]", PAIR, PAIR, OWN, "float[2][3]", "float[2][3]", "unsigned int", "Point", "Point[2][3]", "Point* or Point[n]",
        "Point* or Point[n]", "Point", "Point[2][3]", "bool", "float* or float[n]",
        "double, ", "double[2][2][2][2][2]", "double[2][2][2][2][2]", "double[2][2][2][2][2]",
        "float[2][3][2][2]", "float[2][3][2][2]", "char[2][2][2]" };
    /* Pointers to what has no word, and structs of their size. In C11, GCC and Clang tell them apart. */
    const iso_field unnamed[] = {
        ISO_FIELD(State, table, "double[n]"), ISO_FIELD(State, table, "double*"), ISO_FIELD(State, table, "string"),
        ISO_FIELD(State, table, "uint64_t"), ISO_POINTER(State, table, "float[n]"), ISO_POINTER(State, words, "integer[n]"),
        ISO_FIELD(State, words, "string"), ISO_FIELD(State, words, "char[n]"), ISO_FIELD_STRUCT(State, routes, "Point[n]", Point),
        ISO_FIELD(State, any, "size_t"), ISO_FIELD(State, any, "double"), ISO_FIELD(State, wide, "string"),
        ISO_FIELD(State, call, "size_t"), ISO_FIELD(State, call, "string"), ISO_FIELD(State, path, "double[n]"),
        ISO_FIELD(State, path, "string"), ISO_FIELD(State, path, "size_t"), ISO_FIELD(State, eight_bytes, "int64_t"),
        ISO_FIELD(State, eight_bytes, "float[2]"), ISO_FIELD(State, either, "double"), ISO_FIELD(State, flags, "int[4]"),
        ISO_FIELD(State, flags, "unsigned long[2]"),
    };
    static const char *const unnamed_fits[] = { "ISO_ROW", "ISO_ROW", "ISO_ROW", "ISO_ROW", "ISO_ROW", "string* or string[n]",
        "string* or string[n]", "string* or string[n]", "ISO_ROW", "behind a pointer", "behind a pointer", "* or ", OWN_OR_ROW, OWN_OR_ROW,
        PATH, PATH, PATH, EIGHT, EIGHT, EITHER, "long[2]", "long[2]" };
    /* Pointers whose type leaves open the size of what they point at, which the compiler tells. */
    const iso_field open[] = { ISO_FIELD(State, depth, "float[n]"), ISO_FIELD(State, depth, "float*"), ISO_FIELD(State, grid, "double*"),
                               ISO_FIELD(State, any, "f64[n]"), ISO_FIELD(State, wide, "enumeration{off,on}[n]") };
    const iso_field lengths[] = { ISO_FIELD(State, depth, "float[N]"), ISO_FIELD(State, depth, "float[u]") };
    /* Only C11: by ISO_FIELD_STRUCT, the program names another type than the member has. In C++ the compiler names it. */
    const iso_field other = ISO_FIELD_STRUCT(State, at, "Arrow", Vector);
    const iso_field truths[] = {
        ISO_FIELD(State, five, "double[2][2][2][2][2]"), ISO_FIELD(State, five, "double[32]"),
        ISO_FIELD(State, five, "double[4][2][2][2]"), ISO_FIELD(State, tiny, "char[2][2][2]"),
        ISO_FIELD(State, eight, "float[1][2][1][3][1][2][1][2]"), ISO_FIELD(State, eight, "float[24]"),
        ISO_FIELD(State, rows, "float[2][300]"), ISO_FIELD_DEFAULT(State, level, "double", "1.5"),
        ISO_FIELD(State, u, "float[64]"),    ISO_FIELD(State, level, "double"), ISO_FIELD(State, level, "float(8)"),
        ISO_POINTER(State, grid, "double[n]"), ISO_FIELD(State, grid, "double*"), ISO_FIELD(State, tag, "char[8]"),
        ISO_FIELD(State, name, "string"),    ISO_FIELD(State, on, "boolean"),   ISO_FIELD(State, on, "char"),
        ISO_FIELD(State, count, "integer"),  ISO_FIELD(State, half, "f16"),     ISO_ROW("level", "float", 8, offsetof(State, level)),
        ISO_FIELD(State, rows, "float[600]"), ISO_FIELD(State, u, "float[8][8]"), ISO_FIELD(State, cube, "float[2][3][4]"),
        ISO_FIELD(State, cube, "float[6][4]"), ISO_FIELD(State, deep, "short[2][3][4][5]"), ISO_FIELD(State, at, "Point"),
        ISO_FIELD_STRUCT(State, at, "Point", Point), ISO_FIELD_STRUCT(State, ends, "Point[2][3]", Point),
        ISO_FIELD_STRUCT(State, path, "Point[n]", Point), ISO_FIELD_STRUCT(State, home, "Point*", Point), ISO_FIELD(State, path, "Point[n]"),
        ISO_FIELD(State, light, "enumeration{off,on}"), ISO_FIELD(State, state, "unsigned int"), ISO_FIELD(State, pairs, "double[n][2]"),
        ISO_FIELD(State, names, "string[4]"), ISO_FIELD(State, wave, "double complex"), ISO_FIELD(State, waves, "complex float[3]"),
        ISO_FIELD(State, grids, "float[2][3]"), ISO_FIELD(State, counts, "unsigned integer[3]"), ISO_FIELD(State, tag, "i8[8]"),
        ISO_ROW("pair", "double[2]", 8, offsetof(State, pair)), ISO_FIELD(State, words, "string[n]"),
        ISO_FIELD(State, words, "string*"), ISO_FIELD(State, labels, "string[n]"), ISO_FIELD(State, any, "double[n]"),
        ISO_FIELD(State, any, "string"), ISO_FIELD(State, any, "Point*"), ISO_ROW("table", "size_t", 0, offsetof(State, table)),
        ISO_FIELD(State, flags, "long[2]"),
    };
    size_t i;
    for (i = 0; i < sizeof lies / sizeof *lies; i++)
        lie(lies[i], fits[i]);
    lie(other, OTHER);
    for (i = 0; TOLD && i < sizeof open / sizeof *open; i++)
        truth(open[i]);
    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        lie(lengths[i], "integer field");
#if defined(__cplusplus) || defined(__GNUC__)
    for (i = 0; i < sizeof unnamed / sizeof *unnamed; i++)
        lie(unnamed[i], unnamed_fits[i]);
#else
    (void)unnamed, (void)unnamed_fits;
#endif
    for (i = 0; i < sizeof truths / sizeof *truths; i++)
        truth(truths[i]);
    rows_of_others();
    return wrong;
}
