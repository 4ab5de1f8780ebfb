// Records that a document declares, for isoform.hpp: isoform::format::of<T>() is the format of each.
// clang-format off
#pragma once

#include <array>
#include <cstdint>
#include <isoform.hpp>

struct Part {
    double x;
    const char *note;
};
ISOFORM_RECORD(Part,
    x,
    note)

enum class typeKind : std::int32_t {
    self = 0,
    a_b = 1,
};
ISOFORM_ENUMERATION(typeKind, self, a_b)

// A record */ with "prose".
struct type {
    const char *match;
    double level;
    std::uint8_t count;
    const char *name;
    bool on;
    typeKind kind;
    std::int64_t at;
    const std::uint8_t *raw;
    std::uint64_t raw_len;
    const std::int32_t *maybe;
    const Part *part;
    const Part *parts;
    std::uint64_t parts_len;
    std::array<const char *, 2> tags;
};
ISOFORM_RECORD(type,
    match,
    (level, .unit = "m", .standard = "0.5"),
    (count, .standard = "7"),
    (name, .standard = "\"none\""),
    (on, .standard = "true"),
    (kind, .standard = "\"a_b\""),
    (at, .unit = "ns since 1970-01-01T00:00:00Z"),
    (raw, .length = "raw_len"),
    raw_len,
    maybe,
    part,
    (parts, .length = "parts_len"),
    parts_len,
    tags)
