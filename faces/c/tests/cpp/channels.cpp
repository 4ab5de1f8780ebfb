/* Channels between two nodes of one process: sources, sinks of every kind, handlers, descriptors, accounts. */
#include "check.hpp"

#include <poll.h>
#include <thread>

using namespace std::chrono_literals;
constexpr auto soon = 20s;

struct Tick {
    std::uint64_t count;
    double value;
};
/* What another program has. */
namespace other {
struct Tick {
    float value;
    short count;
    int extra;
};
} // namespace other
namespace wrong {
struct Tick {
    const char *count;
};
} // namespace wrong

/* The next thing that is of this kind. */
template <class T> static isoform::event<T> next(isoform::sink<T> &sink, iso_event_kind kind) {
    auto event = sink.next(soon);
    CHECK(event.kind == kind);
    return event;
}

static void events(const isoform::node &here, const isoform::node &there) {
    const auto channel = here.create<Tick>("ticks");
    THROWS(here.create<Tick>("ticks"), ISO_TAKEN, "channel's name");
    const auto opened = there.open(channel.id().data());
    CHECK(opened.format()->name() == "Tick");
    THROWS(opened.sink<wrong::Tick>(), ISO_NO_CONVERSION, "count");

    auto source = channel.source<Tick>();
    CHECK(!source.declined());
    {
        isoform::sink_options strict;
        strict.policy = ISO_POLICY_LOSSLESS; /* which this source does not grant */
        auto refused = opened.sink<void>(strict);
        next(refused, ISO_EVENT_REFUSED);
        CHECK(source.declined() && source.declined()->code() == ISO_NOT_GRANTED);
    }
    source.submit({0, 0.5}); /* to nobody */
    CHECK(source.next() == 1);
    isoform::sink_options options;
    options.said.emplace().standard<other::Tick>("extra", "7");
    auto sink = opened.sink<other::Tick>(options);
    auto views = opened.sink<void>();
    THROWS(channel.sink<other::Tick>(), ISO_REQUIRED, "extra");
    isoform::sink_options lenient;
    lenient.said.emplace().missing(ISO_MISSING_ZERO);
    auto batch = channel.sink<other::Tick>(lenient);
    source.wait(3, soon);
    CHECK(source.sinks() == 3 && sink.fd() >= 0);
    THROWS(source.wait(4, 10ms), ISO_DEADLINE, "");
    Tick many[100];
    for (std::uint64_t i = 0; i < 100; i++)
        many[i] = {i, 0.5};
    source.submit_many(many);

    int sum = 0, joined = 0;
    for (const auto &event : sink) {
        joined += event.kind == ISO_EVENT_JOINED && event.count == 1 && event.node != std::array<unsigned char, 16>{};
        if (!event.record)
            continue;
        CHECK(event.record->value == 0.5f && event.record->extra == 7 && event.stamp.nanoseconds > 0);
        sum += event.record->count;
        if (event.stamp.sequence == 100)
            break;
    }
    CHECK(sum == 4950 && joined == 1);
    CHECK(sink.next(0ms).kind == ISO_EVENT_NOTHING && sink.counts().taken == 100);
    CHECK(sink.next(-1ms).kind == ISO_EVENT_NOTHING); /* a time that is over is not for ever */

    CHECK(isoform::format::copy(next(views, ISO_EVENT_JOINED).format).token() == isoform::format::of<Tick>().token());
    CHECK(next(views, ISO_EVENT_RECORD).message["value"].real == 0.5);

    next(batch, ISO_EVENT_JOINED);
    std::array<other::Tick, 100> room;
    std::array<iso_stamp, 100> stamps;
    std::size_t taken = 0;
    while (taken < 100) {
        const auto event = batch.take(std::span(room).subspan(taken), std::span(stamps).subspan(taken), soon);
        CHECK(event.kind == ISO_EVENT_RECORD && event.count > 0 && event.stamp.sequence == 1 + taken);
        taken += event.count;
    }
    CHECK(room[99].count == 99 && stamps[99].sequence == 100);

    const auto accounts = source.end(soon);
    for (const iso_account &account : accounts)
        CHECK(account.submitted == account.acknowledged + account.in_flight + account.lost);
    CHECK(accounts.size() == 3);
    CHECK(next(sink, ISO_EVENT_LEFT).count == 0);
}

