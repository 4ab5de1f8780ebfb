/* Arrays whose elements are not side by side, sent and received. */
#include "check.h"

enum { N = 5 };

typedef struct {
    double level;
    int32_t id;
} Gauge;

typedef struct {
    double x;
    int32_t id;
} Point;
static const iso_field point[] = { ISO_FIELD(Point, x, "double"), ISO_FIELD(Point, id, "int32_t") };

typedef struct {
    int32_t step;
    int16_t n;
    double *level;
    double *twin; /* of the same length */
    size_t rows, columns;
    float *block;
    float fixed[2][3];
    struct {
        int n;
        Point *points;
    } path;
} Profile;
typedef struct {
    int n;
    Point *points;
} Path;
static const iso_field path[] = { ISO_FIELD(Path, n, "int"), ISO_FIELD_STRUCT(Path, points, "Point[n]", Point) };
static const iso_field profile[] = {
    ISO_FIELD(Profile, step, "int32_t"),       ISO_FIELD(Profile, n, "int16_t"),
    ISO_FIELD(Profile, level, "double[n]"),    ISO_FIELD(Profile, twin, "double[n]"),
    ISO_FIELD(Profile, rows, "size_t"),        ISO_FIELD(Profile, columns, "size_t"),
    ISO_POINTER(Profile, block, "float[rows][columns]"), ISO_FIELD(Profile, fixed, "float[2][3]"),
    ISO_ROW("path", "Path", 0, offsetof(Profile, path)),
};
static const iso_structure profiles[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE(Path, path), ISO_STRUCTURE(Profile, profile) };

static iso_format *format;
static iso_scratch *scratch;

static void refused(iso_strided array, iso_code code, const char *field) {
    Profile record;
    const void *gathered = &record;
    memset(&record, 0, sizeof record);
    CHECK(fails(iso_gather(scratch, format, &record, &array, 1, &gathered), code, field));
    CHECK(gathered == NULL);
}

