/* Records that a document declares: the format, the defaults, the texts in XML and JSON, the options of loading, and watches. */
#include "check.h"

static const char *const schema =
    "<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'><xs:complexType name='Gauge'><xs:sequence>\n"
    "<xs:element name='step' type='xs:int'/><xs:element name='station' type='xs:string'/>\n"
    "<xs:element name='level' type='xs:double' default='-INF'/>\n"
    "<xs:element name='wind' type='xs:float' minOccurs='0' maxOccurs='unbounded'/></xs:sequence>\n"
    "<xs:attribute name='at' type='xs:dateTime' use='required'/></xs:complexType></xs:schema>\n";

static const char *const xml = "<Gauge at=\"2026-11-23T12:00:00Z\"><step>7</step><station>Old &lt;Mill&gt;</station><level>0.5</level>"
                               "<wind>1.5</wind><wind>NaN</wind></Gauge>";
static const char *const json =
    "{\"step\":7,\"station\":\"Old <Mill>\",\"level\":0.5,\"wind\":[1.5,\"NaN\"],\"at\":\"2026-11-23T12:00:00Z\"}";

/* A record of the document, as C has it. */
typedef struct {
    int32_t step;
    const char *station;
    double level;
    const float *wind;
    uint64_t wind_len;
    int64_t at;
} Gauge;

/* What an older sender has. */
typedef struct {
    int32_t step;
    const char *station;
    int64_t at;
} Old;
static const iso_field old_fields[] = {ISO_FIELD(Old, step, "int"), ISO_FIELD(Old, station, "string"),
                                       ISO_FIELD_UNIT(Old, at, "i64", "ns since 1970-01-01T00:00:00Z")};
static const iso_structure old_structures[] = {ISO_STRUCTURE_AS("Gauge", Old, old_fields)};

static void texts(iso_document *document) {
    iso_message message;
    iso_item item;
    const char *text = NULL;
    DO(iso_document_of_xml(document, xml, &message));
    CHECK(message.format == iso_document_format(document) && strcmp(iso_format_name(message.format), "Gauge") == 0);
    DO(iso_message_get(&message, "station", &item));
    CHECK(item.length == 10 && memcmp(item.bytes, "Old <Mill>", 10) == 0);
    DO(iso_document_xml(document, &message, &text));
    CHECK(strcmp(text, xml) == 0);
    DO(iso_document_json(document, &message, &text));
    CHECK(strcmp(text, json) == 0);
    DO(iso_document_of_json(document, json, &message));
    DO(iso_document_xml(document, &message, &text));
    CHECK(strcmp(text, xml) == 0);

    FAILS(iso_document_of_xml(document, "<Gauge><depth>1</depth></Gauge>", &message), ISO_NO_SUCH_FIELD, "*");
    CHECK(message.format == NULL && message.body == NULL);
    FAILS(iso_document_of_xml(document, "<Gauge", &message), ISO_TEXT, "*");
    FAILS(iso_document_of_xml(document, NULL, &message), ISO_WRONG_TYPE, "xml");
    FAILS(iso_document_of_xml(NULL, xml, &message), ISO_WRONG_TYPE, "document");
    FAILS(iso_document_of_json(document, "{\"station\":\"Old Mill\"}", &message), ISO_REQUIRED, "*");
    CHECK(strstr(iso_last_error()->text, "at") != NULL);
    FAILS(iso_document_of_json(document, json, NULL), ISO_WRONG_TYPE, "message");
    FAILS(iso_document_xml(document, &message, &text), ISO_WRONG_TYPE, "message");
    CHECK(text == NULL);
    FAILS(iso_document_json(document, NULL, &text), ISO_WRONG_TYPE, "message");
    CHECK(iso_document_format(NULL) == NULL);
}

/* Memory that is given out in pieces of a few bytes. */
typedef struct {
    const char *text;
    size_t left, piece;
} pieces;

static ptrdiff_t give(void *context, void *bytes, size_t room) {
    pieces *from = (pieces *)context;
    size_t count = from->left < from->piece ? from->left : from->piece;
    count = count < room ? count : room;
    memcpy(bytes, from->text, count);
    from->text += count;
    from->left -= count;
    return (ptrdiff_t)count;
}

