/* The program in C among those that run.sh compares: `write FILE [SERVERS]`, `read FILE [SERVERS]`,
   `source [CERTIFICATE]`, `sink ID [CERTIFICATE]`. */
#include "isoform.h"

#include "sample.h"

#include <stdio.h>
#include <string.h>

/* What is wanted: another order, wider numbers, a field that nobody sends, and one that is not asked for. */
typedef struct {
    double y;
    int64_t x;
} Wider;
typedef struct {
    float temperature;
    int64_t count;
    double *depth;
    const char *station;
    Wider place;
    short step;
} Seen;
static const iso_field wider[] = { ISO_FIELD(Wider, y, "double"), ISO_FIELD(Wider, x, "int64_t") };
static const iso_field seen[] = { ISO_FIELD(Seen, temperature, "float"), ISO_FIELD(Seen, count, "int64_t"),
                                  ISO_FIELD_UNIT(Seen, depth, "double[count]", "m"), ISO_FIELD(Seen, station, "string"),
                                  ISO_FIELD(Seen, place, "Wider"), ISO_FIELD(Seen, step, "short") };
static const iso_structure seens[] = { ISO_STRUCTURE(Wider, wider), ISO_STRUCTURE(Seen, seen) };

static int failed(iso_code code) {
    return code && fprintf(stderr, "c: %s\n", iso_last_error()->text);
}

static void show(const Seen *record) {
    int64_t i;
    printf("%d %s", record->step, record->station);
    for (i = 0; i < record->count; i++)
        printf(" %g", record->depth[i]);
    printf(" %d %g %g\n", (int)record->place.x, record->place.y, record->temperature);
}

static int write_file(const iso_format *format, const char *path, const iso_servers *servers) {
    iso_writer *writer;
    int step, wrong = failed(iso_writer_open_file(path, &writer)) ||
                      (servers && failed(iso_writer_set_servers(writer, servers)));
    for (step = 0; !wrong && step < SAMPLES; step++) {
        const Sample made = sample_of(step);
        wrong = failed(iso_writer_write(writer, format, &made));
    }
    return failed(iso_writer_close(&writer)) || wrong;
}

static int read_file(const iso_format *format, const iso_rules *rules, const char *path, const iso_servers *servers) {
    const void *record = NULL;
    iso_reader *reader = NULL;
    iso_decoder *decoder = NULL;
    int wrong = failed(iso_reader_open_file(path, &reader)) ||
                (servers && failed(iso_reader_set_servers(reader, servers))) ||
                failed(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder));
    while (!wrong && !(wrong = failed(iso_reader_read(reader, decoder, &record))) && record)
        show((const Seen *)record);
    iso_decoder_close(&decoder);
    iso_reader_close(&reader);
    return wrong;
}

static int submit(const iso_node *node, const iso_format *format) {
    iso_account account;
    size_t sinks = 0;
    iso_channel *channel = NULL;
    iso_source *source = NULL;
    int step, wrong = failed(iso_channel_create(node, "samples", format, &channel)) ||
                      failed(iso_source_open(channel, format, &source));
    if (!wrong) {
        printf("%s\n", iso_channel_id(channel));
        fflush(stdout);
        wrong = failed(iso_source_wait(source, 1, 60000));
    }
    for (step = 0; !wrong && step < SAMPLES; step++) {
        const Sample made = sample_of(step);
        wrong = failed(iso_source_submit(source, &made));
    }
    wrong = wrong || failed(iso_source_end(&source, 60000, &account, 1, &sinks)) || account.acknowledged != SAMPLES;
    iso_source_close(&source);
    iso_channel_close(&channel);
    return wrong;
}

static int hear(const iso_node *node, const iso_format *format, const iso_rules *rules, const char *id) {
    iso_event event;
    iso_channel *channel = NULL;
    iso_sink *sink = NULL;
    int wrong = failed(iso_channel_open(node, id, &channel)) || failed(iso_sink_open(channel, format, rules, NULL, &sink));
    event.kind = ISO_EVENT_NOTHING;
    while (!wrong && event.kind != ISO_EVENT_LEFT && !(wrong = failed(iso_sink_next(sink, 60000, &event))))
        if (event.kind == ISO_EVENT_RECORD)
            show((const Seen *)event.record);
    iso_sink_close(&sink);
    iso_channel_close(&channel);
    return wrong;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "", *where = count > 2 ? arguments[2] : "";
    const int sends = strcmp(what, "source") == 0;
    const char *third = count > 3 ? arguments[3] : NULL, *certificate = sends && count > 2 ? arguments[2] : third;
    char node_words[1000] = "";
    iso_format *sent = NULL, *wanted = NULL;
    iso_rules *rules = NULL;
    iso_node *node = NULL;
    iso_servers *servers = NULL;
    int wrong = failed(iso_format_open(samples, 2, &sent)) || failed(iso_format_open(seens, 2, &wanted)) ||
                failed(iso_rules_open(&rules)) || failed(iso_rules_default(rules, "Seen", "temperature", "11.5"));
    const int writes = strcmp(what, "write") == 0, reads = strcmp(what, "read") == 0;
    if (!wrong && (writes || reads) && third)
        wrong = failed(iso_servers_open(third, NULL, &servers));
    if (!wrong && writes)
        wrong = write_file(sent, where, servers);
    else if (!wrong && reads)
        wrong = read_file(wanted, rules, where, servers);
    else if (!wrong) {
        if (certificate)
            sprintf(node_words, "tls-on-loopback identity=%.900s", certificate);
        if (!(wrong = failed(iso_node_open(node_words, 0, &node))))
            wrong = sends ? submit(node, sent) : hear(node, wanted, rules, where);
    }
    iso_servers_close(&servers);
    iso_node_close(&node);
    iso_rules_close(&rules);
    iso_format_close(&wanted);
    iso_format_close(&sent);
    return wrong;
}
