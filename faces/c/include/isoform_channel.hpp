/* isoform_channel.hpp - the channels of isoform.hpp, which includes this file: nodes, sources, sinks, handlers. For
   Unix.

   A sink is a range of events:

       for (const auto &event : sink)
           if (event.record) use(*event.record);

   The loop ends when the sink, its channel or its node is closed, since sources may come back. To end it when the last source
   has left, `break` at an event ISO_EVENT_LEFT whose `count` is 0. docs/book/guides/c.md explains more, and
   docs/book/guides/channels.md states what channels guarantee.

   Licensed under either of MIT or Apache-2.0 at your option.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_CHANNEL_HPP
#define ISOFORM_CHANNEL_HPP

#include "isoform.hpp"

namespace isoform {

/* The account of a source for each sink: submitted == acknowledged + superseded + lost + skipped + in_flight. */
using ledger = std::vector<iso_account>;

/* An event of a sink. For a record, `record` points at it; a sink of all formats has it in `message`. */
template <class T> struct event {
    iso_event_kind kind = ISO_EVENT_NOTHING;
    iso_stamp stamp{};
    const T *record = nullptr;
    isoform::message message;
    std::uint64_t count =
        0;   /* records here; for a gap, events that do not come; for a source that has left, the other sources
                                  that are still there; for one that has joined, the events before, which do not
                                  come; for a head, the bytes of its whole body */
    iso_cause cause{};         /* for a gap */
    std::array<unsigned char, 16> node{}; /* for a source that has joined: the id of its node */
    const iso_format *format = nullptr; /* of a head, and of a source that has joined, whose is null if its records may have
                                           several: lent until the next event, see format::copy */
    std::optional<error> fault; /* for a source that was refused; for ISO_EVENT_GIVEN, why other values were refused */
    iso_policy policy{}; /* for a source that grants another policy */
    iso_reason reason{};

    event() = default;
    explicit event(const iso_event &received)
        : kind(received.kind), stamp(received.stamp), record(static_cast<const T *>(received.record)),
          message(received.message), count(received.count), cause(received.cause), format(received.format),
          policy(received.policy), reason(received.reason) {
        std::copy(std::begin(received.node), std::end(received.node), node.begin());
        if (received.error)
            fault.emplace(*received.error);
    }
};

/* An event of a sink of several kinds. `record` has the record as the kind that fits. A record that fits none is in
   `message`, and `record` has its first alternative, as for other events. */
template <class... T> struct event<std::variant<std::monostate, const T *...>> : event<void> {
    one_of<T...> record;
    /* After sink::take: all records of the event, side by side. Their first is `record`. */
    many_of<T...> records;

    event() = default;
    explicit event(const iso_event &received)
        : event<void>(received), record(detail::one<T...>(received.which, received.record)),
          records(detail::many<T...>(received.which, received.record, received.count)) {}
};

namespace detail {
template <class T> inline constexpr bool is_of_kinds = false;
template <class... T> inline constexpr bool is_of_kinds<std::variant<std::monostate, const T *...>> = true;
} // namespace detail

/* The settings of a source. A field of 0 means its default. */
struct source_options : iso_source_options {
    source_options() : iso_source_options{} {}
    /* Gives the source parameters with these defaults, which must live until the source is made. See iso_source_demands. */
    template <class P> source_options &set_parameters(const P &defaults) {
        parameters_format = format::of<P>().get();
        parameters = &defaults;
        return *this;
    }
};

/* The settings of a sink. A field of 0 means its default. */
struct sink_options : iso_sink_options {
    sink_options() : iso_sink_options{} {}
    std::optional<isoform::rules> said;
    /* Asks the sources for these values of their parameters. They must live until the sink is made. */
    template <class P> sink_options &set_parameters(const P &values) {
        parameters_format = format::of<P>().get();
        parameters = &values;
        return *this;
    }
};

namespace detail {
/* The format of T, or null for void, which stands for all formats. */
template <class T> const iso_format *format_or_any() {
    if constexpr (std::is_void_v<T>)
        return nullptr;
    else
        return format::of<T>().get();
}
inline int milliseconds(patience time) {
    if (time == forever)
        return ISO_FOREVER;
    return static_cast<int>(std::clamp(time, patience::zero(), patience(std::numeric_limits<int>::max())).count());
}
inline const iso_rules *rules_of(const sink_options &options) { return options.said ? options.said->get() : nullptr; }
} // namespace detail