static ptrdiff_t broken(void *context, void *bytes, size_t room) {
    (void)context, (void)bytes, (void)room;
    return -1;
}

/* Many records in one text, and one at fault. */
static void streams(const iso_document *document) {
    char all[4096];
    size_t piece;
    iso_texts *texts = NULL;
    iso_message message;
    iso_item item;
    for (piece = 1; piece < 2000; piece += 171) {
        int language;
        for (language = 0; language < 3; language++) {
            pieces from;
            int number;
            sprintf(all, language == 0 ? "<river>%s\n%s %s</river>" : language == 1 ? "%s\n%s%s" : "%s\n\n%s\n%s\n", language < 2 ? xml : json,
                    language < 2 ? xml : json, language < 2 ? xml : json);
            from.text = all;
            from.left = strlen(all);
            from.piece = piece;
            if (language < 2)
                DO(iso_texts_open_xml(document, language == 0 ? "river" : NULL, give, &from, &texts));
            else
                DO(iso_texts_open_json(document, give, &from, &texts));
            for (number = 0; number < 3; number++) {
                DO(iso_texts_next(texts, &message));
                CHECK(message.format != NULL && strcmp(iso_format_name(message.format), "Gauge") == 0);
                DO(iso_message_get(&message, "station", &item));
                CHECK(item.length == 10 && memcmp(item.bytes, "Old <Mill>", 10) == 0);
            }
            DO(iso_texts_next(texts, &message));
            CHECK(message.format == NULL && message.body == NULL);
            iso_texts_close(&texts);
            CHECK(texts == NULL);
        }
    }
    {
        pieces from;
        sprintf(all, "%s\n{\"step\": \"seven\"}\n%s\n", json, json);
        from.text = all;
        from.left = strlen(all);
        from.piece = 7;
        DO(iso_texts_open_json(document, give, &from, &texts));
        DO(iso_texts_next(texts, &message));
        FAILS(iso_texts_next(texts, &message), ISO_TEXT, "*");
        CHECK(message.format == NULL && strstr(iso_last_error()->text, "line 2") != NULL);
        DO(iso_texts_next(texts, &message));
        CHECK(message.format == NULL);
        iso_texts_close(&texts);
    }
    DO(iso_texts_open_json(document, broken, NULL, &texts));
    FAILS(iso_texts_next(texts, &message), ISO_IO, "*");
    iso_texts_close(&texts);
    FAILS(iso_texts_open_xml(document, NULL, NULL, NULL, &texts), ISO_WRONG_TYPE, "get");
    FAILS(iso_texts_open_json(NULL, give, NULL, &texts), ISO_WRONG_TYPE, "document");
    FAILS(iso_texts_next(NULL, &message), ISO_WRONG_TYPE, "texts");
    iso_texts_close(NULL);
}

/* A struct becomes a text, and a record without a field gets the default of the document. */
static void records(iso_document *document, const iso_format *format) {
    const float wind[] = {1.5f, 2.5f};
    const Gauge gauge = {7, "Ferry", 0.25, wind, 2, 0};
    const Old old = {8, "Mill", 0};
    iso_encoder *encoder = NULL;
    iso_decoder *decoder = NULL;
    iso_registry *registry = NULL;
    iso_format *other = NULL;
    iso_message message;
    const void *bytes = NULL, *record = NULL;
    const char *text = NULL;
    size_t length = 0;
    CHECK(iso_format_size(format) == sizeof(Gauge));
    DO(iso_encoder_open(format, &encoder));
    DO(iso_encode_whole(encoder, &gauge, &bytes, &length));
    DO(iso_registry_open(&registry));
    DO(iso_registry_add(registry, format));
    DO(iso_message_parse(registry, bytes, length, &message));
    DO(iso_document_xml(document, &message, &text));
    CHECK(strcmp(text, "<Gauge at=\"1970-01-01T00:00:00Z\"><step>7</step><station>Ferry</station><level>0.25</level>"
                       "<wind>1.5</wind><wind>2.5</wind></Gauge>") == 0);
    iso_encoder_close(&encoder);

    DO(iso_format_open(old_structures, 1, &other));
    DO(iso_registry_add(registry, other));
    DO(iso_encoder_open(other, &encoder));
    DO(iso_encode_whole(encoder, &old, &bytes, &length));
    DO(iso_message_parse(registry, bytes, length, &message));
    FAILS(iso_document_xml(document, &message, &text), ISO_WRONG_TYPE, "message");
    {
        iso_rules *rules = NULL;
        DO(iso_rules_open(&rules));
        DO(iso_rules_missing(rules, ISO_MISSING_ZERO));
        DO(iso_decoder_open(format, rules, ISO_FAULTS_ERROR, &decoder));
        iso_rules_close(&rules);
    }
    DO(iso_decode(decoder, &message, &record));
    CHECK(((const Gauge *)record)->step == 8 && ((const Gauge *)record)->level < -1e308);
    CHECK(((const Gauge *)record)->wind_len == 0);
    iso_decoder_close(&decoder);
    iso_encoder_close(&encoder);
    iso_registry_close(&registry);
    iso_format_close(&other);
}

