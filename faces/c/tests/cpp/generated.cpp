/* What `isoform xmit gen --language cpp` writes: the records of the vectors, which the tests of other languages read and write as well.
   crates/xmit/tests/back.rs sees to it that the headers are what is written today, and have the tokens of their documents. */
#include "check.hpp"

#include "everything.hpp"
#include "track.hpp"

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <vector>

/* The messages of a file, as records, and as messages again. */
template <class T, class F> static void back_and_forth(const std::string &file, F &&check) {
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    std::string written;
    {
        isoform::reader reader(file.c_str());
        isoform::decoder<T> decoder;
        isoform::writer writer([&](std::span<const std::byte> some) {
            written.append(reinterpret_cast<const char *>(some.data()), some.size());
        });
        const T *record = reader.read(decoder);
        CHECK(record);
        check(*record);
        writer.write(*record);
        CHECK(!reader.read(decoder));
        writer.close();
    }
    CHECK(!bytes.empty() && written == bytes);
}

/* What a sender has that knows nothing of the fields with defaults. */
struct Old {
    const char *match;
    std::int64_t at;
};
ISOFORM_RECORD(Old, match, (at, .unit = "ns since 1970-01-01T00:00:00Z"))

/* The defaults of the document are those of the struct, and of the document itself, which has texts as well. */
static void defaults(const std::string &folder) {
    isoform::registry registry;
    registry.add(isoform::format::of<Old>());
    isoform::encoder<Old> encoder;
    const auto bytes = encoder.whole(Old{"x", 7});
    isoform::decoder<type> decoder(isoform::rules().missing(ISO_MISSING_ZERO));
    const type &came = decoder.decode(registry.parse(bytes));
    CHECK(came.level == 0.5 && came.count == 7 && came.name == std::string_view("none") && came.on &&
          came.kind == typeKind::a_b);

    isoform::document document(folder + "everything.xsd", "type");
    CHECK(document.format().token() == isoform::format::of<type>().token());
    const std::string xml =
        "<type><match>x</match><level>1.25</level><count>7</count><name/><on>false</on><kind>self</kind>"
        "<at>1970-01-01T00:00:00Z</at><raw>AP8H</raw><parts><x>2</x></parts><tags>a</tags><tags>b</tags></type>";
    const std::string without =
        "<type><match>x</match><at>1970-01-01T00:00:00Z</at><raw/><tags>a</tags><tags>b</tags></type>";
    const auto message = document.of_xml(without);
    CHECK(message["level"].real == 0.5 && message["count"].integer == 7 && message["name"].text() == "none");
    const std::string again = document.xml(document.of_json(document.json(document.of_xml(xml))));
    CHECK(again == document.xml(document.of_xml(again)) && again.find("<kind>self</kind>") != std::string::npos);
    THROWS(document.of_xml("<type/>"), ISO_REQUIRED, "match");
    THROWS(document.of_json("{\"match\":\"x\"}"), ISO_REQUIRED, "at");
}

/* Many records in one text, which comes in pieces. */
static void texts(const isoform::document &document) {
    for (const bool is_json : {false, true}) {
        const std::string all = is_json ? "{\"level\": 1, \"flow\": 2}\n\n{\"level\": 3, \"flow\": 4}\n{\"level\": true}"
                                        : "<river><Gauge><level>1</level><flow>2</flow></Gauge>\n"
                                          "<Gauge><level>3</level><flow>4</flow></Gauge><Gauge/></river>";
        std::size_t given = 0;
        const auto give = [&](std::span<std::byte> room) {
            const std::size_t count = std::min({room.size(), all.size() - given, std::size_t{5}});
            std::memcpy(room.data(), all.data() + given, count);
            given += count;
            return count;
        };
        auto records = is_json ? isoform::texts::json(document, give) : isoform::texts::xml(document, give, "river");
        CHECK(records.next()["flow"].real == 2);
        CHECK(records.next()["flow"].real == 4);
        THROWS(records.next(), is_json ? ISO_TEXT : ISO_REQUIRED, "level");
        CHECK(!records.next());
    }
    struct broken {};
    auto records = isoform::texts::json(document, [](std::span<std::byte>) -> std::size_t { throw broken(); });
    bool is_thrown = false;
    try {
        records.next();
    } catch (const broken &) {
        is_thrown = true;
    }
    CHECK(is_thrown);
}

