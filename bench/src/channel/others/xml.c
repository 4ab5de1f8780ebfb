/* Events as XML on a TCP connection between two processes, each with its length in front. Values are written by snprintf,
 * and read by Expat and strtof. After `events.h`. */
#include <arpa/inet.h>
#include <expat.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int wire = -1;
static char *text; /* room for the largest event, with its length in front */
static struct event came;
static char value[64];
static size_t length;

static int whole(int writing, char *at, size_t size) {
    while (size > 0) {
        ssize_t done = writing ? write(wire, at, size) : read(wire, at, size);
        if (done <= 0) return 1;
        at += done, size -= (size_t)done;
    }
    return 0;
}

static int post(const struct event *event) {
    char *to = text + sizeof(uint32_t);
    to += sprintf(to, "<Event><step>%u</step><mode>%u</mode>", event->step, event->mode);
    for (uint32_t i = 0; i < event->count; i++) to += sprintf(to, "<value>%.9g</value>", event->values[i]);
    to += sprintf(to, "</Event>");
    uint32_t size = (uint32_t)(to - text - (ptrdiff_t)sizeof size);
    memcpy(text, &size, sizeof size);
    return whole(1, text, size + sizeof size);
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes) {
    (void)data, (void)name, (void)attributes;
    length = 0;
}

static void XMLCALL on_text(void *data, const XML_Char *part, int size) {
    (void)data;
    if (length + (size_t)size < sizeof value) memcpy(value + length, part, (size_t)size), length += (size_t)size;
}

static void XMLCALL on_end(void *data, const XML_Char *name) {
    (void)data;
    value[length] = 0;
    if (strcmp(name, "value") == 0) came.values[came.count++] = strtof(value, NULL);
    else if (strcmp(name, "step") == 0) came.step = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(name, "mode") == 0) came.mode = (uint32_t)strtoul(value, NULL, 10);
    length = 0;
}

static int next(struct event *event) {
    static XML_Parser parser;
    uint32_t size;
    if (whole(0, (char *)&size, sizeof size) || whole(0, text, size)) return 1;
    if (parser == NULL) parser = XML_ParserCreate("UTF-8");
    XML_ParserReset(parser, "UTF-8");
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    came.count = 0;
    if (XML_Parse(parser, text, (int)size, 1) != XML_STATUS_OK) return 1;
    *event = came;
    return 0;
}

int main(int argc, char **argv) {
    uint32_t count = (uint32_t)values_of(argc, argv);
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET, address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1)) return 1;
    if (getsockname(listener, (struct sockaddr *)&address, &size)) return 1;
    text = (char *)malloc(256 + 40 * (size_t)count);
    came.values = (float *)malloc((count + 1) * sizeof *came.values);
    int far = fork() == 0;
    stay(argc, argv, far);
    if (far) {
        close(listener), wire = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(wire, (struct sockaddr *)&address, size)) return 1;
    } else {
        wire = accept(listener, NULL, NULL);
    }
    setsockopt(wire, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (!far) return tell(count);
    for (struct event event;;)
        if (next(&event) || handle(&event)) return 0;
}