static void derived(const isoform::node &here, const isoform::node &there) {
    const auto channel = here.create<Tick>("whole");
    THROWS(channel.derive("where level > 2"), ISO_NO_SUCH_FIELD, "level");
    const auto few = channel.derive("every 2");
    const auto named = few.derive("where count > 2", "few");
    THROWS(few.source<Tick>(), ISO_WRONG_TYPE, "source");
    THROWS(channel.derive("every 3", "few"), ISO_TAKEN, "channel's name");
    CHECK(few.id().ends_with("?query=every%202") && named.id().find("query") == std::string_view::npos);
    auto sink = there.open(few.id().data()).sink<Tick>();
    auto fewer = there.open(named.id().data()).sink<Tick>();
    auto source = channel.source<Tick>();
    source.wait(2, soon);
    for (std::uint64_t i = 0; i < 8; i++)
        source.submit({i, 0.5});
    next(sink, ISO_EVENT_JOINED);
    next(fewer, ISO_EVENT_JOINED);
    CHECK(next(sink, ISO_EVENT_RECORD).record->count == 0 && next(fewer, ISO_EVENT_RECORD).record->count == 4);
}

static void handlers(const isoform::node &here, const isoform::node &there) {
    const auto channel = here.create<void>("handled");
    CHECK(!channel.format());
    auto source = channel.source<Tick>();
    int sum = 0;
    isoform::sink_options lenient;
    lenient.said.emplace().missing(ISO_MISSING_ZERO);
    auto handler = there.open(channel.id().data())
                       .on<other::Tick>(
                           [&sum](const isoform::event<other::Tick> &event) {
                               if (event.record && event.record->count == 3)
                                   throw std::runtime_error("three");
                               sum += event.record ? event.record->count : 0;
                           },
                           lenient);
    source.wait(1, soon);
    for (std::uint64_t i = 1; i <= 3; i++)
        source.submit({i, 0});
    pollfd waiting{there.fd(), POLLIN, 0};
    CHECK(poll(&waiting, 1, 20000) == 1);
    try {
        while (true)
            there.poll(soon);
    } catch (const std::runtime_error &failure) {
        CHECK(std::string_view(failure.what()) == "three");
    }
    CHECK(sum == 3 && handler.counts().taken == 3);
}

/* A sink that is left by another thread has no more events. */
static void ended(const isoform::node &here) {
    auto channel = here.create<Tick>("left");
    auto sink = channel.sink<Tick>();
    std::thread other([&] { channel.leave(); });
    for (const auto &event : sink)
        CHECK(!event.record);
    other.join();
    CHECK(isoform::attempt([&] { return sink.next(0ms); }).index() == 1);
}

struct Field {
    int number;
    std::array<double, 1 << 17> cells;
};

/* A sink declines the rest of long events. */
static void heads(const isoform::node &here, const isoform::node &there) {
    const auto channel = here.create<Field>("fields");
    const auto opened = there.open(channel.id().data());
    auto source = channel.source<Field>();
    isoform::sink_options options;
    options.heads = 1;
    auto sink = opened.sink<Field>(options);
    source.wait(1, soon);
    next(sink, ISO_EVENT_JOINED);
    const auto field = std::make_unique<Field>();
    int seen = 0;
    for (field->number = 0; field->number < 10; field->number++) {
        source.submit(*field);
        auto event = sink.next(soon);
        if (event.kind == ISO_EVENT_HEAD) {
            CHECK(event.message["number"].integer == field->number && event.count == sizeof(Field));
            sink.decline(event.stamp);
            event = sink.next(soon);
            CHECK(event.kind == ISO_EVENT_RECORD || event.cause == ISO_CAUSE_DECLINED);
            seen++;
        }
    }
    CHECK(seen > 0);
}

struct Detail {
    std::int64_t level;
    double scale;
};
struct Level {
    short level;
};

