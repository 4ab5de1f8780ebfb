/* The records of vectors/ that any C compiler can declare. What they hold is written beside the vectors, as JSON. */
#include "feature.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct {
    signed char tiny;
    unsigned char byte;
    short small;
    unsigned short usmall;
    int plain;
    unsigned uplain;
    long far;
    unsigned long ufar;
    long long large;
    unsigned long long ularge;
    size_t size;
    float single;
    double real;
    char letter;
    bool yes;
    int32_t yes4;
    signed char last;
} Scalars;

static const iso_field scalars_fields[] = {
    ISO_FIELD(Scalars, tiny, "signed char"),
    ISO_FIELD(Scalars, byte, "unsigned char"),
    ISO_FIELD(Scalars, small, "short"),
    ISO_FIELD(Scalars, usmall, "unsigned short"),
    ISO_FIELD(Scalars, plain, "int"),
    ISO_FIELD(Scalars, uplain, "unsigned int"),
    ISO_FIELD(Scalars, far, "long"),
    ISO_FIELD(Scalars, ufar, "unsigned long"),
    ISO_FIELD(Scalars, large, "long long"),
    ISO_FIELD(Scalars, ularge, "unsigned long long"),
    ISO_FIELD(Scalars, size, "size_t"),
    ISO_FIELD(Scalars, single, "float"),
    ISO_FIELD_UNIT(Scalars, real, "double", "m/s"),
    ISO_FIELD(Scalars, letter, "char"),
    ISO_FIELD(Scalars, yes, "bool"),
    ISO_FIELD(Scalars, yes4, "boolean(4)"),
    ISO_FIELD(Scalars, last, "signed char"),
};

void write_scalars(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Scalars, scalars_fields) };
    /* "far" and "size" hold what they can everywhere. */
    const Scalars values[4] = {
        { -1, 2, -300, 40000, -70000, 3000000000u, -5, 6, -5000000000, 10000000000000000000u, 4096, 0.1f, 0.1, 'x',
          true, false, 127 },
        { SCHAR_MAX, UCHAR_MAX, 32767, 65535, 2147483647, 4294967295u, 2147483647, 4294967295u, LLONG_MAX, ULLONG_MAX,
          4294967295u, FLT_MAX, DBL_MAX, '~', true, true, 1 },
        { SCHAR_MIN, 0, -32768, 0, -2147483647 - 1, 0, -2147483647 - 1, 0, LLONG_MIN, 0, 0, 1e-45f,
          4.9406564584124654e-324, ' ', false, false, -1 },
        { 0, 128, 256, 1, 16777216, 65536, 1, 2147483648u, 1, 9223372036854775808u, 1, INFINITY, (double)NAN, '0', true,
          false, -2 },
    };
    Scalars records[4];
    size_t i;
    FILL(records);
    for (i = 0; i < COUNT(records); i++) {
        Scalars *to = &records[i];
        const Scalars *from = &values[i];
        to->tiny = from->tiny;
        to->byte = from->byte;
        to->small = from->small;
        to->usmall = from->usmall;
        to->plain = from->plain;
        to->uplain = from->uplain;
        to->far = from->far;
        to->ufar = from->ufar;
        to->large = from->large;
        to->ularge = from->ularge;
        to->size = from->size;
        to->single = from->single;
        to->real = from->real;
        to->letter = from->letter;
        to->yes = from->yes;
        to->yes4 = from->yes4;
        to->last = from->last;
    }
    WRITE(writer, structures, records);
}

typedef struct {
    char *name;
    short n;
    char *empty;
    char *none;
    char *bytes;
    char *pair[2];
    char **list;
    char code[8];
    char full[4];
    unsigned char m;
    char *text;
} Strings;

static const iso_field strings_fields[] = {
    ISO_FIELD(Strings, name, "string"),
    ISO_FIELD(Strings, n, "short"),
    ISO_FIELD(Strings, empty, "char *"),
    ISO_FIELD(Strings, none, "string"),
    ISO_FIELD(Strings, bytes, "string"),
    ISO_FIELD(Strings, pair, "string[2]"),
    ISO_FIELD(Strings, list, "string[n]"),
    ISO_FIELD(Strings, code, "char[8]"),
    ISO_FIELD(Strings, full, "char[4]"),
    ISO_FIELD(Strings, m, "unsigned char"),
    ISO_FIELD(Strings, text, "char[m]"),
};

