/* What isoform_writer.h refuses, and that nothing of it gets out: tables that contradict themselves or the compiler,
   records that break their promises, sinks and memory that fail. Ends with the number of checks, or with status 1. */
#include <stdlib.h>

static size_t taken, given_back;
static int is_out_of_memory;

static void *take(size_t size) {
    if (is_out_of_memory)
        return NULL;
    taken++;
    return malloc(size);
}

static void give_back(void *memory) {
    given_back++;
    free(memory);
}

#define ISO_MALLOC(size) take(size)
#define ISO_FREE(memory) give_back(memory)
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static unsigned checks, failures;

static void check(int holds, const char *what, const char *came) {
    checks++;
    if (!holds) {
        failures++;
        fprintf(stderr, "FAILED: %s: found %s\n", what, came);
    }
}

/* A refusal must have this code, and its text this part. */
static void check_refusal(iso_code code, const iso_error *error, iso_code expected, const char *part) {
    check(code == expected && error->code == expected && strstr(error->text, part) != NULL, part, error->text);
}

static void refuse_structures(const iso_structure *structures, size_t count, iso_code code, const char *part) {
    iso_error error;
    iso_format *format = iso_declare(structures, count, &error);
    check(format == NULL, part, "a format");
    check_refusal(error.code, &error, code, part);
    iso_release(format);
}

/* ---- Declarations. ---- */

static const iso_field inner_fields[] = { ISO_ROW("x", "double", 8, 0) };

/* One wrong field in a record of 64 bytes that also has an integer `n`, a float `f` and a pointer `p`. */
static void refuse_field(const iso_field *field, iso_code code, const char *part) {
    const iso_field fields[] = { ISO_ROW("n", "int", 4, 0), ISO_ROW("f", "float", 4, 4), ISO_ROW("p", "int*", 4, 8),
                                 *field };
    const iso_structure structures[] = { { "Inner", 8, 8, inner_fields, 1, NULL }, { "R", 64, 8, fields, 4, NULL } };
    refuse_structures(structures, 2, code, part);
}

