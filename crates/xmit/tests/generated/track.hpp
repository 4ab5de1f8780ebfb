// Records that a document declares, for isoform.hpp: isoform::format::of<T>() is the format of each.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <isoform.hpp>

struct Place {
    double x;
    double y;
};
ISOFORM_RECORD(Place,
    x,
    y)

enum class TrackColour : std::int32_t {
    RED = 0,
    GREEN = 1,
};
ISOFORM_ENUMERATION(TrackColour, RED, GREEN)

struct Track {
    bool on;
    std::uint8_t small;
    std::int8_t tiny;
    std::int16_t s;
    std::uint16_t us;
    std::int32_t l;
    std::uint32_t ul;
    std::int64_t ll;
    std::uint64_t ull;
    float f;
    double d;
    char c;
    const char *name;
    TrackColour colour;
    Place at;
    std::array<Place, 2> ends;
    std::array<std::array<float, 4>, 3> grid;
    const float *samples;
    std::uint64_t samples_len;
    const Place *path;
    std::uint64_t path_len;
    const double *maybe;
    const Place *other;
};
ISOFORM_RECORD(Track,
    on,
    small,
    tiny,
    s,
    us,
    l,
    ul,
    ll,
    ull,
    f,
    (d, .unit = "m/s"),
    c,
    name,
    colour,
    at,
    ends,
    grid,
    (samples, .length = "samples_len"),
    samples_len,
    (path, .length = "path_len"),
    path_len,
    maybe,
    other)
