/* isoform_record.hpp - the table of a C++ struct, for isoform.hpp.

   A struct needs no table if its members are public and it has no constructor, no base and no C array: the compiler
   finds its members. Describe any other standard-layout struct after its definition, in its namespace:

       struct Sample { int step; const char *station; float depth[3]; double tide; };
       ISOFORM_RECORD(Sample, step, station, (depth, .unit = "m"), (tide, .name = "level"))

   Parentheses around a member add these properties, in this order. There is no other way to state them:

       .name     the name of the field in the format, if it differs from the member's
       .unit     such as "m/s"
       .length   for a pointer: the member that holds the number of elements; for a std::span: the name of its length
                 field, which by default is the name of the member and _len
       .type     the type, as in the tables of isoform.h, if the C++ type does not determine it: "enumeration{red,green}"
       .standard the default for senders that lack the field, as JSON: (tide, .standard = "11.5"); "" for 0, null and empty.
                 (.default would be no C++)

   Members may be

   - bool, char, integers, floats, std::complex, enumerations, other records;
   - const char * (a string, or null);
   - std::array, C arrays and std::span of all these;
   - pointers to one element, or to .length elements, of all these.

   An enumeration is sent as an integer, unless its symbols are listed after its definition, in its namespace:

       enum class Light : unsigned char { off, on = 7 };
       ISOFORM_ENUMERATION(Light, off, on)

   Then it is an enumeration, which receivers match by the names of its symbols. A value without a symbol is refused.

   Give a struct within a record a name. That of an unnamed one differs from compiler to compiler, and two unnamed ones in a
   record clash.

   Types that own memory (std::string, std::vector) are not supported, since records are sent as they are in memory.

   Licensed under either of MIT or Apache-2.0 at your option.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_RECORD_HPP
#define ISOFORM_RECORD_HPP

#include "isoform.h"

#if defined(_MSVC_TRADITIONAL) && _MSVC_TRADITIONAL
#error "isoform.hpp needs the conforming preprocessor: compile with /Zc:preprocessor"
#endif

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <cstring>
#include <deque>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace isoform {

/* The properties of a member besides its type. */
struct note {
    const char *name = nullptr;
    const char *unit = nullptr;
    const char *length = nullptr;
    const char *type = nullptr;
    const char *standard = nullptr;
};

