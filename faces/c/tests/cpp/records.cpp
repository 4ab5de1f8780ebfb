/* Records: found and described, encoded, decoded in every way, with rules and faults, by name, and through streams. */
#include "check.hpp"
#include <cstdio>
#include <filesystem>

namespace inner {
struct Point {
    bool flag; /* a gap is behind it */
    double x;
};
enum class Color : unsigned char { red, green };
} // namespace inner

/* Found by the compiler. */
struct Track {
    int step;
    const char *name;
    std::span<const inner::Point> path;
    std::array<std::array<float, 300>, 2> level;
    inner::Color color;
    std::complex<float> wave;
    const inner::Point *home;
};

/* The same by hand, as C has it. */
struct InC {
    int step;
    const char *name;
    const inner::Point *path;
    std::size_t path_len;
    float level[2][300];
    unsigned char color;
    float wave[2];
    const inner::Point *home;
};
static constexpr iso_field point_rows[] = {ISO_FIELD(inner::Point, flag, "bool"), ISO_FIELD(inner::Point, x, "double")};
static const iso_field rows[] = {
    ISO_FIELD(InC, step, "int"),
    ISO_FIELD(InC, name, "string"),
    ISO_FIELD(InC, path, "Point[path_len]"),
    ISO_FIELD(InC, path_len, "size_t"),
    ISO_FIELD(InC, level, "float[2][300]"),
    ISO_FIELD(InC, color, "unsigned char"),
    ISO_ROW("wave", "complex float", 8, offsetof(InC, wave)),
    ISO_FIELD(InC, home, "Point*"),
};
static const iso_structure structures[] = {ISO_STRUCTURE_AS("Point", inner::Point, point_rows),
                                           ISO_STRUCTURE_AS("Track", InC, rows)};

/* A receiver's, described. */
struct Seen {
    std::int64_t step;
    float pressure;
    short color;
    double levels[2][300];
    int n;
    inner::Point *points;
};
ISOFORM_RECORD(Seen, step, pressure, (color, .type = "enumeration{none,red=7}"), (levels, .name = "level"), n,
               (points, .name = "path", .length = "n"))

/* Made of a template: each is a structure of its own. */
template <class T> struct Pair {
    T first, second;
};
struct Pairs {
    Pair<float> p;
    Pair<std::int64_t> q;
};

/* An enumeration whose symbols are listed. */
namespace inner {
enum class Light : signed char { off = -1, on = 7 };
ISOFORM_ENUMERATION(Light, off, on)
} // namespace inner
struct Lamps {
    inner::Light first;
    std::array<inner::Light, 2> pair;
    std::span<const inner::Light> row;
};
/* A receiver's, with other numbers and one more symbol. */
enum Shine : unsigned { dim, on, off };
ISOFORM_ENUMERATION(Shine, dim, on, off)
struct Shown {
    Shine first;
    std::array<Shine, 2> pair;
};

struct Narrow {
    unsigned char small;
};
struct Wide {
    int small;
};

static const inner::Point points[] = {{true, 0.5}, {false, 1.5}};

static Track sample(int step) {
    Track track{step, "Kiel", points, {}, inner::Color::green, {1, -1}, &points[1]};
    track.level[1][299] = 2.5f;
    return track;
}

static void same(const Track &track, int step) {
    CHECK(track.step == step && std::string_view(track.name) == "Kiel" && track.path.size() == 2);
    CHECK(track.path[0].flag && track.path[1].x == 1.5 && track.level[1][299] == 2.5f && track.home->x == 1.5);
    CHECK(track.color == inner::Color::green && track.wave == std::complex<float>(1, -1));
}

static void tables() {
    iso_format *made = nullptr;
    isoform::check(iso_format_open(structures, 2, &made));
    unsigned char token[16];
    isoform::check(iso_format_token(made, token));
    iso_format_close(&made);
    const auto &format = isoform::format::of<Track>();
    CHECK(format.token() == std::to_array(token));
    CHECK(format.name() == "Track" && format.size() == sizeof(Track));
    CHECK(isoform::format::parse(format.description()).token() == format.token());
    auto copy = isoform::format::of<Track>();
    const isoform::format moved = std::move(copy), another = moved;
    copy = another;
    CHECK(copy.token() == format.token() && moved.token() == format.token() && another.get() != format.get());
    struct Local {
        int a;
        bool b;
    };
    CHECK(isoform::format::of<Local>().name() == "Local");
#ifdef __SIZEOF_INT128__
    __extension__ typedef __int128 Int128;
    struct Large {
        std::array<Int128, 2> numbers;
    };
    CHECK(isoform::format::of<Large>().size() == 32);
#endif
    CHECK(isoform::format::of<Pair<float>>().name() == "Pair_float_");
    isoform::encoder<Pairs> pairs;
    isoform::registry registry;
    registry.learn(isoform::format::of<Pairs>().description());
    const auto lent = pairs.whole({{1, 2}, {3, 4}});
    const auto message = registry.parse(lent);
    CHECK(message["p.second"].real == 2 && message["q.first"].integer == 3);
    static_assert(isoform::detail::has_array<InC>() && !isoform::detail::has_array<Track>());
}