int main(void) {
    Gauge gauges[N];
    Point points[N], came_points[2 * N];
    float matrix[4][6], room[8][8];
    double levels[3 * N], twin[N];
    Profile record;
    const Profile *came;
    const void *gathered, *bytes, *next;
    const iso_buffer *pieces;
    iso_encoder *encoder;
    iso_decoder *decoder;
    iso_registry *registry;
    iso_message message;
    size_t length, count, i, j;
    for (i = 0; i < N; i++) {
        gauges[i].level = 0.5 + (double)i;
        gauges[i].id = (int32_t)i;
        points[i].x = (double)i;
        points[i].id = (int32_t)(10 * i);
        twin[i] = (double)i;
    }
    for (i = 0; i < 4; i++)
        for (j = 0; j < 6; j++)
            matrix[i][j] = (float)(10 * i + j);
    DO(iso_format_open(profiles, 3, &format));
    DO(iso_scratch_open(&scratch));
    DO(iso_encoder_open(format, &encoder));
    DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
    DO(iso_registry_open(&registry));
    DO(iso_registry_add(registry, format));

    /* A member of each struct; a block of a matrix, its rows from the last to the first; a transposed block in the record
       itself; every second struct, in a nested one. */
    memset(&record, 0, sizeof record);
    record.step = 7;
    record.n = N;
    record.twin = twin;
    {
        const iso_strided arrays[] = {
            ISO_STRIDED("level", &gauges[0].level, N, sizeof gauges[0]),
            ISO_STRIDED_2("block", &matrix[3][1], 3, -(ptrdiff_t)sizeof matrix[0], 4, sizeof matrix[0][0]),
            ISO_STRIDED_2("fixed", &matrix[0][0], 2, sizeof matrix[0][0], 3, sizeof matrix[0]),
            ISO_STRIDED("path.points", &points[0], 3, 2 * sizeof points[0]),
        };
        DO(iso_gather(scratch, format, &record, arrays, 4, &gathered));
    }
    CHECK(record.level == NULL && record.rows == 0);
    /* What it gathered is replaced by the next call, which cannot read it, too. */
    came = (const Profile *)gathered;
    {
        const iso_strided own[] = {
            ISO_STRIDED("level", &came->level[1], 2, sizeof(double)),
            ISO_STRIDED("level", &came->level[N - 1], N, -(ptrdiff_t)sizeof(double)),
            ISO_STRIDED_2("fixed", &came->fixed[0][0], 2, sizeof(float[3]), 3, sizeof(float)),
        };
        for (i = 0; i < COUNT(own); i++) {
            FAILS(iso_gather(scratch, format, &record, &own[i], 1, &next), ISO_WRONG_TYPE, "*");
            CHECK(strcmp(iso_last_error()->path, own[i].field) == 0);
            CHECK(next == NULL && came->level[1] == 1.5);
        }
    }
    DO(iso_encode_whole(encoder, gathered, &bytes, &length));
    DO(iso_message_parse(registry, bytes, length, &message));
    DO(iso_decode(decoder, &message, &next));
    came = (const Profile *)next;
    CHECK(came->step == 7 && came->n == N && came->rows == 3 && came->columns == 4 && came->path.n == 3);
    for (i = 0; i < N; i++)
        CHECK(came->level[i] == 0.5 + (double)i && came->twin[i] == (double)i);
    for (i = 0; i < 3; i++)
        for (j = 0; j < 4; j++)
            CHECK(came->block[4 * i + j] == (float)(10 * (3 - i) + j + 1));
    for (i = 0; i < 2; i++)
        for (j = 0; j < 3; j++)
            CHECK(came->fixed[i][j] == (float)(10 * j + i));
    for (i = 0; i < 3; i++)
        CHECK(came->path.points[i].x == 2.0 * (double)i && came->path.points[i].id == (int32_t)(20 * i));

    /* Received to strided memory, with more room than necessary. */
    memset(levels, 0, sizeof levels);
    memset(room, 0, sizeof room);
    memset(came_points, 0, sizeof came_points);
    {
        iso_strided arrays[] = {
            ISO_STRIDED("level", &levels[0], N, 3 * sizeof levels[0]),
            ISO_STRIDED_2("block", &room[1][2], 7, sizeof room[0], 5, sizeof room[0][0]),
            ISO_STRIDED("path.points", &came_points[9], N, -2 * (ptrdiff_t)sizeof came_points[0]),
        };
        DO(iso_scatter(format, came, arrays, 3));
        CHECK(arrays[0].dims[0] == N && arrays[1].dims[0] == 3 && arrays[1].dims[1] == 4 && arrays[2].dims[0] == 3);
        for (i = 0; i < 3 * N; i++)
            CHECK(levels[i] == (i % 3 == 0 ? 0.5 + (double)(i / 3) : 0));
        CHECK(room[1][2] == 31 && room[3][5] == 14 && room[1][6] == 0 && room[4][2] == 0 && room[0][0] == 0);
        CHECK(came_points[9].id == 0 && came_points[7].id == 20 && came_points[5].id == 40 && came_points[8].id == 0);
        arrays[1].dims[1] = 3;
        FAILS(iso_scatter(format, came, &arrays[1], 1), ISO_TOO_LONG, "block");
        CHECK(arrays[1].dims[0] == 3 && arrays[1].dims[1] == 3);
        arrays[2].first = NULL;
        FAILS(iso_scatter(format, came, &arrays[2], 1), ISO_WRONG_TYPE, "path.points");
        /* A length below 0 is none, as for iso_encode. */
        record.n = -1;
        record.level = levels;
        FAILS(iso_encode(encoder, &record, &pieces, &count), ISO_BAD_RECORD, "level");
        FAILS(iso_scatter(format, &record, arrays, 1), ISO_BAD_RECORD, "level");
        CHECK(strcmp(iso_last_error()->actual, "-1") == 0);
        record.n = N;
        record.level = NULL;
    }

    /* What cannot be. */
    {
        const iso_strided two[] = { ISO_STRIDED("level", &levels[0], 3, sizeof levels[0]),
                                    ISO_STRIDED("twin", &levels[0], 2, sizeof levels[0]) };
        FAILS(iso_gather(scratch, format, &record, two, 2, &gathered), ISO_LENGTHS, "twin");
        FAILS(iso_gather(scratch, format, &record, two, 1, &gathered), ISO_LENGTHS, "twin"); /* twin has 5 */
        FAILS(iso_gather(NULL, format, &record, two, 1, &gathered), ISO_WRONG_TYPE, "scratch");
        FAILS(iso_gather(scratch, NULL, &record, two, 1, &gathered), ISO_WRONG_TYPE, "format");
        FAILS(iso_gather(scratch, format, NULL, two, 1, &gathered), ISO_WRONG_TYPE, "record");
        FAILS(iso_gather(scratch, format, &record, NULL, 1, &gathered), ISO_WRONG_TYPE, "arrays");
        FAILS(iso_gather(scratch, format, &record, two, 1, NULL), ISO_WRONG_TYPE, "gathered");
        FAILS(iso_scatter(format, NULL, NULL, 0), ISO_WRONG_TYPE, "record");
    }
    {
        const iso_strided none = ISO_STRIDED("nothing", &levels[0], 1, 8), inner = ISO_STRIDED("level.x", &levels[0], 1, 8),
                          scalar = ISO_STRIDED("step", &gauges[0].id, 1, 8), narrow = ISO_STRIDED("level", &room[0][0], 1, 8),
                          flat = ISO_STRIDED("block", &room[0][0], 1, 8), fixed = ISO_STRIDED_2("fixed", &room[0][0], 3, 4, 2, 4),
                          null = ISO_STRIDED("level", (double *)NULL, 1, 8), huge = ISO_STRIDED("level", &levels[0], (size_t)-1, 0),
                          many = ISO_STRIDED("level", &levels[0], 40000, 0);
        iso_strided deep = ISO_STRIDED_2("block", &room[0][0], 1, 4, 1, 4);
        refused(none, ISO_NO_SUCH_FIELD, "nothing");
        refused(inner, ISO_NO_SUCH_FIELD, "level.x");
        refused(scalar, ISO_SHAPE, "step");
        refused(narrow, ISO_WRONG_TYPE, "level");
        refused(flat, ISO_SHAPE, "block");
        refused(fixed, ISO_SHAPE, "fixed");
        refused(null, ISO_WRONG_TYPE, "level");
        refused(huge, ISO_SIZE, "level");
        record.n = (int16_t)40000;
        FAILS(iso_gather(scratch, format, &record, &many, 1, &gathered), ISO_OVERFLOW, "n");
        deep.rank = 9;
        refused(deep, ISO_SHAPE, "block");
    }
    iso_registry_close(&registry);
    iso_decoder_close(&decoder);
    iso_encoder_close(&encoder);
    iso_scratch_close(&scratch);
    iso_scratch_close(&scratch);
    iso_format_close(&format);
    return 0;
}
