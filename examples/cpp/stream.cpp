/* Writes a stream and reads it again, with a struct that somebody else wrote: other types, another order, and a field that
   nobody sends.

       c++ -std=c++20 stream.cpp $(pkg-config --cflags --libs isoform) -o stream && ./stream river.iso */
#include <isoform.hpp>

#include <cstdio>

/* What is sent. */
struct Sample {
    int step;
    const char *station;
    int n;
    float *depth;
};
ISOFORM_RECORD(Sample, step, station, n, (depth, .unit = "m", .length = "n"))

/* What is wanted. */
struct Seen {
    const char *station;
    std::span<const double> depth;
    std::int64_t step;
    float temperature;
};
ISOFORM_RECORD(Seen, station, (depth, .unit = "m", .length = "n"), step, temperature)

static void write(const char *path) {
    float depth[] = {0.5f, 0, 2};
    isoform::writer writer(path);
    for (int step = 0; step < 3; step++) {
        depth[1] = 0.25f * static_cast<float>(step);
        writer.write(Sample{step, "Old Mill", 3, depth});
    }
    writer.close();
}

static void read(const char *path) {
    isoform::rules rules;
    rules.standard<Seen>("temperature", "11.5");
    isoform::reader reader(path);
    for (const Seen &seen : reader.records(isoform::decoder<Seen>(rules))) {
        std::printf("%s: step %d, depth", seen.station, static_cast<int>(seen.step));
        for (const double depth : seen.depth)
            std::printf(" %g", depth);
        std::printf(" m, %g degrees\n", seen.temperature);
    }
}

int main(int count, char **arguments) try {
    const char *path = count > 1 ? arguments[1] : "river.iso";
    write(path);
    read(path);
} catch (const isoform::error &failure) {
    return std::fprintf(stderr, "%s\n", failure.what()), 1;
}
