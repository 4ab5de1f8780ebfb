/* What the programs in C send, by isoform.h or isoform_writer.h, whichever is included before: the struct, its table, values. */
#ifndef SAMPLE_H
#define SAMPLE_H

enum { SAMPLES = 5 };

typedef struct {
    int x;
    double y;
} Place;
typedef struct {
    int step;
    const char *station;
    int n;
    float *depth;
    Place place;
    unsigned char flags[3];
} Sample;
static const iso_field place[] = { ISO_FIELD(Place, x, "int"), ISO_FIELD(Place, y, "double") };
static const iso_field sample[] = { ISO_FIELD(Sample, step, "int"), ISO_FIELD(Sample, station, "string"),
                                    ISO_FIELD(Sample, n, "int"), ISO_POINTER_UNIT(Sample, depth, "float[n]", "m"),
                                    ISO_FIELD(Sample, place, "Place"), ISO_FIELD(Sample, flags, "unsigned char[3]") };
static const iso_structure samples[] = { ISO_STRUCTURE(Place, place), ISO_STRUCTURE(Sample, sample) };

/* The sample of a step: as many depths as its number, which is none for the first. */
static Sample sample_of(int step) {
    static float depth[SAMPLES];
    Sample made = { 0, "Old Mill", 0, depth, { 7, 0.125 }, { 1, 2, 3 } };
    int i;
    made.step = made.n = step;
    for (i = 0; i < step; i++)
        depth[i] = 0.25f * (float)(i + step);
    return made;
}

#endif