static void symbols() {
    using inner::Light;
    const Light lights[] = {Light::off, Light::on, Light::on};
    isoform::encoder<Lamps> encoder;
    isoform::registry registry;
    registry.add(isoform::format::of<Lamps>());
    const Lamps sent{Light::on, {Light::off, Light::on}, lights};
    const auto lent = encoder.whole(sent);
    const auto message = registry.parse(lent);
    CHECK(message["first"].kind == ISO_KIND_SYMBOL && message["first"].text() == "on" && message["first"].integer == 7);
    CHECK(message["row[0]"].text() == "off" && message["pair[0]"].integer == -1);
    isoform::decoder<Shown> decoder;
    const Shown &shown = decoder.decode(message);
    CHECK(shown.first == on && shown.pair[0] == off && shown.pair[1] == on);
    THROWS(encoder.whole(Lamps{static_cast<Light>(3), sent.pair, {}}), ISO_BAD_RECORD, "first");
}

/* A length whose field is nowhere. */
struct Wrong {
    float *values;
};
ISOFORM_RECORD(Wrong, (values, .length = "n"))

static void encoded_and_decoded() {
    isoform::encoder<Track> encoder;
    const Track sent = sample(5);
    const auto lent = encoder.whole(sent);
    const std::vector<std::byte> bytes(lent.begin(), lent.end());
    std::size_t at = 0;
    for (const iso_buffer &buffer : encoder.encode(sent)) {
        CHECK(std::memcmp(bytes.data() + at, buffer.bytes, buffer.length) == 0);
        at += buffer.length;
    }
    CHECK(at == bytes.size());

    isoform::registry registry;
    THROWS(registry.parse(bytes), ISO_UNKNOWN_FORMAT, "");
    const auto unknown = isoform::attempt([&] { return registry.parse(bytes); });
    CHECK(std::get<1>(unknown).token() == isoform::format::of<Track>().token());
    registry.share().learn(isoform::format::of<Track>().description());
    const auto message = registry.parse(bytes);
    CHECK(message && message.name() == "Track" && message.format().token() == isoform::format::of<Track>().token());
    CHECK(!isoform::message());

    Track mine;
    isoform::blocks owner;
    {
        isoform::decoder<Track> decoder;
        same(decoder.decode(message), 5);
        isoform::blocks first;
        decoder.decode_into(message, mine, first);
        owner = std::move(first);
    }
    same(mine, 5);

    CHECK(message["path[1].x"].real == 1.5 && message["path"].count == 2 && !message["path"].is_text());
    CHECK(message["name"].text() == "Kiel" && message["level"].raw().size() == 2400 && message["path"].text().empty());
    THROWS(message["path[0].y"], ISO_NO_SUCH_FIELD, "path[0]");
    CHECK(message.json().starts_with("{\"step\":5,\"name\":\"Kiel\""));
    THROWS(isoform::format::of<Wrong>(), ISO_DECLARATION, "Wrong.values");
}

static void nothing() {
    isoform::encoder<Track> encoder;
    isoform::registry registry;
    registry.add(isoform::format::of<Track>());
    isoform::decoder<Track> decoder;
    const auto bytes = encoder.whole(Track{});
    const Track &came = decoder.decode(registry.parse(bytes));
    CHECK(came.name == nullptr && came.path.empty() && came.home == nullptr);
}

/* A stream in memory, written and read by functions. */
struct Memory {
    std::vector<std::byte> bytes;
    std::size_t at = 0;
    isoform::writer writer() {
        return isoform::writer(
            [this](std::span<const std::byte> some) { bytes.insert(bytes.end(), some.begin(), some.end()); });
    }
    isoform::reader reader() {
        return isoform::reader([this](std::span<std::byte> room) {
            const std::size_t count = std::min({room.size(), bytes.size() - at, std::size_t{100}});
            std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), count, room.begin());
            at += count;
            return count;
        });
    }
};

