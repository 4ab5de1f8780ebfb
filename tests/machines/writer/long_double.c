/* C's `long double` at values that show which numbers it has, each with witnesses of what this machine takes it for. */
#include "feature.h"
#include <float.h>
#include <math.h>
#include <string.h>

typedef struct {
    char *expression;
    char *exact;   /* the value in hexadecimal, as C prints it here; of a double-double its two parts */
    char *decimal; /* and in 40 digits */
    char before;
    long double value;
    char between;
    long double _Complex z; /* the value, and what a double leaves of it */
    double rounded;
    float single;
} LongDouble;

typedef struct {
    short n;
    long double three[3];
    long double *values;
    char between;
    long double _Complex pair[2];
    long double _Complex *zs;
    long double *one;
} LongDoubles;

static const iso_field long_double_fields[] = {
    ISO_FIELD(LongDouble, expression, "string"),    ISO_FIELD(LongDouble, exact, "string"),
    ISO_FIELD(LongDouble, decimal, "string"),       ISO_FIELD(LongDouble, before, "char"),
    ISO_FIELD(LongDouble, value, "long double"),    ISO_FIELD(LongDouble, between, "char"),
    ISO_FIELD(LongDouble, z, "complex long double"), ISO_FIELD(LongDouble, rounded, "double"),
    ISO_FIELD(LongDouble, single, "float"),
};
static const iso_field long_doubles_fields[] = {
    ISO_FIELD(LongDoubles, n, "short"),
    ISO_FIELD(LongDoubles, three, "long double[3]"),
    ISO_FIELD(LongDoubles, values, "long double[n]"),
    ISO_FIELD(LongDoubles, between, "char"),
    ISO_FIELD(LongDoubles, pair, "complex long double[2]"),
    ISO_FIELD(LongDoubles, zs, "complex long double[n]"),
    ISO_FIELD(LongDoubles, one, "long double*"),
};

enum { MOST = 32, DIGITS = 80 };

/* Without isfinite, in whose place some libraries have a macro of float's. */
static int is_finite(double value) {
    return value - value == 0;
}

static void print(long double value, char *exact, char *decimal) {
#if LDBL_MANT_DIG == 106
    /* The digits between the parts may be many, and a single number would lack the last of them. */
    const double large = (double)value, small = is_finite(large) ? (double)(value - (long double)large) : 0;
    snprintf(exact, DIGITS, "%a%+a", large, small);
    snprintf(decimal, DIGITS, "%.40Lg", value);
#elif LDBL_MANT_DIG == DBL_MANT_DIG
    /* By double's own conversion, since not every library of Windows knows which long double the compiler means. */
    snprintf(exact, DIGITS, "%a", (double)value);
    snprintf(decimal, DIGITS, "%.40g", (double)value);
#else
    snprintf(exact, DIGITS, "%La", value);
    snprintf(decimal, DIGITS, "%.40Lg", value);
#endif
}

/* By parts, since arithmetic would make NaNs and signs of zeros its own. */
static void set_complex(long double _Complex *to, long double real, long double imaginary) {
    long double *parts = (long double *)to;
    parts[0] = real;
    parts[1] = imaginary;
}

void write_long_double(iso_writer *writer) {
    static const iso_structure each[] = { ISO_STRUCTURE(LongDouble, long_double_fields) };
    static const iso_structure all[] = { ISO_STRUCTURE(LongDoubles, long_doubles_fields) };
    volatile const long double one = 1, three = 3;
#define VALUE(expression) { #expression, expression }
    const struct {
        const char *expression;
        long double value;
    } values[] = {
        VALUE(0.0L),
        VALUE(-0.0L),
        VALUE(1.0L),
        VALUE(0.1L),
        VALUE(-0.1L),
        VALUE(1e22L),
        VALUE(-1e-300L),
        VALUE(123456789012345678901234567890.0L),
        VALUE(3.14159265358979323846264338327950288419716939937511L),
        VALUE(9007199254740993.0L),
        VALUE(18446744073709551615.0L),
        VALUE(0.33333333333333333333333333333333333333333333333L),
        VALUE(one / three), /* by the machine, not by the compiler */
        VALUE(one + 0x1p-52L),
        VALUE(one + 0x1p-60L),
        VALUE(one - 0x1p-100L),
        VALUE(one + 0x1p-200L),
        VALUE(LDBL_EPSILON),
        VALUE(LDBL_MAX),
        VALUE(-LDBL_MAX),
        VALUE(LDBL_MIN),
        VALUE(LDBL_MIN / 4),
        VALUE(__LDBL_DENORM_MIN__),
        VALUE(-__LDBL_DENORM_MIN__),
        VALUE(0x1.8p-1074L),
        VALUE((long double)DBL_MAX),
        VALUE((long double)FLT_MIN),
        VALUE((long double)INFINITY),
        VALUE(-(long double)INFINITY),
        VALUE((long double)NAN),
    };
    static char exact[MOST][DIGITS], decimal[MOST][DIGITS];
    LongDouble records[COUNT(values)];
    LongDoubles tables[2];
    long double list[COUNT(values)];
    long double _Complex zs[COUNT(values)];
    size_t i;
    FILL(records);
    FILL(tables);
    FILL(list);
    FILL(zs);
    for (i = 0; i < COUNT(values); i++) {
        const long double value = values[i].value;
        LongDouble *record = &records[i];
        print(value, exact[i], decimal[i]);
        record->expression = TEXT(values[i].expression);
        record->exact = exact[i];
        record->decimal = decimal[i];
        record->before = 'b';
        record->value = value;
        record->between = 'c';
        record->rounded = (double)value;
        record->single = (float)value;
        set_complex(&record->z, value, is_finite(record->rounded) ? value - (long double)record->rounded : -value);
        list[i] = value;
        set_complex(&zs[i], -value, value);
    }
    tables[0].n = (short)COUNT(values);
    tables[0].values = list;
    tables[0].zs = zs;
    tables[0].one = &list[3];
    tables[1].n = 0;
    tables[1].values = NULL;
    tables[1].zs = NULL;
    tables[1].one = NULL;
    for (i = 0; i < 2; i++) {
        tables[i].between = 'b';
        tables[i].three[0] = 0.1L;
        tables[i].three[1] = LDBL_MAX;
        tables[i].three[2] = -__LDBL_DENORM_MIN__;
        set_complex(&tables[i].pair[0], -0.1L, 0.1L);
        set_complex(&tables[i].pair[1], 0, -0.0L);
    }
    WRITE(writer, each, records);
    WRITE(writer, all, tables);
}
