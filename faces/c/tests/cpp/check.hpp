/* What the test programs have in common: they say what is not as it should be, and where. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <isoform.hpp>

#include <cstdio>
#include <cstdlib>

#define CHECK(truth) ((truth) ? (void)0 : fail(__FILE__, __LINE__, #truth))
/* That this throws an error of a code, at a path. */
#define THROWS(what, expected, place) \
    (throws([&] { what; }, expected, place) ? (void)0 : fail(__FILE__, __LINE__, #what " is not " #expected " at " place))

[[noreturn]] inline void fail(const char *file, int line, const char *what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
    std::exit(1);
}

template <class F> bool throws(F &&function, iso_code code, std::string_view path) {
    try {
        function();
    } catch (const isoform::error &failure) {
        if (failure.code() == code && failure.path() == path)
            return true;
        std::fprintf(stderr, "%d at %s: %s\n", failure.code(), failure.path().c_str(), failure.what());
    }
    return false;
}

#endif
