/* Reads streams by isoform_reader.h into structs that its input describes, and prints what arrived.

     reader size     prints the bytes of a pointer
     reader          does what each line of its input says:

   table SIZE                                           begins the next table of wants, for a struct of this size
   row NAME TYPE OFFSET EXTENT NESTED KEEPS             adds a row; NESTED is the number of a table, or -1. ~ in TYPE is a space
   read HEX TABLE..                                     reads a stream, - if it is empty; its records go into these tables, in turn;
                                                        - only checks a record

   Without a table it prints only the first error. For each message it prints a line: the members in the order of the rows, or the error and its path. The numbers of floats are
   their bits in hexadecimal, and texts their bytes. */
#define ISOFORM_READER_IMPLEMENTATION
#define ISO_READ_FIELDS 4096
#define ISO_READ_STRUCTURES 64
#define ISO_READ_SYMBOLS 4096
#include "isoform_reader.h"
#include <stdio.h>
#include <stdlib.h>

enum { TABLES = 4096, ROWS = 65536, LINE = 1 << 22 };
static iso_wants tables[TABLES];
static iso_want rows[ROWS];
static size_t table_count, row_count;
static iso_wire formats[4];
static char line[LINE];

static void fail(const char *what) {
    fprintf(stderr, "reader: %s\n", what);
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        fail("no memory");
    return memory;
}

static char *copy(const char *text) {
    char *memory = (char *)allocate(strlen(text) + 1), *at;
    strcpy(memory, text);
    for (at = memory; *at; at++)
        if (*at == '~')
            *at = ' ';
    return memory;
}

static void add_row(char *words) {
    iso_want *row = &rows[row_count++];
    const char *name = strtok(words, " \r\n"), *type = strtok(NULL, " ");
    long numbers[4];
    size_t i;
    if (row_count == ROWS || !name || !type)
        fail("a row too many");
    row->name = strcpy((char *)allocate(strlen(name) + 1), name);
    row->type = copy(type);
    for (i = 0; i < 4; i++)
        numbers[i] = atol(strtok(NULL, " \r\n"));
    row->offset = (size_t)numbers[0];
    row->extent = (size_t)numbers[1];
    row->nested = numbers[2] < 0 ? NULL : &tables[numbers[2]];
    row->keeps = (int)numbers[3];
    tables[table_count - 1].count++;
}

static uint64_t integer(const iso__type *type, const unsigned char *at) {
    static const uint16_t one = 1;
    const int is_big_endian = *(const unsigned char *)&one == 0;
    return type->word == 'i' ? iso__load_signed(at, type->size, is_big_endian) : iso__load(at, type->size, is_big_endian);
}

static void print_bits(const unsigned char *at, size_t size) {
    float four;
    double eight;
    if (size == 4)
        memcpy(&four, at, 4);
    else
        memcpy(&eight, at, 8);
    if (size == 4 ? isnan(four) : isnan(eight)) {
        printf(" nan");
        return;
    }
    {
        iso__type bits = { 'u', 0, 0, 0, { 0 }, 0, NULL };
        bits.size = size;
        printf(" %llx", (unsigned long long)integer(&bits, at));
    }
}

static void print_structure(const iso_wants *wants, const unsigned char *record);

static void print_element(const iso_want *row, const iso__type *type, const unsigned char *at) {
    const char *text;
    switch (type->word) {
    case '{':
        print_structure(row->nested, at);
        break;
    case 's':
        memcpy(&text, at, sizeof text);
        printf(text ? " \"" : " null");
        for (; text && *text; text++)
            printf("%02x", (unsigned)(unsigned char)*text);
        break;
    case 'z':
        print_bits(at, type->part);
        print_bits(at + type->part, type->part);
        break;
    case 'f':
        print_bits(at, type->part);
        break;
    case 'i':
        printf(" %lld", (long long)integer(type, at));
        break;
    default:
        printf(" %llu", (unsigned long long)integer(type, at));
    }
}

static void print_structure(const iso_wants *wants, const unsigned char *record) {
    size_t i;
    for (i = 0; i < wants->count; i++) {
        const iso_want *row = &wants->rows[i];
        iso__type type, length;
        uint64_t count, k;
        iso__parse_type(wants, row, &type);
        count = type.inner * (type.rank ? type.dimensions[0] : 1);
        if (type.length) {
            iso__parse_type(wants, type.length, &length);
            count = type.inner * integer(&length, record + type.length->offset);
        }
        for (k = 0; k < count; k++)
            print_element(row, &type, record + row->offset + k * type.size);
    }
}

static void read_stream(char *words) {
    char *hex = strtok(words, " \r\n"), *table = strtok(NULL, " \r\n");
    const int is_checked_only = table == NULL;
    const size_t count = strlen(hex) / 2;
    unsigned char *stream = (unsigned char *)allocate(count);
    iso_reader reader;
    iso_incoming message;
    size_t i;
    for (i = 0; i < count; i++) {
        char pair[3] = { 0 };
        memcpy(pair, hex + 2 * i, 2);
        stream[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    iso_read_open(&reader, stream, count, formats, 4);
    while (!reader.is_final) {
        int code = iso_read_next(&reader, &message);
        if (code == ISO_OK && table && *table == '-') {
            printf("ok\n");
            table = strtok(NULL, " \r\n");
        } else if (code == ISO_OK && table) {
            const iso_wants *wants = &tables[atol(table)];
            unsigned char *record = (unsigned char *)allocate(wants->size);
            code = iso_read_into(&reader, &message, wants, record);
            if (code == ISO_OK) {
                printf("ok");
                print_structure(wants, record);
                printf("\n");
            }
            free(record);
            table = strtok(NULL, " \r\n");
        }
        if (code != ISO_OK)
            printf("error %d %s\n", code, reader.error.path);
        if (code != ISO_OK && is_checked_only)
            break;
    }
    free(stream);
}

int main(int count, char **arguments) {
    if (count > 1 && strcmp(arguments[1], "size") == 0) {
        printf("%u\n", (unsigned)sizeof(void *));
        return 0;
    }
    while (fgets(line, LINE, stdin)) {
        if (strncmp(line, "table ", 6) == 0) {
            if (table_count == TABLES)
                fail("a table too many");
            tables[table_count].rows = &rows[row_count];
            tables[table_count++].size = (size_t)atol(line + 6);
        } else if (strncmp(line, "row ", 4) == 0) {
            add_row(line + 4);
        } else if (strncmp(line, "read ", 5) == 0) {
            read_stream(line + 5);
        }
    }
    return 0;
}
