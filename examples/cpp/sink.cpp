/* A sink that knows nothing: it has no struct, and prints what comes on a channel, by name or all of it.

       c++ -std=c++20 sink.cpp $(pkg-config --cflags --libs isoform) -o sink
       ./sink iso://127.0.0.1:7000/river
       ./sink iso://127.0.0.1:7000/river depth[1] */
#include <isoform.hpp>

#include <iostream>

/* A line for an event: the fields that were asked for, or all. */
static void show(const isoform::message &message, std::span<char *> paths) {
    if (paths.empty())
        std::cout << message.json();
    for (const char *path : paths) {
        const isoform::item item = message[path];
        item.is_text() ? std::cout << item.text() : std::cout << item.real;
        std::cout << (path == paths.back() ? "" : " ");
    }
    std::cout << std::endl;
}

int main(int count, char **arguments) try {
    const std::span words(arguments, static_cast<std::size_t>(count));
    if (words.size() < 2)
        return std::cerr << "usage: sink ID [PATH ..]\n", 2;
    const isoform::node node;
    auto sink = node.open(words[1]).sink<void>();
    for (const auto &event : sink) {
        if (event.kind == ISO_EVENT_RECORD)
            show(event.message, words.subspan(2));
        if (event.kind == ISO_EVENT_GAP)
            std::cerr << event.count << " events are lost\n";
        if (event.fault)
            std::cerr << "a source cannot be understood: " << event.fault->what() << '\n';
        if (event.kind == ISO_EVENT_LEFT && event.count == 0)
            break;
    }
} catch (const isoform::error &failure) {
    return std::cerr << failure.what() << '\n', 1;
}
