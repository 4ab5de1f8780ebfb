/* Writes records that a test made up: `replay FILE STREAM`. The file holds, record by record, in numbers and texts that
   stand between tabs or at ends of lines,

       the number of structures; of each its name, size, alignment, number of fields;
       of each field its name, type, size of one element, offset, unit or nothing;
       the number of bytes, and the bytes: the record and whatever it points at, in this machine's order, with something in
       all gaps; the number of slots, and where they are: they hold places among the bytes, or 0 for null. */
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"

static void fail(const char *text) {
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static void *new_memory(size_t size) {
    void *memory = calloc(1, size + 1);
    if (!memory)
        fail("no memory");
    return memory;
}

/* What is left of the file. */
static char *rest;

/* The next text of the file, where it stands. */
static char *next(void) {
    char *text = rest;
    rest += strcspn(rest, "\t\n");
    if (!*rest)
        fail("the file ends too early");
    *rest++ = '\0';
    return text;
}

static size_t next_number(void) {
    return (size_t)strtoul(next(), NULL, 10);
}

static iso_field *next_fields(size_t count) {
    iso_field *fields = (iso_field *)new_memory(count * sizeof *fields);
    size_t i;
    for (i = 0; i < count; i++) {
        fields[i].name = next();
        fields[i].type = next();
        fields[i].size = next_number();
        fields[i].offset = next_number();
        fields[i].unit = next();
        if (!fields[i].unit[0])
            fields[i].unit = NULL;
    }
    return fields;
}

/* The bytes, with pointers in their slots. */
static unsigned char *next_record(void) {
    const size_t size = next_number();
    unsigned char *record = (unsigned char *)new_memory(size);
    const char *digits = next();
    size_t i, slots;
    for (i = 0; i < size; i++) {
        char byte[3] = "";
        memcpy(byte, digits + 2 * i, 2);
        record[i] = (unsigned char)strtoul(byte, NULL, 16);
    }
    for (slots = next_number(); slots > 0; slots--) {
        unsigned char *slot = record + next_number();
        uintptr_t place;
        memcpy(&place, slot, sizeof(void *));
        if (place != 0) {
            const unsigned char *pointer = record + place;
            memcpy(slot, &pointer, sizeof pointer);
        }
    }
    return record;
}

static void replay(iso_writer *writer, size_t count) {
    iso_structure *structures = (iso_structure *)new_memory(count * sizeof *structures);
    iso_field **fields = (iso_field **)new_memory(count * sizeof *fields);
    iso_format *format;
    iso_error error;
    unsigned char *record;
    size_t i;
    for (i = 0; i < count; i++) {
        structures[i].name = next();
        structures[i].size = next_number();
        structures[i].alignment = next_number();
        structures[i].count = next_number();
        fields[i] = next_fields(structures[i].count);
        structures[i].fields = fields[i];
    }
    record = next_record();
    format = iso_declare(structures, count, &error);
    if (!format)
        fail(error.text);
    for (i = 0; i < count; i++)
        free(fields[i]);
    free(fields);
    free(structures); /* of the tables, only the texts must stay */
    if (iso_write(writer, format, record))
        fail(writer->error.text);
    iso_release(format);
    free(record);
}

static char *whole_file(const char *name) {
    FILE *file = fopen(name, "rb");
    char *text;
    long size;
    if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        fail("cannot read the file");
    text = (char *)new_memory((size_t)size);
    if (fread(text, 1, (size_t)size, file) != (size_t)size)
        fail("cannot read the file");
    fclose(file);
    return text;
}

int main(int count, char **arguments) {
    FILE *stream = count == 3 ? fopen(arguments[2], "wb") : NULL;
    iso_writer writer;
    size_t structures;
    char *text;
    if (!stream)
        fail("usage: replay FILE STREAM");
    rest = text = whole_file(arguments[1]);
    iso_open_file(&writer, stream);
    while ((structures = next_number()) > 0)
        replay(&writer, structures);
    free(text);
    return fclose(stream) != 0;
}