/* A reader that is asked for less: windows give what they have at the end, too. */
static void asked() {
    Memory memory;
    auto writer = memory.writer();
    for (int step = 0; step < 7; step++)
        writer.write(Wide{step});
    writer.close();
    auto reader = memory.reader();
    reader.set_query("window 3 | select count()");
    std::vector<std::int64_t> counts;
    while (auto message = reader.next())
        counts.push_back(message["count"].integer);
    CHECK((counts == std::vector<std::int64_t>{3, 3, 1}));
    auto late = memory.reader();
    CHECK(!late.next());
    THROWS(memory.reader().set_query("where"), ISO_TEXT, "");
}

static void streams() {
    Memory memory;
    auto first = memory.writer();
    auto writer = std::move(first);
    Track red = sample(9);
    red.color = inner::Color::red;
    writer.write(red);
    for (int step = 0; step < 3; step++)
        writer.write(sample(step));
    const Wide many[] = {{1}, {300}, {3}};
    writer.write_many(many);
    writer.flush();
    writer.close();

    auto reader = memory.reader();
    isoform::rules rules;
    rules.standard<Seen>("pressure", "1013.5").required<Seen>("step").alias<Seen>("step", "count");
    isoform::decoder<Seen> seen(rules);
    THROWS(isoform::decoder<Seen>(isoform::rules().required<Seen>("nothing")), ISO_NO_SUCH_FIELD, "Seen.nothing");
    const Seen *came = reader.read(seen);
    CHECK(came->step == 9 && came->pressure == 1013.5f && came->color == 0 && came->levels[1][299] == 2.5);
    CHECK(came->n == 2 && came->points[1].x == 1.5);
    THROWS(reader.read(seen), ISO_UNKNOWN_SYMBOL, "color");
    CHECK(reader.goes_on());

    memory.at = 0;
    auto again = memory.reader();
    isoform::decoder<Track> tracks;
    CHECK(again.read(tracks)->color == inner::Color::red);
    for (int step = 0; step < 3; step++)
        same(*again.read(tracks), step);
    isoform::decoder<Narrow> narrow;
    CHECK(again.read(narrow)->small == 1);
    THROWS(again.read(narrow), ISO_OVERFLOW, "small");
    CHECK(again.goes_on() && again.read(narrow)->small == 3 && again.read(narrow) == nullptr);

    memory.at = 0;
    auto messages = memory.reader();
    Memory copy;
    auto passing = copy.writer();
    while (const auto message = messages.next())
        passing.pass(message);
    passing.close();
    CHECK(copy.bytes == memory.bytes);
}

static void chosen() {
    Memory memory;
    auto writer = memory.writer();
    writer.write(Wide{1});
    writer.write(Wide{2});
    writer.write(sample(7));
    writer.close();
    auto reader = memory.reader();
    const auto head = reader.peek();
    CHECK(head && head.name() == "Wide" && head.length() == sizeof(Wide) && head.body().empty());
    CHECK(reader.skip() && reader.next()["small"].integer == 2);
    alignas(16) std::array<std::byte, 4096> room;
    CHECK(reader.peek().length() < room.size() && memory.at < memory.bytes.size());
    THROWS(reader.read_into(std::span(room).first(100)), ISO_MESSAGE_SIZE, "");
    const auto message = reader.read_into(room);
    isoform::decoder<Track> decoder;
    CHECK(message.body().data() == room.data());
    same(decoder.decode(message), 7);
    CHECK(!reader.peek() && !reader.skip() && !reader.read_into(room));
}

/* Of three sealed messages, the second is damaged. */
static void sealed() {
    Memory memory;
    auto writer = memory.writer();
    writer.set_sealed(true);
    writer.write(Wide{1});
    const auto from = memory.bytes.size();
    writer.write(Wide{2});
    const auto to = memory.bytes.size();
    writer.write(Wide{3});
    writer.close();
    memory.bytes[from + 48 + 32] ^= std::byte{1};
    auto reader = memory.reader();
    isoform::decoder<Wide> decoder;
    CHECK(!reader.resume() && reader.read(decoder) != nullptr);
    THROWS(reader.next(), ISO_DAMAGED, "");
    CHECK(!reader.goes_on());
    const auto gap = reader.resume();
    CHECK(gap && gap->first == from && gap->second == to && reader.goes_on());
    CHECK(reader.next()["small"].integer == 3 && !reader.next());
}

