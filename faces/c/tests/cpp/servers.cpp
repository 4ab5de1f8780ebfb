/* Unknown formats: found by a function of the program, and not found at a server that is not there. tests/languages has a real
   server, and ../c/servers.c wrong ones. */
#include "check.hpp"

#include <cstring>
#include <string>
#include <vector>

namespace {

struct Gauge {
    int step;
    double depth;
};

std::vector<std::byte> described() {
    const auto description = isoform::format::of<Gauge>().description();
    return {description.begin(), description.end()};
}

/* A message of the record, which does not contain its format. */
std::vector<std::byte> message() {
    isoform::encoder<Gauge> encoder;
    const auto bytes = encoder.whole({7, 0.5});
    std::vector<std::byte> whole(bytes.begin(), bytes.end());
    whole.resize((whole.size() + 15) / 16 * 16);
    return whole;
}

/* A reader of this many messages. */
isoform::reader reader(int times) {
    return isoform::reader([bytes = message(), times](std::span<std::byte> room) mutable {
        if (times == 0)
            return std::size_t{0};
        --times;
        CHECK(room.size() >= bytes.size());
        std::memcpy(room.data(), bytes.data(), bytes.size());
        return bytes.size();
    });
}

void found_by_the_program() {
    int asked = 0;
    bool known = false;
    auto from = reader(2);
    from.set_resolver([&](const std::array<unsigned char, 16> &token) {
        ++asked;
        CHECK(token == isoform::format::of<Gauge>().token());
        return known ? described() : std::vector<std::byte>();
    });
    isoform::decoder<Gauge> decoder;
    THROWS(from.read(decoder), ISO_UNKNOWN_FORMAT, "");
    CHECK(from.goes_on());
    known = true;
    const Gauge *record = from.read(decoder);
    CHECK(record && record->step == 7 && record->depth == 0.5 && asked == 2 && !from.read(decoder));

    isoform::registry registry;
    isoform::registry other = registry.share();
    registry.set_resolver([](const std::array<unsigned char, 16> &) { return described(); });
    const auto bytes = message();
    CHECK(decoder.decode(other.parse(bytes)).step == 7);
}

/* An exception of the function comes out where the library was called, and not again. */
void exceptions_pass() {
    auto from = reader(2);
    bool throws = true;
    from.set_resolver([&](const std::array<unsigned char, 16> &) {
        if (throws)
            throw std::runtime_error("no time");
        return described();
    });
    isoform::decoder<Gauge> decoder;
    bool thrown = false;
    try {
        from.read(decoder);
    } catch (const isoform::error &) {
        CHECK(!"an error of the library");
    } catch (const std::runtime_error &failure) {
        thrown = failure.what() == std::string("no time");
    }
    throws = false;
    CHECK(thrown && from.goes_on() && from.read(decoder)->step == 7);

    isoform::registry registry;
    registry.set_resolver([](const std::array<unsigned char, 16> &) -> std::vector<std::byte> { throw 5; });
    const auto bytes = message();
    int number = 0;
    try {
        registry.parse(bytes);
    } catch (int thrown_number) {
        number = thrown_number;
    }
    CHECK(number == 5);
}

void no_server_is_there() {
    const isoform::servers servers("http://127.0.0.1:1");
    auto from = reader(1);
    from.set_servers(servers);
    isoform::decoder<Gauge> decoder;
    THROWS(from.read(decoder), ISO_IO, "");
    CHECK(from.goes_on());
    THROWS(servers.put(isoform::format::of<Gauge>()), ISO_IO, "");
    std::vector<std::byte> written;
    isoform::writer to([&](std::span<const std::byte> bytes) { written.insert(written.end(), bytes.begin(), bytes.end()); });
    to.set_servers(servers);
    to.write(Gauge{7, 0.5}); // described in the stream
    std::vector<std::byte> described;
    isoform::writer plain(
        [&](std::span<const std::byte> bytes) { described.insert(described.end(), bytes.begin(), bytes.end()); });
    plain.write(Gauge{7, 0.5});
    CHECK(!written.empty() && written == described);
    THROWS(isoform::servers("formats:7460"), ISO_ADDRESS, "");
}

} // namespace

int main() {
    found_by_the_program();
    exceptions_pass();
    no_server_is_there();
    return 0;
}