namespace detail {
/* What all sources have in common. */
class source_end {
public:
    /* What the sinks ask of the source's parameters: each demand once. The values are messages for a decoder, until the next
       call. See iso_source_demands. */
    std::vector<iso_demand> demands() {
        std::vector<iso_demand> all(17);
        std::size_t count = 0;
        check(iso_source_demands(handle_.get(), all.data(), all.size(), &count));
        while (count > all.size()) {
            all.resize(count);
            check(iso_source_demands(handle_.get(), all.data(), all.size(), &count));
        }
        all.resize(count);
        return all;
    }
    /* Waits until the demands are others than those that were returned last. Returns whether they are. */
    bool wait_for_demands(patience time = forever) const {
        int is_new = 0;
        check(iso_source_new_demands(handle_.get(), detail::milliseconds(time), &is_new));
        return is_new != 0;
    }
    /* Grants a demand other values than its sinks ask for. Fields that P does not have stay as they are. */
    template <class P> void grant(const iso_demand &demand, const P &values) {
        check(iso_source_grant(handle_.get(), demand.number, format::of<P>().get(), &values));
    }
    /* Refuses a demand, and tells its sinks what was expected. */
    void refuse(const iso_demand &demand, const char *expected) {
        check(iso_source_refuse(handle_.get(), demand.number, expected));
    }
    /* Waits until `sinks` sinks have subscribed. */
    void wait(std::size_t sinks, patience time = forever) const {
        check(iso_source_wait(handle_.get(), sinks, detail::milliseconds(time)));
    }
    std::size_t sinks() const { return iso_source_sinks(handle_.get()); }
    /* Why the node of a sink has declined this source last, such as ISO_FORBIDDEN: see iso_source_declined. */
    std::optional<error> declined() const {
        try {
            check(iso_source_declined(handle_.get()));
        } catch (const error &why) {
            return why;
        }
        return std::nullopt;
    }
    isoform::ledger ledger() const {
        std::size_t count = 0;
        check(iso_source_ledger(handle_.get(), nullptr, 0, &count));
        isoform::ledger accounts(count + 8); /* other sinks may subscribe meanwhile */
        check(iso_source_ledger(handle_.get(), accounts.data(), accounts.size(), &count));
        accounts.resize(std::min(count, accounts.size()));
        return accounts;
    }
    /* Waits until the sinks have taken all events or the time is over, and ends the source. */
    isoform::ledger end(patience time) {
        isoform::ledger accounts(ledger().size() + 8);
        std::size_t count = 0;
        iso_source *open = handle_.release();
        check(iso_source_end(&open, detail::milliseconds(time), accounts.data(), accounts.size(), &count));
        accounts.resize(std::min(count, accounts.size()));
        return accounts;
    }
    /* The number of the event behind the one that was submitted last. They are numbered from 0, also without sinks. */
    std::uint64_t next() const { return iso_source_next(handle_.get()); }

protected:
    using handle = detail::handle<iso_source, iso_source_close>;
    explicit source_end(handle made) : handle_(std::move(made)) {}
    handle handle_;
};
} // namespace detail

template <class T> class source : public detail::source_end {
public:
    /* Waits while a sink with ISO_POLICY_BLOCK has no room. See next() for the numbers of records. */
    void submit(const T &record) { check(iso_source_submit(handle_.get(), &record)); }
    void submit_many(std::span<const T> records) {
        check(iso_source_submit_many(handle_.get(), records.data(), records.size()));
    }
    /* Submits a record only to the sinks of a demand. */
    void submit_for(const iso_demand &demand, const T &record) {
        check(iso_source_submit_for(handle_.get(), demand.number, &record));
    }

private:
    friend class channel;
    using source_end::source_end;
};