namespace detail {

template <class T> struct of {
    using type = T;
};

/* ---- Names of types and members, from the compiler. ---- */

constexpr std::string_view last_word(std::string_view text) {
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const auto end = text.find_last_of(letters);
    const auto begin = text.find_last_not_of(letters, end);
    return text.substr(begin + 1, end - begin);
}

template <class T> constexpr const char *written_type() { return ISO_SIGNATURE; }
template <auto Member> constexpr const char *written_member() { return ISO_SIGNATURE; }

/* The type in the signature of written_type. GCC and Clang write "[with T = Point]" or "[T = Point]" at its end, and
   Microsoft's compiler "written_type<struct Point>(void)". */
constexpr std::string_view type_in(std::string_view signature) {
    if (const auto named = signature.find("T = "); named != std::string_view::npos)
        return signature.substr(named + 4, signature.rfind(']') - named - 4);
    constexpr std::string_view function = "written_type<";
    const auto begin = signature.find(function) + function.size();
    return signature.substr(begin, signature.rfind('>') - begin);
}

/* The member in the signature of written_member: its last word, but for the "(void)" of Microsoft's compiler. */
constexpr std::string_view member_in(std::string_view signature) {
    return last_word(signature.ends_with("(void)") ? signature.substr(0, signature.size() - 6) : signature);
}

/* The last word of a type's name. For a template, with its arguments, so that different types have different names. All
   compilers lead to the same name. */
inline std::string name_in(std::string_view type) {
    const auto begins = type.find('<');
    std::string name(last_word(type.substr(0, begins)));
    if (begins == std::string_view::npos)
        return name;
    for (auto rest = type.substr(begins, type.rfind('>') + 1 - begins); !rest.empty(); rest.remove_prefix(1)) {
        const bool starts = name.back() == '_';
        for (const std::string_view word : {"struct ", "class ", "enum ", "union "})
            if (starts && rest.starts_with(word))
                rest.remove_prefix(word.size());
        name += last_word(rest.substr(0, 1)).empty() ? '_' : rest.front();
        /* GCC and Clang write a space after a comma, and before a second '>' they do not. */
        if (rest.front() == ',' && !rest.starts_with(", "))
            name += '_';
    }
    return name;
}
template <class T> std::string name_of() { return name_in(type_in(written_type<T>())); }

/* ---- The members of a struct, from the ways to initialise it and to destructure it. ---- */

struct any {
    template <class T> operator T() const;
};
template <std::size_t> using any_at = any;

template <class T, std::size_t... I> constexpr bool made_of(std::index_sequence<I...>) {
    return requires { T{any_at<I>{}...}; };
}
/* Tries two initialisers in braces at place I, which only an array or a struct accepts, and J more after them. */
template <class T, std::size_t... I, std::size_t... J>
constexpr bool made_of(std::index_sequence<I...>, std::index_sequence<J...>) {
    return requires { T{any_at<I>{}..., {any{}, any{}}, any_at<J>{}...}; };
}

constexpr std::size_t most_members = 32;

template <class T, std::size_t N = most_members> constexpr std::size_t members() {
    if constexpr (N == 0 || made_of<T>(std::make_index_sequence<N>()))
        return N;
    else
        return members<T, N - 1>();
}

/* An array takes as many initialisers as it has elements. So with two of them in braces, too many follow. */
template <class T, std::size_t I = 0> constexpr bool has_array() {
    if constexpr (I >= members<T>())
        return false;
    else if constexpr (made_of<T>(std::make_index_sequence<I>(), std::index_sequence<>()) &&
                       !made_of<T>(std::make_index_sequence<I>(), std::make_index_sequence<members<T>() - I - 1>()))
        return true;
    else
        return has_array<T, I + 1>();
}

#define ISOFORM_TAKE(count, ...) \
    else if constexpr (members<T>() == count) { \
        auto &[__VA_ARGS__] = record; \
        return std::tie(__VA_ARGS__); \
    }
#define ISOFORM_8(x) x##0, x##1, x##2, x##3, x##4, x##5, x##6, x##7
template <class T> constexpr auto taken_apart(T &record) {
    if constexpr (members<T>() == 0)
        return std::tuple<>();
    ISOFORM_TAKE(1, a0)
    ISOFORM_TAKE(2, a0, a1)
    ISOFORM_TAKE(3, a0, a1, a2)
    ISOFORM_TAKE(4, a0, a1, a2, a3)
    ISOFORM_TAKE(5, a0, a1, a2, a3, a4)
    ISOFORM_TAKE(6, a0, a1, a2, a3, a4, a5)
    ISOFORM_TAKE(7, a0, a1, a2, a3, a4, a5, a6)
    ISOFORM_TAKE(8, ISOFORM_8(a))
    ISOFORM_TAKE(9, ISOFORM_8(a), b0)
    ISOFORM_TAKE(10, ISOFORM_8(a), b0, b1)
    ISOFORM_TAKE(11, ISOFORM_8(a), b0, b1, b2)
    ISOFORM_TAKE(12, ISOFORM_8(a), b0, b1, b2, b3)
    ISOFORM_TAKE(13, ISOFORM_8(a), b0, b1, b2, b3, b4)
    ISOFORM_TAKE(14, ISOFORM_8(a), b0, b1, b2, b3, b4, b5)
    ISOFORM_TAKE(15, ISOFORM_8(a), b0, b1, b2, b3, b4, b5, b6)
    ISOFORM_TAKE(16, ISOFORM_8(a), ISOFORM_8(b))
    ISOFORM_TAKE(17, ISOFORM_8(a), ISOFORM_8(b), c0)
    ISOFORM_TAKE(18, ISOFORM_8(a), ISOFORM_8(b), c0, c1)
    ISOFORM_TAKE(19, ISOFORM_8(a), ISOFORM_8(b), c0, c1, c2)
    ISOFORM_TAKE(20, ISOFORM_8(a), ISOFORM_8(b), c0, c1, c2, c3)
    ISOFORM_TAKE(21, ISOFORM_8(a), ISOFORM_8(b), c0, c1, c2, c3, c4)
    ISOFORM_TAKE(22, ISOFORM_8(a), ISOFORM_8(b), c0, c1, c2, c3, c4, c5)
    ISOFORM_TAKE(23, ISOFORM_8(a), ISOFORM_8(b), c0, c1, c2, c3, c4, c5, c6)
    ISOFORM_TAKE(24, ISOFORM_8(a), ISOFORM_8(b), ISOFORM_8(c))
}
#undef ISOFORM_8
#undef ISOFORM_TAKE
constexpr std::size_t most_found = 24;

/* A record that is used only for the places of its members. */
template <class T> struct sample {
    T record{};
};
template <class T> inline const sample<T> sampled{};
/* Whether each member has an address. Bit-fields have none. */
template <class T, std::size_t... I> constexpr bool has_addresses(std::index_sequence<I...>) {
    return (requires { written_member<&std::get<I>(taken_apart(sampled<T>.record))>(); } && ...);
}

/* A text as an argument of a template, so that compilers show it in their errors. */
template <std::size_t N> struct literal {
    char text[N]{};
    constexpr literal(const char (&from)[N]) { std::copy_n(from, N, text); }
    constexpr literal(const char *from, std::size_t length) { std::copy_n(from, length, text); }
};
template <class T, std::size_t I> constexpr auto member_name() {
    constexpr std::string_view name = member_in(written_member<&std::get<I>(taken_apart(sampled<T>.record))>());
    return literal<name.size() + 1>(name.data(), name.size());
}

/* Integers of 16 bytes. Without GNU's extensions, the standard library does not count them as integers. */
#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 signed_wide;
__extension__ typedef unsigned __int128 unsigned_wide;
template <class T> inline constexpr bool is_wide = std::is_same_v<T, signed_wide> || std::is_same_v<T, unsigned_wide>;
#else
struct signed_wide;
template <class T> inline constexpr bool is_wide = false;
#endif

/* ---- Why a type cannot be in a record. ---- */

enum class fault {
    none,
    text,
    span,
    optional,
    variant,
    time,
    owner,
    library,
    pointer,
    untyped,
    function,
    either,
    virtuals,
    places,
    copies,
    other
};

/* Whether T is a type of the standard library whose name begins with this text. */
template <class T> constexpr bool is_of_library(std::string_view begin) {
    std::string_view name = type_in(written_type<T>());
    for (const std::string_view word : {"struct ", "class ", "std::"})
        if (name.starts_with(word))
            name.remove_prefix(word.size());
        else if (word == "std::")
            return false;
    for (const std::string_view version : {"__1::", "__cxx11::"})
        if (name.starts_with(version))
            name.remove_prefix(version.size());
    return name.starts_with(begin);
}

template <class T> struct is_span : std::false_type {};
template <class T, std::size_t N> struct is_span<std::span<T, N>> : std::true_type {};

template <class T> constexpr fault fault_of() {
    if constexpr (std::is_void_v<T>)
        return fault::untyped;
    else if constexpr (std::is_function_v<T>)
        return fault::function;
    else if constexpr (std::is_pointer_v<T>)
        return fault::pointer;
    else if constexpr (std::is_union_v<T>)
        return fault::either;
    else if constexpr (!std::is_class_v<T>)
        return fault::other;
    else
        return is_of_library<T>("basic_string_view<") ? fault::text
               : is_span<T>::value                    ? fault::span
               : is_of_library<T>("optional<")        ? fault::optional
               : is_of_library<T>("variant<")         ? fault::variant
               : is_of_library<T>("chrono::")         ? fault::time
               : std::is_polymorphic_v<T>             ? fault::virtuals
               : !std::is_trivially_destructible_v<T> ? fault::owner
               : is_of_library<T>("")                 ? fault::library
               : !std::is_standard_layout_v<T>        ? fault::places
               : !std::is_trivially_copyable_v<T>     ? fault::copies
                                                      : fault::none;
}

/* ---- Tables. ---- */

class table;

template <class T>
concept described = requires(of<T> which, table &rows) { isoform_members(which, rows); };

/* Mistakes in ISOFORM_RECORD that the compiler cannot parse. By the text, the macro can say what is wrong before that. */
enum class mistake { none, nothing, quotes, keyword };
constexpr mistake mistake_in(std::string_view members) {
    bool is_quoted = false;
    int depth = 0;
    for (std::size_t at = 0; at < members.size(); ++at) {
        const char letter = members[at];
        if (letter == '"' && depth == 0)
            return mistake::quotes;
        if (!is_quoted && members.substr(at).starts_with(".default"))
            return mistake::keyword;
        if (letter == '\\')
            ++at;
        else if (letter == '"')
            is_quoted = !is_quoted;
        else if (!is_quoted)
            depth += letter == '(' ? 1 : letter == ')' ? -1 : 0;
    }
    return members.empty() ? mistake::nothing : mistake::none;
}

/* Whether the symbols of an enumeration are listed. */
template <class T>
concept symbolic = requires(of<T> which) { isoform_symbols(which); };

/* A symbol, as tables have it. */
template <class T, literal Name, class Value> std::string symbol(Value) {
    constexpr bool is_symbol = std::is_invocable_v<Value, of<T>>;
    static_assert(is_symbol, "ISOFORM_ENUMERATION lists something that is no symbol of the enumeration");
    if constexpr (is_symbol) {
        constexpr T value = std::invoke_result_t<Value, of<T>>::value;
        return std::string(Name.text) + "=" + std::to_string(static_cast<std::underlying_type_t<T>>(value));
    } else {
        return {};
    }
}

/* The place of a member of this type. Only a member with an address has a pointer to it. */
template <class Member, class Pointer> struct place {
    using type = Member;
    std::size_t offset;
};

/* Structures, each after those that it nests. The memory that their rows point at never moves. */
class table {
public:
    template <class T> static table with() {
        constexpr bool is_pointer = std::is_pointer_v<T>, is_many = std::ranges::range<T>;
        static_assert(!is_pointer, "a record is a struct: give the struct itself, and not a pointer to it");
        static_assert(!is_many, "this takes one record. For many, writers have write_many, and sources have submit_many");
        table all;
        if constexpr (!is_pointer && !is_many)
            all.structure<T>();
        return all;
    }

