/* The records of vectors/ that hold numbers of 16 bytes, are packed, or are full of pointers. */
#include "wide.h"
#include "feature.h"
#include <math.h>
#include <stdbool.h>

typedef struct {
    char flag;
    i128 big;
    u128 ubig;
    f16 half;
    bf16 brain;
    f128 quad;
    x87_16 ext;
    x87_12 ext12;
    x87_10 ext10;
    double2 twin;
    long double long_;
    float _Complex z;
    double _Complex w;
    complex_f128 q;
    int n;
    char *name;
    i128 *bigs;
    f16 *halfs;
    f128 *quads;
    float _Complex *zs;
    double _Complex *ws;
} Wide;

static const iso_field wide_fields[] = {
    ISO_FIELD(Wide, flag, "char"),
    ISO_FIELD(Wide, big, "i128"),
    ISO_FIELD(Wide, ubig, "u128"),
    ISO_FIELD(Wide, half, "f16"),
    ISO_FIELD(Wide, brain, "bf16"),
    ISO_FIELD(Wide, quad, "f128"),
    ISO_FIELD(Wide, ext, "x87"),
    ISO_FIELD(Wide, ext12, "x87"),
    ISO_FIELD(Wide, ext10, "x87(10)"),
    ISO_FIELD(Wide, twin, "double-double"),
    ISO_ROW("long", "long double", sizeof(long double), offsetof(Wide, long_)),
    ISO_FIELD(Wide, z, "complex float"),
    ISO_FIELD(Wide, w, "double complex"),
    ISO_FIELD(Wide, q, "complex f128"),
    ISO_FIELD(Wide, n, "int"),
    ISO_FIELD(Wide, name, "string"),
    ISO_FIELD(Wide, bigs, "i128[n]"),
    ISO_FIELD(Wide, halfs, "f16[n]"),
    ISO_FIELD(Wide, quads, "f128[n]"),
    ISO_POINTER(Wide, zs, "complex float[n]"),
    ISO_FIELD(Wide, ws, "complex double[n]"),
};

/* By parts, since arithmetic would make NaNs and signs of zeros its own. */
static void set_complex_float(float _Complex *to, float real, float imaginary) {
    const float parts[2] = { real, imaginary };
    memcpy(to, parts, sizeof parts);
}

static void set_complex_double(double _Complex *to, double real, double imaginary) {
    const double parts[2] = { real, imaginary };
    memcpy(to, parts, sizeof parts);
}

static void set_double2(double2 *to, double value) {
    const double parts[2] = { value, 0 };
    memcpy(to, parts, sizeof parts);
}

void write_wide(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Wide, wide_fields) };
    char *q;
    i128 bigs[2];
    f16 halfs[2];
    f128 quads[2];
    float _Complex zs[2];
    double _Complex ws[2];
    Wide records[2];
    FILL(records);
    records[0].flag = 'w';
    set_16_bytes(&records[0].big, UINT64_C(1) << 63, 0);
    set_16_bytes(&records[0].ubig, UINT64_MAX, UINT64_MAX);
    set_bytes(&records[0].half, 0x2e66, 2);  /* 0.1 */
    set_bytes(&records[0].brain, 0x3dcd, 2); /* 0.1 */
    set_16_bytes(&records[0].quad, UINT64_C(0x3ffb999999999999), UINT64_C(0x999999999999999a)); /* 0.1 */
    set_x87(&records[0].ext, 16, 0x3ffb, UINT64_C(0xcccccccccccccccd));   /* 0.1 */
    set_x87(&records[0].ext12, 12, 0xbffb, UINT64_C(0xcccccccccccccccd)); /* -0.1 */
    set_x87(&records[0].ext10, 10, 0x3fff, UINT64_C(0xc000000000000000)); /* 1.5 */
    set_double2(&records[0].twin, 0.5);
    records[0].long_ = -2.75L;
    set_complex_float(&records[0].z, 1.5f, -0.1f);
    set_complex_double(&records[0].w, 0.1, 1e300);
    q = (char *)&records[0].q;
    set_16_bytes(q, UINT64_C(0x3ffb999999999999), UINT64_C(0x999999999999999a)); /* 0.1 */
    set_16_bytes(q + 16, UINT64_C(0xc000400000000000), 0);                       /* -2.5 */
    records[0].n = 2;
    records[0].name = TEXT("odd");
    records[0].bigs = bigs;
    records[0].halfs = halfs;
    records[0].quads = quads;
    records[0].zs = zs;
    records[0].ws = ws;
    set_16_bytes(&bigs[0], 0, 1);
    set_16_bytes(&bigs[1], UINT64_MAX, UINT64_MAX - 1);
    set_bytes(&halfs[0], 0x7bff, 2); /* 65500 */
    set_bytes(&halfs[1], 0x0001, 2); /* 6e-8 */
    set_16_bytes(&quads[0], UINT64_C(0x73e6a3750647fcab), UINT64_C(0x18c21ab905450cc3)); /* 1e4000 */
    set_16_bytes(&quads[1], UINT64_C(0xbfff000000000000), 0);                            /* -1 */
    set_complex_float(&zs[0], 1, 2);
    set_complex_float(&zs[1], 3, 4);
    set_complex_double(&ws[0], 5, 6);
    set_complex_double(&ws[1], 7, 8);
