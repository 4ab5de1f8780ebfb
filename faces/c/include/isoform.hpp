/* isoform.hpp - Isoform for C++20, headers only, over isoform.h: exchange records as they are in memory.

   A record is a plain struct. isoform_record.hpp says which structs are records, and how to state units. This program
   writes a stream, and reads it with another struct:

       #include <isoform.hpp>
       #include <cstdio>

       struct Sample { int step; const char *station; std::span<const float> depth; };
       struct Seen { std::span<const double> depth; std::int64_t step; };

       int main() {
           const float depth[] = {0.5f, 0.25f, 2.0f};
           isoform::writer writer("river.iso");
           writer.write(Sample{7, "Old Mill", depth});
           writer.close();
           isoform::reader reader("river.iso");
           for (const Seen &record : reader.records<Seen>())
               std::printf("%d: %g\n", static_cast<int>(record.step), record.depth[2]);
       }

   Compile it like a C program with isoform.h, with c++ -std=c++20. docs/book/guides/c.md is the guide.

   HANDLES are closed by their destructors. They can be moved, but not copied, except formats. isoform.h defines how long
   lent memory is valid. In a loop over records, each record is valid until the next one.

   ERRORS are exceptions, isoform::error, with the code of spec/errors.md and the path of the field. attempt(..) returns
   errors as values.

   Licensed under either of MIT or Apache-2.0 at your option.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_HPP
#define ISOFORM_HPP

#if !defined(__cplusplus) || (__cplusplus < 202002L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 202002L))
#error "isoform.hpp is C++20: -std=c++20, or isoform.h, which is C99 and C++11"
#else /* nothing of it for others: a single error is enough */

#include "isoform.h"
#include "isoform_record.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <variant>

namespace isoform {

/* ---- Errors. ---- */

class error : public std::runtime_error {
public:
    explicit error(const iso_error &from)
        : std::runtime_error(from.text), code_(from.code), path_(from.path), expected_(from.expected), actual_(from.actual) {
        if (from.token)
            std::copy_n(from.token, 16, token_.emplace().begin());
    }
    iso_code code() const noexcept { return code_; }
    /* The cause of the error. */
    iso_class kind() const noexcept { return iso_code_class(code_); }
    /* The path of the field at fault, what was expected there, and what was found. */
    const std::string &path() const noexcept { return path_; }
    const std::string &expected() const noexcept { return expected_; }
    const std::string &actual() const noexcept { return actual_; }
    /* For ISO_UNKNOWN_FORMAT, the token whose format is unknown. */
    const std::optional<std::array<unsigned char, 16>> &token() const noexcept { return token_; }

private:
    iso_code code_;
    std::string path_, expected_, actual_;
    std::optional<std::array<unsigned char, 16>> token_;
};

/* Throws the error of a function of isoform.h, unless the code is ISO_OK. */
inline void check(iso_code code) {
    if (code != ISO_OK)
        throw error(*iso_last_error());
}

/* The result of a function, or its isoform::error: attempt([&] { return reader.next(); }). Other exceptions pass. */
template <class F> auto attempt(F &&function) {
    using Value = std::invoke_result_t<F>;
    using Kept = std::conditional_t<std::is_void_v<Value>, std::monostate, Value>;
    std::variant<Kept, error> outcome(std::in_place_index<1>, iso_error{ISO_OK, "", "", "", "", nullptr});
    try {
        if constexpr (std::is_void_v<Value>)
            function(), outcome.template emplace<0>();
        else
            outcome.template emplace<0>(function());
    } catch (error &failure) {
        outcome.template emplace<1>(std::move(failure));
    }
    return outcome;
}

namespace detail {
template <auto Close> struct closer {
    template <class H> void operator()(H *handle) const { static_cast<void>(Close(&handle)); }
};
template <class H, auto Close> using handle = std::unique_ptr<H, closer<Close>>;

/* The handle that `open` creates, called with `arguments` and the address of a variable. */
template <class Handle, class Open, class... Arguments> Handle opened(Open open, Arguments... arguments) {
    typename Handle::pointer made = nullptr;
    check(open(arguments..., &made));
    return Handle(made);
}

/* An iterator over the pointers that `next()` of a range returns, up to null. */
template <class Range> class steps {
public:
    using value_type = std::remove_reference_t<decltype(*std::declval<Range &>().next())>;
    using difference_type = std::ptrdiff_t;
    explicit steps(Range *range) : range_(range), now_(range->next()) {}
    value_type &operator*() const { return *now_; }
    value_type *operator->() const { return now_; }
    steps &operator++() {
        now_ = range_->next();
        return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return now_ == nullptr; }

private:
    Range *range_;
    value_type *now_;
};
} // namespace detail

/* How long a function waits. With a time of 0 or less, it does not wait. */
using patience = std::chrono::milliseconds;
inline constexpr patience forever = patience::max();

/* ---- Formats and rules. ---- */

class format {
public:
    /* A copy is another handle to the same format. */
    format(const format &other) : handle_(other.handle_ ? copy(other.get()).handle_ : nullptr) {}
    format(format &&) noexcept = default;
    format &operator=(format other) noexcept {
        handle_ = std::move(other.handle_);
        return *this;
    }
    /* The format of a struct, which is made only once. */
    template <class T> static const format &of() {
        static const format made = declared(detail::table::with<T>());
        return made;
    }
    /* The format of a description, which may be from any machine. */
    static format parse(std::span<const std::byte> description) {
        const void *bytes = description.data();
        return format(detail::opened<handle>(iso_format_parse, bytes, description.size()));
    }
    /* The format of a record that a document declares, as iso_format_load_with has it. */
    static format load(const std::string &place, const std::string &name, const iso_document_options &options = {}) {
        return format(detail::opened<handle>(iso_format_load_with, place.c_str(), name.c_str(), &options));
    }
    /* A format of its own from a lent one. */
    static format copy(const iso_format *lent) { return format(detail::opened<handle>(iso_format_copy, lent)); }