static void refuse_fields(void) {
    static const struct {
        iso_field field;
        iso_code code;
        const char *part;
    } cases[] = {
        { ISO_ROW("", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a.b", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a b", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a\xc2\xa0", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a\xe3\x80\x80", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a\x7f", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("\xed\xa0\x80", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("\xc0\xaf", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("\xe6\x9d", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("\x80", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("\xf5\x80\x80\x80", "int", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("n", "int", 4, 16), ISO_DECLARATION, "at R.n: expected names that differ" },
        { ISO_ROW(NULL, "int", 4, 16), ISO_DECLARATION, "found NULL" },
        { ISO_ROW("a", NULL, 4, 16), ISO_DECLARATION, "found NULL" },
        { ISO_ROW_UNIT_DEFAULT("a", "int", 4, 16, "", NULL), ISO_DECLARATION, "expected a unit" },
        { ISO_ROW_UNIT_DEFAULT("a", "int", 4, 16, "m\n", NULL), ISO_DECLARATION, "expected a unit" },
        { ISO_ROW("a", "", 4, 16), ISO_DECLARATION, "at R.a: expected a type" },
        { ISO_ROW("a", "flaot", 4, 16), ISO_DECLARATION, "found `flaot`" },
        { ISO_ROW("a", "int32", 4, 16), ISO_DECLARATION, "a type, such as int32_t, or" },
        { ISO_ROW("a", "Outer", 4, 16), ISO_DECLARATION, "a structure declared before" },
        { ISO_ROW("a", "R", 64, 0), ISO_DECLARATION, "a structure declared before" },
        { ISO_ROW("a", "int int", 4, 16), ISO_DECLARATION, "expected a type" },
        { ISO_ROW("a", "int x", 4, 16), ISO_DECLARATION, "expected a type" },
        { ISO_ROW("a", "int]", 4, 16), ISO_DECLARATION, "expected the end of the type" },
        { ISO_ROW("a", "int(4)", 4, 16), ISO_DECLARATION, "found `(4)`" },
        { ISO_ROW("a", "integer(3)", 3, 16), ISO_DECLARATION, "expected a size in bytes" },
        { ISO_ROW("a", "integer(4", 4, 16), ISO_DECLARATION, "expected a size in bytes" },
        { ISO_ROW("a", "integer(18446744073709551620)", 4, 16), ISO_DECLARATION, "expected a size in bytes" },
        { ISO_ROW("a", "char(2)", 2, 16), ISO_DECLARATION, "expected a size in bytes" },
        { ISO_ROW("a", "integer", 3, 16), ISO_DECLARATION, "expected a size that \"integer\" can have, found 3" },
        { ISO_ROW("a", "boolean", 16, 16), ISO_DECLARATION, "can have, found 16" },
        { ISO_ROW("a", "float", 1, 16), ISO_DECLARATION, "can have, found 1" },
        { ISO_ROW("a", "float", 12, 16), ISO_DECLARATION, "can have, found 12" },
        { ISO_ROW("a", "float", 16, 16), ISO_DECLARATION, "expected \"long double\" or \"f128\"" },
        { ISO_ROW("a", "complex float", 9, 16), ISO_DECLARATION, "can have, found 9" },
        { ISO_ROW("a", "complex int", 8, 16), ISO_DECLARATION, "expected a type" },
        { ISO_ROW("a", "x87", 8, 16), ISO_DECLARATION, "can have, found 8" },
        { ISO_ROW("a", "float[n]", 0, 16), ISO_DECLARATION, "expected ISO_POINTER" },
        { ISO_ROW("a", "double", 4, 16), ISO_DECLARATION, "expected elements of 8 bytes, as \"double\" has, found 4" },
        { ISO_ROW("a", "Inner", 16, 16), ISO_DECLARATION, "expected elements of 8 bytes" },
        { ISO_ROW("a", "string", 2, 16), ISO_DECLARATION, "as \"string\" has, found 2" },
        { { "a", "double[3]", 0, 16, NULL, 16, NULL, { 0, 0, 0 }, 0, NULL, NULL }, ISO_DECLARATION, "expected a member of 24 bytes" },
        { { "a", "float[3]", 0, 16, NULL, 16, NULL, { 0, 0, 0 }, 0, NULL, NULL }, ISO_DECLARATION, "expected ISO_POINTER" },
        { { "a", "double", 0, 16, NULL, 4, NULL, { 0, 0, 0 }, 0, NULL, NULL }, ISO_DECLARATION, "expected elements of 8 bytes" },
        { { "a", "double*", 8, 16, NULL, 3, NULL, { 0, 0, 0 }, 0, NULL, NULL }, ISO_DECLARATION, "expected a member of" },
        { ISO_ROW("a", "int[0]", 4, 16), ISO_DECLARATION, "expected a dimension of at least 1" },
        { ISO_ROW("a", "int[1099511627776]", 4, 16), ISO_DECLARATION, "expected a dimension of at least 1" },
        { ISO_ROW("a", "int[99999999999999999999]", 4, 16), ISO_DECLARATION, "expected a dimension of at least 1" },
        { ISO_ROW("a", "int[1048576][1048576]*", 4, 16), ISO_SIZE, "expected less than 2^40 bytes" },
        { ISO_ROW("a", "double[549755813888]*", 8, 16), ISO_SIZE, "expected less than 2^40 bytes" },
        { ISO_ROW("a", "int[1][1][1][1][1][1][1][1][1]", 4, 16), ISO_DECLARATION, "expected at most 8 dimensions" },
        { ISO_ROW("a", "int[3", 4, 16), ISO_DECLARATION, "expected `]`" },
        { ISO_ROW("a", "int[]", 4, 16), ISO_DECLARATION, "expected a number or the name of an integer field" },
        { ISO_ROW("a", "int[m]", 4, 16), ISO_DECLARATION, "expected a number or the name of an integer field" },
        { ISO_ROW("a", "int[f]", 4, 16), ISO_DECLARATION, "expected a single integer of at most 8 bytes as length" },
        { ISO_ROW("a", "int[p]", 4, 16), ISO_DECLARATION, "expected a single integer of at most 8 bytes as length" },
        { ISO_ROW("a", "int[a]", 4, 16), ISO_DECLARATION, "expected a single integer of at most 8 bytes as length" },
        { ISO_ROW("a", "int[n]*", 4, 16), ISO_DECLARATION, "expected no `*`" },
        { ISO_ROW("a", "int**", 4, 16), ISO_DECLARATION, "expected the end of the type" },
        { ISO_ROW("a", "int", 4, 2), ISO_DECLARATION, "expected free bytes from 4 to 64, found 4 bytes at 2" },
        { ISO_ROW("a", "int", 4, 61), ISO_DECLARATION, "found 4 bytes at 61" },
        { ISO_ROW("a", "int", 4, SIZE_MAX - 1), ISO_DECLARATION, "expected free bytes" },
        { ISO_ROW("a", "int[100]", 4, 16), ISO_DECLARATION, "found 400 bytes at 16" },
        { ISO_ROW("a", "enumeration", 4, 16), ISO_DECLARATION, "expected `{` and symbols" },
        { ISO_ROW("a", "enumeration{}", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a", "enumeration{a.b}", 4, 16), ISO_DECLARATION, "expected a name" },
        { ISO_ROW("a", "enumeration{a,a}", 4, 16), ISO_DECLARATION, "expected symbols that differ" },
        { ISO_ROW("a", "enumeration{a,b=0}", 4, 16), ISO_DECLARATION, "expected symbols that differ" },
        { ISO_ROW("a", "enumeration{a=1.5}", 4, 16), ISO_DECLARATION, "expected `,` or `}`, found `.5}`" },
        { ISO_ROW("a", "enumeration{a=}", 4, 16), ISO_DECLARATION, "expected a number of an enumeration" },
        { ISO_ROW("a", "enumeration{a=0", 4, 16), ISO_DECLARATION, "expected `,` or `}`" },
        { ISO_ROW("a", "enumeration{a=2147483648}", 4, 16), ISO_DECLARATION, "expected numbers that fit" },
        { ISO_ROW("a", "enumeration{a=-129}", 1, 16), ISO_DECLARATION, "expected numbers that fit" },
        { ISO_ROW("a", "unsigned enumeration{a=256}", 1, 16), ISO_DECLARATION, "expected numbers that fit" },
        { ISO_ROW("a", "unsigned enumeration{a=-1}", 8, 16), ISO_DECLARATION, "expected a number of an enumeration" },
        { ISO_ROW("a", "enumeration{a=9223372036854775808}", 8, 16), ISO_DECLARATION, "a number of an enumeration" },
        { ISO_ROW("a", "enumeration{a=9223372036854775807,b}", 8, 16), ISO_DECLARATION, "none above the last" },
        { ISO_ROW("a", "enumeration{a=0}", 16, 16), ISO_DECLARATION, "can have, found 16" },
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++)
        refuse_field(&cases[i].field, cases[i].code, cases[i].part);
}

static void check_tables(void) {
    static const iso_field one[] = { ISO_ROW("x", "u8", 1, 0) };
    static char long_name[257];
    char names[34][8];
    iso_structure chain[34] = { { 0 } }, pair[2] = { { 0 } };
    iso_field nested[34][1], *many = (iso_field *)calloc(4097, sizeof *many), two[2];
    char *texts = (char *)malloc(4097 * 24);
    iso_error error;
    iso_format *format;
    size_t i;
    const iso_structure wrong[] = {
        { "R", 0, 1, one, 1, NULL },      { "R", 3, 2, one, 1, NULL },  { "R", 3, 3, one, 1, NULL },    { "R", 1, 0, one, 1, NULL },
        { "R", 131072, 131072, one, 1, NULL }, { NULL, 1, 1, one, 1, NULL }, { "a b", 1, 1, one, 1, NULL }, { "R", 1, 1, one, 0, NULL },
    };
    if (!many || !texts)
        abort();
    for (i = 0; i < COUNT(wrong); i++)
        refuse_structures(&wrong[i], 1, ISO_DECLARATION, "invalid declaration");
    refuse_structures(wrong, 0, ISO_DECLARATION, "expected a structure");
#if SIZE_MAX > 0xffffffff
    pair[0].name = "R";
    pair[0].size = (size_t)1 << 40;
    pair[0].alignment = 1;
    pair[0].fields = one;
    pair[0].count = 1;
    refuse_structures(pair, 1, ISO_SIZE, "expected less than 2^40 bytes");
#endif
    memset(long_name, 'n', 256);
    for (i = 0; i < 2; i++) {
        const iso_structure structure = { long_name + 1 - i, 1, 1, one, 1, NULL };
        format = iso_declare(&structure, 1, &error);
        check((format != NULL) == (i == 0), "a name of 255 or 256 bytes", error.text);
        iso_release(format);
    }
    for (i = 0; i < 2; i++) {
        const iso_structure structure = { "Same", 1, 1, one, 1, NULL };
        pair[i] = structure;
    }
    refuse_structures(pair, 2, ISO_DECLARATION, "expected names that differ, found two structures");

    /* Each nests the one before: 32 levels are allowed, 33 are not. */
    for (i = 0; i < 34; i++) {
        const iso_structure structure = { names[i], 1, 1, i == 0 ? one : nested[i], 1, NULL };
        const iso_field field = ISO_ROW("inner", names[i == 0 ? 0 : i - 1], 0, 0);
        snprintf(names[i], sizeof names[i], "S%u", (unsigned)i);
        nested[i][0] = field;
        chain[i] = structure;
    }
    format = iso_declare(chain, 32, &error);
    check(format != NULL, "32 levels", error.text);
    iso_release(format);
    refuse_structures(chain, 33, ISO_DEPTH, "expected at most 32 levels, found 33");

    /* 4,096 fields are allowed, 4,097 are not, be they nested. With longer names the description is too long. */
    for (i = 0; i < 4097; i++) {
        const iso_field field = ISO_ROW(texts + i * 24, "u8", 1, i);
        snprintf(texts + i * 24, 24, "f%u", (unsigned)i);
        many[i] = field;
    }
    for (i = 4096; i <= 4097; i++) {
        const iso_structure structure = { "Many", 4097, 1, many, i, NULL };
        if (i == 4097) {
            refuse_structures(&structure, 1, ISO_FIELDS, "expected at most 4096, found 4097");
            continue;
        }
        format = iso_declare(&structure, 1, &error);
        check(format != NULL, "4096 fields", error.text);
        iso_release(format);
    }
    {
        const iso_field inner = ISO_ROW("inner", "Half", 0, 0), last = ISO_ROW("other", "Half", 0, 2048);
        const iso_structure half = { "Half", 2048, 1, many, 2048, NULL }, whole = { "Whole", 4096, 1, two, 2, NULL };
        two[0] = inner;
        two[1] = last;
        pair[0] = half;
        pair[1] = whole;
        refuse_structures(pair, 2, ISO_FIELDS, "at Whole.other: expected at most 4096");
    }
    for (i = 0; i < 4096; i++)
        snprintf(texts + i * 24, 24, "a_longer_name_%06u", (unsigned)i);
    {
        const iso_structure structure = { "Many", 4097, 1, many, 4096, NULL };
        refuse_structures(&structure, 1, ISO_DESCRIPTION_SIZE, "expected at most 65536 bytes, found");
    }
    is_out_of_memory = 1;
    refuse_structures(pair, 1, ISO_SIZE, "bytes of memory");
    is_out_of_memory = 0;
    free(many);
    free(texts);
}

/* ---- Records. ---- */

typedef struct {
    unsigned char on;
    signed char sign;
    int64_t n;
    uint64_t u;
    double *points;
    unsigned char *flags;
    char **names;
} Item;

typedef struct {
    int count;
    Item first;
    Item *items;
    uint16_t bits[2][3];
    Item (*one)[1];
} Box;

static const iso_field item_fields[] = {
    ISO_FIELD(Item, on, "boolean"),         ISO_FIELD(Item, sign, "enumeration{minus=-1,plus=1}"),
    ISO_FIELD(Item, n, "i64"),              ISO_FIELD(Item, u, "u64"),
    ISO_FIELD(Item, points, "double[n][u]"), ISO_FIELD(Item, flags, "boolean(1)[n]"),
    ISO_FIELD(Item, names, "string[n]"),
};
static const iso_field box_fields[] = {
    ISO_FIELD(Box, count, "int"),         ISO_FIELD(Box, first, "Item"), ISO_FIELD(Box, items, "Item[count]"),
    ISO_FIELD(Box, bits, "unsigned enumeration{low=1,high=65535}[2][3]"), ISO_FIELD(Box, one, "Item[1]*"),
};
static const iso_structure box_structures[] = { ISO_STRUCTURE(Item, item_fields), ISO_STRUCTURE(Box, box_fields) };

/* Counts what it is given, and refuses after so many bytes. */
typedef struct {
    size_t written;
    size_t most;
} Sink;

static int sink(void *context, const void *bytes, size_t count) {
    Sink *to = (Sink *)context;
    (void)bytes;
    to->written += count;
    return to->written > to->most;
}

typedef struct {
    Sink to;
    iso_writer writer;
    iso_format *format;
    double points[6];
    unsigned char flags[3];
    char *names[3];
    Item items[2];
    Item one[1];
    Box box;
} Fixture;

static void set_item(Fixture *fixture, Item *item) {
    item->on = 1;
    item->sign = -1;
    item->n = 3;
    item->u = 2;
    item->points = fixture->points;
    item->flags = fixture->flags;
    item->names = fixture->names;
}

static void set_up(Fixture *fixture) {
    iso_error error;
    size_t i;
    memset(fixture, 0, sizeof *fixture);
    fixture->to.most = SIZE_MAX;
    iso_open(&fixture->writer, sink, &fixture->to);
    fixture->format = iso_declare(box_structures, 2, &error);
    if (!fixture->format) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    set_item(fixture, &fixture->box.first);
    set_item(fixture, &fixture->items[0]);
    set_item(fixture, &fixture->items[1]);
    set_item(fixture, &fixture->one[0]);
    fixture->box.count = 2;
    fixture->box.items = fixture->items;
    fixture->box.one = &fixture->one;
    for (i = 0; i < 6; i++)
        fixture->box.bits[i / 3][i % 3] = i % 2 ? 1 : 65535;
}

/* The record of the fixture is refused, nothing of it is written, and nothing is broken by that. */
static void refuse_record(Fixture *fixture, iso_code expected, const char *part) {
    const size_t before = fixture->to.written;
    const iso_code code = iso_write(&fixture->writer, fixture->format, &fixture->box);
    check_refusal(code, &fixture->writer.error, expected, part);
    check(fixture->to.written == before, part, "bytes of a record that was refused");
    iso_release(fixture->format);
    set_up(fixture);
    check(iso_write(&fixture->writer, fixture->format, &fixture->box) == ISO_OK, part, fixture->writer.error.text);
}

/* NULL is refused, and nothing is written. */
static void check_nulls(void) {
    static Fixture f;
    iso_writer writer;
    size_t count = 1;
    refuse_structures(NULL, 1, ISO_WRONG_TYPE, "expected structures, found NULL");
    check(iso_declare(NULL, 1, NULL) == NULL, "NULL structures and no error", "a format");
    set_up(&f);
    check_refusal(iso_write(&f.writer, NULL, &f.box), &f.writer.error, ISO_WRONG_TYPE, "expected a format, found NULL");
    check_refusal(iso_message(&f.writer, NULL, &f.box), &f.writer.error, ISO_WRONG_TYPE, "expected a format, found NULL");
    check_refusal(iso_describe(&f.writer, NULL), &f.writer.error, ISO_WRONG_TYPE, "expected a format, found NULL");
    check_refusal(iso_write(&f.writer, f.format, NULL), &f.writer.error, ISO_WRONG_TYPE, "expected a record, found NULL");
    check_refusal(iso_message(&f.writer, f.format, NULL), &f.writer.error, ISO_WRONG_TYPE, "expected a record, found NULL");
    check(iso_write(NULL, f.format, &f.box) == ISO_WRONG_TYPE, "no writer", "another code");
    check(iso_token(NULL) == NULL && iso_description(NULL, &count) == NULL && count == 0, "no format", "its parts");
    check(f.to.written == 0 && iso_write(&f.writer, f.format, &f.box) == ISO_OK, "a record behind NULL", f.writer.error.text);
    iso_open_file(&writer, NULL);
    check_refusal(iso_write(&writer, f.format, &f.box), &writer.error, ISO_IO, "expected an open file, found NULL");
    iso_open(&writer, NULL, NULL);
    check_refusal(iso_describe(&writer, f.format), &writer.error, ISO_WRONG_TYPE, "expected a sink, found NULL");
    iso_release(f.format);
}

static void check_records(void) {
    static Fixture f;
    const uint64_t most = SIZE_MAX / 2 + 1;
    set_up(&f);
    f.box.first.on = 2;
    refuse_record(&f, ISO_BAD_RECORD, "record contradicts its format at first.on: expected 0 or 1, found 2");
    f.items[1].sign = 0;
    refuse_record(&f, ISO_BAD_RECORD, "at items[1].sign: expected the value of a symbol, found 0");
    f.box.bits[1][2] = 65534;
    refuse_record(&f, ISO_BAD_RECORD, "at bits[1][2]: expected the value of a symbol, found 65534");
    f.flags[2] = 255;
    refuse_record(&f, ISO_BAD_RECORD, "at first.flags[2]: expected 0 or 1, found 255");
    f.box.count = -1;
    refuse_record(&f, ISO_BAD_RECORD, "at items: expected a length, found -1");
    f.items[0].n = -7;
    f.items[0].u = 0;
    refuse_record(&f, ISO_BAD_RECORD, "at items[0].points: expected a length, found -7");
    f.items[1].points = NULL;
    refuse_record(&f, ISO_BAD_RECORD, "at items[1].points: expected 6 elements, found NULL");
    f.one[0].names = NULL;
    refuse_record(&f, ISO_BAD_RECORD, "at one[0].names: expected 3 elements, found NULL");
    f.box.items = NULL;
    refuse_record(&f, ISO_BAD_RECORD, "at items: expected 2 elements, found NULL");
    f.box.first.u = UINT64_MAX;
    refuse_record(&f, ISO_BAD_RECORD, "at first.points: expected a length that memory can hold");
    f.box.first.n = (int64_t)(most / 8);
    f.box.first.u = 1;
    refuse_record(&f, ISO_BAD_RECORD, "at first.points: expected a length that memory can hold");

    f.box.count = 0; /* what is allowed */
    f.box.items = NULL;
    f.box.one = NULL;
    f.box.first.n = 0;
    f.box.first.u = UINT64_MAX;
    f.box.first.points = NULL;
    check(iso_write(&f.writer, f.format, &f.box) == ISO_OK, "an empty record", f.writer.error.text);
    iso_release(f.format);
}

/* Blocks that lie beyond what an offset can say: the same gigabytes, pointed at again and again. */
static void check_offsets(void) {
    typedef struct { unsigned char *blocks[9]; size_t n; } Huge;
    static const char *names[9] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };
    iso_field fields[10];
    iso_structure structure = { "Huge", sizeof(Huge), sizeof(void *), fields, 10, NULL };
    const iso_field length = ISO_ROW("n", "size_t", sizeof(size_t), offsetof(Huge, n));
    iso_error error;
    iso_writer writer;
    iso_format *format;
    Sink to = { 0, SIZE_MAX };
    Huge huge;
    unsigned char byte = 0;
    size_t i;
    for (i = 0; i < 9; i++) {
        const iso_field field = ISO_ROW(names[i], "u8[n]", 1, i * sizeof(void *));
        fields[i] = field;
        huge.blocks[i] = &byte; /* never looked at, since the record is refused */
    }
    fields[9] = length;
    huge.n = SIZE_MAX / 4;
    format = iso_declare(&structure, 1, &error);
    check(format != NULL, "nine arrays", error.text);
    iso_open(&writer, sink, &to);
    check_refusal(iso_write(&writer, format, &huge), &writer.error, ISO_SIZE, "expected an offset of");
    check(to.written == 0, "nothing of a record that is too large", "bytes");
    iso_release(format);
}

/* ---- Sinks, streams, messages. ---- */

static void check_sinks(void) {
    static Fixture f;
    size_t whole, described, most;
    set_up(&f);
    check(iso_describe(&f.writer, f.format) == ISO_OK, "a description", f.writer.error.text);
    described = f.to.written;
    check(iso_describe(&f.writer, f.format) == ISO_OK && f.to.written == described, "one description", "another");
    check(iso_write(&f.writer, f.format, &f.box) == ISO_OK, "a record", f.writer.error.text);
    whole = f.to.written;
    check(whole % 16 == 0 && described % 16 == 0, "whole messages", "others");
    check(iso_message(&f.writer, f.format, &f.box) == ISO_OK, "a message", f.writer.error.text);
    check(f.to.written - whole <= whole - described && f.to.written - whole + 16 > whole - described,
          "a message without padding", "another length");
    iso_release(f.format);
    for (most = 0; most < whole; most += 1 + whole / 7) {
        set_up(&f);
        f.to.most = most;
        check_refusal(iso_write(&f.writer, f.format, &f.box), &f.writer.error, ISO_IO, "input/output");
        f.to.most = SIZE_MAX;
        check_refusal(iso_write(&f.writer, f.format, &f.box), &f.writer.error, ISO_IO, "written only in part");
        check_refusal(iso_describe(&f.writer, f.format), &f.writer.error, ISO_IO, "written only in part");
        check_refusal(iso_message(&f.writer, f.format, &f.box), &f.writer.error, ISO_IO, "written only in part");
        iso_release(f.format);
    }
}

int main(void) {
    refuse_fields();
    check_tables();
    check_nulls();
    check_records();
    check_offsets();
    check_sinks();
    check(taken == given_back, "memory given back", "another number");
    printf("%u checks, %u failed\n", checks, failures);
    return failures > 0;
}
