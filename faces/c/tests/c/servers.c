/* Unknown formats: found at servers, by a function of the program, and not found. The servers here are processes of this
   program; tests/languages has the real one. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
    int step;
    double depth;
} Gauge;
static const iso_field gauge[] = { ISO_FIELD(Gauge, step, "int"), ISO_FIELD(Gauge, depth, "double") };
static const iso_structure gauges[] = { ISO_STRUCTURE(Gauge, gauge) };

static iso_format *format;
static unsigned char token[16];
static char hex[33];
static unsigned char described[4096];
static size_t length;

/* A server at a port of its own, which answers this many requests with these bytes, and then ends. */
typedef struct {
    pid_t process;
    char url[64];
} Server;

static void answer(int listening, const void *bytes, size_t count) {
    char request[4096], head[128];
    size_t came = 0;
    ssize_t more;
    int connection = accept(listening, NULL, NULL);
    while ((more = read(connection, request + came, sizeof request - 1 - came)) > 0) {
        came += (size_t)more;
        request[came] = 0;
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    sprintf(head, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %u\r\n\r\n", (unsigned)count);
    if (write(connection, head, strlen(head)) < 0 || write(connection, bytes, count) < 0)
        _exit(1);
    close(connection);
}

static Server serve(int times, const void *bytes, size_t count) {
    Server server;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(bind(listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(listening, 8) == 0);
    CHECK(getsockname(listening, (struct sockaddr *)&address, &size) == 0);
    sprintf(server.url, "http://127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    server.process = fork();
    if (server.process == 0) {
        for (; times > 0; --times)
            answer(listening, bytes, count);
        _exit(0);
    }
    close(listening);
    return server;
}

static void ended(const Server *server) {
    CHECK(waitpid(server->process, NULL, 0) == server->process);
}

/* A stream in memory, without descriptions. */
typedef struct {
    unsigned char bytes[4096];
    size_t count, at;
} Memory;

static ptrdiff_t get(void *context, void *bytes, size_t room) {
    Memory *memory = (Memory *)context;
    size_t here = memory->count - memory->at < room ? memory->count - memory->at : room;
    memcpy(bytes, memory->bytes + memory->at, here);
    memory->at += here;
    return (ptrdiff_t)here;
}

static void message_of(Memory *memory) {
    iso_encoder *encoder;
    const void *bytes;
    Gauge record;
    memset(&record, 0, sizeof record);
    record.step = 7;
    record.depth = 0.5;
    DO(iso_encoder_open(format, &encoder));
    DO(iso_encode_whole(encoder, &record, &bytes, &memory->count));
    memory->count = (memory->count + 15) / 16 * 16;
    memset(memory->bytes, 0, memory->count);
    memcpy(memory->bytes, bytes, memory->count / 16 * 16);
    /* Twice. */
    memcpy(memory->bytes + memory->count, memory->bytes, memory->count);
    memory->count *= 2;
    memory->at = 0;
    iso_encoder_close(&encoder);
}

static void read_one(iso_reader *reader) {
    iso_message message;
    DO(iso_reader_next(reader, &message));
    CHECK(message.format && strcmp(iso_format_name(message.format), "Gauge") == 0);
}

/* The last error says what happened at this server. */
static void says(const char *url, const char *why) {
    const char *text = iso_last_error()->text;
    CHECK(strstr(text, url) && strstr(text, why));
}

/* Where nobody listens. */
static const char nobody[] = "http://127.0.0.1:1";

/* A reader that finds the format at a server goes on when the server is gone, and so does another one. A reader with other servers
   says which it asked. */
static void found_at_a_server(Memory *memory) {
    char urls[160];
    iso_servers *servers;
    iso_reader *reader;
    iso_message message;
    Server server = serve(1, described, length), other;
    DO(iso_servers_open(server.url, NULL, &servers));
    DO(iso_reader_open(get, memory, &reader));
    DO(iso_reader_set_servers(reader, servers));
    iso_servers_close(&servers);
    read_one(reader);
    ended(&server);
    read_one(reader);
    iso_reader_close(&reader);
    memory->at = 0;
    DO(iso_servers_open(server.url, NULL, &servers));
    DO(iso_reader_open(get, memory, &reader));
    DO(iso_reader_set_servers(reader, servers));
    iso_servers_close(&servers);
    read_one(reader);
    iso_reader_close(&reader);

    memory->at = 0;
    other = serve(1, "something else", 14);
    sprintf(urls, "%s, %s", nobody, other.url);
    DO(iso_servers_open(urls, NULL, &servers));
    DO(iso_reader_open(get, memory, &reader));
    DO(iso_reader_set_servers(reader, servers));
    FAILS(iso_reader_next(reader, &message), ISO_IO, "");
    says(nobody, "refused");
    says(hex, "the description of");
    says(other.url, "the answer is the description of");
    CHECK(iso_reader_goes_on(reader));
    FAILS(iso_reader_next(reader, &message), ISO_IO, "");
    DO(iso_reader_next(reader, &message));
    CHECK(!message.format);
    iso_reader_close(&reader);
    iso_servers_close(&servers);
    ended(&other);
}

/* A lie of the first server is passed over. A writer registers its format, and leaves it out. */
static void a_lie_is_no_description(Memory *memory) {
    char urls[160];
    iso_servers *servers;
    iso_registry *registry;
    iso_message message;
    Server liar = serve(1, "something else", 14), server = serve(1, described, length);
    sprintf(urls, "%s,%s", liar.url, server.url);
    DO(iso_servers_open(urls, NULL, &servers));
    DO(iso_registry_open(&registry));
    DO(iso_registry_set_servers(registry, servers));
    DO(iso_message_parse(registry, memory->bytes, memory->count, &message));
    CHECK(strcmp(iso_format_name(message.format), "Gauge") == 0);
    iso_registry_close(&registry);
    iso_servers_close(&servers);
    ended(&liar);
    ended(&server);
}

static int put(void *context, const void *bytes, size_t count) {
    Memory *memory = (Memory *)context;
    memcpy(memory->bytes + memory->count, bytes, count);
    memory->count += count;
    return 0;
}

static void a_writer_registers(const Memory *expected) {
    static const char stored[] = "{\"token\": \"00000000000000000000000000000000\"}";
    Memory written, described;
    iso_servers *servers;
    iso_writer *writer;
    Gauge record;
    Server server = serve(1, stored, sizeof stored - 1);
    memset(&written, 0, sizeof written);
    memset(&record, 0, sizeof record);
    record.step = 7;
    record.depth = 0.5;
    DO(iso_servers_open(server.url, NULL, &servers));
    DO(iso_writer_open(put, &written, &writer));
    DO(iso_writer_set_servers(writer, servers));
    DO(iso_writer_write(writer, format, &record));
    ended(&server);
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_close(&writer));
    CHECK(written.count == expected->count && memcmp(written.bytes, expected->bytes, written.count) == 0);

    iso_servers_close(&servers);

    /* The server has stored the format, so another writer of the program needs it no more. One that is not there has stored nothing. */
    written.count = 0;
    DO(iso_servers_open(server.url, NULL, &servers));
    DO(iso_writer_open(put, &written, &writer));
    DO(iso_writer_set_servers(writer, servers));
    iso_servers_close(&servers);
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_close(&writer));
    CHECK(written.count == expected->count && memcmp(written.bytes, expected->bytes, written.count) == 0);
    written.count = 0;
    DO(iso_servers_open(nobody, NULL, &servers));
    DO(iso_writer_open(put, &written, &writer));
    DO(iso_writer_set_servers(writer, servers));
    /* Nobody can be asked, so the stream describes the format, as that of a writer without servers does. */
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_close(&writer));
    iso_servers_close(&servers);
    described.count = 0;
    DO(iso_writer_open(put, &described, &writer));
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_close(&writer));
    CHECK(written.count > expected->count);
    CHECK(written.count == described.count && memcmp(written.bytes, described.bytes, written.count) == 0);
}