    std::string_view name() const { return iso_format_name(get()); }
    std::size_t size() const { return iso_format_size(get()); }
    std::array<unsigned char, 16> token() const {
        unsigned char token[16];
        check(iso_format_token(get(), token));
        return std::to_array(token);
    }
    std::span<const std::byte> description() const {
        std::size_t count = 0;
        const void *bytes = iso_format_description(get(), &count);
        return {static_cast<const std::byte *>(bytes), count};
    }
    const iso_format *get() const { return handle_.get(); }

private:
    friend class watch;
    using handle = detail::handle<iso_format, iso_format_close>;
    explicit format(handle made) : handle_(std::move(made)) {}
    static format declared(const detail::table &table) {
        const auto structures = table.structures();
        return format(detail::opened<handle>(iso_format_open, structures.data(), structures.size()));
    }
    handle handle_;
};

/* A record of a document that a program looks at again while it runs (iso_watch). */
class watch {
public:
    watch(const std::string &place, const std::string &name, std::chrono::milliseconds every,
          const iso_document_options &options = {})
        : handle_(detail::opened<handle>(iso_watch_open, place.c_str(), name.c_str(), &options,
                                         static_cast<std::uint64_t>(std::max<std::int64_t>(every.count(), 0)))) {}
    /* The new format, if it is time to look and there is one. An error is thrown once, until something else is found. */
    std::optional<format> poll() { return told(iso_watch_poll); }
    /* The same at once. */
    std::optional<format> check() { return told(iso_watch_check); }
    /* The time until poll looks again, for programs that wait for several things. */
    std::chrono::milliseconds due() const {
        constexpr auto most = std::chrono::milliseconds::max();
        const auto due = iso_watch_due_ms(handle_.get());
        return due > static_cast<std::uint64_t>(most.count()) ? most : std::chrono::milliseconds(due);
    }

private:
    friend class watching;
    using handle = detail::handle<iso_watch, iso_watch_close>;
    std::optional<format> told(iso_code (*look)(iso_watch *, iso_format **)) {
        iso_format *found = nullptr;
        isoform::check(look(handle_.get(), &found));
        return found == nullptr ? std::nullopt : std::optional<format>(format(format::handle(found)));
    }
    handle handle_;
};

/* A thread that looks at a document, and calls a function with each new format, or with an error and no format. An exception of
   the function ends the program. The destructor waits for a call that runs, but not for a server. */
class watching {
public:
    using function = std::function<void(std::optional<format>, const error *)>;
    watching(watch from, function then) : function_(std::make_unique<function>(std::move(then))) {
        iso_watch *taken = from.handle_.release();
        iso_watching *made = nullptr;
        const iso_code code = iso_watch_spawn(&taken, call, function_.get(), &made);
        iso_watch_close(&taken);
        isoform::check(code);
        handle_ = handle(made);
    }

private:
    using handle = detail::handle<iso_watching, iso_watching_close>;
    static void call(void *context, iso_code, const iso_format *found) noexcept {
        const auto &then = *static_cast<const function *>(context);
        if (found != nullptr)
            return then(format::copy(found), nullptr);
        const error failed(*iso_last_error());
        then(std::nullopt, &failed);
    }
    std::unique_ptr<function> function_;
    handle handle_;
};

/* Aliases, defaults and required fields of a receiver. T is the structure of the field, which may be nested in the
   record. */
class rules {
public:
    rules() : handle_(detail::opened<handle>(iso_rules_open)) {}
    template <class T> rules &alias(const char *field, const char *alias) {
        return done(iso_rules_alias(handle_.get(), detail::name_of<T>().c_str(), field, alias));
    }
    /* A default as JSON: "11.5", "\"none\"". */
    template <class T> rules &standard(const char *field, const char *json) {
        return done(iso_rules_default(handle_.get(), detail::name_of<T>().c_str(), field, json));
    }
    /* 0, null or empty for senders that lack the field. */
    template <class T> rules &standard(const char *field) {
        return done(iso_rules_default(handle_.get(), detail::name_of<T>().c_str(), field, nullptr));
    }
    /* The treatment of fields that the sender lacks and that have no default. */
    rules &missing(iso_missing missing) { return done(iso_rules_missing(handle_.get(), missing)); }
    template <class T> rules &required(const char *field) {
        return done(iso_rules_required(handle_.get(), detail::name_of<T>().c_str(), field));
    }
    const iso_rules *get() const { return handle_.get(); }

private:
    using handle = detail::handle<iso_rules, iso_rules_close>;
    rules &done(iso_code code) {
        check(code);
        return *this;
    }
    handle handle_;
};

/* ---- Messages, and their fields by name. ---- */

/* The value at a path. Text and bytes are in the message. */
class item : public iso_item {
public:
    bool is_text() const { return kind == ISO_KIND_TEXT || kind == ISO_KIND_SYMBOL; }
    std::string_view text() const { return {static_cast<const char *>(bytes), is_text() ? length : 0}; }
    std::span<const std::byte> raw() const { return {static_cast<const std::byte *>(bytes), length}; }
};

class message {
public:
    message() : message_{} {}
    explicit message(const iso_message &lent) : message_(lent) {}
    explicit operator bool() const { return message_.format != nullptr; }
    /* The name of its format. */
    std::string_view name() const { return iso_format_name(message_.format); }
    isoform::format format() const { return isoform::format::copy(message_.format); }
    /* Empty for a message of reader::peek, which has not been read. */
    std::span<const std::byte> body() const {
        return {static_cast<const std::byte *>(message_.body), message_.body ? message_.length : 0};
    }
    /* The bytes of the body. */
    std::size_t length() const { return message_.length; }
    item operator[](const char *path) const {
        item found{};
        check(iso_message_get(&message_, path, &found));
        return found;
    }
    std::string json() const {
        const char *text = nullptr;
        check(iso_message_json(&message_, &text));
        return text;
    }
    const iso_message *get() const { return &message_; }
    iso_message *get() { return &message_; }

private:
    iso_message message_;
};

/* A record that a document declares: its format, with the document's defaults, and its texts in XML and JSON. */
class document {
public:
    /* As format::load. */
    document(const std::string &place, const std::string &name, const iso_document_options &options = {})
        : handle_(detail::opened<handle>(iso_document_load_with, place.c_str(), name.c_str(), &options)) {}
    isoform::format format() const { return isoform::format::copy(iso_document_format(handle_.get())); }
    /* The text of a message of this format. */
    std::string xml(const message &record) { return text(iso_document_xml, record); }
    std::string json(const message &record) { return text(iso_document_json, record); }
    /* The one record in a text. Valid until the next call with the document. */
    message of_xml(const std::string &text) { return record(iso_document_of_xml, text); }
    message of_json(const std::string &text) { return record(iso_document_of_json, text); }

private:
    friend class texts;
    using handle = detail::handle<iso_document, iso_document_close>;
    template <class F> std::string text(F &&function, const message &record) {
        const char *text = nullptr;
        check(function(handle_.get(), record.get(), &text));
        return text;
    }
    template <class F> message record(F &&function, const std::string &text) {
        message made;
        check(function(handle_.get(), text.c_str(), made.get()));
        return made;
    }
    handle handle_;
};

/* Runs C++ functions that the library calls. The function that called the library rethrows their exceptions. */
namespace detail {
class guarded {
public:
    template <class Result, class F> Result run(Result failed, F &&function) noexcept {
        try {
            return function();
        } catch (...) {
            thrown_ = std::current_exception();
            return failed;
        }
    }
    void rethrow() {
        if (thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
    }
    void check(iso_code code) {
        rethrow();
        isoform::check(code);
    }

private:
    std::exception_ptr thrown_;
};

/* For functions that find formats. The library calls them in the thread that called it. */
inline guarded &finding() {
    thread_local guarded guard;
    return guard;
}
inline void found(iso_code code) {
    if (code)
        finding().rethrow();
    check(code);
}
using resolver = std::function<std::vector<std::byte>(const std::array<unsigned char, 16> &)>;
inline std::ptrdiff_t resolve(void *context, const unsigned char *token, void *description, std::size_t room) {
    return finding().run(std::ptrdiff_t{-1}, [&] {
        std::array<unsigned char, 16> wanted;
        std::copy_n(token, wanted.size(), wanted.begin());
        const std::vector<std::byte> bytes = (*static_cast<resolver *>(context))(wanted);
        if (bytes.size() > room)
            return std::ptrdiff_t{-1};
        std::copy(bytes.begin(), bytes.end(), static_cast<std::byte *>(description));
        return static_cast<std::ptrdiff_t>(bytes.size());
    });
}
} // namespace detail

/* Format servers: "http://HOST:PORT", with commas between them, or none. See iso_servers_open. All threads may use them. */
class servers {
public:
    explicit servers(const char *urls = nullptr, const char *cache = nullptr)
        : handle_(detail::opened<handle>(iso_servers_open, urls, cache)) {}
    /* Settings for those that get the servers afterwards: a secret, PEM files, and hosts to which messages may lead. */
    servers &secret(const char *shown) { return set(iso_servers_secret, shown); }
    servers &trust(const char *authorities) { return set(iso_servers_trust, authorities); }
    servers &certificate(const char *identity) { return set(iso_servers_certificate, identity); }
    servers &allow(const char *host) { return set(iso_servers_allow, host); }
    /* Stores a format at the first server that accepts it. */
    void put(const format &known) const { check(iso_servers_put(handle_.get(), known.get())); }
    const iso_servers *get() const { return handle_.get(); }

private:
    using handle = detail::handle<iso_servers, iso_servers_close>;
    servers &set(iso_code (*setting)(iso_servers *, const char *), const char *value) {
        check(setting(handle_.get(), value));
        return *this;
    }
    handle handle_;
};

/* Answers for the formats of this program at "HOST:PORT", until it is destroyed. See iso_responder_open. */
class responder {
public:
    explicit responder(const char *address = "127.0.0.1:0", bool insecure = false)
        : handle_(detail::opened<handle>(iso_responder_open, address, insecure ? 1 : 0)) {}
    std::string_view url() const { return iso_responder_url(handle_.get()); }
    void add(const format &known) const { check(iso_responder_add(handle_.get(), known.get())); }
    const iso_responder *get() const { return handle_.get(); }

private:
    using handle = detail::handle<iso_responder, iso_responder_close>;
    handle handle_;
};

/* Finds formats that a reader or a registry does not know: returns the description of the format of a token, or nothing. */
using resolver = detail::resolver;

class registry {
public:
    registry() : handle_(detail::opened<handle>(iso_registry_open)) {}
    /* Another handle to the same formats, for another thread. */
    registry share() const {
        const iso_registry *same = handle_.get();
        return registry(detail::opened<handle>(iso_registry_share, same), resolver_);
    }
    void add(const format &known) { check(iso_registry_add(handle_.get(), known.get())); }
    void learn(std::span<const std::byte> description) {
        check(iso_registry_learn(handle_.get(), description.data(), description.size()));
    }
    /* Finds unknown formats at these servers, or by this function. All that share the registry do so, and call the function
       at the same time. Set it before they parse messages. */
    void set_servers(const servers &at) { check(iso_registry_set_servers(handle_.get(), at.get())); }
    void set_resolver(resolver function) {
        *resolver_ = std::move(function);
        check(iso_registry_set_resolver(handle_.get(), detail::resolve, resolver_.get()));
    }
    message parse(std::span<const std::byte> bytes) {
        message parsed;
        detail::found(iso_message_parse(handle_.get(), bytes.data(), bytes.size(), parsed.get()));
        return parsed;
    }

private:
    using handle = detail::handle<iso_registry, iso_registry_close>;
    registry(handle made, std::shared_ptr<resolver> same) : resolver_(std::move(same)), handle_(std::move(made)) {}
    std::shared_ptr<resolver> resolver_ = std::make_shared<resolver>();
    handle handle_;
};

template <class T> class encoder {
public:
    encoder() : handle_(detail::opened<handle>(iso_encoder_open, format::of<T>().get())) {}
    /* The message of a record, as buffers, most of which point into the record. */
    std::span<const iso_buffer> encode(const T &record) {
        const iso_buffer *buffers = nullptr;
        std::size_t count = 0;
        check(iso_encode(handle_.get(), &record, &buffers, &count));
        return {buffers, count};
    }
    /* The message in one piece, in memory of the encoder. */
    std::span<const std::byte> whole(const T &record) {
        const void *bytes = nullptr;
        std::size_t length = 0;
        check(iso_encode_whole(handle_.get(), &record, &bytes, &length));
        return {static_cast<const std::byte *>(bytes), length};
    }

private:
    using handle = detail::handle<iso_encoder, iso_encoder_close>;
    handle handle_;
};

/* Owns the memory that the pointers of a decoded record point at. */
class blocks {
public:
    iso_blocks **put() { return &blocks_; }
    blocks() = default;
    blocks(blocks &&other) noexcept : blocks_(std::exchange(other.blocks_, nullptr)) {}
    blocks &operator=(blocks &&other) noexcept {
        std::swap(blocks_, other.blocks_);
        return *this;
    }
    ~blocks() { iso_blocks_close(&blocks_); }

private:
    iso_blocks *blocks_ = nullptr;
};

template <class T> class decoder {
public:
    explicit decoder(iso_faults faults = ISO_FAULTS_ERROR) : decoder(nullptr, faults) {}
    explicit decoder(const rules &said, iso_faults faults = ISO_FAULTS_ERROR) : decoder(said.get(), faults) {}
    /* Valid as long as the message, and until the next call. */
    const T &decode(const message &received) {
        const void *record = nullptr;
        check(iso_decode(handle_.get(), received.get(), &record));
        return *static_cast<const T *>(record);
    }
    /* The record of a body that the program may change and that begins at a multiple of 16, as reader::read_into puts one there. If the
       layouts agree, it is in that memory. Valid as long as the body, and until the next call. */
    const T &decode_in_place(const format &sent, std::span<std::byte> body) {
        const void *record = nullptr;
        check(iso_decode_in_place(handle_.get(), sent.get(), body.data(), body.size(), &record));
        return *static_cast<const T *>(record);
    }
    void decode_into(const message &received, T &record, blocks &owner) {
        check(iso_decode_into(handle_.get(), received.get(), &record, owner.put()));
    }
    /* What is done with each field of records of a sender, what that costs, and all obstacles: the table of
       `isoform explain`. */
    std::string explain(const format &sender) {
        const char *text = nullptr;
        check(iso_decoder_explain(handle_.get(), sender.get(), &text));
        return text;
    }
    /* The same with the cost of each step, in bytes and nanoseconds for a record, measured now and on this machine. */
    std::string explain_timed(const format &sender) {
        const char *text = nullptr;
        check(iso_decoder_explain_timed(handle_.get(), sender.get(), &text));
        return text;
    }
    iso_decoder *get() { return handle_.get(); }

private:
    using handle = detail::handle<iso_decoder, iso_decoder_close>;
    decoder(const iso_rules *said, iso_faults faults)
        : handle_(detail::opened<handle>(iso_decoder_open, format::of<T>().get(), said, faults)) {}
    handle handle_;
};

/* ---- Strided arrays: a member of each struct, a column of a matrix, a block. ---- */

/* The place of an array whose elements are not side by side, for the field at this path. Strides are in bytes. */
template <class T>
iso_strided strided(const char *field, T *first, std::span<const std::size_t> dims,
                    std::span<const std::ptrdiff_t> strides) {
    iso_strided made{field, const_cast<std::remove_cv_t<T> *>(first), sizeof(T), dims.size(), {}, {}};
    if (dims.size() != strides.size() || dims.size() > std::size(made.dims))
        throw std::invalid_argument("isoform::strided: as many strides as dimensions, at most 8");
    std::copy(dims.begin(), dims.end(), made.dims);
    std::copy(strides.begin(), strides.end(), made.strides);
    return made;
}
template <class T>
iso_strided strided(const char *field, T *first, std::initializer_list<std::size_t> dims,
                    std::initializer_list<std::ptrdiff_t> strides) {
    return strided(field, first, std::span(dims.begin(), dims.size()), std::span(strides.begin(), strides.size()));
}
/* A member of each struct: strided("level", gauges, &Gauge::level). */
template <std::ranges::contiguous_range Structs, class S, class T>
iso_strided strided(const char *field, Structs &&structs, T S::*member) {
    static_assert(std::is_same_v<std::ranges::range_value_t<Structs>, S>);
    const std::size_t count = std::ranges::size(structs);
    return strided(field, count ? &(std::ranges::data(structs)->*member) : nullptr, {count},
                   {static_cast<std::ptrdiff_t>(sizeof(S))});
}
/* A std::mdspan, or what has its functions. */
template <class View> requires requires(const View &view) {
    view.data_handle();
    view.extent(0);
    view.stride(0);
    View::rank();
}
iso_strided strided(const char *field, const View &view) {
    std::array<std::size_t, View::rank()> dims;
    std::array<std::ptrdiff_t, View::rank()> strides;
    for (std::size_t d = 0; d < View::rank(); ++d) {
        dims[d] = static_cast<std::size_t>(view.extent(d));
        strides[d] = static_cast<std::ptrdiff_t>(view.stride(d)) * static_cast<std::ptrdiff_t>(sizeof(*view.data_handle()));
    }
    return strided(field, view.data_handle(), std::span<const std::size_t>(dims), std::span<const std::ptrdiff_t>(strides));
}

/* The memory of a gathered record. */
class scratch {
public:
    scratch() : handle_(detail::opened<handle>(iso_scratch_open)) {}
    /* The record with these arrays, contiguous: source.submit(scratch.gather(profile, {strided(..)})). See iso_gather. */
    template <class T> const T &gather(const T &record, std::span<const iso_strided> arrays) {
        const void *gathered = nullptr;
        check(iso_gather(handle_.get(), format::of<T>().get(), &record, arrays.data(), arrays.size(), &gathered));
        return *static_cast<const T *>(gathered);
    }
    template <class T> const T &gather(const T &record, std::initializer_list<iso_strided> arrays) {
        return gather(record, std::span(arrays.begin(), arrays.size()));
    }

private:
    using handle = detail::handle<iso_scratch, iso_scratch_close>;
    handle handle_;
};

/* Copies an array of a decoded record to strided memory, and returns it with the dimensions that the record has. */
template <class T> iso_strided scatter(const T &record, iso_strided array) {
    check(iso_scatter(format::of<T>().get(), &record, &array, 1));
    return array;
}

/* ---- Several kinds of records: each becomes the one that fits. ---- */

/* A record of one of several kinds. The first alternative stands for a record that fits none. */
template <class... T> using one_of = std::variant<std::monostate, const T *...>;
/* Records of one of several kinds, side by side. The first alternative stands for none. */
template <class... T> using many_of = std::variant<std::monostate, std::span<const T>...>;

namespace detail {
/* As many records from this address on, as the kind of this number, which is -1 for none. */
template <class... T> many_of<T...> many(int which, const void *records, std::size_t count) {
    many_of<T...> made;
    int number = 0;
    ((which == number++ ? void(made = std::span<const T>(static_cast<const T *>(records), count)) : void()), ...);
    return made;
}
/* The record with this address as the kind of this number, which is -1 for none. */
template <class... T> one_of<T...> one(int which, const void *record) {
    one_of<T...> made;
    int number = 0;
    ((which == number++ ? void(made = static_cast<const T *>(record)) : void()), ...);
    return made;
}
} // namespace detail

/* The kinds of records that a program takes. iso_kinds says which of them a message becomes. */
template <class... T> class kinds {
    static_assert(sizeof...(T) > 0, "state the types of the records: kinds<River, Alarm>");

public:
    explicit kinds(iso_faults faults = ISO_FAULTS_ERROR) : kinds(std::array<const rules *, sizeof...(T)>{}, faults) {}
    /* With rules for each kind, or null for none. */
    explicit kinds(const std::array<const rules *, sizeof...(T)> &said, iso_faults faults = ISO_FAULTS_ERROR)
        : handle_(detail::opened<handle>(iso_kinds_open)) {
        auto next = said.begin();
        (add(format::of<T>(), *next++, faults), ...);
    }
    /* The record as the kind that fits. Valid as long as the message, and until the next call. If none fits, the error says
       why for each kind. */
    one_of<T...> decode(const message &received) {
        int which = -1;
        const void *record = nullptr;
        check(iso_kinds_decode(handle_.get(), received.get(), &which, &record));
        return detail::one<T...>(which, record);
    }
    /* The number of the kind that a message of this format becomes. If none fits, the error says why for each kind. */
    int of(const format &sent) {
        int which = -1;
        check(iso_kinds_of(handle_.get(), sent.get(), &which));
        return which;
    }
    /* The choice for a format: a line with the reason, and a line for each kind. */
    std::string explain(const format &of) {
        const char *text = nullptr;
        check(iso_kinds_explain(handle_.get(), of.get(), &text));
        return text;
    }
    /* The number of messages so far that fitted no kind. */
    std::uint64_t others() const { return iso_kinds_others(handle_.get()); }
    const iso_kinds *get() const { return handle_.get(); }
    iso_kinds *get() { return handle_.get(); }

private:
    using handle = detail::handle<iso_kinds, iso_kinds_close>;
    void add(const format &of, const rules *said, iso_faults faults) {
        check(iso_kinds_add(handle_.get(), of.get(), said ? said->get() : nullptr, faults));
    }
    handle handle_;
};

/* ---- Columns: single fields of many records, each in one array; also for Arrow. ---- */

/* Columns for fields of T, by their paths: columns<River>({"time", "com.x"}); for all fields without a list. */
template <class T> class columns {
public:
    columns() : columns({}) {}
    explicit columns(std::initializer_list<const char *> fields, const rules *said = nullptr,
                     iso_faults faults = ISO_FAULTS_ERROR)
        : handle_(detail::opened<handle>(iso_columns_open, format::of<T>().get(), fields.begin(), fields.size(),
                                         said ? said->get() : nullptr, faults)) {}
    /* Adds a row for a message. reader::read adds one for each message of a stream. */
    void add(const message &received) { check(iso_columns_add(handle_.get(), received.get())); }
    std::size_t rows() const { return iso_columns_rows(handle_.get()); }
    /* The values of a column. V has the size of one value. Valid until the columns change. */
    template <class V> std::span<const V> values(const char *field) {
        const void *values = nullptr;
        std::size_t size = 0;
        check(iso_columns_values(handle_.get(), field, &values, &size));
        if (size != sizeof(V))
            throw std::invalid_argument(std::string("isoform::columns: the values of ") + field + " have another size");
        return {static_cast<const V *>(values), rows()};
    }
    /* Moves all rows to Arrow, whose structures the program releases. See iso_columns_arrow. */
    void arrow(ArrowSchema &schema, ArrowArray &array) { check(iso_columns_arrow(handle_.get(), &schema, &array)); }
    iso_columns *get() { return handle_.get(); }

private:
    using handle = detail::handle<iso_columns, iso_columns_close>;
    handle handle_;
};

/* A record batch of Arrow as records to send, in a format that follows the schema: writer.write_many(arrow_batch("River", schema, array)). To
   submit such records, open a source with channel.source(batch), and call submit_many(batch) for each.
   Copies the batch; the program still releases the structures. See iso_arrow. */
class arrow_batch {
public:
    arrow_batch(const char *name, const ArrowSchema &schema, const ArrowArray &array)
        : handle_(detail::opened<handle>(iso_arrow_open, name, &schema, &array)) {
        check(iso_arrow_records(handle_.get(), &format_, &records_, &count_));
    }
    isoform::format format() const { return isoform::format::copy(format_); }
    std::size_t size() const { return count_; }

private:
    friend class writer;
    friend class channel;
    template <class> friend class source;
    using handle = detail::handle<iso_arrow, iso_arrow_close>;
    handle handle_;
    const iso_format *format_ = nullptr;
    const void *records_ = nullptr;
    std::size_t count_ = 0;
};

/* ---- Streams. ---- */

/* What was moved out of a stream when it was opened for appending. */
struct healed {
    std::uint64_t bytes;
    std::uint64_t at;
    /* The file that has the bytes now. */
    std::string aside;
};

class writer {
public:
    /* "-" is standard output. */
    explicit writer(const char *path) : handle_(detail::opened<handle>(iso_writer_open_file, path)) {}
    /* Appends to the stream in a file, and heals it before. See iso_writer_append_file. */
    static writer append(const char *path) { return writer(detail::opened<handle>(iso_writer_append_file, path)); }
    /* What was cut off for that; nothing if the stream was whole. */
    std::optional<isoform::healed> healed() const {
        std::uint64_t bytes = 0, at = 0;
        const char *aside = nullptr;
        check(iso_writer_healed(handle_.get(), &bytes, &at, &aside));
        if (!aside)
            return std::nullopt;
        return isoform::healed{bytes, at, aside};
    }
    using put = std::function<void(std::span<const std::byte>)>;
    explicit writer(put function) : calls_(std::make_unique<calls>(calls{std::move(function), {}})) {
        handle_ = detail::opened<handle>(
            iso_writer_open,
            [](void *context, const void *bytes, std::size_t count) {
                auto &to = *static_cast<calls *>(context);
                return to.guard.run(1, [&] { return to.function({static_cast<const std::byte *>(bytes), count}), 0; });
            },
            static_cast<void *>(calls_.get()));
    }
    /* Leaves descriptions out of the stream, and stores formats at these servers. See iso_writer_set_servers. */
    void set_servers(const servers &at) { check(iso_writer_set_servers(handle_.get(), at.get())); }
    /* Leaves descriptions out of the stream, which says where the responder answers for them. */
    void set_responder(const responder &at) { check(iso_writer_set_responder(handle_.get(), at.get())); }
    void set_locators(const char *urls) { check(iso_writer_set_locators(handle_.get(), urls)); }
    template <class T> void write(const T &record) { done(iso_writer_write(handle_.get(), format::of<T>().get(), &record)); }
    /* Writes the records of an array, a vector or a span. */
    template <std::ranges::contiguous_range Records> void write_many(const Records &records) {
        const auto &known = format::of<std::ranges::range_value_t<Records>>();
        done(iso_writer_write_many(handle_.get(), known.get(), std::ranges::data(records), std::ranges::size(records)));
    }
    /* Writes the rows of a record batch. */
    void write_many(const arrow_batch &batch) {
        done(iso_writer_write_many(handle_.get(), batch.format_, batch.records_, batch.count_));
    }
    /* Writes a message unchanged. */
    void pass(const message &received) { done(iso_writer_pass(handle_.get(), received.get())); }
    /* Seals every message from now on, or stops it: readers notice damage, and can resume behind it. */
    void set_sealed(bool is_sealed) { done(iso_writer_set_sealed(handle_.get(), is_sealed)); }
    void flush() { done(iso_writer_flush(handle_.get())); }
    /* Closes the writer, and throws if the last bytes cannot be written. The destructor ignores such an error. */
    void close() {
        iso_writer *open = handle_.release();
        done(iso_writer_close(&open));
    }

private:
    struct calls {
        put function;
        detail::guarded guard;
    };
    using handle = detail::handle<iso_writer, iso_writer_close>;
    explicit writer(handle &&open) : handle_(std::move(open)) {}
    void done(iso_code code) { calls_ ? calls_->guard.check(code) : check(code); }
    std::unique_ptr<calls> calls_;
    handle handle_;
};

class reader {
public:
    /* "-" is standard input. */
    explicit reader(const char *path) : handle_(detail::opened<handle>(iso_reader_open_file, path)) {}
    /* Fills memory; returns the number of bytes, or 0 at the end. */
    using get = std::function<std::size_t(std::span<std::byte>)>;
    explicit reader(get function) : calls_(std::make_unique<calls>(calls{std::move(function), {}})) {
        handle_ = detail::opened<handle>(
            iso_reader_open,
            [](void *context, void *bytes, std::size_t room) {
                auto &from = *static_cast<calls *>(context);
                return from.guard.run(std::ptrdiff_t{-1}, [&] {
                    return static_cast<std::ptrdiff_t>(from.function({static_cast<std::byte *>(bytes), room}));
                });
            },
            static_cast<void *>(calls_.get()));
    }
    /* Finds unknown formats at these servers, or by this function. */
    void set_servers(const servers &at) { check(iso_reader_set_servers(handle_.get(), at.get())); }
    void set_resolver(resolver function) {
        auto next = std::make_unique<resolver>(std::move(function));
        check(iso_reader_set_resolver(handle_.get(), detail::resolve, next.get()));
        resolver_ = std::move(next);
    }
    /* Asks for less: what a query makes of the records comes in their place. See iso_reader_set_query. */
    void set_query(const char *query) { check(iso_reader_set_query(handle_.get(), query)); }
    /* The next message, which is false at the end. */
    message next() {
        message received;
        done(iso_reader_next(handle_.get(), received.get()));
        return received;
    }
    /* The format and the length of the next message, before its body has arrived; false at the end. The next call can skip
       the message, read it, or read its body to memory of the program, whose message is valid as long as that memory. */
    message peek() {
        message head;
        done(iso_reader_peek(handle_.get(), head.get()));
        return head;
    }
    /* False at the end. */
    bool skip() {
        int skipped = 0;
        done(iso_reader_skip(handle_.get(), &skipped));
        return skipped != 0;
    }
    message read_into(std::span<std::byte> body) {
        message received;
        done(iso_reader_read_into(handle_.get(), body.data(), body.size(), received.get()));
        return received;
    }
    /* The next record, or null at the end. */
    template <class T> const T *read(decoder<T> &by) {
        const void *record = nullptr;
        done(iso_reader_read(handle_.get(), by.get(), &record));
        return static_cast<const T *>(record);
    }
    /* Adds a row for each message up to the end. */
    template <class T> void read(columns<T> &to) { done(iso_columns_read(to.get(), handle_.get())); }
    /* Whether, after an error, the next call continues after the message at fault. */
    bool goes_on() const { return iso_reader_goes_on(handle_.get()) != 0; }
    /* Continues behind damage in a sealed stream. Returns the positions of the first byte that is missing and behind the last
       one, or nothing if no whole message follows. */
    std::optional<std::pair<std::uint64_t, std::uint64_t>> resume() {
        int resumed = 0;
        std::uint64_t from = 0, to = 0;
        done(iso_reader_resume(handle_.get(), &resumed, &from, &to));
        if (resumed == 0)
            return std::nullopt;
        return std::pair(from, to);
    }