/* A source of the records of Arrow batches, all of one format: channel.source(batch). */
template <> class source<arrow_batch> : public detail::source_end {
public:
    /* Submits the rows of a batch. */
    void submit_many(const arrow_batch &batch) {
        if (const isoform::format other = batch.format(); other.token() != token_) {
            const std::string name(other.name());
            iso_error wrong{};
            wrong.code = ISO_WRONG_TYPE;
            wrong.path = "batch";
            wrong.expected = "a batch in the format of the source's first one";
            wrong.actual = name.c_str();
            wrong.text = "not the type that was expected at batch: expected a batch in the format of the source's first one";
            throw error(wrong);
        }
        check(iso_source_submit_many(handle_.get(), batch.records_, batch.count_));
    }

private:
    friend class channel;
    source(handle made, const arrow_batch &first) : source_end(std::move(made)), token_(first.format().token()) {}
    std::array<unsigned char, 16> token_;
};

/* A sink of void receives messages of all formats. */
template <class T> class sink {
public:
    /* The next event; ISO_EVENT_NOTHING if the time is over. */
    event<T> next(patience time) { return next_of(handle_.get(), time); }
    /* Copies the records that have arrived into `room`, and their stamps into `stamps` if that is not empty. `count` of
       the event is their number. An event of another kind is returned alone. T must not contain pointers. */
    event<T> take(std::span<T> room, std::span<iso_stamp> stamps = {}, patience time = forever)
        requires(!std::is_void_v<T> && !detail::is_of_kinds<T>)
    {
        iso_event received{};
        const std::size_t most = stamps.empty() ? room.size() : std::min(room.size(), stamps.size());
        check(iso_sink_take(handle_.get(), room.data(), most, stamps.empty() ? nullptr : stamps.data(),
                            detail::milliseconds(time), &received));
        return event<T>(received);
    }
    /* The records of one kind that have arrived, side by side, for a sink of several kinds: as iso_sink_take. At most `most` of
       them; `count` of the event is their number. They are valid until the next call. */
    event<T> take(std::size_t most, std::span<iso_stamp> stamps = {}, patience time = forever)
        requires(detail::is_of_kinds<T>)
    {
        iso_event received{};
        most = stamps.empty() ? most : std::min(most, stamps.size());
        check(iso_sink_take(handle_.get(), nullptr, most, stamps.empty() ? nullptr : stamps.data(),
                            detail::milliseconds(time), &received));
        return event<T>(received);
    }
    /* Asks all sources for other values of their parameters. ISO_EVENT_GIVEN says from which event on they hold, or why not. */
    template <class P> void set_parameters(const P &values) {
        check(iso_sink_set_parameters(handle_.get(), format::of<P>().get(), &values));
    }
    /* Declines the rest of a long event, by its head (ISO_EVENT_HEAD). Returns whether that was still on its way; see
       iso_sink_decline. */
    bool decline(const iso_stamp &head) const {
        int declined = 0;
        check(iso_sink_decline(handle_.get(), &head, &declined));
        return declined != 0;
    }
    /* The number of records so far that fitted none of several kinds, unless their sources are refused. */
    std::uint64_t others() const { return iso_sink_others(handle_.get()); }
    /* A descriptor for poll(2), readable whenever next would return an event. */
    int fd() const {
        int fd = -1;
        check(iso_sink_fd(handle_.get(), &fd));
        return fd;
    }
    iso_counts counts() const {
        iso_counts counts{};
        check(iso_sink_counts(handle_.get(), &counts));
        return counts;
    }

    /* All events, as they arrive. */
    auto begin() {
        waiting_ = std::make_unique<waiting>(waiting{handle_.get(), {}});
        return detail::steps<waiting>(waiting_.get());
    }
    std::default_sentinel_t end() const { return {}; }

private:
    friend class channel;
    using handle = detail::handle<iso_sink, iso_sink_close>;
    static event<T> next_of(iso_sink *handle, patience time) {
        iso_event received{};
        check(iso_sink_next(handle, detail::milliseconds(time), &received));
        return event<T>(received);
    }
    struct waiting {
        iso_sink *from;
        event<T> now;
        const event<T> *next() {
            try {
                now = next_of(from, forever);
                return &now;
            } catch (const error &failure) {
                if (failure.code() != ISO_CLOSED)
                    throw;
                return nullptr;
            }
        }
    };
    explicit sink(handle made) : handle_(std::move(made)) {}
    handle handle_;
    std::unique_ptr<waiting> waiting_;
};