    /* Adds a row for a member that ISOFORM_RECORD lists. The two functions return its place and its properties. If there is no such
       member or property, they cannot be called. Then a single assertion says so, instead of an error from each macro. */
    template <class Struct, literal Name, class Place, class Said> void put(Place place, Said said) {
        constexpr bool is_member = std::is_invocable_v<Place, of<Struct>>, is_said = std::is_invocable_v<Said, of<note>>;
        static_assert(
            is_member,
            "ISOFORM_RECORD lists something that is no public member of the struct, or is a reference or a bit-field");
        static_assert(is_said,
                      "the properties of a member are .name, .unit, .length, .type and .standard: texts, in this order");
        if constexpr (is_member && is_said) {
            const auto at = place(of<Struct>());
            named<Struct, Name, typename decltype(place(of<Struct>()))::type>(at.offset, said(of<note>()));
        }
    }

    /* The same, as a function whose template arguments have the member's name, so that compilers show it in their errors. */
    template <class Struct, literal Name, class Member> void named(std::size_t offset, const note &said) {
        add<Member>(Name.text, offset, said);
    }

    /* Adds a row for a member of the current structure. */
    template <class Member> void add(const char *name, std::size_t offset, const note &said) {
        const char *called = said.name ? said.name : text(name);
        if constexpr (is_dynamic_span<Member>::value) {
            using Element = std::remove_cv_t<typename Member::value_type>;
            const char *length = said.length ? said.length : text(std::string(called) + "_len");
            const std::size_t first = pointer_first() ? 0 : sizeof(void *);
            const std::string type = said.type ? said.type : type_of<Element>() + "[" + length + "]";
            row(called, type, said.type ? 0 : size_of<Element>(), offset + first, said.unit, sizeof(void *), said.standard);
            row(length, "size_t", 0, offset + sizeof(void *) - first, nullptr, sizeof(std::size_t));
        } else if (said.type) {
            row(called, said.type, 0, offset, said.unit, sizeof(Member), said.standard);
        } else if constexpr (std::is_pointer_v<Member> && !is_text<Member>) {
            using Target = std::remove_cv_t<std::remove_pointer_t<Member>>;
            const std::string type = type_of<Target>() + (said.length ? "[" + std::string(said.length) + "]" : "*");
            row(called, type, size_of<Target>(), offset, said.unit, sizeof(Member), said.standard);
        } else {
            row(called, type_of<Member>(), size_of<Member>(), offset, said.unit, sizeof(Member), said.standard);
        }
    }

