/* Water that flows over land: takes rain, and submits the depth of the water everywhere. Control records open and close the gate
   at the right edge.

       cc flow2d.c $(pkg-config --cflags --libs isoform) -o flow2d
       ./flow2d DOCUMENT RAIN */
#include <isoform.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS = 32, ROWS = 10, CELLS = COLUMNS * ROWS };

/* The records of the document, as C lays them out. */
typedef struct {
    int timestep, size;
    float *rain;
} Rain;
typedef struct {
    int timestep, columns, size;
    float *depth;
} Flow;
typedef struct {
    const char *sender, *action;
} Control;

static float ground[CELLS], depth[CELLS];
static int gate_is_open;

static int failed(iso_code code) {
    return code && fprintf(stderr, "flow2d: %s\n", iso_last_error()->text);
}

/* The format of a record that the document declares. It must be that of the struct. */
static int load(const char *document, const char *name, size_t size, iso_format **format) {
    if (failed(iso_format_load(document, name, format)))
        return 1;
    if (iso_format_size(*format) != size)
        return fprintf(stderr, "flow2d: %s is another struct in the document\n", name);
    return 0;
}

/* A valley that falls to the right, with a hill in it. */
static void make_ground(void) {
    int cell;
    for (cell = 0; cell < CELLS; cell++) {
        int x = cell % COLUMNS, y = cell / COLUMNS, side = 2 * y - ROWS + 1, from_hill = (x - 12) * (x - 12) + 4 * (y - 4) * (y - 4);
        ground[cell] = 0.01f * (float)(COLUMNS - x) + 0.002f * (float)(side * side) + (from_hill < 16 ? 0.2f : 0);
    }
}

/* Lets water flow between two neighbours, towards the lower surface, but never more than a quarter of what is there. */
static void exchange(const float *before, int a, int b) {
    float difference = ground[a] + before[a] - ground[b] - before[b];
    float most = 0.25f * (difference > 0 ? before[a] : before[b]), flow = 0.2f * difference;
    flow = flow > most ? most : flow < -most ? -most : flow;
    depth[a] -= flow;
    depth[b] += flow;
}

static void step(const Rain *rain) {
    float before[CELLS];
    int cell;
    for (cell = 0; cell < CELLS; cell++)
        if (rain->size > 0)
            depth[cell] += 0.001f * rain->rain[cell % COLUMNS * rain->size / COLUMNS];
    memcpy(before, depth, sizeof before);
    for (cell = 0; cell < CELLS; cell++) {
        if (cell % COLUMNS + 1 < COLUMNS)
            exchange(before, cell, cell + 1);
        else if (gate_is_open)
            depth[cell] *= 0.5f;
        if (cell + COLUMNS < CELLS)
            exchange(before, cell, cell + COLUMNS);
    }
}

/* Does what has been asked, and counts who may still ask. */
static int steer(iso_sink *control, int milliseconds, int *sources, int *taken) {
    iso_event event;
    do {
        if (failed(iso_sink_next(control, milliseconds, &event)))
            return 1;
        if (event.kind == ISO_EVENT_RECORD) {
            const Control *asked = event.record;
            ++*taken;
            if (strcmp(asked->action, "open") == 0 || strcmp(asked->action, "close") == 0)
                gate_is_open = asked->action[0] == 'o';
        }
        *sources += (event.kind == ISO_EVENT_JOINED) - (event.kind == ISO_EVENT_LEFT);
    } while (event.kind != ISO_EVENT_NOTHING && milliseconds == 0);
    return 0;
}

int main(int count, char **arguments) {
    iso_format *rain_format = NULL, *flow_format = NULL, *control_format = NULL;
    iso_node *node = NULL;
    iso_channel *rain = NULL, *flow = NULL, *control = NULL;
    iso_sink *rains = NULL, *controls = NULL;
    iso_source *flows = NULL;
    const iso_sink_options all = { .policy = ISO_POLICY_LOSSLESS };
    const iso_source_options patient = { .lossless = 1 };
    iso_account account;
    iso_event event;
    int wrong, over = 0, steerers = 0, taken = 0, steered = 0;
    if (count != 3)
        return fprintf(stderr, "usage: flow2d DOCUMENT RAIN\n"), 2;
    make_ground();
    wrong = load(arguments[1], "Rain", sizeof(Rain), &rain_format) ||
            load(arguments[1], "Flow", sizeof(Flow), &flow_format) ||
            load(arguments[1], "Control", sizeof(Control), &control_format) ||
            failed(iso_node_open(NULL, 0, &node)) || failed(iso_channel_open(node, arguments[2], &rain)) ||
            failed(iso_channel_create(node, "flow", flow_format, &flow)) ||
            failed(iso_channel_create(node, "control", control_format, &control)) ||
            failed(iso_sink_open(control, control_format, NULL, &all, &controls)) ||
            failed(iso_source_open_with(flow, flow_format, &patient, &flows));
    if (!wrong) {
        printf("%s\n%s\n", iso_channel_id(flow), iso_channel_id(control));
        fflush(stdout);
        wrong = failed(iso_source_wait(flows, 1, 60000)) || failed(iso_sink_open(rain, rain_format, NULL, &all, &rains));
    }
    while (!wrong && !over) {
        wrong = steer(controls, 0, &steerers, &steered) || failed(iso_sink_next(rains, 50, &event));
        over = event.kind == ISO_EVENT_LEFT;
        if (!wrong && event.kind == ISO_EVENT_RECORD) {
            const Rain *fallen = event.record;
            Flow state = { fallen->timestep, COLUMNS, CELLS, depth };
            step(fallen);
            taken++;
            wrong = failed(iso_source_submit(flows, &state));
        }
    }
    if (!wrong && !(wrong = failed(iso_source_end(&flows, 60000, &account, 1, NULL)))) {
        printf("rain: took %d\nflow: submitted %d, acknowledged %d, lost %d\n", taken, (int)account.submitted,
               (int)account.acknowledged, (int)account.lost);
        /* The others may ask until they leave. */
        while (!wrong && steerers > 0)
            wrong = steer(controls, 50, &steerers, &steered);
        printf("control: took %d\n", steered);
    }
    iso_sink_close(&rains);
    iso_sink_close(&controls);
    iso_source_close(&flows);
    iso_channel_close(&rain);
    iso_channel_close(&flow);
    iso_channel_close(&control);
    iso_node_close(&node);
    iso_format_close(&rain_format);
    iso_format_close(&flow_format);
    iso_format_close(&control_format);
    return wrong;
}
