/* Several kinds of records, in a stream and on a channel. */
#include "check.hpp"

using namespace std::chrono_literals;
constexpr auto soon = 20s;

struct River {
    std::int64_t time;
    double depth;
};
struct Alarm {
    const char *text;
    std::int64_t time;
};
/* Another name and other types than River. */
struct Gauge {
    float depth;
    int time;
};
/* Fits neither. */
struct Wind {
    float speed;
};

using Seen = isoform::one_of<River, Alarm>;

static std::string told(const Seen &seen) {
    if (const auto *river = std::get_if<const River *>(&seen))
        return "river " + std::to_string((*river)->depth);
    if (const auto *alarm = std::get_if<const Alarm *>(&seen))
        return std::string("alarm ") + (*alarm)->text;
    return "other";
}

static void streams() {
    std::vector<std::byte> bytes;
    isoform::writer writer([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); });
    writer.write(River{1, 4.5});
    writer.write(Alarm{"high", 2});
    writer.write(Gauge{5.5f, 3});
    writer.write(Wind{9});
    writer.flush();
    auto rest = std::span<const std::byte>(bytes);
    isoform::reader reader([&](std::span<std::byte> room) {
        const auto count = std::min(room.size(), rest.size());
        std::copy_n(rest.begin(), count, room.begin());
        rest = rest.subspan(count);
        return count;
    });
    isoform::kinds<River, Alarm> kinds;
    std::string all;
    THROWS(for (const Seen &seen : reader.records(kinds)) all += told(seen) + ", ", ISO_NO_CONVERSION, "Wind");
    CHECK(all == "river 4.500000, alarm high, river 5.500000, ");
    CHECK(kinds.others() == 1 && !reader.next());
    isoform::decoder<River> river;
    CHECK(river.explain(isoform::format::of<Gauge>()).starts_with("wire    Gauge  "));
    CHECK(river.explain_timed(isoform::format::of<Gauge>()).find("\ncost, measured on this ") != std::string::npos);
    CHECK(kinds.explain(isoform::format::of<Gauge>()).starts_with("Gauge becomes River: no other kind fits\n"));

    /* With rules for one of them. */
    isoform::rules rules;
    rules.alias<River>("depth", "speed").standard<River>("time");
    isoform::kinds<Alarm, River> lenient({nullptr, &rules});
    CHECK(lenient.explain(isoform::format::of<Wind>()).starts_with("Wind becomes River: "));
}

/* Many records of one kind at once: from a stream, as columns, from a channel. */
static void runs() {
    const std::vector<River> many{{1, 0.5}, {2, 1.5}, {3, 2.5}};
    std::vector<std::byte> bytes;
    isoform::writer writer([&](std::span<const std::byte> more) { bytes.insert(bytes.end(), more.begin(), more.end()); });
    writer.write_many(many);
    writer.write(Alarm{"high", 2});
    writer.write(Gauge{5.5f, 3});
    writer.flush();
    const auto open = [&] {
        return isoform::reader([rest = std::span<const std::byte>(bytes)](std::span<std::byte> room) mutable {
            const auto count = std::min(room.size(), rest.size());
            std::copy_n(rest.begin(), count, room.begin());
            rest = rest.subspan(count);
            return count;
        });
    };
    isoform::kinds<River, Alarm> kinds;
    auto reader = open();
    const auto first = reader.records_of_a_kind(kinds);
    const auto *rivers = std::get_if<std::span<const River>>(&first);
    CHECK(rivers && rivers->size() == 3 && (*rivers)[2].depth == 2.5);
    const auto second = reader.records_of_a_kind(kinds);
    CHECK(std::get<std::span<const Alarm>>(second)[0].text == std::string("high"));
    CHECK(std::get<std::span<const River>>(reader.records_of_a_kind(kinds)).front().depth == 5.5);
    CHECK(reader.records_of_a_kind(kinds).index() == 0);
    CHECK(kinds.of(isoform::format::of<Gauge>()) == 0);
    THROWS(kinds.of(isoform::format::of<Wind>()), ISO_NO_CONVERSION, "Wind");

    isoform::columns<River> depths({"depth"});
    isoform::columns<Alarm> alarms;
    open().read(kinds, depths, alarms);
    CHECK(depths.rows() == 4 && depths.values<double>("depth")[3] == 5.5 && alarms.rows() == 1);

    const isoform::node node;
    const auto channel = node.create<void>("news");
    auto sink = channel.sink_of(kinds);
    auto source = channel.source<River>();
    source.submit_many(many);
    auto event = sink.take(8, {}, soon);
    while (event.kind == ISO_EVENT_JOINED)
        event = sink.take(8, {}, soon);
    const auto &came = std::get<std::span<const River>>(event.records);
    CHECK(event.count == 3 && came.size() == 3 && came[1].depth == 1.5 &&
          std::get<const River *>(event.record) == came.data());
}

