/* A source: makes a channel, waits for somebody to listen, and submits the struct that it has, ten times a second.

       c++ -std=c++20 source.cpp $(pkg-config --cflags --libs isoform) -o source && ./source 127.0.0.1:7000

   In another terminal, `isoform echo iso://127.0.0.1:7000/river` shows the events, as sink.cpp does. */
#include <isoform.hpp>

#include <cstdio>
#include <thread>

using namespace std::chrono_literals;

struct Sample {
    int step;
    const char *station;
    std::span<const float> depth;
};
ISOFORM_RECORD(Sample, step, station, (depth, .unit = "m", .length = "n"))

int main(int count, char **arguments) try {
    float depth[] = {0.5f, 0, 2};
    const isoform::node node(count > 1 ? arguments[1] : nullptr);
    const auto river = node.create<Sample>("river");
    auto source = river.source<Sample>();
    std::puts(river.id().data());
    std::fflush(stdout);
    source.wait(1, 10min);
    for (int step = 0; step < 30; step++) {
        depth[1] = 0.25f * static_cast<float>(step);
        source.submit({step, "Old Mill", depth});
        std::this_thread::sleep_for(100ms);
    }
    for (const iso_account &account : source.end(10s))
        std::fprintf(stderr, "submitted %d, taken %d, lost %d\n", static_cast<int>(account.submitted),
                     static_cast<int>(account.acknowledged), static_cast<int>(account.lost));
} catch (const isoform::error &failure) {
    return std::fprintf(stderr, "%s\n", failure.what()), 1;
}
