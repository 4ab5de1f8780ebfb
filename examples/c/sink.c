/* A sink that knows nothing: it has no struct, and prints what comes on a channel, by name or all of it.

       cc sink.c $(pkg-config --cflags --libs isoform) -o sink
       ./sink iso://127.0.0.1:7000/river
       ./sink iso://127.0.0.1:7000/river depth[1] */
#include <isoform.h>
#include <stdio.h>

static int failed(iso_code code) {
    return code && fprintf(stderr, "%s\n", iso_last_error()->text);
}

/* A line for an event: the fields that were asked for, or all. */
static int show(const iso_event *event, char **paths, int count) {
    const char *json;
    iso_item item;
    int i;
    if (count == 0) {
        if (failed(iso_message_json(&event->message, &json)))
            return 1;
        return printf("%s\n", json) < 0;
    }
    for (i = 0; i < count; i++) {
        if (failed(iso_message_get(&event->message, paths[i], &item)))
            return 1;
        if (item.kind == ISO_KIND_TEXT || item.kind == ISO_KIND_SYMBOL)
            printf("%.*s", (int)item.length, (const char *)item.bytes);
        else
            printf("%g", item.real);
        printf(i + 1 < count ? " " : "\n");
    }
    return 0;
}

int main(int count, char **arguments) {
    iso_event event;
    iso_node *node = NULL;
    iso_channel *channel = NULL;
    iso_sink *sink = NULL;
    int over = 0, wrong;
    if (count < 2)
        return fprintf(stderr, "usage: sink ID [PATH ..]\n"), 2;
    wrong = failed(iso_node_open(NULL, 0, &node)) || failed(iso_channel_open(node, arguments[1], &channel)) ||
            failed(iso_sink_open(channel, NULL, NULL, NULL, &sink));
    while (!wrong && !over && !(wrong = failed(iso_sink_next(sink, ISO_FOREVER, &event)))) {
        switch (event.kind) {
        case ISO_EVENT_RECORD: wrong = show(&event, arguments + 2, count - 2); break;
        case ISO_EVENT_GAP: fprintf(stderr, "%d events are lost\n", (int)event.count); break;
        case ISO_EVENT_GRANTED: fprintf(stderr, "the source grants policy %d\n", (int)event.policy); break;
        case ISO_EVENT_REFUSED: fprintf(stderr, "a source cannot be understood: %s\n", event.error->text); break;
        case ISO_EVENT_JOINED: break;
        case ISO_EVENT_LEFT: over = event.count == 0; break;
        case ISO_EVENT_HEAD: break; /* only a sink that asks for heads gets them */
        case ISO_EVENT_GIVEN: break; /* this sink takes the values of parameters that a source has by default */
        case ISO_EVENT_NOTHING: break;
        }
    }
    iso_sink_close(&sink);
    iso_channel_close(&channel);
    iso_node_close(&node);
    return wrong;
}