/* Writes a document. */
static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

typedef struct {
    double *levels;
    int count;
} Run;

/* Each option does what it says, for formats and for documents. */
static void options(const char *path, const char *overlay) {
    iso_document_options options;
    iso_format *format = NULL;
    iso_document *document = NULL;
    memset(&options, 0, sizeof options);
    write_text(path, "struct Run { double *levels; int count; };");
    write_text(overlay, "{\"Run\": {\"fields\": {\"levels\": {\"pointer\": \"[count]\"}}}}");
    FAILS(iso_format_load_with(path, "Run", NULL, &format), ISO_TEXT, "*");
    FAILS(iso_document_load_with(path, "Run", NULL, &document), ISO_TEXT, "*");
    options.language = "c";
    FAILS(iso_format_load_with(path, "Run", &options, &format), ISO_DECLARATION, "*");
    options.language = "cobol";
    FAILS(iso_format_load_with(path, "Run", &options, &format), ISO_TEXT, "*");
    options.language = "c";
    options.overlay = overlay;
    DO(iso_format_load_with(path, "Run", &options, &format));
    CHECK(iso_format_size(format) == sizeof(Run));
    iso_format_close(&format);
    options.layout = "i386";
    DO(iso_format_load_with(path, "Run", &options, &format));
    CHECK(iso_format_size(format) == 8);
    iso_format_close(&format);
    DO(iso_document_load_with(path, "Run", &options, &document));
    CHECK(iso_format_size(iso_document_format(document)) == 8);
    {
        iso_message message;
        const char *text = NULL;
        DO(iso_document_of_json(document, "{\"levels\":[0.5,2.0]}", &message));
        DO(iso_document_json(document, &message, &text));
        CHECK(strcmp(text, "{\"levels\":[0.5,2.0],\"count\":2}") == 0);
    }
    iso_document_close(&document);
    options.layout = "vax";
    FAILS(iso_format_load_with(path, "Run", &options, &format), ISO_DECLARATION, "*");
    FAILS(iso_document_load_with(path, "Run", &options, &document), ISO_DECLARATION, "*");
    options.layout = NULL;
    options.limit = 10;
    FAILS(iso_format_load_with(path, "Run", &options, &format), ISO_MESSAGE_SIZE, "*");
    FAILS(iso_document_load_with(path, "Run", &options, &document), ISO_MESSAGE_SIZE, "*");
    options.limit = 0;
    options.schemes = "https, http";
    FAILS(iso_format_load_with(path, "Run", &options, &format), ISO_FORBIDDEN, "*");
    FAILS(iso_document_load_with(path, "Run", &options, &document), ISO_FORBIDDEN, "*");
    options.schemes = "https,file";
    options.deadline_ms = 60000;
    options.redirects = -1;
    options.hosts = "schemas.example";
    DO(iso_format_load_with(path, "Run", &options, &format));
    iso_format_close(&format);
    CHECK(remove(path) == 0 && remove(overlay) == 0);
}

