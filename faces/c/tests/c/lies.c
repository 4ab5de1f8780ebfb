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

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
#define TOLD 1
#else
#define TOLD 0
#endif

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
} State;

/* The error of a table with one row, or NULL. */
static const char *refused(iso_field row) {
    static iso_field rows[2];
    iso_structure structure = ISO_STRUCTURE(State, rows);
    iso_field n = ISO_FIELD(State, n, "int");
    iso_format *format;
#ifdef BY_WRITER
    static iso_error error;
#else
    static char text[1000];
#endif
    rows[0] = row;
    rows[1] = n;
#ifdef BY_WRITER
    format = iso_declare(&structure, 1, &error);
    iso_release(format);
    return format ? NULL : error.text;
#else
    if (iso_format_open(&structure, 1, &format) != ISO_OK) {
        const iso_error *error = iso_last_error();
        snprintf(text, sizeof text, "%s", error->text);
        return text;
    }
    iso_format_close(&format);
    return NULL;
#endif
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

int main(void) {
    const iso_field lies[] = {
        ISO_FIELD(State, u, "float[32]"),      ISO_FIELD(State, level, "float"),  ISO_FIELD(State, level, "int64_t"),
        ISO_POINTER(State, grid, "float[n]"),  ISO_FIELD(State, tag, "string"),   ISO_FIELD(State, name, "char[8]"),
        ISO_FIELD(State, grid, "long long"),   ISO_FIELD(State, count, "double"), ISO_FIELD(State, u, "double[32]"),
        ISO_FIELD(State, rows, "double[2][150]"),
    };
    static const char *const fits[] = { "float", "double", "double", "double", "char", "string", "double", "long long", "float", "float" };
    const iso_field truths[] = {
        ISO_FIELD(State, rows, "float[2][300]"), ISO_FIELD_DEFAULT(State, level, "double", "1.5"),
        ISO_FIELD(State, u, "float[64]"),    ISO_FIELD(State, level, "double"), ISO_FIELD(State, level, "float(8)"),
        ISO_POINTER(State, grid, "double[n]"), ISO_FIELD(State, grid, "double*"), ISO_FIELD(State, tag, "char[8]"),
        ISO_FIELD(State, name, "string"),    ISO_FIELD(State, on, "boolean"),   ISO_FIELD(State, on, "char"),
        ISO_FIELD(State, count, "integer"),  ISO_FIELD(State, half, "f16"),     ISO_ROW("level", "float", 8, offsetof(State, level)),
    };
    size_t i;
    for (i = 0; i < sizeof lies / sizeof *lies; i++)
        lie(lies[i], fits[i]);
    for (i = 0; i < sizeof truths / sizeof *truths; i++)
        truth(truths[i]);
    return wrong;
}