/* A stream that was cut is healed before it goes on. */
static void appended() {
    const std::string path = "appended-cpp.iso";
    std::remove((path + ".cut").c_str());
    {
        isoform::writer writer(path.c_str());
        writer.write(Wide{1});
        writer.write(Wide{2});
        writer.close();
    }
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 20);
    {
        auto writer = isoform::writer::append(path.c_str());
        const auto healed = writer.healed();
        CHECK(healed && healed->aside == path + ".cut" && std::filesystem::file_size(path) == healed->at);
        CHECK(std::filesystem::file_size(healed->aside) == healed->bytes);
        THROWS(isoform::writer::append(path.c_str()), ISO_IO, "appended-cpp.iso");
        writer.write(Wide{3});
        writer.close();
        CHECK(!isoform::writer::append(path.c_str()).healed());
    }
    isoform::reader reader(path.c_str());
    CHECK(reader.next()["small"].integer == 1);
    CHECK(reader.next()["small"].integer == 3 && !reader.next());
    CHECK(!std::remove(path.c_str()) && !std::remove((path + ".cut").c_str()));
}

static void ranges() {
    Memory memory;
    auto writer = memory.writer();
    for (int step = 0; step < 4; step++)
        writer.write(Wide{step * 100});
    writer.close();
    int sum = 0;
    auto reader = memory.reader();
    auto records = reader.records(isoform::decoder<Narrow>(ISO_FAULTS_SATURATE));
    static_assert(std::ranges::input_range<decltype(records)>);
    for (const Narrow &record : records)
        sum += record.small;
    CHECK(sum == 0 + 100 + 200 + 255);
    /* A decoder with a name serves several loops. */
    isoform::decoder<Narrow> decoder(ISO_FAULTS_SATURATE);
    for (int i = 0; i < 2; i++) {
        memory.at = 0;
        auto again = memory.reader();
        for (const Narrow &record : again.records(decoder))
            sum += record.small;
    }
    CHECK(sum == 3 * (0 + 100 + 200 + 255));
}

template <class A, class B> struct Couple {
    A first;
    B second;
};

/* The names that are found in the signatures of all compilers. These are as Microsoft's compiler writes them. */
static void names() {
    using namespace isoform::detail;
    const std::string pair = name_of<Couple<inner::Point, int>>(), point = name_of<inner::Point>();
    CHECK(point == "Point" &&
          point == name_in(type_in("const char *__cdecl isoform::detail::written_type<struct inner::Point>(void)")));
    CHECK(pair == "Couple_inner__Point__int_" &&
          pair == name_in(type_in(
                      "const char *__cdecl isoform::detail::written_type<struct Couple<struct inner::Point,int>>(void)")));
    CHECK(name_in(type_in("const char *isoform::detail::written_type() [T = Couple<inner::Point, int>]")) == pair);
    CHECK(member_in("const char *__cdecl isoform::detail::written_member<&isoform::detail::sampled<struct "
                    "Sample>->record->step>(void)") == "step");
    CHECK(member_in("const char *isoform::detail::written_member() [Member = &sampled.record.step]") == "step");
    const auto same = [](const char *text, const char *signature, const char *after) {
        return std::string_view(text) == iso_struct_name(signature, after).text;
    };
    using Struct = inner::Point;
    CHECK(same(iso_struct_of<Struct>::name(), "const char *__cdecl iso_struct_of<struct inner::Point>::name(void)", ""));
    CHECK(same(iso_struct_of<Struct>::pointer(), "const char *__cdecl iso_struct_of<class inner::Point>::pointer(void)",
               " *"));
    CHECK(std::string_view(iso_struct_of<Struct>::pointer()) == "struct inner::Point *");
}

/* What Wide lacks has a default, stated with the member. */
struct Later {
    std::int64_t small;
    double tide;
    const char *station;
    std::span<const float> depth;
    int flags[2];
    float level;
};
ISOFORM_RECORD(Later, small, (tide, .standard = "11.5"), (station, .name = "where", .standard = "\"Old Mill\""),
               (depth, .standard = ""), (flags, .unit = "m", .standard = "[3, 4]"),
               (level, .type = "float", .standard = "0.5"))

static void defaults() {
    Memory memory;
    auto writer = memory.writer();
    writer.write(Wide{7});
    writer.close();
    auto reader = memory.reader();
    auto records = reader.records<Later>();
    const Later *record = records.next();
    CHECK(record && record->small == 7 && record->tide == 11.5 && std::string_view(record->station) == "Old Mill");
    CHECK(record->depth.empty() && record->flags[0] == 3 && record->flags[1] == 4 && record->level == 0.5f);
}

/* The same place, as two fields and as a structure. */
struct Flat {
    double lat;
    float lon;
    int step;
};
struct Place {
    double lat, lon;
};
struct Nested {
    std::int64_t step;
    Place at;
};