    std::vector<iso_structure> structures() const {
        std::vector<iso_structure> all;
        for (const one &structure : structures_)
            all.push_back({structure.name.c_str(), structure.size, structure.alignment, structure.rows.data(),
                           structure.rows.size(), nullptr});
        return all;
    }

private:
    struct one {
        std::string name;
        std::size_t size, alignment;
        std::vector<iso_field> rows;
    };
    template <class T> struct is_dynamic_span : std::false_type {};
    template <class T> struct is_dynamic_span<std::span<T>> : std::true_type {};
    template <class T> struct is_array : std::false_type {};
    template <class T, std::size_t N> struct is_array<std::array<T, N>> : std::true_type {};
    template <class T> struct is_complex : std::false_type {};
    template <class T> struct is_complex<std::complex<T>> : std::true_type {};
    template <class T>
    static constexpr bool is_text = std::is_pointer_v<T> && std::is_same_v<std::remove_cv_t<std::remove_pointer_t<T>>, char>;

    /* Whether the pointer of a span is its first word. The standard does not define that. */
    static bool pointer_first() {
        static_assert(sizeof(std::span<char>) == 2 * sizeof(void *) && sizeof(void *) == sizeof(std::size_t));
        char here = 0;
        const std::span<char> some(&here, 1);
        const void *first = nullptr;
        std::memcpy(&first, &some, sizeof first);
        return first == &here;
    }

