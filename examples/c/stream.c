/* Writes a stream and reads it again, with a struct that somebody else wrote: other types, another order, and a field that
   nobody sends.

       cc stream.c $(pkg-config --cflags --libs isoform) -o stream && ./stream river.iso */
#include <isoform.h>
#include <stdio.h>

/* What is sent. */
typedef struct {
    int step;
    const char *station;
    int n;
    float *depth;
} Sample;
static const iso_field sample_fields[] = { ISO_FIELD(Sample, step, "int"), ISO_FIELD(Sample, station, "string"),
                                           ISO_FIELD(Sample, n, "int"),
                                           ISO_POINTER_UNIT(Sample, depth, "float[n]", "m") };
static const iso_structure samples[] = { ISO_STRUCTURE(Sample, sample_fields) };

/* What is wanted. */
typedef struct {
    const char *station;
    int64_t n;
    double *depth;
    int64_t step;
    float temperature;
} Seen;
static const iso_field seen_fields[] = { ISO_FIELD(Seen, station, "string"), ISO_FIELD(Seen, n, "int64_t"),
                                         ISO_FIELD_UNIT(Seen, depth, "double[n]", "m"),
                                         ISO_FIELD(Seen, step, "int64_t"), ISO_FIELD(Seen, temperature, "float") };
static const iso_structure seens[] = { ISO_STRUCTURE(Seen, seen_fields) };

static int failed(iso_code code) {
    return code && fprintf(stderr, "%s\n", iso_last_error()->text);
}

static int write_stream(const char *path) {
    float depth[] = { 0.5f, 0, 2 };
    Sample sample = { 0, "Old Mill", 3, depth };
    iso_format *format = NULL;
    iso_writer *writer = NULL;
    int wrong = failed(iso_format_open(samples, 1, &format)) || failed(iso_writer_open_file(path, &writer));
    for (; !wrong && sample.step < 3; sample.step++) {
        depth[1] = 0.25f * (float)sample.step;
        wrong = failed(iso_writer_write(writer, format, &sample));
    }
    wrong = failed(iso_writer_close(&writer)) || wrong;
    iso_format_close(&format);
    return wrong;
}

static int read_stream(const char *path) {
    const void *record;
    iso_format *format = NULL;
    iso_rules *rules = NULL;
    iso_decoder *decoder = NULL;
    iso_reader *reader = NULL;
    int wrong = failed(iso_format_open(seens, 1, &format)) || failed(iso_rules_open(&rules)) ||
                failed(iso_rules_default(rules, "Seen", "temperature", "11.5")) ||
                failed(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder)) ||
                failed(iso_reader_open_file(path, &reader));
    while (!wrong && !(wrong = failed(iso_reader_read(reader, decoder, &record))) && record) {
        const Seen *seen = (const Seen *)record;
        printf("%s: step %d, depth %g %g %g m, %g degrees\n", seen->station, (int)seen->step, seen->depth[0],
               seen->depth[1], seen->depth[2], seen->temperature);
    }
    iso_reader_close(&reader);
    iso_decoder_close(&decoder);
    iso_rules_close(&rules);
    iso_format_close(&format);
    return wrong;
}

int main(int count, char **arguments) {
    const char *path = count > 1 ? arguments[1] : "river.iso";
    return write_stream(path) || read_stream(path);
}