/* A program answers for its own formats. A reader that allows its host finds them, also from its cache when the program has ended; one
   that does not is told which host it would be. */
static void self_service(void) {
    Memory written;
    iso_servers *servers;
    iso_responder *responder;
    iso_writer *writer;
    iso_reader *reader;
    iso_message message;
    Gauge record;
    char host[64];
    memset(&written, 0, sizeof written);
    memset(&record, 0, sizeof record);
    record.step = 7;
    record.depth = 0.5;
    DO(iso_responder_open("127.0.0.1:0", 0, &responder));
    CHECK(strncmp(iso_responder_url(responder), "http://127.0.0.1:", 17) == 0);
    strcpy(host, iso_responder_url(responder) + 7);
    DO(iso_writer_open(put, &written, &writer));
    DO(iso_writer_set_responder(writer, responder));
    DO(iso_writer_write(writer, format, &record));
    DO(iso_writer_close(&writer));

    DO(iso_servers_open(NULL, NULL, &servers));
    DO(iso_reader_open(get, &written, &reader));
    DO(iso_reader_set_servers(reader, servers));
    FAILS(iso_reader_next(reader, &message), ISO_UNKNOWN_FORMAT, "");
    says(host, "not an allowed host");
    iso_reader_close(&reader);
    DO(iso_servers_allow(servers, host));
    written.at = 0;
    DO(iso_reader_open(get, &written, &reader));
    DO(iso_reader_set_servers(reader, servers));
    read_one(reader);
    iso_reader_close(&reader);
    iso_servers_close(&servers);

    iso_responder_close(&responder);
    iso_responder_close(&responder);
    CHECK(iso_responder_url(NULL) == NULL);
    FAILS(iso_responder_open("0.0.0.0:0", 0, &responder), ISO_INSECURE, "");
    FAILS(iso_responder_open("nowhere", 0, &responder), ISO_ADDRESS, "");
    DO(iso_responder_open("0.0.0.0:0", 1, &responder));
    DO(iso_responder_add(responder, format));
    iso_responder_close(&responder);
    DO(iso_writer_open(put, &written, &writer));
    FAILS(iso_writer_set_locators(writer, "ftp://host"), ISO_TEXT, "");
    FAILS(iso_writer_set_responder(writer, NULL), ISO_WRONG_TYPE, "responder");
    DO(iso_writer_close(&writer));
}