    /* The size of one element; 0 if the type determines it. */
    template <class T> static constexpr std::size_t size_of() {
        if constexpr (std::is_array_v<T>)
            return size_of<std::remove_all_extents_t<T>>();
        else if constexpr (is_array<T>::value)
            return size_of<typename T::value_type>();
        else if constexpr (is_complex<T>::value || symbolic<T>)
            return sizeof(T);
        else
            return 0;
    }

    template <class T> std::string type_of() {
        if constexpr (std::is_same_v<T, bool>)
            return "bool";
        else if constexpr (std::is_same_v<T, char>)
            return "char";
        else if constexpr (std::is_same_v<T, long double>)
            return "long double";
        else if constexpr (std::is_floating_point_v<T>)
            return "f" + std::to_string(8 * sizeof(T));
        else if constexpr (symbolic<T>)
            return (std::is_signed_v<std::underlying_type_t<T>> ? "enumeration{" : "unsigned enumeration{") +
                   isoform_symbols(of<T>()) + "}";
        else if constexpr (std::is_enum_v<T>)
            return type_of<std::underlying_type_t<T>>();
        else if constexpr (std::is_integral_v<T>)
            return (std::is_signed_v<T> ? "i" : "u") + std::to_string(8 * sizeof(T));
        else if constexpr (is_wide<T>)
            return std::is_same_v<T, signed_wide> ? "i128" : "u128";
        else if constexpr (is_complex<T>::value)
            return "complex float";
        else if constexpr (is_text<T>)
            return "string";
        else if constexpr (std::is_array_v<T> || is_array<T>::value)
            return array_type<T>();
        else
            return structure<T>();
    }