#if LDBL_MANT_DIG == 113
    records[0].quad = 0.1L; /* where the compiler knows such numbers, it writes them itself */
    quads[0] = 1e4000L;
    quads[1] = -1;
#endif
#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
    records[0].ext = 0.1L;
#elif LDBL_MANT_DIG == 64 && defined(__i386__)
    records[0].ext12 = -0.1L;
#elif LDBL_MANT_DIG == 106
    records[0].twin = 0.5L;
#endif
#ifdef __SIZEOF_INT128__
    bigs[0] = 1;
    bigs[1] = -2;
    records[0].big = -(i128)((u128)-1 >> 1) - 1;
    records[0].ubig = (u128)-1;
#endif

    records[1].flag = 'e';
    set_16_bytes(&records[1].big, UINT64_MAX >> 1, UINT64_MAX);
    set_16_bytes(&records[1].ubig, 0, 0);
    set_bytes(&records[1].half, 0x7c00, 2);
    set_bytes(&records[1].brain, 0xff80, 2);
    set_16_bytes(&records[1].quad, UINT64_C(0x7fff800000000000), 0);
    set_x87(&records[1].ext, 16, 0x7fff, UINT64_C(1) << 63);
    set_x87(&records[1].ext12, 12, 0xffff, UINT64_C(1) << 63);
    set_x87(&records[1].ext10, 10, 0x7fff, UINT64_C(3) << 62);
    set_double2(&records[1].twin, -0.0);
    records[1].long_ = 0;
    set_complex_float(&records[1].z, NAN, INFINITY);
    set_complex_double(&records[1].w, -0.0, 0);
    q = (char *)&records[1].q;
    set_16_bytes(q, 0, 0);
    set_16_bytes(q + 16, UINT64_C(1) << 63, 0);
    records[1].n = 0;
    records[1].name = NULL;
    records[1].bigs = NULL;
    records[1].halfs = NULL;
    records[1].quads = NULL;
    records[1].zs = NULL;
    records[1].ws = NULL;
    WRITE(writer, structures, records);
}

typedef struct {
    short k;
    char *name;
} Leaf;

typedef struct {
    Leaf *left;
    Leaf *right;
} Pair;

typedef struct {
    Leaf *leaf;
    double *number;
    float (*three)[3];
    char **text;
    char **texts;
    Pair *pair;
    Pair pairs[2];
    i128 *big;
    int n;
    Pair *list;
    int *tail;
} Pointers;

static const iso_field leaf_fields[] = { ISO_FIELD(Leaf, k, "short"), ISO_FIELD(Leaf, name, "string") };
static const iso_field pair_fields[] = { ISO_FIELD(Pair, left, "Leaf*"), ISO_FIELD(Pair, right, "Leaf *") };
static const iso_field pointers_fields[] = {
    ISO_FIELD(Pointers, leaf, "Leaf*"),
    ISO_FIELD(Pointers, number, "double*"),
    ISO_FIELD(Pointers, three, "float(4)[3]*"),
    ISO_FIELD(Pointers, text, "string*"),
    ISO_FIELD(Pointers, texts, "char*[2]*"),
    ISO_FIELD(Pointers, pair, "Pair*"),
    ISO_FIELD(Pointers, pairs, "Pair[2]"),
    ISO_FIELD(Pointers, big, "i128*"),
    ISO_FIELD(Pointers, n, "int"),
    ISO_FIELD(Pointers, list, "Pair[n]"),
    ISO_FIELD(Pointers, tail, "int*"),
};