void write_strings(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Strings, strings_fields) };
    char *list[] = { TEXT("Z\xc3\xbcrich"), NULL, TEXT("\xe6\x9d\xb1\xe4\xba\xac") };
    Strings records[2];
    FILL(records);
    records[0].name = TEXT("Isoform");
    records[0].n = 3;
    records[0].empty = TEXT("");
    records[0].none = NULL;
    records[0].bytes = TEXT("\x80\xff\xfe\x01");
    records[0].pair[0] = TEXT("exactly 15 here");
    records[0].pair[1] = TEXT("16 bytes long ok");
    records[0].list = list;
    memcpy(records[0].code, "LSZH\0\0\0", 8);
    memcpy(records[0].full, "ABCD", 4);
    records[0].m = 5;
    records[0].text = TEXT("hello");

    records[1].name = records[1].none = records[1].bytes = records[1].pair[0] = NULL;
    records[1].n = 0;
    records[1].empty = TEXT("");
    records[1].pair[1] = TEXT("only one");
    records[1].list = list; /* not looked at, since its length is 0 */
    memset(records[1].code, 0, 8);
    memcpy(records[1].full, "A\0\0", 4);
    records[1].m = 0;
    records[1].text = NULL;
    WRITE(writer, structures, records);
}

typedef struct {
    int nx;
    unsigned short ny;
    double fixed[3];
    float matrix[2][3];
    float *line;
    double *grid;
    short *slab;
    bool *flags;
    int one[1];
    long long spare;
    unsigned char *columns;
    unsigned long *ids;
} Arrays;

/* By ISO_FIELD, ISO_POINTER and by hand, in an order that is not theirs in memory. */
static const iso_field arrays_fields[] = {
    ISO_FIELD(Arrays, ids, "unsigned long[nx]"),
    ISO_POINTER(Arrays, line, "float[nx]"),
    ISO_POINTER(Arrays, grid, "float[nx][ny]"),
    ISO_FIELD(Arrays, nx, "int"),
    ISO_ROW("ny", "unsigned integer", sizeof(unsigned short), offsetof(Arrays, ny)),
    ISO_FIELD(Arrays, fixed, "float[3]"),
    ISO_ROW("matrix", "float[2][3]", sizeof(float), offsetof(Arrays, matrix)),
    ISO_FIELD(Arrays, slab, "short[nx][ 2 ][ny]"),
    ISO_POINTER(Arrays, flags, "boolean[nx]"),
    ISO_FIELD(Arrays, one, "int[1]"),
    ISO_FIELD(Arrays, spare, "long  long"),
    ISO_FIELD(Arrays, columns, "uint8_t[3][ny]"),
};

void write_arrays(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Arrays, arrays_fields) };
    static const double some[3] = { 1.5, -2.25, 1e100 }, fixed[3] = { 1, 2, 3 };
    static const float ordered[2][3] = { { 1, 2, 3 }, { 4, 5, 6.5f } };
    float line[3] = { 0.1f, 0.2f, 0.3f };
    double grid[3][2] = { { 1, 2 }, { 3, 4 }, { 5, -0.0 } };
    short slab[3][2][2] = { { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } }, { { 9, 10 }, { 11, -12 } } };
    bool flags[3] = { true, false, true };
    unsigned char columns[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 255 } }, others[3][2] = { { 1, 2 }, { 3, 4 }, { 5, 6 } };
    unsigned long ids[3] = { 1, 2, 4000000000u };
    Arrays records[3];
    size_t i, j;
    FILL(records);
    records[0].nx = 3;
    records[0].ny = 2;
    memcpy(records[0].fixed, some, sizeof some);
    memcpy(records[0].matrix, ordered, sizeof ordered);
    records[0].line = line;
    records[0].grid = grid[0];
    records[0].slab = slab[0][0];
    records[0].flags = flags;
    records[0].one[0] = 7;
    records[0].spare = -1;
    records[0].columns = columns[0];
    records[0].ids = ids;

    for (i = 1; i < 3; i++) {
        records[i].nx = 0;
        records[i].ny = i == 1 ? 0 : 2;
        memset(records[i].fixed, 0, sizeof some);
        for (j = 0; j < 6; j++)
            records[i].matrix[j / 3][j % 3] = i == 1 ? 0.0f : 0.5f;
        records[i].line = NULL;
        records[i].grid = grid[0]; /* not looked at, since one of its lengths is 0 */
        records[i].slab = NULL;
        records[i].flags = NULL;
        records[i].one[0] = i == 1 ? 0 : 1;
        records[i].spare = i == 1 ? 0 : 1;
        records[i].columns = i == 1 ? NULL : others[0];
        records[i].ids = NULL;
    }
    memcpy(records[2].fixed, fixed, sizeof fixed);
    WRITE(writer, structures, records);
}