    /* The outer dimension comes first. */
    template <class T> std::string array_type() {
        using Element = std::remove_cvref_t<decltype(std::declval<T &>()[0])>;
        const std::string inner = type_of<Element>();
        const auto dimensions = inner.find('[');
        const std::string own = "[" + std::to_string(sizeof(T) / sizeof(Element)) + "]";
        return dimensions == std::string::npos ? inner + own : inner.substr(0, dimensions) + own + inner.substr(dimensions);
    }

    /* Each type that is refused has one reason: its members are not looked at then. */
    template <class T> std::string structure() {
        constexpr fault why = fault_of<T>();
        static_assert(why != fault::text, "use const char * instead of std::string_view: text in a record ends with a NUL");
        static_assert(why != fault::span, "a std::span must be a member itself, not an element of an array or a span, "
                                          "and must not have a fixed size: use std::array for that");
        static_assert(why != fault::optional, "use a pointer instead of std::optional: null is no value");
        static_assert(why != fault::variant,
                      "use a struct for each kind of record instead of std::variant, and isoform::kinds");
        static_assert(why != fault::time, "use a number instead of std::chrono, with its unit: (time, .unit = \"s\")");
        static_assert(why != fault::owner,
                      "records are sent as they are in memory: nothing in them owns memory or has a destructor. "
                      "Use const char * instead of std::string, and std::span instead of std::vector");
        static_assert(why != fault::library, "a record cannot have this type of the standard library: "
                                             "use those that isoform_record.hpp lists, or a struct");
        static_assert(why != fault::pointer,
                      "no pointer to a pointer, and no array or span of pointers, except const char *");
        static_assert(why != fault::untyped, "a void * does not say what it points at: state it by .type in ISOFORM_RECORD");
        static_assert(why != fault::function, "a pointer to a function cannot be sent");
        static_assert(why != fault::either,
                      "a union does not say which member it has: state a type by .type in ISOFORM_RECORD");
        static_assert(why != fault::virtuals, "a struct with virtual functions cannot be a record");
        static_assert(why != fault::places,
                      "C++ does not define where the members of this struct are: in a record, all are public "
                      "or all private, none are in a base while others are in the struct, and none is a reference");
        static_assert(why != fault::copies, "a struct whose copies are not copies of its memory cannot be a record");
        static_assert(why != fault::other, "this type cannot be in a record: isoform_record.hpp lists those that can");
        if constexpr (why == fault::none)
            return plain_structure<T>();
        else
            return {};
    }

    template <class T> std::string plain_structure() {
        const std::string name = name_of<T>();
        if (std::find(begun_.begin(), begun_.end(), &written_type<T>) != begun_.end())
            return name;
        begun_.push_back(&written_type<T>);
        std::vector<iso_field> outer = std::exchange(rows_, {});
        if constexpr (described<T>)
            isoform_members(of<T>(), *this);
        else
            found<T>();
        structures_.push_back({name, sizeof(T), alignof(T), std::exchange(rows_, std::move(outer))});
        return name;
    }

