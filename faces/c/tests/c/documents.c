/* Records that a document declares: the format, the defaults, and the texts in XML and JSON. */
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
    FAILS(iso_document_of_json(document, json, NULL), ISO_WRONG_TYPE, "message");
    FAILS(iso_document_xml(document, &message, &text), ISO_WRONG_TYPE, "message");
    CHECK(text == NULL);
    FAILS(iso_document_json(document, NULL, &text), ISO_WRONG_TYPE, "message");
    CHECK(iso_document_format(NULL) == NULL);
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

int main(int count, char **arguments) {
    char path[4096];
    FILE *file = NULL;
    iso_document *document = NULL;
    iso_format *format = NULL;
    CHECK(count > 0 && strlen(arguments[0]) + 5 < sizeof path);
    sprintf(path, "%s.xsd", arguments[0]);
    file = fopen(path, "w");
    CHECK(file && fputs(schema, file) >= 0 && fclose(file) == 0);
    DO(iso_document_load(path, "Gauge", &document));
    texts(document);
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
    return 0;
}