/* Each is received as the other, by aliases that are paths; without them, neither is. */
static void flat_and_nested() {
    isoform::registry registry;
    registry.add(isoform::format::of<Flat>());
    registry.add(isoform::format::of<Nested>());
    isoform::encoder<Flat> flat;
    isoform::encoder<Nested> nested;
    const auto two = registry.parse(flat.whole({54.25, 10.5f, 7}));
    THROWS(isoform::decoder<Nested>().decode(two), ISO_REQUIRED, "at.lat");
    isoform::rules rules;
    rules.alias<Nested>("at", ".");
    isoform::decoder<Nested> to_nested(rules);
    const Nested &one = to_nested.decode(two);
    CHECK(one.step == 7 && one.at.lat == 54.25 && one.at.lon == 10.5);

    const auto came = registry.parse(nested.whole(one));
    THROWS(isoform::decoder<Flat>().decode(came), ISO_REQUIRED, "lat");
    isoform::rules back;
    back.alias<Flat>("lat", "at.lat").alias<Flat>("lon", "at.lon");
    isoform::decoder<Flat> to_flat(back);
    const Flat &again = to_flat.decode(came);
    CHECK(again.lat == 54.25 && again.lon == 10.5f && again.step == 7);
}

static void columns() {
    Memory memory;
    auto writer = memory.writer();
    for (int step = 0; step < 4; step++)
        writer.write(Wide{step * 10});
    writer.close();
    auto reader = memory.reader();
    isoform::columns<Wide> all({"small"});
    reader.read(all);
    const auto values = all.values<decltype(Wide::small)>("small");
    CHECK(all.rows() == 4 && values.size() == 4 && values[3] == 30);
    try {
        all.values<char>("small");
        CHECK(false);
    } catch (const std::invalid_argument &) {
    }
    THROWS(all.values<char>("nothing"), ISO_NO_SUCH_FIELD, "nothing");
    ArrowSchema schema;
    ArrowArray array;
    all.arrow(schema, array);
    CHECK(array.length == 4 && array.n_children == 1 && std::string_view(schema.children[0]->name) == "small" &&
          all.rows() == 0);
    /* And back: a batch becomes records. */
    Memory more;
    auto again = more.writer();
    const isoform::arrow_batch batch("Wide", schema, array);
    CHECK(batch.size() == 4 && batch.format().name() == "Wide");
    again.write_many(batch);
    again.close();
    ArrowSchema none{};
    THROWS(isoform::arrow_batch("Wide", none, array), ISO_WRONG_TYPE, "schema");
    schema.release(&schema);
    array.release(&array);
    auto back = more.reader();
    isoform::decoder<Wide> decoder;
    for (int step = 0; step < 4; step++)
        CHECK(back.read(decoder)->small == step * 10);
    CHECK(back.read(decoder) == nullptr);
}

/* The record is in the memory of its body. */
static void in_place() {
    Memory memory;
    auto writer = memory.writer();
    writer.write(sample(5));
    writer.close();
    auto reader = memory.reader();
    alignas(16) std::array<std::byte, 8192> body;
    const auto message = reader.read_into(body);
    isoform::decoder<Track> decoder;
    const Track &record = decoder.decode_in_place(message.format(), std::span(body).first(message.get()->length));
    same(record, 5);
    CHECK(static_cast<const void *>(&record) == body.data());
    THROWS(decoder.decode_in_place(message.format(), std::span(body).first(8)), ISO_BODY_LENGTH, "");
}

static void errors() {
    const auto failed = isoform::attempt([] { return isoform::reader("/nowhere/river.iso"); });
    CHECK(std::get<1>(failed).code() == ISO_IO && std::get<1>(failed).kind() == ISO_CLASS_UNAVAILABLE);
    CHECK(isoform::attempt([] {}).index() == 0 && std::get<0>(isoform::attempt([] { return 7; })) == 7);

    isoform::writer refusing([](std::span<const std::byte>) { throw std::runtime_error("full"); });
    try {
        refusing.write(Wide{1});
        CHECK(false);
    } catch (const std::runtime_error &failure) {
        CHECK(std::string_view(failure.what()) == "full");
    }
    Track broken = sample(1);
    broken.path = {static_cast<const inner::Point *>(nullptr), 2};
    THROWS(isoform::encoder<Track>().whole(broken), ISO_BAD_RECORD, "path");
}

int main() {
    names();
    tables();
    symbols();
    encoded_and_decoded();
    nothing();
    streams();
    asked();
    chosen();
    sealed();
    appended();
    ranges();
    defaults();
    flat_and_nested();
    columns();
    in_place();
    errors();
    return 0;
}