    template <class T> void found() {
        if constexpr (!std::is_aggregate_v<T>) {
            static_assert(std::is_aggregate_v<T>,
                          "describe a struct with constructors by ISOFORM_RECORD, after it and in its "
                          "namespace. Private members cannot be sent");
        } else if constexpr (has_array<T>()) {
            static_assert(!has_array<T>(),
                          "describe a struct with C arrays by ISOFORM_RECORD, after it and in its namespace, "
                          "or use std::array");
        } else if constexpr (!requires { T{}; }) {
            static_assert(!std::is_class_v<T>, "a member cannot be made without a value: use std::array instead of a "
                                               "std::span of a fixed size");
        } else if constexpr (members<T>() > most_found) {
            static_assert(members<T>() <= most_found,
                          "describe a struct of more than 24 members by ISOFORM_RECORD, after it and "
                          "in its namespace");
        } else if constexpr (!has_addresses<T>(std::make_index_sequence<members<T>()>())) {
            static_assert(!std::is_class_v<T>,
                          "a bit-field has no address, and a member of an unnamed union has no "
                          "place of its own: use an integer, or ISOFORM_RECORD with the members to send");
        } else {
            const T record{};
            const auto all = taken_apart(record);
            const auto *begin = reinterpret_cast<const char *>(&record);
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (named<T, member_name<T, I>(), std::remove_cvref_t<decltype(std::get<I>(all))>>(
                     static_cast<std::size_t>(reinterpret_cast<const char *>(&std::get<I>(all)) - begin), {}),
                 ...);
            }(std::make_index_sequence<members<T>()>());
        }
    }

    void row(const char *name, const std::string &type, std::size_t size, std::size_t offset, const char *unit,
             std::size_t extent, const char *standard = nullptr) {
        rows_.push_back({name, text(type), size, offset, unit, extent, standard, nullptr, {0, 0, 0}, 0, nullptr, nullptr});
    }
    const char *text(std::string kept) { return texts_.emplace_back(std::move(kept)).c_str(); }

    std::deque<std::string> texts_;
    std::vector<const char *(*)()> begun_;
    std::vector<one> structures_;
    std::vector<iso_field> rows_;
};

} // namespace detail
} // namespace isoform

/* What follows are macros only. Of those that are in a system header, compilers do not name each one on the way to a fault. */
#if defined(__GNUC__)
#pragma GCC system_header
#endif