static void channels() {
    const isoform::node node;
    const auto channel = node.create<void>("news");
    const isoform::kinds<River, Alarm> kinds;
    auto sink = channel.sink_of(kinds);
    auto lenient = channel.sink_of(kinds, ISO_OTHERS_MESSAGES);
    auto rivers = channel.source<River>();
    rivers.submit(River{1, 4.5});
    auto alarms = channel.source<Alarm>();
    alarms.submit(Alarm{"high", 2});
    auto winds = channel.source<Wind>();
    winds.submit(Wind{9});
    std::string all;
    for (const auto &event : sink) {
        if (event.kind == ISO_EVENT_RECORD)
            all += told(event.record) + ", ";
        if (event.kind == ISO_EVENT_REFUSED) {
            all += event.fault->path();
            break;
        }
    }
    CHECK(all == "river 4.500000, alarm high, Wind");
    for (int records = 0; records < 3;) {
        const auto event = lenient.next(soon);
        CHECK(event.kind == ISO_EVENT_RECORD || event.kind == ISO_EVENT_JOINED);
        if (event.kind == ISO_EVENT_RECORD && ++records == 3)
            CHECK(told(event.record) == "other" && event.message["speed"].real == 9);
    }
}

/* A function for each kind, by node::poll. */
static void handlers() {
    const isoform::node node;
    const auto channel = node.create<void>("news");
    auto winds = channel.source<Wind>();
    auto rivers = channel.source<River>();
    auto gauges = channel.source<Gauge>();
    auto alarms = channel.source<Alarm>();
    const auto submit = [&] {
        rivers.submit(River{1, 4.5});
        winds.submit(Wind{9});
        alarms.submit(Alarm{"high", 2});
        gauges.submit(Gauge{5.5f, 3});
    };
    double depth = 0;
    std::string text;
    const auto both = [&] {
        isoform::handlers all;
        all.handle<River>([&](const isoform::event<River> &event) { depth += event.record->depth; })
            .handle<Alarm>([&](const isoform::event<Alarm> &event) { text += event.record->text; });
        return all;
    };
    {
        const isoform::handler handler = channel.on(both());
        submit();
        while (node.poll(0ms) > 0) {
        }
        CHECK(depth == 10.0 && text == "high" && handler.others() == 1);
    }
    int speeds = 0, joined = 0;
    auto all = both();
    all.otherwise([&](const isoform::event<void> &event) {
        joined += event.kind == ISO_EVENT_JOINED;
        if (event.kind == ISO_EVENT_RECORD)
            speeds += static_cast<int>(event.message["speed"].real);
    });
    const isoform::handler handler = channel.on(std::move(all));
    auto counting = channel.sink_of(isoform::kinds<River, Alarm>(), ISO_OTHERS_COUNT);
    submit();
    while (node.poll(0ms) > 0) {
    }
    CHECK(depth == 20.0 && text == "highhigh" && speeds == 9 && joined == 4 && handler.others() == 1);
    std::string told_;
    for (auto event = counting.next(0ms); event.kind != ISO_EVENT_NOTHING; event = counting.next(0ms))
        told_ += event.kind == ISO_EVENT_RECORD ? told(event.record) + ", " : "";
    CHECK(told_.find("other") == std::string::npos && counting.others() == 1);

    /* An exception of a function leaves node::poll. */
    isoform::handlers throwing;
    throwing.handle<Alarm>([](const isoform::event<Alarm> &event) { throw std::runtime_error(event.record->text); });
    const isoform::handler last = channel.on(std::move(throwing));
    alarms.submit(Alarm{"out", 2});
    try {
        while (node.poll(0ms) > 0) {
        }
        CHECK(false);
    } catch (const std::runtime_error &failure) {
        CHECK(std::string_view(failure.what()) == "out");
    }
}

int main() {
    streams();
    runs();
    handlers();
    channels();
}