typedef struct {
    double x;
    double y;
    char tag;
} Point;

typedef struct {
    char *name;
    signed char n;
    Point *points;
    Point home;
    Point pair[2];
    char **notes;
} Track;

typedef struct {
    char *title;
    unsigned count;
    Track lead;
    Track *tracks;
    short end;
} Fleet;

static const iso_field point_fields[] = {
    ISO_FIELD_UNIT(Point, x, "double", "m"),
    ISO_FIELD_UNIT(Point, y, "double", "m"),
    ISO_FIELD(Point, tag, "char"),
};
static const iso_field track_fields[] = {
    ISO_FIELD(Track, name, "string"),  ISO_FIELD(Track, n, "signed char"),  ISO_FIELD(Track, points, "Point[n]"),
    ISO_FIELD(Track, home, "Point"),   ISO_FIELD(Track, pair, "Point[2]"),  ISO_FIELD(Track, notes, "string[n]"),
};
static const iso_field fleet_fields[] = {
    ISO_FIELD(Fleet, title, "string"),        ISO_FIELD(Fleet, count, "unsigned"), ISO_FIELD(Fleet, lead, "Track"),
    ISO_FIELD(Fleet, tracks, "Track[count]"), ISO_FIELD(Fleet, end, "short"),
};

static void set_point(Point *point, double x, double y, char tag) {
    point->x = x;
    point->y = y;
    point->tag = tag;
}

static void set_track(Track *track, const char *name, signed char n, Point *points, char **notes) {
    track->name = TEXT(name);
    track->n = n;
    track->points = points;
    track->notes = notes;
}

void write_nested(iso_writer *writer) {
    static const iso_structure structures[] = {
        ISO_STRUCTURE(Point, point_fields), ISO_STRUCTURE(Track, track_fields), ISO_STRUCTURE(Fleet, fleet_fields)
    };
    char *first[] = { TEXT("first") }, *second[] = { NULL, TEXT("second of Altair") };
    Point points[3];
    Track tracks[2];
    Fleet records[2];
    FILL(points);
    FILL(tracks);
    FILL(records);
    records[0].title = TEXT("two ships");
    records[0].count = 2;
    records[0].tracks = tracks;
    records[0].end = -7;
    set_track(&records[0].lead, "Vega", 1, points, first);
    set_point(&points[0], 1, 2, 'a');
    set_point(&records[0].lead.home, -1, -2, 'b');
    set_point(&records[0].lead.pair[0], 0.5, 0.25, 'c');
    set_point(&records[0].lead.pair[1], 0.125, 0, 'd');
    set_track(&tracks[0], "Altair", 2, points + 1, second);
    set_point(&points[1], 10, 20, 'e');
    set_point(&points[2], 30, 40, 'f');
    set_point(&tracks[0].home, 5, 6, 'g');
    set_point(&tracks[0].pair[0], 7, 8, 'h');
    set_point(&tracks[0].pair[1], 9, 10, 'i');
    set_track(&tracks[1], NULL, 0, NULL, NULL);
    set_point(&tracks[1].home, 0, 0, 'j');
    set_point(&tracks[1].pair[0], 0, 0, 'k');
    set_point(&tracks[1].pair[1], 0, 0, 'l');

    records[1].title = NULL;
    records[1].count = 0;
    records[1].tracks = NULL;
    records[1].end = 0;
    set_track(&records[1].lead, NULL, 0, NULL, NULL);
    set_point(&records[1].lead.home, 0, 0, '-');
    set_point(&records[1].lead.pair[0], 0, 0, '-');
    set_point(&records[1].lead.pair[1], 0, 0, '-');
    WRITE(writer, structures, records);
}

enum color { RED, GREEN, BLUE };
enum direction { NORTH = 10, EAST = 20, SOUTH = 30, WEST = 40 };

typedef struct {
    enum color color;
    int8_t sign;
    uint16_t mask;
    int64_t wide;
    uint64_t uwide;
    int n;
    enum direction *path;
    int8_t pair[2];
} Enumerations;

