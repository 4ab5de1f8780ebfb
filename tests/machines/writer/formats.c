/* What a reader must check of isoform_writer.h:

   `formats stream FILE` writes records of more formats than readers remember, twice, and of one whose description is long;
   `formats hash COUNT..` writes what BLAKE3 derives from COUNT bytes, byte i being i modulo 251. */
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"

enum { FORMATS = 1100, FIELDS = 4096 };

static int fail(const char *text) {
    fprintf(stderr, "%s\n", text);
    return 1;
}

static int write_stream(FILE *file) {
    static iso_format *formats[FORMATS];
    static iso_field fields[FIELDS];
    static char names[FIELDS][16];
    static unsigned char record[FIELDS];
    iso_error error;
    iso_writer writer;
    iso_format *format;
    size_t i;
    iso_open_file(&writer, file);
    for (i = 0; i < FIELDS; i++) {
        const iso_field field = ISO_ROW(names[i], "u8", 1, i);
        fields[i] = field;
        record[i] = (unsigned char)i;
        snprintf(names[i], sizeof names[i], "a_field_%u", (unsigned)i);
    }
    for (i = 0; i < FORMATS; i++) {
        const iso_structure structure = { names[i], 2, 1, fields, 2, NULL };
        formats[i] = iso_declare(&structure, 1, &error);
        if (!formats[i])
            return fail(error.text);
    }
    for (i = 0; i < 2 * FORMATS; i++) {
        record[0] = (unsigned char)i;
        if (iso_write(&writer, formats[i % FORMATS], record))
            return fail(writer.error.text);
    }
    for (i = 0; i < FORMATS; i++)
        iso_release(formats[i]);
    {
        const iso_structure structure = { "Long", FIELDS, 1, fields, FIELDS, NULL };
        format = iso_declare(&structure, 1, &error);
        if (!format || iso_write(&writer, format, record))
            return fail(format ? writer.error.text : error.text);
        iso_release(format);
    }
    return 0;
}

static int write_hash(size_t count) {
    static unsigned char bytes[1 << 17];
    unsigned char derived[32];
    size_t i;
    if (count > sizeof bytes)
        return fail("too many bytes");
    for (i = 0; i < count; i++)
        bytes[i] = (unsigned char)(i % 251);
    iso__derive_key("BLAKE3 2019-12-27 16:29:52 test vectors context", bytes, count, derived);
    for (i = 0; i < 32; i++)
        printf("%02x", derived[i]);
    printf("\n");
    return 0;
}

int main(int count, char **arguments) {
    int i;
    if (count == 3 && strcmp(arguments[1], "stream") == 0) {
        FILE *file = fopen(arguments[2], "wb");
        return !file || write_stream(file) || fclose(file) ? fail(arguments[2]) : 0;
    }
    if (count >= 2 && strcmp(arguments[1], "hash") == 0) {
        for (i = 2; i < count; i++)
            if (write_hash((size_t)strtoul(arguments[i], NULL, 10)))
                return 1;
        return 0;
    }
    return fail("usage: formats stream FILE | formats hash COUNT..");
}
