/* What the test programs have in common: they say what is not as it should be, and where. */
#ifndef CHECK_H
#define CHECK_H

#include "isoform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(truth) ((truth) ? (void)0 : fail(__FILE__, __LINE__, #truth))
/* That a call succeeds. */
#define DO(call) ((call) == ISO_OK ? (void)0 : fail(__FILE__, __LINE__, #call))
/* That it fails with this code, at this path; "*" is any. */
#define FAILS(call, expected, place) \
    (fails(call, expected, place) ? (void)0 : fail(__FILE__, __LINE__, #call " is not " #expected " at " place))

static void fail(const char *file, int line, const char *what) {
    const iso_error *error = iso_last_error();
    fprintf(stderr, "%s:%d: %s\n    the last error: %d, %s\n", file, line, what, (int)error->code, error->text);
    exit(1);
}

static int fails(iso_code code, iso_code expected, const char *path) {
    const iso_error *error = iso_last_error();
    return code == expected && error->code == expected && (path[0] == '*' || strcmp(error->path, path) == 0) &&
           strstr(error->text, iso_code_text(code)) == error->text;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