/* Describes a struct: its name, and its members, each alone or in parentheses with its properties. */
#define ISOFORM_RECORD(Struct, ...) \
    inline void isoform_members(::isoform::detail::of<Struct>, [[maybe_unused]] ::isoform::detail::table &rows) { \
        using ::isoform::detail::mistake; \
        static_assert(::isoform::detail::mistake_in(#__VA_ARGS__) != mistake::nothing, \
                      "list the members in ISOFORM_RECORD, after the name of the struct"); \
        static_assert(::isoform::detail::mistake_in(#__VA_ARGS__) != mistake::quotes, \
                      "list the members in ISOFORM_RECORD without quotes"); \
        static_assert(::isoform::detail::mistake_in(#__VA_ARGS__) != mistake::keyword, \
                      "the default of a member is .standard, since default is a word of C++"); \
        __VA_OPT__(ISOFORM_FROM_1(Struct, __VA_ARGS__)) \
    }
/* The first members have few macros around them, since GCC names each macro on the way to a fault. */
#define ISOFORM_FROM_1(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_2(Struct, __VA_ARGS__))
#define ISOFORM_FROM_2(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_3(Struct, __VA_ARGS__))
#define ISOFORM_FROM_3(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_4(Struct, __VA_ARGS__))
#define ISOFORM_FROM_4(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_5(Struct, __VA_ARGS__))
#define ISOFORM_FROM_5(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_6(Struct, __VA_ARGS__))
#define ISOFORM_FROM_6(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_7(Struct, __VA_ARGS__))
#define ISOFORM_FROM_7(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_FROM_8(Struct, __VA_ARGS__))
#define ISOFORM_FROM_8(Struct, first, ...) ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_REST(Struct, __VA_ARGS__))
#define ISOFORM_REST(Struct, ...) ISOFORM_EXPAND(ISOFORM_EACH(Struct, __VA_ARGS__))
#define ISOFORM_EACH(Struct, first, ...) \
    ISOFORM_MEMBER(Struct, first) __VA_OPT__(ISOFORM_AGAIN ISOFORM_PARENTHESES(Struct, __VA_ARGS__))
#define ISOFORM_AGAIN() ISOFORM_EACH
#define ISOFORM_PARENTHESES ()
#define ISOFORM_EXPAND(...) ISOFORM_EXPAND1(ISOFORM_EXPAND1(ISOFORM_EXPAND1(ISOFORM_EXPAND1(__VA_ARGS__))))
#define ISOFORM_EXPAND1(...) ISOFORM_EXPAND2(ISOFORM_EXPAND2(ISOFORM_EXPAND2(ISOFORM_EXPAND2(__VA_ARGS__))))
#define ISOFORM_EXPAND2(...) ISOFORM_EXPAND3(ISOFORM_EXPAND3(ISOFORM_EXPAND3(ISOFORM_EXPAND3(__VA_ARGS__))))
#define ISOFORM_EXPAND3(...) ISOFORM_EXPAND4(ISOFORM_EXPAND4(ISOFORM_EXPAND4(ISOFORM_EXPAND4(__VA_ARGS__))))
#define ISOFORM_EXPAND4(...) __VA_ARGS__
/* Lists the symbols of an enumeration. */
#define ISOFORM_ENUMERATION(Enumeration, ...) \
    inline std::string isoform_symbols(::isoform::detail::of<Enumeration>) { \
        return ISOFORM_EXPAND(ISOFORM_EACH_SYMBOL(Enumeration, __VA_ARGS__)); \
    }
#define ISOFORM_EACH_SYMBOL(Enumeration, first, ...) \
    ::isoform::detail::symbol<Enumeration, #first>( \
        [](auto which) -> std::integral_constant<typename decltype(which)::type, decltype(which)::type::first> { \
            return {}; \
        }) __VA_OPT__(+"," + ISOFORM_AGAIN_SYMBOL ISOFORM_PARENTHESES(Enumeration, __VA_ARGS__))
#define ISOFORM_AGAIN_SYMBOL() ISOFORM_EACH_SYMBOL
/* A member alone, or in parentheses. */
#define ISOFORM_MEMBER(Struct, member) ISOFORM_SECOND(ISOFORM_IN_PARENTHESES member, ISOFORM_ALONE, ~)(Struct, member)
#define ISOFORM_IN_PARENTHESES(...) ~, ISOFORM_NOTED
#define ISOFORM_SECOND(...) ISOFORM_SECOND_OF(__VA_ARGS__)
#define ISOFORM_SECOND_OF(first, second, ...) second
#define ISOFORM_ALONE(Struct, member) ISOFORM_PUT(Struct, member, )
#define ISOFORM_NOTED(Struct, member) ISOFORM_NOTED_AS(Struct, ISOFORM_BARE member)
#define ISOFORM_BARE(...) __VA_ARGS__
#define ISOFORM_NOTED_AS(Struct, ...) ISOFORM_NOTED_SO(Struct, __VA_ARGS__)
#define ISOFORM_NOTED_SO(Struct, member, ...) ISOFORM_PUT(Struct, member, __VA_ARGS__)
#define ISOFORM_PUT(Struct, member, ...) \
    rows.put<Struct, #member>( \
        [](auto which) -> ::isoform::detail::place<decltype(decltype(which)::type::member), \
                                                   decltype(&decltype(which)::type::member)> { \
            using Which = typename decltype(which)::type; \
            return {offsetof(Which, member)}; \
        }, \
        [](auto which) -> decltype(typename decltype(which)::type{__VA_ARGS__}) { return {__VA_ARGS__}; });

#endif /* ISOFORM_RECORD_HPP */