/* Registers a function, which node::poll calls for each event, until this object is destroyed. */
class handler {
public:
    handler(handler &&) = default;
    /* Closes the old handle before it destroys the old function. */
    handler &operator=(handler &&other) noexcept {
        handle_ = std::move(other.handle_);
        function_ = std::move(other.function_);
        return *this;
    }
    iso_counts counts() const {
        iso_counts counts{};
        check(iso_handler_counts(handle_.get(), &counts));
        return counts;
    }
    /* The number of records so far that fitted none of several kinds. */
    std::uint64_t others() const { return iso_handler_others(handle_.get()); }

private:
    friend class channel;
    using handle = detail::handle<iso_handler, iso_handler_close>;
    handler() = default;
    std::shared_ptr<void> function_; /* destroyed after the handle */
    handle handle_;
};

namespace detail {
/* Holds the exception of a handler until node::poll rethrows it, on the same thread. */
inline guarded &handlers() {
    thread_local guarded thrown;
    return thrown;
}
} // namespace detail

namespace detail {
/* Calls a function of the program, which `context` points at, with an event of records of T. */
template <class T, class F> void call(void *context, const iso_event *received) {
    handlers().run(0, [&] { return (*static_cast<F *>(context))(event<T>(*received)), 0; });
}
} // namespace detail

/* Functions for records of several kinds, one for each kind, for channel::on:

       isoform::handlers all;
       all.handle<River>([&](const isoform::event<River> &event) { depth = event.record->depth; })
           .handle<Alarm>([&](const isoform::event<Alarm> &event) { text = event.record->text; });
       const isoform::handler handler = channel.on(std::move(all)); */
class handlers {
public:
    handlers() : kinds_(detail::opened<kinds>(iso_kinds_open)) {}
    /* The function for records of T. `said` are rules for this kind, or null. */
    template <class T, class F>
    handlers &handle(F function, const rules *said = nullptr, iso_faults faults = ISO_FAULTS_ERROR) {
        check(iso_kinds_add(kinds_.get(), format::of<T>().get(), said ? said->get() : nullptr, faults));
        check(iso_kinds_handle(kinds_.get(), count_, detail::call<T, F>, keep(std::move(function))));
        ++count_;
        return *this;
    }
    /* The function for all other events: records that fit no kind, as messages; sources that come or leave. Without it,
       records that fit no kind are counted (handler::others). */
    template <class F> handlers &otherwise(F function) {
        context_ = keep(std::move(function));
        otherwise_ = detail::call<void, F>;
        return *this;
    }

private:
    friend class channel;
    using kinds = detail::handle<iso_kinds, iso_kinds_close>;
    template <class F> void *keep(F &&function) {
        auto kept = std::make_shared<F>(std::forward<F>(function));
        functions_.push_back(kept);
        return kept.get();
    }
    kinds kinds_;
    int count_ = 0;
    iso_handle otherwise_ = nullptr;
    void *context_ = nullptr;
    std::vector<std::shared_ptr<void>> functions_;
};