static int asked;

static ptrdiff_t resolve(void *context, const unsigned char wanted[16], void *description, size_t room) {
    ++asked;
    CHECK(memcmp(wanted, token, sizeof token) == 0 && room >= length);
    memcpy(description, described, length);
    return *(ptrdiff_t *)context;
}

static void found_by_the_program(Memory *memory) {
    iso_reader *reader;
    iso_message message;
    iso_registry *registry;
    ptrdiff_t result = 0;
    memory->at = 0;
    DO(iso_reader_open(get, memory, &reader));
    DO(iso_reader_set_resolver(reader, resolve, &result));
    FAILS(iso_reader_next(reader, &message), ISO_UNKNOWN_FORMAT, "");
    CHECK(memcmp(iso_last_error()->token, token, sizeof token) == 0);
    result = (ptrdiff_t)length;
    read_one(reader);
    CHECK(asked == 2);
    iso_reader_close(&reader);
    DO(iso_registry_open(&registry));
    DO(iso_registry_set_resolver(registry, resolve, &result));
    result = -5;
    FAILS(iso_message_parse(registry, memory->bytes, memory->count, &message), ISO_IO, "");
    result = (ptrdiff_t)length - 1;
    CHECK(iso_message_parse(registry, memory->bytes, memory->count, &message) != 0);
    result = PTRDIFF_MAX;
    CHECK(iso_message_parse(registry, memory->bytes, memory->count, &message) != 0);
    result = (ptrdiff_t)length;
    DO(iso_message_parse(registry, memory->bytes, memory->count, &message));
    iso_registry_close(&registry);
}

static void arguments(void) {
    iso_servers *servers;
    FAILS(iso_servers_open("formats:7460", NULL, &servers), ISO_ADDRESS, "");
    CHECK(!servers);
    FAILS(iso_servers_open("", NULL, &servers), ISO_ADDRESS, "");
    FAILS(iso_servers_open("http://127.0.0.1:1", NULL, NULL), ISO_WRONG_TYPE, "servers");
    DO(iso_servers_open(NULL, NULL, &servers));
    FAILS(iso_servers_put(servers, format), ISO_ADDRESS, "");
    FAILS(iso_servers_allow(servers, "http://sim7"), ISO_ADDRESS, "");
    FAILS(iso_servers_allow(servers, NULL), ISO_WRONG_TYPE, "host");
    FAILS(iso_servers_secret(NULL, "x"), ISO_WRONG_TYPE, "servers");
    iso_servers_close(&servers);
    DO(iso_servers_open("https://127.0.0.1:1", NULL, &servers));
    FAILS(iso_servers_trust(servers, "/nowhere/authority.pem"), ISO_IO, "");
    FAILS(iso_servers_certificate(servers, "/nowhere/identity.pem"), ISO_IO, "");
    DO(iso_servers_secret(servers, "x"));
    FAILS(iso_servers_secret(servers, "x\n"), ISO_TEXT, "");
    iso_servers_close(&servers);
    FAILS(iso_reader_set_servers(NULL, NULL), ISO_WRONG_TYPE, "reader");
    FAILS(iso_writer_set_servers(NULL, NULL), ISO_WRONG_TYPE, "servers");
    FAILS(iso_registry_set_resolver(NULL, resolve, NULL), ISO_WRONG_TYPE, "registry");
    iso_servers_close(&servers);
    iso_servers_close(NULL);
}

int main(void) {
    Memory memory;
    const void *description;
    int i;
    DO(iso_format_open(gauges, 1, &format));
    DO(iso_format_token(format, token));
    for (i = 0; i < 16; ++i)
        sprintf(hex + 2 * i, "%02x", token[i]);
    description = iso_format_description(format, &length);
    CHECK(description && length <= sizeof described);
    memcpy(described, description, length);
    message_of(&memory);
    found_at_a_server(&memory);
    a_lie_is_no_description(&memory);
    a_writer_registers(&memory);
    self_service();
    found_by_the_program(&memory);
    arguments();
    iso_format_close(&format);
    return 0;
}