/* A program is told of a new format, of new defaults, and of an error, once each. */
static void watched(const char *path) {
    iso_document_options options;
    iso_watch *watch = NULL;
    iso_format *format = NULL, *again = NULL;
    memset(&options, 0, sizeof options);
    options.language = "idl";
    write_text(path, "struct Gauge { long step; };");
    DO(iso_watch_open(path, "Gauge", &options, 0, &watch));
    DO(iso_watch_poll(watch, &format));
    CHECK(format && iso_format_size(format) == 4);
    DO(iso_watch_poll(watch, &again));
    CHECK(!again);
    write_text(path, "struct Gauge { long step; }; // the same");
    DO(iso_watch_check(watch, &again));
    CHECK(!again);
    write_text(path, "struct Gauge { long step; @default(0.5) double level; };");
    DO(iso_watch_poll(watch, &again));
    CHECK(again && iso_format_size(again) > iso_format_size(format));
    iso_format_close(&format);
    iso_format_close(&again);
    write_text(path, "struct Gauge { long step; @default(1.5) double level; };");
    DO(iso_watch_poll(watch, &format));
    CHECK(format);
    {
        typedef struct {
            int32_t step;
        } Step;
        static const iso_field fields[] = {ISO_FIELD(Step, step, "int")};
        static const iso_structure structures[] = {ISO_STRUCTURE_AS("Gauge", Step, fields)};
        typedef struct {
            int32_t step;
            double level;
        } Level;
        const Step step = {7};
        iso_format *old = NULL;
        iso_encoder *encoder = NULL;
        iso_decoder *decoder = NULL;
        iso_registry *registry = NULL;
        iso_message message;
        const void *bytes = NULL, *record = NULL;
        size_t length = 0;
        DO(iso_format_open(structures, 1, &old));
        DO(iso_encoder_open(old, &encoder));
        DO(iso_encode_whole(encoder, &step, &bytes, &length));
        DO(iso_registry_open(&registry));
        DO(iso_registry_add(registry, old));
        DO(iso_message_parse(registry, bytes, length, &message));
        DO(iso_decoder_open(format, NULL, ISO_FAULTS_ERROR, &decoder));
        DO(iso_decode(decoder, &message, &record));
        CHECK(((const Level *)record)->step == 7 && ((const Level *)record)->level == 1.5);
        iso_decoder_close(&decoder);
        iso_registry_close(&registry);
        iso_encoder_close(&encoder);
        iso_format_close(&old);
    }
    iso_format_close(&format);
    write_text(path, "struct Level { long step; };");
    FAILS(iso_watch_check(watch, &format), ISO_NO_SUCH_FIELD, "*");
    CHECK(!format);
    DO(iso_watch_check(watch, &format));
    CHECK(!format);
    iso_watch_close(&watch);
    CHECK(!watch);
    iso_watch_close(&watch);
    iso_watch_close(NULL);
    /* A patient program asks at once when it wants. */
    DO(iso_watch_open(path, "Level", &options, UINT64_MAX, &watch));
    DO(iso_watch_poll(watch, &format));
    CHECK(format);
    iso_format_close(&format);
    write_text(path, "struct Level { long step; long more; };");
    DO(iso_watch_poll(watch, &format));
    CHECK(!format);
    DO(iso_watch_check(watch, &format));
    CHECK(format && iso_format_size(format) == 8);
    iso_format_close(&format);
    iso_watch_close(&watch);
    FAILS(iso_watch_poll(NULL, &format), ISO_WRONG_TYPE, "watch");
    FAILS(iso_watch_open(NULL, "Run", NULL, 0, &watch), ISO_WRONG_TYPE, "place");
    CHECK(!watch && remove(path) == 0);
}

int main(int count, char **arguments) {
    char path[4096], other[4096];
    iso_document *document = NULL;
    iso_format *format = NULL;
    CHECK(count > 0 && strlen(arguments[0]) + 6 < sizeof path);
    sprintf(path, "%s.xsd", arguments[0]);
    write_text(path, schema);
    DO(iso_document_load(path, "Gauge", &document));
    texts(document);
    streams(document);
    records(document, iso_document_format(document));
    /* The format alone has the defaults as well. */
    DO(iso_format_load(path, "Gauge", &format));
    records(document, format);
    iso_format_close(&format);
    iso_document_close(&document);
    CHECK(document == NULL);
    iso_document_close(&document);
    FAILS(iso_document_load(path, "Level", &document), ISO_NO_SUCH_FIELD, "Level");
    CHECK(document == NULL);
    iso_document_close(NULL);
    CHECK(remove(path) == 0);

    sprintf(path, "%s.txt", arguments[0]);
    sprintf(other, "%s.json", arguments[0]);
    options(path, other);
    watched(path);
    return 0;
}
