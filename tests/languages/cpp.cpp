/* The program in C++ among those that run.sh compares: `write FILE [SERVERS]`, `read FILE [SERVERS]`,
   `source [CERTIFICATE]`, `sink ID [CERTIFICATE]`. */
#include <isoform.hpp>

#include <iostream>

using namespace std::chrono_literals;
constexpr int samples = 5;

struct Place {
    int x;
    double y;
};
struct Sample {
    int step;
    const char *station;
    std::span<const float> depth;
    Place place;
    std::array<unsigned char, 3> flags;
};
ISOFORM_RECORD(Sample, step, station, (depth, .unit = "m"), place, flags)

/* What is wanted: another order, wider numbers, a field that nobody sends, and one that is not asked for. */
namespace wanted {
struct Place {
    double y;
    std::int64_t x;
};
struct Sample {
    float temperature;
    std::span<const double> depth;
    const char *station;
    Place place;
    short step;
};
ISOFORM_RECORD(Sample, temperature, (depth, .unit = "m"), station, place, step)
} // namespace wanted

static isoform::rules standard() {
    isoform::rules rules;
    rules.standard<wanted::Sample>("temperature", "11.5");
    return rules;
}

/* Gives each sample to a function. */
template <class F> static void each(F &&use) {
    for (int step = 0; step < samples; step++) {
        std::vector<float> depth;
        for (int i = 0; i < step; i++)
            depth.push_back(0.25f * static_cast<float>(i + step));
        use(Sample{step, "Old Mill", depth, {7, 0.125}, {1, 2, 3}});
    }
}

static void show(const wanted::Sample &record) {
    std::cout << record.step << ' ' << record.station;
    for (const double depth : record.depth)
        std::cout << ' ' << depth;
    std::cout << ' ' << record.place.x << ' ' << record.place.y << ' ' << record.temperature << '\n';
}

static void write_file(const char *path, const char *servers) {
    isoform::writer writer(path);
    if (servers)
        writer.set_servers(isoform::servers(servers));
    each([&](const Sample &sample) { writer.write(sample); });
    writer.close();
}

static void read_file(const char *path, const char *servers) {
    isoform::reader reader(path);
    if (servers)
        reader.set_servers(isoform::servers(servers));
    for (const auto &record : reader.records(isoform::decoder<wanted::Sample>(standard())))
        show(record);
}

static isoform::node node_with(const char *certificate) {
    return isoform::node(certificate ? ("tls-on-loopback identity=" + std::string(certificate)).c_str() : nullptr);
}

static bool submit(const char *certificate) {
    const isoform::node node = node_with(certificate);
    const auto channel = node.create<Sample>("samples");
    auto source = channel.source<Sample>();
    std::cout << channel.id() << std::endl;
    source.wait(1, 1min);
    each([&](const Sample &sample) { source.submit(sample); });
    return source.end(1min).at(0).acknowledged == samples;
}

static void hear(const char *id, const char *certificate) {
    isoform::sink_options options;
    options.said = standard();
    const isoform::node node = node_with(certificate);
    auto sink = node.open(id).sink<wanted::Sample>(options);
    for (const auto &event : sink) {
        if (event.record)
            show(*event.record);
        if (event.kind == ISO_EVENT_LEFT)
            break;
    }
}

int main(int count, char **arguments) try {
    const std::string_view what = count > 1 ? arguments[1] : "";
    const char *where = count > 2 ? arguments[2] : "";
    const char *third = count > 3 ? arguments[3] : nullptr;
    if (what == "source")
        return submit(count > 2 ? where : nullptr) ? 0 : 1;
    if (what == "sink")
        hear(where, third);
    else
        (what == "write" ? write_file : read_file)(where, third);
} catch (const std::exception &failure) {
    return std::cerr << "c++: " << failure.what() << '\n', 1;
}