static Leaf new_leaf(short k, const char *name) {
    Leaf leaf;
    memset(&leaf, 0xa5, sizeof leaf);
    leaf.k = k;
    leaf.name = TEXT(name);
    return leaf;
}

void write_pointers(iso_writer *writer) {
    static const iso_structure structures[] = {
        ISO_STRUCTURE(Leaf, leaf_fields), ISO_STRUCTURE(Pair, pair_fields), ISO_STRUCTURE(Pointers, pointers_fields)
    };
    Leaf leaves[] = {
        new_leaf(1, "one"), new_leaf(2, "two"),   new_leaf(3, NULL), new_leaf(4, "four"), new_leaf(5, ""),
        new_leaf(6, "six"), new_leaf(7, "seven"), new_leaf(8, NULL), new_leaf(9, "nine"), new_leaf(-1, "x"),
    };
    double numbers[] = { 2.5, -0.5 };
    float three[3] = { 1, 2, 3 };
    char *text = TEXT("pointed at twice"), *texts[2] = { TEXT("a"), NULL }, *no_texts[2] = { NULL, NULL };
    Pair pair = { &leaves[1], &leaves[2] }, list[] = { { &leaves[5], &leaves[6] }, { &leaves[7], &leaves[8] } };
    Pair empty[] = { { NULL, NULL } };
    i128 big;
    int tail = 10;
    Pointers records[3];
    FILL(records);
    set_16_bytes(&big, UINT64_MAX, UINT64_MAX);
    records[0].leaf = &leaves[0];
    records[0].number = &numbers[0];
    records[0].three = &three;
    records[0].text = &text;
    records[0].texts = texts;
    records[0].pair = &pair;
    records[0].pairs[0].left = &leaves[3];
    records[0].pairs[0].right = NULL;
    records[0].pairs[1].left = NULL;
    records[0].pairs[1].right = &leaves[4];
    records[0].big = &big;
    records[0].n = 2;
    records[0].list = list;
    records[0].tail = &tail;

    memset(records[1].pairs, 0, sizeof records[1].pairs);
    records[1].leaf = NULL;
    records[1].number = &numbers[1];
    records[1].three = NULL;
    records[1].text = NULL;
    records[1].texts = no_texts;
    records[1].pair = empty;
    records[1].pairs[0].left = records[1].pairs[0].right = records[1].pairs[1].right = NULL;
    records[1].pairs[1].left = &leaves[9];
    records[1].big = NULL;
    records[1].n = 1;
    records[1].list = empty;
    records[1].tail = NULL;

    memcpy(&records[2], &records[1], sizeof records[2]);
    records[2].number = NULL;
    records[2].texts = NULL;
    records[2].pair = NULL;
    records[2].pairs[1].left = NULL;
    records[2].n = 0;
    records[2].list = NULL;
    WRITE(writer, structures, records);
}

typedef struct __attribute__((packed)) {
    char a;
    double real;
    unsigned char b;
    int n;
    bool c;
    long long *list;
    char *name;
    packed_u128 big;
    short d;
} Packed;

static const iso_field packed_fields[] = {
    ISO_FIELD(Packed, a, "char"),          ISO_FIELD(Packed, real, "double"), ISO_FIELD(Packed, b, "unsigned char"),
    ISO_FIELD(Packed, n, "int"),           ISO_FIELD(Packed, c, "bool"),      ISO_FIELD(Packed, list, "long long[n]"),
    ISO_FIELD(Packed, name, "string"),     ISO_FIELD(Packed, big, "u128"),    ISO_FIELD(Packed, d, "short"),
};

void write_packed(iso_writer *writer) {
    static const iso_structure structures[] = { ISO_STRUCTURE(Packed, packed_fields) };
    long long list[] = { -1, 9007199254740993 };
    Packed records[1];
    records->a = 'p';
    records->real = 1e-3;
    records->b = 9;
    records->n = 2;
    records->c = true;
    records->list = list;
    records->name = TEXT("unaligned");
    set_16_bytes((char *)records + offsetof(Packed, big), 1, 0);
    records->d = -2;
    WRITE(writer, structures, records);
}