class channel {
public:
    /* The id with which others open the channel: "iso://127.0.0.1:7000/river". */
    std::string_view id() const { return iso_channel_id(handle_.get()); }
    /* Derives a channel: what a query gives of this one, for sinks alone. With a name, others can open it by that at this node as long as
       what this returns is there. See iso_channel_derive. */
    channel derive(const char *query, const char *name = nullptr) const {
        return channel(detail::opened<handle>(iso_channel_derive, get(), query, name));
    }
    /* The format of its records, or nothing if it accepts all formats. */
    std::optional<isoform::format> format() const {
        auto made = detail::opened<detail::handle<iso_format, iso_format_close>>(iso_channel_format, get());
        return made ? std::optional(isoform::format::copy(made.get())) : std::nullopt;
    }
    template <class T> isoform::source<T> source(const source_options &options = {}) const {
        using handle = typename isoform::source<T>::handle;
        const iso_source_options *chosen = &options;
        return isoform::source<T>(
            detail::opened<handle>(iso_source_open_with, get(), isoform::format::of<T>().get(), chosen));
    }
    /* A source of the records of Arrow batches in the format of this one. It submits none yet. */
    isoform::source<arrow_batch> source(const arrow_batch &first, const source_options &options = {}) const {
        using handle = isoform::source<arrow_batch>::handle;
        const iso_source_options *chosen = &options;
        return {detail::opened<handle>(iso_source_open_with, get(), first.format_, chosen), first};
    }
    template <class T> isoform::sink<T> sink(const sink_options &options = {}) const {
        using handle = typename isoform::sink<T>::handle;
        const iso_sink_options *chosen = &options;
        return isoform::sink<T>(
            detail::opened<handle>(iso_sink_open, get(), detail::format_or_any<T>(), detail::rules_of(options), chosen));
    }
    /* A sink for records of several kinds. `others` says what becomes of records that fit none. */
    template <class... T>
    isoform::sink<one_of<T...>> sink_of(const kinds<T...> &by, iso_others others = ISO_OTHERS_REFUSE,
                                        const sink_options &options = {}) const {
        using handle = typename isoform::sink<one_of<T...>>::handle;
        const iso_sink_options *chosen = &options;
        return isoform::sink<one_of<T...>>(detail::opened<handle>(iso_sink_open_kinds, get(), by.get(), others, chosen));
    }
    /* Makes node::poll call a function for each event. */
    template <class T, class F> handler on(F function, const sink_options &options = {}) const {
        handler made;
        auto kept = std::make_shared<F>(std::move(function));
        made.handle_ =
            detail::opened<handler::handle>(iso_handler_open, get(), isoform::format::of<T>().get(),
                                            detail::rules_of(options), static_cast<const iso_sink_options *>(&options),
                                            static_cast<iso_handle>(detail::call<T, F>), static_cast<void *>(kept.get()));
        made.function_ = std::move(kept);
        return made;
    }
    /* The same for records of several kinds, with a function for each. */
    handler on(handlers functions, const sink_options &options = {}) const {
        handler made;
        made.handle_ = detail::opened<handler::handle>(
            iso_handler_open_kinds, get(), static_cast<const iso_kinds *>(functions.kinds_.get()),
            functions.otherwise_ ? ISO_OTHERS_MESSAGES : ISO_OTHERS_COUNT, static_cast<const iso_sink_options *>(&options),
            functions.otherwise_, functions.context_);
        made.function_ = std::make_shared<std::vector<std::shared_ptr<void>>>(std::move(functions.functions_));
        return made;
    }
    /* Leaves the channel, which ends its sources, sinks and handlers. The destructor lets them continue. */
    void leave() {
        iso_channel *open = handle_.release();
        check(iso_channel_leave(&open));
    }

private:
    friend class node;
    using handle = detail::handle<iso_channel, iso_channel_close>;
    explicit channel(handle made) : handle_(std::move(made)) {}
    const iso_channel *get() const { return handle_.get(); }
    handle handle_;
};

/* The member of channels that acts for this process. */
class node {
public:
    /* Listens at these addresses, or at a port that the system chooses. `flags` is 0, or ISO_ALLOW_INSECURE and
       ISO_ADMIT_ANYONE, joined by |. See iso_node_open. */
    explicit node(const char *listen = nullptr, unsigned flags = 0)
        : handle_(detail::opened<handle>(iso_node_open, listen, flags)) {}
    std::string_view address() const { return iso_node_address(handle_.get()); }
    /* Creates a channel for records of T, or for all formats if T is void. */
    template <class T> channel create(const char *name) const {
        return channel(detail::opened<channel::handle>(iso_channel_create, get(), name, detail::format_or_any<T>()));
    }
    channel open(const char *id) const { return channel(detail::opened<channel::handle>(iso_channel_open, get(), id)); }
    /* Calls handlers for the events that have arrived, and waits if there are none. Returns the number of events. */
    std::size_t poll(patience time = forever) const {
        std::size_t count = 0;
        detail::handlers().check(iso_node_poll(get(), detail::milliseconds(time), &count));
        return count;
    }
    int fd() const {
        int fd = -1;
        check(iso_node_fd(get(), &fd));
        return fd;
    }

private:
    using handle = detail::handle<iso_node, iso_node_close>;
    const iso_node *get() const { return handle_.get(); }
    handle handle_;
};

} // namespace isoform

#endif /* ISOFORM_CHANNEL_HPP */