/* A thread that tells of a format, and of its change. */
template <class F> static void in_a_thread(const std::string &path, F &&change) {
    std::mutex lock;
    std::condition_variable told;
    std::vector<std::size_t> sizes;
    {
        const isoform::watching watching(isoform::watch(path, "Gauge", std::chrono::milliseconds(1)),
                                         [&](std::optional<isoform::format> found, const isoform::error *failed) {
                                             const std::lock_guard guard(lock);
                                             CHECK(found.has_value() == (failed == nullptr));
                                             if (found) /* a look at the file may come while it is written */
                                                 sizes.push_back(found->size());
                                             told.notify_all();
                                         });
        std::unique_lock guard(lock);
        told.wait(guard, [&] { return !sizes.empty(); });
        CHECK(sizes.back() == 16);
        change();
        told.wait(guard, [&] { return sizes.back() == 4; });
    }
    CHECK(sizes.back() == 4);
}

/* The options of loading, and a watch. */
static void watched(const std::string &path) {
    const auto write = [&](const char *text) { CHECK((std::ofstream(path) << text << std::flush).good()); };
    write("struct Gauge { double level; };");
    iso_document_options options{};
    options.schemes = "https";
    THROWS(isoform::format::load(path, "Gauge", options), ISO_FORBIDDEN, "");
    THROWS(isoform::document(path, "Gauge", options), ISO_FORBIDDEN, "");
    options.schemes = "file";
    options.layout = "s390x";
    CHECK(isoform::document(path, "Gauge", options).format().token() ==
          isoform::format::load(path, "Gauge", options).token());
    CHECK(isoform::format::load(path, "Gauge").size() == 8);
    isoform::watch watch(path, "Gauge", std::chrono::milliseconds(0), options);
    CHECK(watch.poll()->size() == 8);
    CHECK(!watch.poll());
    write("struct Gauge { double level; double flow; };");
    CHECK(watch.check()->size() == 16);
    CHECK(watch.due() == std::chrono::milliseconds(0));
    texts(isoform::document(path, "Gauge"));
    in_a_thread(path, [&] { write("struct Gauge { long step; };"); });
    write("struct Gauge {");
    const auto outcome = isoform::attempt([&] { return watch.poll(); });
    CHECK(outcome.index() == 1 && std::get<1>(outcome).code() == ISO_DECLARATION);
    CHECK(!watch.poll());
    CHECK(std::remove(path.c_str()) == 0);
}

int main(int, char **arguments) {
    const std::string folder = std::string(arguments[1]) + "/";
    CHECK(isoform::format::of<Track>().token() == isoform::format::load(folder + "track.idl", "Track").token());
    CHECK(isoform::format::of<type>().token() == isoform::format::load(folder + "everything.xsd", "type").token());
    /* The vectors are those of a machine of this kind. */
    if (std::endian::native != std::endian::little || sizeof(void *) != 8)
        return 0;
    back_and_forth<Track>(folder + "track.bin", [](const Track &track) {
        CHECK(track.on && track.ull == 18000000000000000000u && track.c == 'q' &&
              track.name == std::string_view("Old Mill"));
        CHECK(track.colour == TrackColour::GREEN && track.ends[1].x == 3 && track.grid[1][2] == 6);
        CHECK(track.samples_len == 3 && track.samples[1] == -0.25f && track.path[1].x == 5 && *track.maybe == 2.5);
        CHECK(!track.other);
    });
    back_and_forth<type>(folder + "everything.bin", [](const type &all) {
        CHECK(all.level == 1.25 && all.kind == typeKind::self && all.raw_len == 3 && all.raw[1] == 255);
        CHECK(all.parts[0].note == std::string_view("one") && !all.parts[1].note && all.tags[1] == std::string_view("blue"));
        CHECK(!all.maybe && all.part->x == 0.5);
    });
    defaults(folder);
    watched(std::string(arguments[0]) + ".idl");
    return 0;
}
