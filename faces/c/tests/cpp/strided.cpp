/* Arrays whose elements are not side by side, sent and received. */
#include "check.hpp"

struct Gauge {
    double level;
    int id;
};
struct Profile {
    int step;
    std::span<const double> level;
    std::size_t rows, columns;
    const float *block;
    std::array<std::array<float, 3>, 2> fixed;
};
ISOFORM_RECORD(Profile, step, level, rows, columns, (block, .type = "f32[rows][columns]"), fixed)

/* As std::mdspan, which C++20 lacks. */
template <class T> struct View {
    T *first;
    std::array<std::size_t, 2> dims;
    std::array<std::size_t, 2> strides;
    static constexpr std::size_t rank() { return 2; }
    T *data_handle() const { return first; }
    std::size_t extent(std::size_t d) const { return dims[d]; }
    std::size_t stride(std::size_t d) const { return strides[d]; }
};

int main() {
    std::vector<Gauge> gauges(5);
    for (int i = 0; i < 5; ++i)
        gauges[static_cast<std::size_t>(i)] = {0.5 + i, i};
    std::array<std::array<float, 6>, 4> matrix;
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 6; ++j)
            matrix[i][j] = static_cast<float>(10 * i + j);
    const Profile record{7, {}, 0, 0, nullptr, {}};
    isoform::scratch scratch;
    const View<const float> block{&matrix[1][2], {3, 2}, {6, 2}};
    const Profile &gathered =
        scratch.gather(record, {isoform::strided("level", gauges, &Gauge::level), isoform::strided("block", block),
                                isoform::strided("fixed", &matrix[0][0], {2, 3}, {4, 24})});
    CHECK(gathered.step == 7 && gathered.level.size() == 5 && gathered.level[4] == 4.5);

    isoform::encoder<Profile> encoder;
    isoform::decoder<Profile> decoder;
    isoform::registry registry;
    registry.add(isoform::format::of<Profile>());
    const Profile &came = decoder.decode(registry.parse(encoder.whole(gathered)));
    CHECK(came.rows == 3 && came.columns == 2 && came.block[0] == 12 && came.block[5] == 34 && came.fixed[1][2] == 21);

    std::array<Gauge, 8> room{};
    const auto level = isoform::scatter(came, isoform::strided("level", room, &Gauge::level));
    CHECK(level.dims[0] == 5 && room[4].level == 4.5 && room[5].level == 0 && room[4].id == 0);
    float square[4][4] = {};
    isoform::scatter(came, isoform::strided("block", &square[0][3], {4, 4}, {16, -4}));
    CHECK(square[0][3] == 12 && square[0][2] == 14 && square[2][2] == 34 && square[0][1] == 0);
    THROWS(isoform::scatter(came, isoform::strided("level", std::span(room).first(4), &Gauge::level)), ISO_TOO_LONG,
           "level");
    THROWS(scratch.gather(record, {isoform::strided("level", gauges, &Gauge::id)}), ISO_WRONG_TYPE, "level");
    std::vector<Gauge> none;
    CHECK(scratch.gather(record, {isoform::strided("level", none, &Gauge::level)}).level.empty());
    try {
        isoform::strided("level", &matrix[0][0], {1, 2}, {4});
        CHECK(false);
    } catch (const std::invalid_argument &) {
    }
}
