/* Records as XML text: one element for each value, those of an array under the same name. It is written by snprintf, and
 * read by Expat with strtod and strtoll into the struct, wherever in the text an element stands.
 *
 * In front of this comes the table of the records that there are (`table.rs`). */
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8, TEXT = 1024 };

int start(void) { return 0; }

static size_t slot(const char *at) {
    size_t offset;
    memcpy(&offset, at, sizeof offset);
    return offset;
}

static char *text(char *to, const char *from) {
    for (; *from; from++)
        if (*from == '&') memcpy(to, "&amp;", 5), to += 5;
        else if (*from == '<') memcpy(to, "&lt;", 4), to += 4;
        else *to++ = *from;
    return to;
}

static char *put(char *to, const struct field *fields, size_t count, const char *record, const char *from) {
    for (const struct field *f = fields; f < fields + count; f++) {
        const char *values = f->length < 0 ? from + f->offset : record + slot(from + f->offset);
        size_t n = f->length < 0 ? f->count : slot(from + f->length);
        for (size_t i = 0; i < n; i++) {
            const char *value = values + i * f->size;
            size_t name = strlen(f->name);
            *to++ = '<', memcpy(to, f->name, name), to += name, *to++ = '>';
            switch (f->kind) {
            case I8: to += sprintf(to, "%d", *(const int8_t *)value); break;
            case I16: to += sprintf(to, "%d", *(const int16_t *)value); break;
            case I32: to += sprintf(to, "%d", *(const int32_t *)value); break;
            case I64: to += sprintf(to, "%lld", (long long)*(const int64_t *)value); break;
            case U64: to += sprintf(to, "%llu", (unsigned long long)*(const uint64_t *)value); break;
            case F32: to += sprintf(to, "%.9g", *(const float *)value); break;
            case F64: to += sprintf(to, "%.17g", *(const double *)value); break;
            case STRING: to = text(to, record + slot(value)); break;
            case RECORD: to = put(to, f->inner, f->inner_count, record, value); break;
            }
            *to++ = '<', *to++ = '/', memcpy(to, f->name, name), to += name, *to++ = '>';
        }
    }
    return to;
}

/* The room is known to suffice: it is reckoned from the number of values. */
size_t encode(size_t index, const void *record, unsigned char *out, size_t room) {
    const struct record *r = &records[index];
    char *end = (char *)out;
    (void)room;
    end += sprintf(end, "<%s>", r->name);
    end = put(end, r->fields, r->count, record, record);
    end += sprintf(end, "</%s>", r->name);
    return (size_t)(end - (char *)out);
}

/* A nested record that is being read. */
struct frame {
    const struct field *fields;
    size_t count;
    char *base;
    size_t at;             /* the field that came last, where the search begins */
    unsigned seen[FIELDS]; /* how many values of each have come */
};

struct reader {
    const struct record *record;
    char *to;
    size_t end; /* where the next block goes */
    struct frame frames[DEPTH], *top;
    const struct field *field; /* whose text is being read, and where its value goes */
    void *value;
    char text[TEXT];
    size_t length;
    int unknown; /* so many elements are open that no field is named after */
    int failed;
};

static void enter(struct reader *r, const struct field *fields, size_t count, void *base) {
    struct frame *f = r->top == NULL ? r->frames : r->top + 1;
    if (f == r->frames + DEPTH) { r->failed = 1; return; }
    f->fields = fields, f->count = count, f->base = base, f->at = 0;
    memset(f->seen, 0, count * sizeof *f->seen);
    r->top = f;
}

/* Room at the end of what was read: a new block if a slot shall point at it, else more of the last one. */
static char *append(struct reader *r, char *slot, size_t size) {
    if (slot != NULL) r->end = (r->end + 7) & ~(size_t)7, memcpy(slot, &r->end, sizeof r->end);
    r->end += size;
    return r->to + r->end - size;
}

static void XMLCALL on_start(void *data, const XML_Char *name, const XML_Char **attributes) {
    struct reader *r = data;
    struct frame *f = r->top;
    (void)attributes;
    if (f == NULL) { enter(r, r->record->fields, r->record->count, r->to); return; }
    if (r->unknown == 0)
        for (size_t tried = 0; tried < f->count; tried++, f->at = f->at + 1 == f->count ? 0 : f->at + 1) {
            const struct field *field = &f->fields[f->at];
            if (strcmp(field->name, name) != 0) continue;
            if (field->length < 0 && f->seen[f->at] == field->count) { r->failed = 1; return; }
            if (field->length < 0) r->value = f->base + field->offset + f->seen[f->at] * field->size;
            else r->value = append(r, f->seen[f->at] ? NULL : f->base + field->offset, field->size);
            f->seen[f->at]++;
            r->length = 0;
            r->field = field->kind == RECORD ? NULL : field;
            if (field->kind == RECORD) enter(r, field->inner, field->inner_count, r->value);
            return;
        }
    r->unknown++;
}

static void XMLCALL on_text(void *data, const XML_Char *text, int length) {
    struct reader *r = data;
    if (r->field == NULL || r->unknown > 0) return;
    if (r->length + (size_t)length >= TEXT) { r->failed = 1; return; }
    memcpy(r->text + r->length, text, (size_t)length);
    r->length += (size_t)length;
}

static void XMLCALL on_end(void *data, const XML_Char *name) {
    struct reader *r = data;
    (void)name;
    if (r->unknown > 0) { r->unknown--; return; }
    if (r->field == NULL) {
        if (r->top > r->frames) r->top--;
        return;
    }
    r->text[r->length] = 0;
    switch (r->field->kind) {
    case I8: *(int8_t *)r->value = (int8_t)strtoll(r->text, NULL, 10); break;
    case I16: *(int16_t *)r->value = (int16_t)strtoll(r->text, NULL, 10); break;
    case I32: *(int32_t *)r->value = (int32_t)strtoll(r->text, NULL, 10); break;
    case I64: *(int64_t *)r->value = strtoll(r->text, NULL, 10); break;
    case U64: *(uint64_t *)r->value = strtoull(r->text, NULL, 10); break;
    case STRING: memcpy(append(r, r->value, r->length + 1), r->text, r->length + 1); break;
    case F32: *(float *)r->value = strtof(r->text, NULL); break;
    case F64: *(double *)r->value = strtod(r->text, NULL); break;
    case RECORD: break;
    }
    r->field = NULL;
}

int decode(size_t index, const unsigned char *message, size_t length, void *record) {
    static XML_Parser parser;
    static struct reader r;
    if (parser == NULL && (parser = XML_ParserCreate("UTF-8")) == NULL) return 1;
    XML_ParserReset(parser, "UTF-8");
    r.record = &records[index], r.to = record, r.end = records[index].size, r.top = NULL, r.field = NULL, r.unknown = 0, r.failed = 0;
    XML_SetUserData(parser, &r);
    XML_SetElementHandler(parser, on_start, on_end);
    XML_SetCharacterDataHandler(parser, on_text);
    return XML_Parse(parser, (const char *)message, (int)length, 1) != XML_STATUS_OK || r.failed;
}
