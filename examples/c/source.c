/* A source: makes a channel, waits for somebody to listen, and submits the struct that it has, ten times a second.

       cc source.c $(pkg-config --cflags --libs isoform) -o source && ./source 127.0.0.1:7000

   In another terminal, `isoform echo iso://127.0.0.1:7000/river` shows the events, as sink.c does. */
#include <isoform.h>
#include <stdio.h>
#include <time.h>

typedef struct {
    int step;
    const char *station;
    int n;
    float *depth;
} Sample;
static const iso_field fields[] = { ISO_FIELD(Sample, step, "int"), ISO_FIELD(Sample, station, "string"),
                                    ISO_FIELD(Sample, n, "int"), ISO_POINTER_UNIT(Sample, depth, "float[n]", "m") };
static const iso_structure structures[] = { ISO_STRUCTURE(Sample, fields) };

static int failed(iso_code code) {
    return code && fprintf(stderr, "%s\n", iso_last_error()->text);
}

static void rest(long milliseconds) {
    struct timespec time = { 0, 0 };
    time.tv_nsec = milliseconds * 1000000;
    nanosleep(&time, NULL);
}

int main(int count, char **arguments) {
    float depth[] = { 0.5f, 0, 2 };
    Sample sample = { 0, "Old Mill", 3, depth };
    iso_account account;
    size_t sinks = 0;
    iso_format *format = NULL;
    iso_node *node = NULL;
    iso_channel *river = NULL;
    iso_source *source = NULL;
    int wrong = failed(iso_format_open(structures, 1, &format)) ||
                failed(iso_node_open(count > 1 ? arguments[1] : NULL, 0, &node)) ||
                failed(iso_channel_create(node, "river", format, &river)) ||
                failed(iso_source_open(river, format, &source));
    if (!wrong) {
        printf("%s\n", iso_channel_id(river));
        fflush(stdout);
        wrong = failed(iso_source_wait(source, 1, 600000));
    }
    for (; !wrong && sample.step < 30; sample.step++) {
        depth[1] = 0.25f * (float)sample.step;
        wrong = failed(iso_source_submit(source, &sample));
        rest(100);
    }
    if (!wrong && !failed(iso_source_end(&source, 10000, &account, 1, &sinks)) && sinks > 0)
        fprintf(stderr, "submitted %d, taken %d, lost %d\n", (int)account.submitted, (int)account.acknowledged,
                (int)account.lost);
    iso_source_close(&source);
    iso_channel_close(&river);
    iso_node_close(&node);
    iso_format_close(&format);
    return wrong;
}