    template <class T> class all {
    public:
        /* Not for a temporary range, which owns the memory of the record. */
        const T *next() & { return reader_->read(by_ ? *by_ : *own_); }
        auto begin() { return detail::steps<all>(this); }
        std::default_sentinel_t end() const { return {}; }

    private:
        friend reader;
        all(reader *from, decoder<T> &&own) : reader_(from), own_(std::move(own)) {}
        all(reader *from, decoder<T> &by) : reader_(from), by_(&by) {}
        reader *reader_;
        std::optional<decoder<T>> own_;
        decoder<T> *by_ = nullptr;
    };
    /* All records from here to the end. */
    template <class T> all<T> records() { return records(decoder<T>()); }
    /* The same, converted by a decoder, which must outlive the loop. */
    template <class T> all<T> records(decoder<T> &by) { return {this, by}; }
    template <class T> all<T> records(decoder<T> &&by) { return {this, std::move(by)}; }

    template <class... T> class each {
    public:
        const one_of<T...> *next() & {
            const message received = reader_->next();
            if (!received)
                return nullptr;
            now_ = by_->decode(received);
            return &now_;
        }
        auto begin() { return detail::steps<each>(this); }
        std::default_sentinel_t end() const { return {}; }

    private:
        friend reader;
        each(reader *from, kinds<T...> *by) : reader_(from), by_(by) {}
        reader *reader_;
        kinds<T...> *by_;
        one_of<T...> now_;
    };
    /* The same for records of several kinds. */
    template <class... T> each<T...> records(kinds<T...> &by) { return {this, &by}; }
    /* The next records of one kind, side by side, as iso_kinds_read; the first alternative at the end. Valid until the next
       call. */
    template <class... T> many_of<T...> records_of_a_kind(kinds<T...> &by) {
        int which = -1;
        const void *records = nullptr;
        std::size_t count = 0;
        done(iso_kinds_read(by.get(), handle_.get(), &which, &records, &count));
        return detail::many<T...>(which, records, count);
    }
    /* Adds a row for each message of a stream, up to its end: to the columns of the kind that it becomes. Messages that fit no kind
       become no row; kinds::others counts them. */
    template <class... T> void read(kinds<T...> &by, columns<T> &...to) {
        iso_columns *const each[] = {to.get()...};
        done(iso_columns_read_kinds(each, sizeof...(T), by.get(), handle_.get()));
    }

private:
    struct calls {
        get function;
        detail::guarded guard;
    };
    using handle = detail::handle<iso_reader, iso_reader_close>;
    void done(iso_code code) {
        if (code)
            detail::finding().rethrow();
        calls_ ? calls_->guard.check(code) : check(code);
    }
    std::unique_ptr<resolver> resolver_;
    std::unique_ptr<calls> calls_;
    handle handle_;
};

/* The records of a text in XML or JSON, each as a message (iso_texts). */
class texts {
public:
    /* Documents of one record each, or the records in one element of the name `within`. */
    static texts xml(const document &of, reader::get function, const char *within = nullptr) {
        return texts(std::move(function), [&](iso_get get, void *context, iso_texts **made) {
            return iso_texts_open_xml(of.handle_.get(), within, get, context, made);
        });
    }
    /* A record on each line. */
    static texts json(const document &of, reader::get function) {
        return texts(std::move(function), [&](iso_get get, void *context, iso_texts **made) {
            return iso_texts_open_json(of.handle_.get(), get, context, made);
        });
    }
    /* The next record, which is false at the end. Valid until the next call. */
    message next() {
        message record;
        calls_->guard.check(iso_texts_next(handle_.get(), record.get()));
        return record;
    }

private:
    struct calls {
        reader::get function;
        detail::guarded guard;
    };
    using handle = detail::handle<iso_texts, iso_texts_close>;
    template <class Open>
    texts(reader::get function, Open &&open) : calls_(std::make_unique<calls>(calls{std::move(function), {}})) {
        iso_texts *made = nullptr;
        check(open(get, calls_.get(), &made));
        handle_ = handle(made);
    }
    static std::ptrdiff_t get(void *context, void *bytes, std::size_t room) {
        auto &from = *static_cast<calls *>(context);
        return from.guard.run(std::ptrdiff_t{-1}, [&] {
            return static_cast<std::ptrdiff_t>(from.function({static_cast<std::byte *>(bytes), room}));
        });
    }
    std::unique_ptr<calls> calls_;
    handle handle_;
};

} // namespace isoform

#include "isoform_channel.hpp"

#endif /* C++20 */
#endif /* ISOFORM_HPP */
