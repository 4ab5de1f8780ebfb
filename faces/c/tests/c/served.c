/* Documents of an HTTP server: the options of loading, a cache, and watches, also in a thread of their own. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "check.h"
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server of one document, gauge.idl, with its versions; moved/N redirects N times. */
typedef struct {
    pthread_mutex_t lock;
    pthread_t thread;
    int listener;
    int port;
    const char *text;
    int version;
    int served;
    int unchanged;
} server;

static void answer(server *to, int connection) {
    char request[4096], reply[4096], tag[32];
    size_t have = 0;
    int moved = 0;
    ssize_t came;
    while (have + 1 < sizeof request && (came = read(connection, request + have, sizeof request - 1 - have)) > 0) {
        request[have += (size_t)came] = 0;
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    request[have] = 0;
    pthread_mutex_lock(&to->lock);
    sprintf(tag, "\"%d\"", to->version);
    if (sscanf(request, "GET /moved/%d ", &moved) == 1) {
        if (moved > 1)
            sprintf(reply, "HTTP/1.1 302 Found\r\nLocation: /moved/%d\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", moved - 1);
        else
            sprintf(reply, "HTTP/1.1 302 Found\r\nLocation: /gauge.idl\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    } else if (strncmp(request, "GET /gauge.idl ", 15) != 0) {
        sprintf(reply, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    } else if (strstr(request, tag)) {
        to->unchanged++;
        sprintf(reply, "HTTP/1.1 304 Not Modified\r\nETag: %s\r\nConnection: close\r\n\r\n", tag);
    } else {
        to->served++;
        sprintf(reply, "HTTP/1.1 200 OK\r\nETag: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", tag,
                (int)strlen(to->text), to->text);
    }
    pthread_mutex_unlock(&to->lock);
    CHECK(write(connection, reply, strlen(reply)) == (ssize_t)strlen(reply));
    close(connection);
}

static void *serve(void *context) {
    server *to = (server *)context;
    int connection;
    while ((connection = accept(to->listener, NULL, NULL)) >= 0)
        answer(to, connection);
    return NULL;
}

static void start(server *to, const char *text) {
    struct sockaddr_in at;
    socklen_t size = sizeof at;
    memset(to, 0, sizeof *to);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to->text = text;
    CHECK(pthread_mutex_init(&to->lock, NULL) == 0);
    CHECK((to->listener = socket(AF_INET, SOCK_STREAM, 0)) >= 0);
    CHECK(bind(to->listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(to->listener, 16) == 0);
    CHECK(getsockname(to->listener, (struct sockaddr *)&at, &size) == 0);
    to->port = ntohs(at.sin_port);
    CHECK(pthread_create(&to->thread, NULL, serve, to) == 0);
}

static void stop(server *to) {
    shutdown(to->listener, SHUT_RDWR);
    CHECK(pthread_join(to->thread, NULL) == 0);
    close(to->listener);
}

static void change(server *to, const char *text) {
    pthread_mutex_lock(&to->lock);
    to->text = text;
    to->version++;
    pthread_mutex_unlock(&to->lock);
}

static int counted(server *to, const int *count) {
    int now;
    pthread_mutex_lock(&to->lock);
    now = *count;
    pthread_mutex_unlock(&to->lock);
    return now;
}

/* What a thread that watches has told. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    int formats, errors;
    size_t size;
    iso_watching *own; /* closed within the next call */
} news;

static void hear(void *context, iso_code code, const iso_format *format) {
    news *to = (news *)context;
    pthread_mutex_lock(&to->lock);
    if (code) {
        CHECK(!format && iso_last_error()->code == code && strstr(iso_last_error()->text, "Gauge"));
        to->errors++;
    } else {
        to->size = iso_format_size(format);
        to->formats++;
    }
    if (to->own)
        iso_watching_close(&to->own);
    pthread_cond_broadcast(&to->told);
    pthread_mutex_unlock(&to->lock);
}

static void in_a_thread(server *to, const char *place) {
    news heard;
    iso_watch *watch = NULL;
    iso_watching *watching = NULL;
    memset(&heard, 0, sizeof heard);
    CHECK(pthread_mutex_init(&heard.lock, NULL) == 0 && pthread_cond_init(&heard.told, NULL) == 0);
    DO(iso_watch_open(place, "Gauge", NULL, 1, &watch));
    FAILS(iso_watch_spawn(&watch, NULL, NULL, &watching), ISO_WRONG_TYPE, "function");
    CHECK(watch && !watching);
    DO(iso_watch_spawn(&watch, hear, &heard, &watching));
    CHECK(!watch && watching);
    pthread_mutex_lock(&heard.lock);
    while (heard.formats < 1)
        pthread_cond_wait(&heard.told, &heard.lock);
    CHECK(heard.size == 16);
    change(to, "struct Level { long step; };");
    while (heard.errors < 1)
        pthread_cond_wait(&heard.told, &heard.lock);
    change(to, "struct Gauge { long step; };");
    while (heard.formats < 2)
        pthread_cond_wait(&heard.told, &heard.lock);
    CHECK(heard.size == 4);
    pthread_mutex_unlock(&heard.lock);
    iso_watching_close(&watching);
    CHECK(!watching);
    change(to, "struct Gauge { long step; double level; };");
    /* One that its own function closes, with the call that is the last. */
    DO(iso_watch_open(place, "Gauge", NULL, 1, &watch));
    pthread_mutex_lock(&heard.lock);
    DO(iso_watch_spawn(&watch, hear, &heard, &heard.own));
    while (heard.own)
        pthread_cond_wait(&heard.told, &heard.lock);
    CHECK(heard.formats == 3 && heard.errors == 1);
    pthread_mutex_unlock(&heard.lock);
    iso_watching_close(NULL);
    FAILS(iso_watch_spawn(&watch, hear, &heard, &watching), ISO_WRONG_TYPE, "watch");
}

int main(int count, char **arguments) {
    char place[128], moved[128], absent[128], cache[4096], forget[8192];
    iso_document_options options;
    iso_format *format = NULL;
    iso_document *document = NULL;
    iso_watch *watch = NULL;
    server at;
    memset(&options, 0, sizeof options);
    CHECK(count > 0 && strlen(arguments[0]) + 6 < sizeof cache);
    sprintf(cache, "%s.cache", arguments[0]);
    start(&at, "struct Gauge { long step; double level; };");
    sprintf(place, "http://127.0.0.1:%d/gauge.idl", at.port);
    sprintf(moved, "http://127.0.0.1:%d/moved/3", at.port);
    sprintf(absent, "http://127.0.0.1:%d/none.idl", at.port);

    DO(iso_format_load(place, "Gauge", &format));
    CHECK(iso_format_size(format) == 16);
    iso_format_close(&format);
    FAILS(iso_format_load(absent, "Gauge", &format), ISO_SOURCE, "*");
    CHECK(strstr(iso_last_error()->text, "404") && strstr(iso_last_error()->text, "none.idl"));
    options.limit = 10;
    FAILS(iso_format_load_with(place, "Gauge", &options, &format), ISO_MESSAGE_SIZE, "*");
    options.limit = 0;
    options.schemes = "https,file";
    FAILS(iso_format_load_with(place, "Gauge", &options, &format), ISO_FORBIDDEN, "*");
    options.schemes = NULL;
    options.language = "idl";
    options.redirects = 2;
    CHECK(iso_document_load_with(moved, "Gauge", &options, &document) != ISO_OK && !document);
    options.redirects = 3;
    DO(iso_document_load_with(moved, "Gauge", &options, &document));
    CHECK(iso_format_size(iso_document_format(document)) == 16);
    iso_document_close(&document);

    /* With a cache, the server is only asked whether the document has changed, and may be down. */
    options.cache = cache;
    DO(iso_format_load_with(place, "Gauge", &options, &format));
    iso_format_close(&format);
    CHECK(counted(&at, &at.unchanged) == 0);
    DO(iso_format_load_with(place, "Gauge", &options, &format));
    iso_format_close(&format);
    CHECK(counted(&at, &at.unchanged) == 1);

    /* A watch asks at most that, too. */
    DO(iso_watch_open(place, "Gauge", NULL, 0, &watch));
    DO(iso_watch_poll(watch, &format));
    CHECK(format && iso_format_size(format) == 16);
    iso_format_close(&format);
    {
        const int served = counted(&at, &at.served), unchanged = counted(&at, &at.unchanged);
        DO(iso_watch_poll(watch, &format));
        CHECK(!format && counted(&at, &at.served) == served && counted(&at, &at.unchanged) == unchanged + 1);
    }
    CHECK(iso_watch_due_ms(watch) == 0);
    change(&at, "struct Gauge { long step; @default(0.5) double level; };");
    DO(iso_watch_poll(watch, &format));
    CHECK(format && iso_format_size(format) == 16);
    iso_format_close(&format);
    iso_watch_close(&watch);
    DO(iso_watch_open(place, "Gauge", NULL, 3600000, &watch));
    CHECK(iso_watch_due_ms(watch) == 0 && iso_watch_due_ms(NULL) == 0);
    DO(iso_watch_poll(watch, &format));
    iso_format_close(&format);
    CHECK(iso_watch_due_ms(watch) > 3000000 && iso_watch_due_ms(watch) <= 3600000);
    iso_watch_close(&watch);

    in_a_thread(&at, place);
    stop(&at);
    DO(iso_format_load_with(place, "Gauge", &options, &format));
    iso_format_close(&format);
    options.cache = NULL;
    CHECK(iso_format_load_with(place, "Gauge", &options, &format) != ISO_OK && strstr(iso_last_error()->text, place));
    sprintf(forget, "rm -r '%s'", cache);
    CHECK(system(forget) == 0);
    return 0;
}