/* A source generates what its sinks ask for. */
static void parameters(const isoform::node &here, const isoform::node &there) {
    const auto channel = here.create<Tick>("parameters");
    const auto opened = there.open(channel.id().data());
    const Detail defaults{1, 0.5};
    isoform::source_options options;
    auto source = channel.source<Tick>(options.set_parameters(defaults));
    CHECK(source.demands().empty() && !source.wait_for_demands(0ms));
    const Level three{3};
    isoform::sink_options wanted;
    auto sink = opened.sink<Tick>(wanted.set_parameters(three));
    isoform::decoder<Detail> detail;
    /* Once there is one. */
    const auto only = [&](std::int64_t level) {
        for (;;) {
            for (const auto &demand : source.demands())
                if (detail.decode(isoform::message(demand.values)).level == level)
                    return demand;
            CHECK(source.wait_for_demands(soon));
        }
    };
    source.submit_for(only(3), {7, 0.5});
    next(sink, ISO_EVENT_JOINED);
    auto given = next(sink, ISO_EVENT_GIVEN);
    CHECK(detail.decode(given.message).level == 3 && !given.fault);
    CHECK(next(sink, ISO_EVENT_RECORD).record->count == 7);
    sink.set_parameters(Level{9});
    source.grant(only(9), Level{4});
    CHECK(next(sink, ISO_EVENT_GIVEN).message["level"].integer == 9);
    CHECK(next(sink, ISO_EVENT_GIVEN).message["level"].integer == 4);
    sink.set_parameters(Tick{1, 2});
    CHECK(next(sink, ISO_EVENT_GIVEN).fault->code() == ISO_NO_SUCH_FIELD);
    source.refuse(only(4), "no viewers today");
    next(sink, ISO_EVENT_LEFT);
    CHECK(next(sink, ISO_EVENT_REFUSED).fault->code() == ISO_NOT_GRANTED);
}

/* A batch of Arrow with one column of integers, in memory of this object. */
struct Batch {
    std::array<std::int64_t, 3> values;
    std::array<const void *, 2> buffers{nullptr, values.data()};
    const void *none = nullptr;
    ArrowSchema column_schema{}, schema{}, *column_schemas = &column_schema;
    ArrowArray column{}, array{}, *columns = &column;
    Batch(const char *name, std::int64_t first) : values{first, first + 1, first + 2} {
        column_schema.format = "l";
        column_schema.name = name;
        column_schema.release = [](ArrowSchema *released) { released->release = nullptr; };
        schema.format = "+s";
        schema.name = "";
        schema.n_children = 1;
        schema.children = &column_schemas;
        schema.release = column_schema.release;
        column.length = array.length = 3;
        column.n_buffers = 2;
        column.buffers = buffers.data();
        column.release = [](ArrowArray *released) { released->release = nullptr; };
        array.n_buffers = array.n_children = 1;
        array.buffers = &none;
        array.children = &columns;
        array.release = column.release;
    }
    isoform::arrow_batch records() const { return isoform::arrow_batch("Tick", schema, array); }
};

/* Batches of Arrow are records for sinks that know nothing of Arrow. */
static void batches(const isoform::node &here, const isoform::node &there) {
    const Batch first("count", 0), second("count", 3), third("counts", 0);
    const auto channel = here.create<void>("batches");
    auto source = channel.source(first.records());
    isoform::sink_options lenient;
    lenient.said.emplace().missing(ISO_MISSING_ZERO);
    auto sink = there.open(channel.id().data()).sink<Tick>(lenient);
    source.wait(1, soon);
    source.submit_many(first.records());
    source.submit_many(second.records());
    THROWS(source.submit_many(third.records()), ISO_WRONG_TYPE, "batch");
    next(sink, ISO_EVENT_JOINED);
    for (std::uint64_t count = 0; count < 6; count++)
        CHECK(next(sink, ISO_EVENT_RECORD).record->count == count);
    CHECK(source.end(soon)[0].acknowledged == 6);
}

int main() {
    const isoform::node here, there;
    batches(here, there);
    events(here, there);
    heads(here, there);
    parameters(here, there);
    derived(here, there);
    handlers(here, there);
    ended(here);
    return 0;
}
