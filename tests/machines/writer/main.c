/* Writes every feature of vectors/ as this machine's C compiler lays its records out: `writer FOLDER` writes
   FOLDER/scalars.iso and its like. */
#define ISOFORM_WRITER_IMPLEMENTATION
#include "feature.h"
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*write)(iso_writer *writer);
} features[] = {
    { "scalars", write_scalars },   { "strings", write_strings },           { "arrays", write_arrays },
    { "nested", write_nested },     { "enumerations", write_enumerations }, { "wide", write_wide },
    { "pointers", write_pointers }, { "packed", write_packed },             { "evolve", write_evolve },
    { "long-double", write_long_double },
};

static void fail(const char *name, const char *text) {
    fprintf(stderr, "%s: %s\n", name, text);
    exit(1);
}

void write_records(iso_writer *writer, const iso_structure *structures, size_t structure_count, const void *records,
                   size_t count) {
    const iso_structure *record = &structures[structure_count - 1];
    iso_error error;
    iso_format *format = iso_declare(structures, structure_count, &error);
    size_t i;
    if (!format)
        fail(record->name, error.text);
    for (i = 0; i < count; i++)
        if (iso_write(writer, format, (const char *)records + i * record->size))
            fail(record->name, writer->error.text);
    iso_release(format);
}

int main(int count, char **arguments) {
    size_t i;
    if (count != 2)
        fail("usage", "writer FOLDER");
    for (i = 0; i < COUNT(features); i++) {
        char path[1024];
        FILE *file;
        iso_writer writer;
        snprintf(path, sizeof path, "%s/%s.iso", arguments[1], features[i].name);
        file = fopen(path, "wb");
        if (!file)
            fail(path, "cannot be written");
        iso_open_file(&writer, file);
        features[i].write(&writer);
        if (fclose(file) != 0)
            fail(path, "cannot be written");
    }
    return 0;
}