static const iso_field enumerations_fields[] = {
    ISO_FIELD(Enumerations, color, "enumeration{blue=2, red=0, green}"),
    ISO_FIELD(Enumerations, sign, "enumeration(1){plus = 1, minus = -1, zero}"),
    ISO_FIELD(Enumerations, mask, "unsigned enumeration{none, all=65535}"),
    ISO_FIELD(Enumerations, wide, "enum{lowest=-9223372036854775808,highest=9223372036854775807}"),
    ISO_FIELD(Enumerations, uwide, "unsigned enum{low=3,high=18446744073709551615}"),
    ISO_FIELD(Enumerations, n, "int"),
    ISO_POINTER(Enumerations, path, "enumeration{north=10,east=20,south=30,west=40}[n]"),
    ISO_FIELD(Enumerations, pair, "enumeration{off,on}[2]"),
};

void write_enumerations(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Enumerations, enumerations_fields) };
    enum direction path[] = { NORTH, WEST, EAST };
    Enumerations records[2];
    FILL(records);
    records[0].color = RED;
    records[0].sign = -1;
    records[0].mask = 0;
    records[0].wide = INT64_MIN;
    records[0].uwide = 3;
    records[0].n = 3;
    records[0].path = path;
    records[0].pair[0] = 0;
    records[0].pair[1] = 1;
    records[1].color = BLUE;
    records[1].sign = 1;
    records[1].mask = 65535;
    records[1].wide = INT64_MAX;
    records[1].uwide = UINT64_MAX;
    records[1].n = 0;
    records[1].path = NULL;
    records[1].pair[0] = records[1].pair[1] = 1;
    WRITE(writer, structures, records);
}

typedef struct {
    int step;
    float temp;
    enum { COLD, HOT } state;
} Sample1;

typedef struct {
    char *station;
    long long step;
    double temp;
    enum { FROZEN, COLD_2, HOT_2 } state;
    float flow[4];
} Sample2;

typedef struct {
    double lat;
    double lon;
} Position;

typedef struct {
    Position where;
    unsigned short step;
    int n;
    double *flow;
} Sample3;

static const iso_field sample_1_fields[] = {
    ISO_FIELD(Sample1, step, "int"),
    ISO_FIELD_UNIT(Sample1, temp, "float", "K"),
    ISO_FIELD(Sample1, state, "enumeration{cold,hot}"),
};
static const iso_field sample_2_fields[] = {
    ISO_FIELD(Sample2, station, "string"),
    ISO_FIELD(Sample2, step, "long long"),
    ISO_FIELD_UNIT(Sample2, temp, "double", "K"),
    ISO_FIELD(Sample2, state, "enumeration{frozen,cold,hot}"),
    ISO_FIELD(Sample2, flow, "float[4]"),
};
static const iso_field position_fields[] = { ISO_FIELD(Position, lat, "double"), ISO_FIELD(Position, lon, "double") };
static const iso_field sample_3_fields[] = {
    ISO_FIELD(Sample3, where, "struct Position"),
    ISO_FIELD(Sample3, step, "unsigned short"),
    ISO_FIELD(Sample3, n, "int"),
    ISO_FIELD(Sample3, flow, "double[n]"),
};

void write_evolve(iso_writer *writer) {
    static const iso_structure first[] = { ISO_STRUCTURE_AS("Sample", Sample1, sample_1_fields) };
    static const iso_structure second[] = { ISO_STRUCTURE_AS("Sample", Sample2, sample_2_fields) };
    static const iso_structure third[] = {
        ISO_STRUCTURE(Position, position_fields), ISO_STRUCTURE_AS("Sample", Sample3, sample_3_fields)
    };
    Sample1 sample1[1];
    Sample2 sample2[1];
    Sample3 sample3[1];
    double flow[] = { 0.1, 0.2, 0.3 };
    FILL(sample1);
    FILL(sample2);
    FILL(sample3);
    sample1->step = 1;
    sample1->temp = 273.15f;
    sample1->state = COLD;
    sample2->station = TEXT("Aare");
    sample2->step = 5000000000;
    sample2->temp = 280.25;
    sample2->state = HOT_2;
    sample2->flow[0] = 1;
    sample2->flow[1] = 2;
    sample2->flow[2] = 3;
    sample2->flow[3] = 4.5f;
    sample3->where.lat = 46.5;
    sample3->where.lon = 7.5;
    sample3->step = 65535;
    sample3->n = 3;
    sample3->flow = flow;
    WRITE(writer, first, sample1);
    WRITE(writer, second, sample2);
    WRITE(writer, third, sample3);
}
