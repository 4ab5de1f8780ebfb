/* What the programs of this folder share: a feature is a stream of records, written by a real C compiler's structs. */
#ifndef FEATURE_H
#define FEATURE_H

#include "isoform_writer.h"

/* Each writes the records of one feature of vectors/. */
void write_scalars(iso_writer *writer);
void write_strings(iso_writer *writer);
void write_arrays(iso_writer *writer);
void write_nested(iso_writer *writer);
void write_enumerations(iso_writer *writer);
void write_wide(iso_writer *writer);
void write_pointers(iso_writer *writer);
void write_packed(iso_writer *writer);
void write_evolve(iso_writer *writer);
void write_long_double(iso_writer *writer);

/* Writes `count` records, one behind another from `records` on. Ends the program if that fails. */
void write_records(iso_writer *writer, const iso_structure *structures, size_t structure_count, const void *records,
                   size_t count);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WRITE(writer, structures, records) \
    write_records(writer, structures, COUNT(structures), records, COUNT(records))

/* Makes every byte of records something else than zero, so that no gap is a zero by chance. */
#define FILL(records) memset(records, 0xa5, sizeof(records))

/* A copy of a text or array that can be pointed at without `const`. */
#define TEXT(text) ((char *)(text))

#endif
