/* The program of isoform_writer.h among those that run.sh compares: `write FILE`, and nothing else. */
#define ISOFORM_WRITER_IMPLEMENTATION
#include "isoform_writer.h"

#include "sample.h"

int main(int count, char **arguments) {
    iso_error error;
    iso_writer writer;
    int step;
    iso_format *format = iso_declare(samples, 2, &error);
    FILE *file = count > 2 ? fopen(arguments[2], "wb") : NULL;
    if (!format || !file)
        return fprintf(stderr, "writer: %s\n", format ? "no file" : error.text), 1;
    iso_open_file(&writer, file);
    for (step = 0; step < SAMPLES; step++) {
        const Sample made = sample_of(step);
        if (iso_write(&writer, format, &made))
            return fprintf(stderr, "writer: %s\n", writer.error.text), 1;
    }
    iso_release(format);
    return fclose(file) != 0;
}
