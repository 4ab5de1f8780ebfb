/* isoform_reader.h - reads records from Isoform streams, in C99 or C++11, without any library and without heap memory.

   A program names the members that it wants, as a table. The header checks each message, and converts it into the
   program's struct by the names of the members, whatever machine wrote it. It is for programs on machines that have a C
   compiler and no Rust. isoform_writer.h is its twin.

   One source file of the program contains

       #define ISOFORM_READER_IMPLEMENTATION
       #include "isoform_reader.h"

   and the other source files only include the header. This is a complete program:

       #define ISOFORM_READER_IMPLEMENTATION
       #include "isoform_reader.h"
       #include <stdio.h>

       typedef struct { const char *station; int n; double level[100]; } Gauge;
       static const iso_want wants[] = { ISO_WANT(Gauge, station, "string"), ISO_WANT(Gauge, n, "int"),
                                         ISO_WANT(Gauge, level, "double[n]") };
       static const iso_wants gauge_wants = ISO_WANTS(Gauge, wants);
       static unsigned char stream[1 << 20];
       static iso_wire formats[4];

       int main(void) {
           iso_reader reader;
           iso_incoming message;
           Gauge gauge;
           iso_read_open(&reader, stream, fread(stream, 1, sizeof stream, stdin), formats, 4);
           while (iso_read_next(&reader, &message) == ISO_OK &&
                  iso_read_into(&reader, &message, &gauge_wants, &gauge) == ISO_OK)
               printf("%s %d %g\n", gauge.station, gauge.n, gauge.n ? gauge.level[0] : 0);
           if (reader.error.code != ISO_END)
               fprintf(stderr, "error %d at %s\n", reader.error.code, reader.error.path);
       }

   TYPES. A member's type is a text:  word { "[" dimension "]" }

       integers    i8 .. i64, u8 .. u64, signed char, unsigned char, short, unsigned short, int, unsigned, long,
                   unsigned long, long long, unsigned long long, size_t
       others      float, double, float complex, double complex, bool (of one byte), char
       texts       string: a const char * to bytes within the message, or NULL
       structures  struct: ISO_WANT_STRUCT names the table of its members

   The name of a member may be a path: ISO_WANT_AS(Gauge, x, "pos.x", "double"). A dimension is a number, or the name
   of an integer row of the same table. That integer becomes the number of elements that came. The member itself is an
   array with room for them: double level[100] is "double[n]". Only the first dimension can be such a name. A text may
   arrive in "char[16]", which has room for 15 characters and a NUL. ISO_WANT takes the member's size from the compiler,
   and in C++11, and in C11 of GCC and Clang, also its type and dimensions. A text that differs is ISO_DECLARATION.
   So is a row of another struct than that of ISO_WANTS. Use the same name of the struct in both.

   CONVERSION follows spec/conversion.md. Every number of every machine becomes a C number with the same value: also
   the x87 numbers, double-doubles, binary128 and 16-byte integers. A float is rounded to a smaller float. Everything
   else that a C type cannot hold is an error. An enumeration becomes its number. A member that the sender does not
   have is an error too, unless ISO_WANT_OR_KEEP declares it: it then keeps what the record held before, so a program
   sets its default there. The reader offers no pointers to numbers and structures, no aliases, no strings from arrays
   of char, and no choice of saturation. Its tables have no units, so it compares none.

   ERRORS. Functions return 0, or a number of Isoform's table of errors, and leave it in the reader's `error` with the
   path of the field. After an error of iso_read_into the record may be partly filled. `is_final` of the reader tells
   that no message can follow: the stream has ended, is cut, or is no stream of this version. After any other error
   the program may call iso_read_next again: the error concerns one message.

   MEMORY. The caller gives the stream and room for formats. The stream must not change or move while it is read. A
   string points into it. A reader with room for n formats knows the n that it has seen last. ISO_READ_FIELDS and the
   settings beside it bound the size of one format. Formats beyond them are refused. Recursion is at most 32 levels
   deep.

   THREADS. Only one thread at a time may use a reader. There are no globals.

   spec/ in Isoform's repository specifies streams. This header was written from that text.

   Licensed under either of MIT or Apache-2.0 at your option, as Isoform itself is.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_READER_H
#define ISOFORM_READER_H

#if defined(ISOFORM_H) || defined(ISOFORM_WRITER_H)
#error "isoform_reader.h declares names of isoform.h and isoform_writer.h: include one of them in a source file."
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The errors of Isoform's table that this reader can meet; the numbers are the same in every language. */
enum {
    ISO_OK = 0,
    ISO_END = -1, /* the stream is complete; no error of the table */
    ISO_NOT_A_MESSAGE = 100,
    ISO_VERSION = 101,
    ISO_FLAGS = 102,
    ISO_CUT = 103,
    ISO_BAD_DESCRIPTION = 110,
    ISO_NOT_CANONICAL = 111,
    ISO_DECLARATION = 112, /* also: a table of wants contradicts itself, or has a row of another struct */
    ISO_TOKEN_MISMATCH = 113,
    ISO_BODY_LENGTH = 120,
    ISO_SLOT = 121,
    ISO_NULL_ARRAY = 122,
    ISO_ARRAY_LENGTH = 123,
    ISO_BOOLEAN = 124,
    ISO_SYMBOL = 125,
    ISO_UNTERMINATED = 126,
    ISO_DESCRIPTION_SIZE = 201,
    ISO_DEPTH = 202,
    ISO_FIELDS = 203, /* also: more than this reader has room for */
    ISO_SIZE = 204,
    ISO_REQUIRED = 300,
    ISO_NO_CONVERSION = 301,
    ISO_SHAPE = 303,
    ISO_OVERFLOW = 310,
    ISO_UNDERFLOW = 311,
    ISO_INEXACT = 312,
    ISO_TOO_LONG = 314,
    ISO_LENGTHS = 315,
    ISO_NULL = 316,
    ISO_UNKNOWN_FORMAT = 400
};

typedef struct iso_read_error {
    int code;
    char path[256]; /* of the field at fault, such as "tracks[3].n"; or empty. Longer paths lose their end */
} iso_read_error;

/* How much one format may have. Define these before the header, the same in every source file. */
#ifndef ISO_READ_FIELDS
#define ISO_READ_FIELDS 256
#define ISO_READ_STRUCTURES 32
#define ISO_READ_SYMBOLS 256
#endif

typedef struct iso_wire_symbol {
    const unsigned char *name;
    size_t length;
    uint64_t value; /* in two's complement */
} iso_wire_symbol;

typedef struct iso_wire_field {
    const unsigned char *name;
    size_t length; /* of the name */
    uint64_t offset;
    uint64_t size; /* of one element */
    uint64_t fixed; /* the product of the fixed dimensions */
    uint64_t dimensions[8]; /* as in a description: 2n for n, 2i + 1 for the length in field i */
    size_t nested; /* the structure of a structure; the first symbol of an enumeration */
    size_t symbols;
    unsigned char kind; /* as in a description */
    unsigned char part; /* bytes of a number, of each part if it is complex */
    unsigned char rank, is_indirect, is_dynamic;
    unsigned char has_slots, is_checked; /* elements with pointers; elements that must be verified */
} iso_wire_field;

typedef struct iso_wire_structure {
    const unsigned char *begin, *end; /* within the description */
    const unsigned char *name;
    size_t length;
    uint64_t size, alignment;
    size_t first, count; /* fields */
    size_t total, depth; /* of fields; with all nested structures */
    unsigned char has_slots, is_checked, is_listed;
} iso_wire_structure;

/* The format of a sender. Everything in it is private. */
typedef struct iso_wire {
    unsigned char token[16];
    const unsigned char *description;
    size_t description_size;
    uint64_t seen; /* when; 0 if this place is free */
    unsigned char is_big_endian, pointer;
    size_t structure_count, field_count, symbol_count;
    iso_wire_structure structures[ISO_READ_STRUCTURES];
    iso_wire_field fields[ISO_READ_FIELDS];
    iso_wire_symbol symbols[ISO_READ_SYMBOLS];
} iso_wire;

typedef struct iso_reader {
    iso_read_error error; /* of the last call */
    int is_final; /* no message can follow */
    /* The other members are private. */
    const unsigned char *at, *end;
    iso_wire *formats;
    size_t room;
    uint64_t seen;
} iso_reader;

/* A message with a record. Its body is verified. */
typedef struct iso_incoming {
    const iso_wire *format; /* until the next call of iso_read_next */
    const unsigned char *body;
    size_t length;
} iso_incoming;

/* A member that the program wants. */
typedef struct iso_want {
    const char *name; /* or path */
    const char *type;
    size_t offset, extent; /* of the whole member */
    const struct iso_wants *nested;
    int keeps;
    size_t struct_size; /* of the struct that the row belongs to, which must be that of the table; 0 and NULL if unknown */
    const char *struct_name;
    int told; /* by the compiler, of an element: a letter as in iso__type, p for a pointer; 0 if it told nothing */
    size_t rows[8]; /* the bytes of an element of the member, of an element of that, and so on */
} iso_want;

typedef struct iso_wants {
    const iso_want *rows;
    size_t count;
    size_t size; /* of the struct */
    const char *struct_name; /* NULL if unknown */
} iso_wants;

#define ISO_WANT(Struct, member, type) ISO_WANT_AS(Struct, member, #member, type)
#define ISO_WANT_AS(Struct, member, name, type) ISO_WANT_ROW(Struct, member, name, type, NULL, 0)
#define ISO_WANT_OR_KEEP(Struct, member, type) ISO_WANT_ROW(Struct, member, #member, type, NULL, 1)
/* The table of the members of a nested struct, of which the member may be an array:
   ISO_WANT_STRUCT(Track, points, "struct[n]", &point_wants). */
#define ISO_WANT_STRUCT(Struct, member, type, wants) ISO_WANT_ROW(Struct, member, #member, type, wants, 0)
#if defined(__cplusplus) && __cplusplus >= 201103L
extern "C++" {
/* An element of T, which may be an array or a std::array. */
template <bool Is, class A, class B> struct iso_either { typedef A type; };
template <class A, class B> struct iso_either<false, A, B> { typedef B type; };
template <class T> struct iso_row { typedef T type; };
template <class T, size_t N> struct iso_row<T[N]> { typedef T type; };
template <template <class, size_t> class A, class T, size_t N> struct iso_row<A<T, N>> {
    typedef typename iso_either<sizeof(A<T, N>) == N * sizeof(T), T, A<T, N>>::type type;
};
template <class T, int Depth> struct iso_rows : iso_rows<typename iso_row<T>::type, Depth - 1> {};
template <class T> struct iso_rows<T, 0> {
    typedef T type;
};
/* A class that is no complex number has the letter of a structure. */
template <class T> constexpr int iso_class(decltype(((const T *)0)->real()) *) { return 0; }
template <class T> constexpr int iso_class(...) { return __is_class(T) || __is_union(T) ? '{' : 0; }
template <class T> struct iso_told {
    static constexpr int letter() { return iso_class<T>(0); }
};
template <class T> struct iso_told<const T> : iso_told<T> {};
template <class T> struct iso_told<volatile T> : iso_told<T> {};
template <class T> struct iso_told<const volatile T> : iso_told<T> {};
template <class T> struct iso_told<T *> {
    static constexpr int letter() { return 'p'; }
};
#define ISO_TOLD_IS(T, is) \
    template <> struct iso_told<T> { \
        static constexpr int letter() { return is; } \
    };
ISO_TOLD_IS(char *, 's') ISO_TOLD_IS(const char *, 's') ISO_TOLD_IS(unsigned char *, 's') ISO_TOLD_IS(const unsigned char *, 's')
ISO_TOLD_IS(bool, 'b') ISO_TOLD_IS(char, 'c') ISO_TOLD_IS(signed char, 'i') ISO_TOLD_IS(unsigned char, 'u') ISO_TOLD_IS(short, 'i')
ISO_TOLD_IS(unsigned short, 'u') ISO_TOLD_IS(int, 'i') ISO_TOLD_IS(unsigned, 'u') ISO_TOLD_IS(long, 'i')
ISO_TOLD_IS(unsigned long, 'u') ISO_TOLD_IS(long long, 'i') ISO_TOLD_IS(unsigned long long, 'u') ISO_TOLD_IS(float, 'f')
ISO_TOLD_IS(double, 'f') ISO_TOLD_IS(long double, 'f')
#undef ISO_TOLD_IS
}
#define ISO_ROW_SIZE(at, depth) sizeof(iso_rows<decltype(at), depth>::type)
#define ISO_WANT_TOLD(at) \
    iso_told<iso_rows<decltype(at), 8>::type>::letter(), \
        { ISO_ROW_SIZE(at, 1), ISO_ROW_SIZE(at, 2), ISO_ROW_SIZE(at, 3), ISO_ROW_SIZE(at, 4), ISO_ROW_SIZE(at, 5), \
          ISO_ROW_SIZE(at, 6), ISO_ROW_SIZE(at, 7), ISO_ROW_SIZE(at, 8) }
#elif !defined(__cplusplus) && defined(__GNUC__) && defined(__COUNTER__) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
/* Each step into the array is the type of a pointer in a struct of its own, so that its expression does not grow. */
#define ISO_WANT_TOLD(at) ISO_WANT_TOLD_AS(at, __COUNTER__)
#define ISO_WANT_TOLD_AS(at, id) ISO_WANT_TOLD_BY(at, id)
#define ISO_WANT_TOLD_BY(at, id) \
    .rows = { ISO_STEP(at, 1, id), ISO_STEP(ISO_AT(1, id), 2, id), ISO_STEP(ISO_AT(2, id), 3, id), \
              ISO_STEP(ISO_AT(3, id), 4, id), ISO_STEP(ISO_AT(4, id), 5, id), ISO_STEP(ISO_AT(5, id), 6, id), \
              ISO_STEP(ISO_AT(6, id), 7, id), ISO_STEP(ISO_AT(7, id), 8, id) }, .told = ISO_LETTER(ISO_AT(8, id))
#define ISO_STEP(at, depth, id) sizeof(*((struct iso_step_##depth##_##id { __typeof__(ISO_ROW_OF(at)) *row; } *)0)->row)
#define ISO_AT(depth, id) (*((struct iso_step_##depth##_##id *)0)->row)
/* The value of an array is a pointer, which has another type. */
#define ISO_IS_ARRAY(at) (!__builtin_types_compatible_p(__typeof__(at), __typeof__(((void)0, (at)))))
#define ISO_ROW_OF(at) (*_Generic((char (*)[ISO_IS_ARRAY(at) + 1])0, char (*)[2]: (at), default: &(at)))
#define ISO_IS(T, letter) T *: letter, const T *: letter, volatile T *: letter, const volatile T *: letter,
#define ISO_IS_TEXT(T) T **: 's', const T **: 's', T *const *: 's', const T *const *: 's',
#define ISO_LETTER(at) \
    _Generic(&(at), ISO_IS(_Bool, 'b') ISO_IS(char, 'c') ISO_IS(signed char, 'i') ISO_IS(unsigned char, 'u') ISO_IS(short, 'i') \
             ISO_IS(unsigned short, 'u') ISO_IS(int, 'i') ISO_IS(unsigned, 'u') ISO_IS(long, 'i') ISO_IS(unsigned long, 'u') \
             ISO_IS(long long, 'i') ISO_IS(unsigned long long, 'u') ISO_IS(float, 'f') ISO_IS(double, 'f') \
             ISO_IS(long double, 'f') ISO_IS(float _Complex, 'z') ISO_IS(double _Complex, 'z') ISO_IS_TEXT(char) \
             ISO_IS_TEXT(unsigned char) default: '{')
#else
#define ISO_WANT_TOLD(at) 0, { 0 }
#endif
#define ISO_WANT_ROW(Struct, member, name, type, wants, keeps) \
    { name, type, offsetof(Struct, member), sizeof(((Struct *)0)->member), wants, keeps, sizeof(Struct), #Struct, \
      ISO_WANT_TOLD(((Struct *)0)->member) }
/* The table of a struct. A reader refuses it if it has rows of another struct. */
#define ISO_WANTS(Struct, rows) ISO_WANTS_AS(Struct, rows)
#define ISO_WANTS_AS(Struct, rows) { rows, sizeof(rows) / sizeof((rows)[0]), sizeof(Struct), #Struct }

/* Begins with a stream of `count` bytes, and room for formats. */
void iso_read_open(iso_reader *reader, const void *stream, size_t count, iso_wire *formats, size_t room);
/* The next message with a record, verified; ISO_END behind the last. */
int iso_read_next(iso_reader *reader, iso_incoming *message);
/* Converts a record into a struct of the program. */
int iso_read_into(iso_reader *reader, const iso_incoming *message, const iso_wants *wants, void *record);
/* The name of the record's structure: the first of its bytes, which no NUL ends, and how many there are. */
const char *iso_read_name(const iso_incoming *message, size_t *count);

#ifdef __cplusplus
}
#endif
#endif /* ISOFORM_READER_H */

#if defined(ISOFORM_READER_IMPLEMENTATION) && !defined(ISOFORM_READER_IMPLEMENTED)
#define ISOFORM_READER_IMPLEMENTED

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#if CHAR_BIT != 8 || FLT_MANT_DIG != 24 || DBL_MANT_DIG != 53
#error "this header needs bytes of 8 bits, and float and double of IEEE 754"
#endif

/* Kinds of elements, with their numbers in a description. The kind of a complex number is 4 more than that of its parts. */
enum {
    ISO__INTEGER = 1,
    ISO__UNSIGNED,
    ISO__FLOAT,
    ISO__BFLOAT,
    ISO__X87,
    ISO__DOUBLE2,
    ISO__COMPLEX,
    ISO__COMPLEX_DOUBLE2 = 10,
    ISO__CHAR,
    ISO__BOOLEAN,
    ISO__ENUMERATION,
    ISO__UNSIGNED_ENUMERATION,
    ISO__STRING,
    ISO__STRUCTURE
};

enum { ISO__LEVELS = 32, ISO__MOST_FIELDS = 4096, ISO__LONGEST = 65536 };
static const uint64_t iso__largest = ((uint64_t)1 << 40) - 1;

/* ---- Errors. The path grows from its end: each structure on the way out puts its field in front. ---- */

static int iso__fail(iso_read_error *error, int code) {
    error->code = code;
    error->path[0] = 0;
    return code;
}

static void iso__in_front(iso_read_error *error, const char *text, size_t length) {
    const size_t room = sizeof error->path - 1;
    size_t rest = strlen(error->path);
    length = length < room ? length : room;
    rest = rest < room - length ? rest : room - length;
    memmove(error->path + length, error->path, rest);
    memcpy(error->path, text, length);
    error->path[length + rest] = 0;
}

static void iso__index_in_front(iso_read_error *error, uint64_t index) {
    char text[24], *digit = text + sizeof text;
    *--digit = ']';
    do
        *--digit = (char)('0' + index % 10);
    while (index /= 10);
    *--digit = '[';
    iso__in_front(error, digit, (size_t)(text + sizeof text - digit));
}

static void iso__name_in_front(iso_read_error *error, const char *name, size_t length, int is_element) {
    if (error->path[0] && error->path[0] != '[' && !is_element)
        iso__in_front(error, ".", 1);
    iso__in_front(error, name, length);
}

/* Puts an element of an array in front; `index` counts over all dimensions. */
static void iso__element_in_front(iso_read_error *error, const uint64_t *lengths, unsigned rank, uint64_t index) {
    if (error->path[0] && rank > 0)
        iso__in_front(error, ".", 1);
    for (; rank > 0; index /= lengths[--rank])
        iso__index_in_front(error, index % lengths[rank - 1]);
}

/* ---- BLAKE3, from its paper: only the mode derive_key, and only its first 32 bytes. ---- */

enum {
    ISO__CHUNK_START = 1,
    ISO__CHUNK_END = 2,
    ISO__PARENT = 4,
    ISO__ROOT = 8,
    ISO__CONTEXT = 32,
    ISO__MATERIAL = 64
};

static const uint32_t iso__iv[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

static uint32_t iso__turn(uint32_t word, int bits) {
    return word >> bits | word << (32 - bits);
}

/* Mixes one block of 64 bytes into a chaining value. */
static void iso__compress(uint32_t chaining[8], const uint32_t block[16], uint64_t counter, size_t length,
                          unsigned flags) {
    static const unsigned char places[8][4] = { { 0, 4, 8, 12 }, { 1, 5, 9, 13 }, { 2, 6, 10, 14 }, { 3, 7, 11, 15 },
                                                { 0, 5, 10, 15 }, { 1, 6, 11, 12 }, { 2, 7, 8, 13 }, { 3, 4, 9, 14 } };
    static const unsigned char order[16] = { 2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8 };
    uint32_t s[16], words[16], permuted[16];
    int round, i, half;
    memcpy(s, chaining, 32);
    memcpy(s + 8, iso__iv, 16);
    s[12] = (uint32_t)counter;
    s[13] = (uint32_t)(counter >> 32);
    s[14] = (uint32_t)length;
    s[15] = flags;
    memcpy(words, block, sizeof words);
    for (round = 0; round < 7; round++) {
        for (i = 0; i < 8; i++) {
            uint32_t *a = s + places[i][0], *b = s + places[i][1], *c = s + places[i][2], *d = s + places[i][3];
            for (half = 0; half < 2; half++) {
                *a = *a + *b + words[2 * i + half];
                *d = iso__turn(*d ^ *a, half ? 8 : 16);
                *c = *c + *d;
                *b = iso__turn(*b ^ *c, half ? 7 : 12);
            }
        }
        for (i = 0; i < 16; i++)
            permuted[i] = words[order[i]];
        memcpy(words, permuted, sizeof words);
    }
    for (i = 0; i < 8; i++)
        chaining[i] = s[i] ^ s[i + 8];
}

/* The chaining value of a chunk of up to 1,024 bytes. */
static void iso__chunk(const uint32_t key[8], const unsigned char *bytes, size_t count, uint64_t counter,
                       unsigned flags, uint32_t chaining[8]) {
    unsigned mark = ISO__CHUNK_START;
    memcpy(chaining, key, 32);
    do {
        const size_t length = count < 64 ? count : 64;
        uint32_t block[16] = { 0 };
        size_t i;
        for (i = 0; i < length; i++)
            block[i / 4] |= (uint32_t)bytes[i] << 8 * (i % 4);
        bytes += length;
        count -= length;
        if (count == 0)
            mark |= ISO__CHUNK_END | flags;
        iso__compress(chaining, block, counter, length, mark | (flags & ~(unsigned)ISO__ROOT));
        mark = 0;
    } while (count > 0);
}

/* The left half of a node has the largest power of two of chunks that leaves at least one byte for the right half. */
static void iso__tree(const uint32_t key[8], const unsigned char *bytes, size_t count, uint64_t counter, unsigned flags,
                      uint32_t chaining[8]) {
    uint32_t children[16];
    size_t left = 1024;
    if (count <= left) {
        iso__chunk(key, bytes, count, counter, flags, chaining);
        return;
    }
    while (2 * left < count)
        left *= 2;
    iso__tree(key, bytes, left, counter, flags & ~(unsigned)ISO__ROOT, children);
    iso__tree(key, bytes + left, count - left, counter + left / 1024, flags & ~(unsigned)ISO__ROOT, children + 8);
    memcpy(chaining, key, 32);
    iso__compress(chaining, children, 0, 64, flags | ISO__PARENT);
}

static void iso__derive_key(const char *context, const unsigned char *bytes, size_t count, unsigned char derived[32]) {
    uint32_t key[8], words[8];
    size_t i;
    iso__tree(iso__iv, (const unsigned char *)context, strlen(context), 0, ISO__CONTEXT | ISO__ROOT, key);
    iso__tree(key, bytes, count, 0, ISO__MATERIAL | ISO__ROOT, words);
    for (i = 0; i < 32; i++)
        derived[i] = (unsigned char)(words[i / 4] >> 8 * (i % 4));
}

/* ---- Descriptions, by spec/format.md. ---- */

typedef struct iso__parser {
    iso_wire *format;
    const unsigned char *at, *end;
} iso__parser;

static int iso__byte(iso__parser *from, unsigned *byte) {
    if (from->at == from->end)
        return ISO_BAD_DESCRIPTION;
    *byte = *from->at++;
    return ISO_OK;
}

static int iso__varint(iso__parser *from, uint64_t *number) {
    unsigned byte, shift;
    *number = 0;
    for (shift = 0; shift < 64; shift += 7) {
        if (iso__byte(from, &byte) || (shift == 63 && byte > 1) || (shift > 0 && byte == 0))
            return ISO_BAD_DESCRIPTION;
        *number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return ISO_OK;
    }
    return ISO_BAD_DESCRIPTION;
}

/* The next character of UTF-8, and how many bytes it has; 0 bytes if it is none. */
static size_t iso__character(const unsigned char *at, const unsigned char *end, uint32_t *character) {
    static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
    const size_t count = *at < 0x80 ? 1 : *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
    size_t i;
    if (*at >= 0xf8 || (*at >= 0x80 && *at < 0xc0) || (size_t)(end - at) < count)
        return 0;
    *character = count == 1 ? *at : *at & (0x7fu >> count);
    for (i = 1; i < count; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *character = *character << 6 | (at[i] & 0x3fu);
    }
    return *character < least[count] || *character > 0x10ffff || (*character >= 0xd800 && *character < 0xe000) ? 0 : count;
}

static int iso__is_white_or_reserved(uint32_t character) {
    return character == 0x20 || character == 0xa0 || character == 0x1680 || (character >= 0x2000 && character <= 0x200a) ||
           character == 0x2028 || character == 0x2029 || character == 0x202f || character == 0x205f || character == 0x3000 ||
           (character < 0x80 && strchr(".[]{}*,=", (int)character));
}

/* A name, or a unit, which may have white space. */
static int iso__parse_text(iso__parser *from, int is_name, const unsigned char **text, size_t *length) {
    uint64_t count;
    const unsigned char *at;
    int code = ISO_OK;
    if (iso__varint(from, &count) || count > (uint64_t)(from->end - from->at))
        return ISO_BAD_DESCRIPTION;
    *text = at = from->at;
    *length = (size_t)count;
    from->at += count;
    if (count == 0 || count > 255)
        code = ISO_DECLARATION;
    while (at < from->at) {
        uint32_t character;
        const size_t bytes = iso__character(at, from->at, &character);
        if (bytes == 0)
            return ISO_BAD_DESCRIPTION;
        if (character < 0x20 || (character >= 0x7f && character < 0xa0) || (is_name && iso__is_white_or_reserved(character)))
            code = ISO_DECLARATION;
        at += bytes;
    }
    return code;
}

static int iso__is_same(const unsigned char *a, size_t length, const unsigned char *b, size_t other) {
    return length == other && memcmp(a, b, length) == 0;
}

static int iso__parse_symbols(iso__parser *from, iso_wire_field *field) {
    iso_wire *format = from->format;
    const int is_signed = field->kind == ISO__ENUMERATION;
    uint64_t count, i, j, coded;
    int code;
    if (iso__varint(from, &count))
        return ISO_BAD_DESCRIPTION;
    if (count == 0)
        return ISO_DECLARATION;
    if (count > ISO_READ_SYMBOLS - format->symbol_count)
        return ISO_FIELDS;
    field->nested = format->symbol_count;
    field->symbols = (size_t)count;
    for (i = 0; i < count; i++) {
        iso_wire_symbol *symbol = &format->symbols[format->symbol_count++];
        const unsigned bits = 8u * field->part - (is_signed ? 1 : 0);
        code = iso__parse_text(from, 1, &symbol->name, &symbol->length);
        if (code || (code = iso__varint(from, &coded)) != 0)
            return code;
        symbol->value = !is_signed ? coded : coded & 1 ? ~(coded / 2) : coded / 2;
        if (bits < 64 && (is_signed ? coded / 2 : coded) >> bits)
            return ISO_DECLARATION;
        for (j = 1; j <= i; j++)
            if (iso__is_same(symbol->name, symbol->length, symbol[-(ptrdiff_t)j].name, symbol[-(ptrdiff_t)j].length) ||
                symbol->value == symbol[-(ptrdiff_t)j].value)
                return ISO_DECLARATION;
        if (i > 0 && (is_signed ? (int64_t)symbol->value < (int64_t)symbol[-1].value : symbol->value < symbol[-1].value))
            return ISO_NOT_CANONICAL;
    }
    return ISO_OK;
}

/* Which sizes a number of a kind has: a bit for each size. */
static uint32_t iso__sizes(unsigned kind) {
    switch (kind) {
    case ISO__INTEGER:
    case ISO__UNSIGNED:
        return 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8 | 1u << 16;
    case ISO__FLOAT:
    case ISO__FLOAT + 4:
        return 1u << 2 | 1u << 4 | 1u << 8 | 1u << 16;
    case ISO__BFLOAT:
    case ISO__BFLOAT + 4:
        return 1u << 2;
    case ISO__X87:
    case ISO__X87 + 4:
        return 1u << 10 | 1u << 12 | 1u << 16;
    case ISO__DOUBLE2:
    case ISO__COMPLEX_DOUBLE2:
        return 1u << 16;
    default: /* booleans and enumerations */
        return 1u << 1 | 1u << 2 | 1u << 4 | 1u << 8;
    }
}

/* What follows the tag of a field, but for its dimensions. */
static int iso__parse_element(iso__parser *from, iso_wire_structure *structure, iso_wire_field *field) {
    iso_wire *format = from->format;
    const unsigned kind = field->kind;
    const iso_wire_structure *nested;
    unsigned part;
    uint64_t place;
    field->size = kind == ISO__CHAR ? 1 : format->pointer;
    field->part = kind == ISO__CHAR ? 1 : 0;
    if (kind == 0 || kind > ISO__STRUCTURE)
        return ISO_BAD_DESCRIPTION;
    if (kind == ISO__STRUCTURE) {
        if (iso__varint(from, &place) || place >= (uint64_t)(structure - format->structures))
            return ISO_BAD_DESCRIPTION;
        nested = &format->structures[place];
        field->nested = (size_t)place;
        field->size = nested->size;
        field->has_slots = nested->has_slots;
        field->is_checked = nested->is_checked;
        structure->total += nested->total;
        structure->depth = structure->depth > nested->depth ? structure->depth : nested->depth + 1;
    } else if (kind == ISO__STRING) {
        field->has_slots = field->is_checked = 1;
    } else if (kind != ISO__CHAR) {
        if (iso__byte(from, &part))
            return ISO_BAD_DESCRIPTION;
        if (part > 16 || !(iso__sizes(kind) >> part & 1))
            return ISO_DECLARATION;
        field->part = (unsigned char)part;
        field->size = kind >= ISO__COMPLEX && kind <= ISO__COMPLEX_DOUBLE2 ? 2 * part : part;
        field->is_checked = kind >= ISO__BOOLEAN;
        if (kind >= ISO__ENUMERATION)
            return iso__parse_symbols(from, field);
    }
    return ISO_OK;
}

static int iso__parse_dimensions(iso__parser *from, iso_wire_field *field) {
    uint64_t rank, i;
    if (iso__varint(from, &rank) || rank == 0 || rank > 8)
        return ISO_BAD_DESCRIPTION;
    for (i = 0; i < rank; i++) {
        uint64_t dimension;
        if (iso__varint(from, &dimension))
            return ISO_BAD_DESCRIPTION;
        field->dimensions[i] = dimension;
        if (dimension & 1) {
            field->is_dynamic = 1;
        } else if (dimension == 0) {
            return ISO_DECLARATION;
        } else {
            if (dimension / 2 > iso__largest / field->fixed)
                return ISO_SIZE;
            field->fixed *= dimension / 2;
        }
    }
    field->rank = (unsigned char)rank;
    return ISO_OK;
}

/* The field after those up to `*end`, which moves behind it. */
static int iso__parse_field(iso__parser *from, iso_wire_structure *structure, uint64_t *end) {
    iso_wire *format = from->format;
    iso_wire_field *fields = &format->fields[structure->first], *field = &fields[structure->count];
    const unsigned char *unit;
    size_t unit_length, i;
    uint64_t gap, size;
    unsigned tag;
    int code;
    memset(field, 0, sizeof *field);
    code = iso__parse_text(from, 1, &field->name, &field->length);
    if (code || (code = iso__varint(from, &gap)) != 0 || (code = iso__byte(from, &tag)) != 0)
        return code;
    field->kind = tag & 31;
    field->is_indirect = tag >> 6 & 1;
    field->fixed = 1;
    code = iso__parse_element(from, structure, field);
    if (code == ISO_OK && tag & 0x20)
        code = iso__parse_dimensions(from, field);
    if (code == ISO_OK && tag & 0x80)
        code = iso__parse_text(from, 0, &unit, &unit_length);
    if (code)
        return code;
    for (i = 0; i < structure->count; i++)
        if (iso__is_same(fields[i].name, fields[i].length, field->name, field->length))
            return ISO_DECLARATION;
    if (field->size > iso__largest / field->fixed)
        return ISO_SIZE;
    size = field->is_indirect ? format->pointer : field->size * field->fixed;
    if ((field->is_dynamic && !field->is_indirect) || gap > structure->size - *end || size > structure->size - *end - gap)
        return ISO_DECLARATION;
    field->offset = *end + gap;
    *end = field->offset + size;
    structure->has_slots |= field->is_indirect | field->has_slots;
    structure->is_checked |= field->is_indirect | field->is_checked;
    structure->count++;
    structure->total++;
    return ISO_OK;
}

static int iso__is_length(const iso_wire_field *field) {
    return (field->kind == ISO__INTEGER || field->kind == ISO__UNSIGNED) && field->part <= 8 && field->rank == 0 &&
           !field->is_indirect;
}

static int iso__parse_structure(iso__parser *from) {
    iso_wire *format = from->format;
    iso_wire_structure *structure = &format->structures[format->structure_count];
    uint64_t count, end = 0;
    size_t i, k;
    unsigned alignment;
    int code;
    memset(structure, 0, sizeof *structure);
    structure->begin = from->at;
    structure->first = format->field_count;
    structure->depth = 1;
    code = iso__parse_text(from, 1, &structure->name, &structure->length);
    if (code || (code = iso__varint(from, &structure->size)) != 0 || (code = iso__byte(from, &alignment)) != 0 ||
        (code = iso__varint(from, &count)) != 0)
        return code;
    if (structure->size > iso__largest)
        return ISO_SIZE;
    if (alignment > 16 || structure->size == 0 || structure->size % ((uint64_t)1 << alignment) || count == 0)
        return ISO_DECLARATION;
    structure->alignment = (uint64_t)1 << alignment;
    if (count > ISO_READ_FIELDS - format->field_count)
        return ISO_FIELDS;
    format->field_count += (size_t)count;
    for (i = 0; i < count; i++)
        if ((code = iso__parse_field(from, structure, &end)) != 0)
            return code;
    if (structure->depth > ISO__LEVELS)
        return ISO_DEPTH;
    if (structure->total > ISO__MOST_FIELDS)
        return ISO_FIELDS;
    for (i = 0; i < structure->count; i++) {
        const iso_wire_field *field = &format->fields[structure->first + i];
        for (k = 0; k < field->rank; k++)
            if (field->dimensions[k] & 1 && (field->dimensions[k] / 2 >= structure->count ||
                                             !iso__is_length(&format->fields[structure->first + field->dimensions[k] / 2])))
                return ISO_DECLARATION;
    }
    structure->end = from->at;
    for (i = 0; i < format->structure_count; i++) {
        const iso_wire_structure *other = &format->structures[i];
        if (iso__is_same(other->name, other->length, structure->name, structure->length))
            return iso__is_same(other->begin, (size_t)(other->end - other->begin), structure->begin,
                                (size_t)(from->at - structure->begin))
                       ? ISO_NOT_CANONICAL
                       : ISO_DECLARATION;
    }
    format->structure_count++;
    return ISO_OK;
}

/* Lists structures in the only order that there is: each behind those that it nests. */
static int iso__is_in_order(iso_wire *format, size_t place, size_t *next) {
    iso_wire_structure *structure = &format->structures[place];
    size_t i;
    if (structure->is_listed)
        return 1;
    for (i = 0; i < structure->count; i++) {
        const iso_wire_field *field = &format->fields[structure->first + i];
        if (field->kind == ISO__STRUCTURE && !iso__is_in_order(format, field->nested, next))
            return 0;
    }
    structure->is_listed = 1;
    return place == (*next)++;
}

static int iso__parse(iso_wire *format, const unsigned char *bytes, size_t count) {
    iso__parser from = { NULL, NULL, NULL };
    uint64_t structures, i;
    size_t next = 0;
    unsigned version, machine;
    int code;
    from.format = format;
    from.at = bytes;
    from.end = bytes + count;
    format->description = bytes;
    format->description_size = count;
    format->structure_count = format->field_count = format->symbol_count = 0;
    if (iso__byte(&from, &version))
        return ISO_BAD_DESCRIPTION;
    if (version != 1)
        return ISO_VERSION;
    if (iso__byte(&from, &machine))
        return ISO_BAD_DESCRIPTION;
    if (machine > 3)
        return ISO_FLAGS;
    format->is_big_endian = machine & 1;
    format->pointer = machine & 2 ? 8 : 4;
    if (iso__varint(&from, &structures) || structures == 0)
        return ISO_BAD_DESCRIPTION;
    if (structures > ISO_READ_STRUCTURES)
        return ISO_FIELDS;
    for (i = 0; i < structures; i++)
        if ((code = iso__parse_structure(&from)) != 0)
            return code;
    if (from.at != from.end)
        return ISO_BAD_DESCRIPTION;
    return iso__is_in_order(format, format->structure_count - 1, &next) && next == format->structure_count
               ? ISO_OK
               : ISO_NOT_CANONICAL;
}

/* ---- Numbers of every machine. A finite one is (high * 2^64 + low) * 2^exponent. ---- */

typedef struct iso__value {
    int is_negative, is_infinite, is_nan, is_integer;
    uint64_t high, low;
    int exponent;
} iso__value;

static uint64_t iso__load(const unsigned char *bytes, size_t count, int is_big_endian) {
    uint64_t number = 0;
    size_t i;
    for (i = 0; i < count; i++)
        number = number << 8 | bytes[is_big_endian ? i : count - 1 - i];
    return number;
}

/* The same, in two's complement. */
static uint64_t iso__load_signed(const unsigned char *bytes, size_t count, int is_big_endian) {
    const uint64_t sign = (uint64_t)1 << (8 * count - 1);
    return (iso__load(bytes, count, is_big_endian) ^ sign) - sign;
}

static void iso__left(iso__value *value, unsigned bits) {
    value->exponent -= (int)bits;
    if (bits >= 64) {
        value->high = value->low;
        value->low = 0;
        bits -= 64;
    }
    if (bits > 0) {
        value->high = value->high << bits | value->low >> (64 - bits);
        value->low <<= bits;
    }
}

static unsigned iso__bits(const iso__value *value) {
    unsigned count = value->high ? 64 : 0;
    uint64_t word = value->high ? value->high : value->low;
    for (; word; word >>= 1)
        count++;
    return count;
}

/* Shifts out bits. What is lost: 0, less than half of the last bit (1), half (2), more (3). */
static int iso__right(iso__value *value, uint64_t bits) {
    int half = 0, rest = 0;
    if (bits > 128)
        rest = (value->high | value->low) != 0;
    if (bits > 129)
        bits = 129;
    for (; bits > 0; bits--) {
        rest |= half;
        half = (int)(value->low & 1);
        value->low = value->low >> 1 | value->high << 63;
        value->high >>= 1;
    }
    return 2 * half + rest;
}

static void iso__ieee(iso__value *value, unsigned exponent_bits, unsigned fraction_bits) {
    const unsigned total = exponent_bits + fraction_bits; /* without the sign */
    const uint64_t top = total >= 64 ? value->high : value->low;
    const unsigned above = fraction_bits >= 64 ? fraction_bits - 64 : fraction_bits;
    const uint64_t one = (uint64_t)1 << above, mask = ((uint64_t)1 << exponent_bits) - 1;
    const uint64_t exponent = top >> above & mask, fraction = top & (one - 1);
    uint64_t *part = total >= 64 ? &value->high : &value->low;
    value->is_negative = (int)(top >> (total % 64) & 1);
    *part = fraction | (exponent && exponent != mask ? one : 0);
    value->is_nan = exponent == mask && (value->high | value->low);
    value->is_infinite = exponent == mask && !value->is_nan;
    value->exponent = (int)(exponent ? exponent : 1) - (int)(mask >> 1) - (int)fraction_bits;
}

static void iso__x87(iso__value *value, const unsigned char *bytes, size_t size, int is_big_endian) {
    const unsigned char *at = is_big_endian ? bytes + size - 10 : bytes;
    const uint64_t top = iso__load(is_big_endian ? at : at + 8, 2, is_big_endian), exponent = top & 0x7fff;
    value->low = iso__load(is_big_endian ? at + 2 : at, 8, is_big_endian);
    value->is_negative = (int)(top >> 15);
    value->is_infinite = exponent == 0x7fff && value->low == (uint64_t)1 << 63;
    value->is_nan = (exponent == 0x7fff && !value->is_infinite) || (exponent && !(value->low >> 63));
    value->exponent = (int)(exponent ? exponent : 1) - 16383 - 63;
}

/* The sum of two numbers. Bits below the 128 that fit are kept as one last bit, which decides roundings. */
static void iso__double2(iso__value *value, const unsigned char *bytes, int is_big_endian) {
    iso__value rest = *value, swap;
    int lost;
    value->low = iso__load(bytes, 8, is_big_endian);
    rest.low = iso__load(bytes + 8, 8, is_big_endian);
    iso__ieee(value, 11, 52);
    iso__ieee(&rest, 11, 52);
    if (value->is_nan || value->is_infinite || rest.low == 0)
        return;
    if (rest.is_nan || rest.is_infinite || value->low == 0) {
        *value = rest;
        return;
    }
    iso__left(value, 126 - iso__bits(value));
    iso__left(&rest, 126 - iso__bits(&rest));
    if (rest.exponent > value->exponent) {
        swap = *value;
        *value = rest;
        rest = swap;
    }
    lost = iso__right(&rest, (uint64_t)((int64_t)value->exponent - rest.exponent));
    if (value->is_negative == rest.is_negative) {
        value->low += rest.low;
        value->high += rest.high + (value->low < rest.low);
    } else if (value->high > rest.high || (value->high == rest.high && value->low >= rest.low)) {
        value->high -= rest.high + (value->low < rest.low);
        value->low -= rest.low;
        if (lost) {
            value->high -= value->low == 0;
            value->low--;
        }
    } else { /* the parts are of equal exponents, so nothing is lost */
        value->high = rest.high - value->high - (rest.low < value->low);
        value->low = rest.low - value->low;
        value->is_negative = rest.is_negative;
    }
    value->low |= lost != 0;
}

static iso__value iso__number(const iso_wire_field *field, const unsigned char *bytes, int is_big_endian) {
    iso__value value = { 0, 0, 0, 0, 0, 0, 0 };
    const size_t part = field->part;
    const unsigned kind =
        field->kind >= ISO__COMPLEX && field->kind <= ISO__COMPLEX_DOUBLE2 ? field->kind - 4u : field->kind;
    if (kind == ISO__X87) {
        iso__x87(&value, bytes, part, is_big_endian);
        return value;
    }
    if (kind == ISO__DOUBLE2) {
        iso__double2(&value, bytes, is_big_endian);
        return value;
    }
    if (part == 16) {
        value.high = iso__load(is_big_endian ? bytes : bytes + 8, 8, is_big_endian);
        value.low = iso__load(is_big_endian ? bytes + 8 : bytes, 8, is_big_endian);
    } else {
        value.low = iso__load(bytes, part, is_big_endian);
    }
    if (kind == ISO__BFLOAT)
        iso__ieee(&value, 8, 7);
    else if (kind == ISO__FLOAT)
        iso__ieee(&value,
                  part == 2   ? 5
                  : part == 4 ? 8
                  : part == 8 ? 11
                              : 15,
                  part == 2   ? 10
                  : part == 4 ? 23
                  : part == 8 ? 52
                              : 112);
    else
        value.is_integer = 1;
    if ((kind == ISO__INTEGER || kind == ISO__ENUMERATION) && bytes[is_big_endian ? 0 : part - 1] & 0x80) {
        if (part < 16)
            value.low = iso__load_signed(bytes, part, is_big_endian);
        value.is_negative = 1;
        value.high = part < 16 ? 0 : ~value.high + (value.low == 0);
        value.low = ~value.low + 1;
    }
    return value;
}

/* Stores an integer of the program. */
static int iso__store_integer(iso__value value, int is_signed, size_t size, void *member) {
    const uint64_t most = (is_signed ? (uint64_t)1 << (8 * size - 1) : (uint64_t)0) - 1;
    const uint64_t limit = is_signed ? most : size == 8 ? UINT64_MAX : ((uint64_t)1 << 8 * size) - 1;
    int lost = 0;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    if (value.is_nan || value.is_infinite)
        return ISO_OVERFLOW;
    if (value.exponent < 0)
        lost = iso__right(&value, (uint64_t) - (int64_t)value.exponent);
    else if (iso__bits(&value) && iso__bits(&value) + (unsigned)value.exponent > 64)
        return ISO_OVERFLOW;
    else if (value.exponent > 0 && value.low)
        iso__left(&value, (unsigned)value.exponent);
    if (value.high || value.low > (value.is_negative ? is_signed ? limit + 1 : 0 : limit))
        return ISO_OVERFLOW;
    if (lost)
        return ISO_INEXACT;
    if (value.is_negative)
        value.low = ~value.low + 1;
    one = (uint8_t)value.low;
    two = (uint16_t)value.low;
    four = (uint32_t)value.low;
    memcpy(member,
           size == 1   ? (void *)&one
           : size == 2 ? (void *)&two
           : size == 4 ? (void *)&four
                       : (void *)&value.low,
           size);
    return ISO_OK;
}

/* Stores a float of 4 or a double of 8 bytes: rounded once, to nearest, ties to even. */
static int iso__store_float(iso__value value, size_t size, void *member) {
    const int digits = size == 4 ? 24 : 53, bias = size == 4 ? 127 : 1023, bits = (int)iso__bits(&value);
    const int least = 1 - bias - (digits - 1); /* the exponent of the last bit of the smallest numbers */
    int last = value.exponent + bits - digits, lost = 0;
    uint64_t word = 0, sign = value.is_negative ? (uint64_t)1 << (8 * size - 1) : 0;
    uint32_t four;
    if (value.is_nan) {
        const float not_four = (float)NAN;
        const double not_eight = (double)NAN;
        memcpy(member, size == 4 ? (const void *)&not_four : (const void *)&not_eight, size);
        return ISO_OK;
    }
    if (value.is_infinite) {
        word = (uint64_t)(2 * bias + 1) << (digits - 1);
    } else if (bits > 0) {
        last = last < least ? least : last;
        if (last > value.exponent)
            lost = iso__right(&value, (uint64_t)((int64_t)last - value.exponent));
        else
            iso__left(&value, (unsigned)(value.exponent - last));
        word = value.low + (lost == 3 || (lost == 2 && value.low & 1));
        if (word >> digits) {
            word >>= 1;
            last++;
        }
        if (last + digits - 1 > bias)
            return ISO_OVERFLOW;
        if (word == 0)
            return ISO_UNDERFLOW;
        if (lost && value.is_integer)
            return ISO_INEXACT;
        if (word >> (digits - 1))
            word += (uint64_t)(last - least) << (digits - 1);
    }
    word |= sign;
    four = (uint32_t)word;
    memcpy(member, size == 4 ? (const void *)&four : (const void *)&word, size);
    return ISO_OK;
}

/* ---- The verification of bodies, by spec/message.md. ---- */

typedef struct iso__walk {
    iso_read_error *error;
    const iso_wire *format;
    const unsigned char *body;
    uint64_t length, cursor;
} iso__walk;

static uint64_t iso__round(uint64_t cursor, uint64_t alignment) {
    return (cursor + alignment - 1) / alignment * alignment;
}

static uint64_t iso__slot(const iso_wire *format, const unsigned char *at) {
    return iso__load(at, format->pointer, format->is_big_endian);
}

/* The lengths of all dimensions of a field of a record. 0 if one is negative. */
static int iso__lengths(const iso_wire *format, const iso_wire_structure *structure, const iso_wire_field *field,
                        const unsigned char *record, uint64_t *lengths, int *is_empty) {
    unsigned i;
    *is_empty = 0;
    for (i = 0; i < field->rank; i++) {
        lengths[i] = field->dimensions[i] / 2;
        if (field->dimensions[i] & 1) {
            const iso_wire_field *from = &format->fields[structure->first + lengths[i]];
            const unsigned char *at = record + from->offset;
            lengths[i] = from->kind == ISO__INTEGER ? iso__load_signed(at, from->part, format->is_big_endian)
                                                    : iso__load(at, from->part, format->is_big_endian);
            if (from->kind == ISO__INTEGER && lengths[i] >> 63)
                return 0;
        }
        *is_empty |= lengths[i] == 0;
    }
    return 1;
}

/* The block of an indirect field: its elements, or NULL. */
static int iso__verify_block(iso__walk *walk, const iso_wire_field *field, const unsigned char *at, const uint64_t *lengths,
                             int is_empty, uint64_t *count, const unsigned char **elements) {
    const uint64_t slot = iso__slot(walk->format, at);
    const uint64_t alignment =
        field->kind == ISO__STRUCTURE ? walk->format->structures[field->nested].alignment : field->part;
    const uint64_t begin = iso__round(walk->cursor, alignment >= 16 ? 16 : 8);
    const uint64_t most = begin < walk->length ? (walk->length - begin) / field->size : 0;
    unsigned i;
    *elements = NULL;
    *count = 1;
    if (field->is_dynamic && is_empty)
        return slot ? ISO_SLOT : ISO_OK;
    if (slot == 0)
        return field->is_dynamic ? ISO_NULL_ARRAY : ISO_OK;
    if (slot != begin)
        return ISO_SLOT;
    for (i = 0; i < field->rank; i++) {
        if (lengths[i] > most / *count)
            return ISO_ARRAY_LENGTH;
        *count *= lengths[i];
    }
    if (*count > most)
        return ISO_ARRAY_LENGTH;
    *elements = walk->body + begin;
    walk->cursor = begin + *count * field->size;
    return ISO_OK;
}

static int iso__verify_string(iso__walk *walk, const unsigned char *at) {
    const uint64_t slot = iso__slot(walk->format, at), begin = iso__round(walk->cursor, 8);
    const unsigned char *nul;
    if (slot == 0)
        return ISO_OK;
    if (slot != begin || begin >= walk->length)
        return ISO_SLOT;
    nul = (const unsigned char *)memchr(walk->body + begin, 0, (size_t)(walk->length - begin));
    if (!nul)
        return ISO_UNTERMINATED;
    walk->cursor = (uint64_t)(nul + 1 - walk->body);
    return ISO_OK;
}

static int iso__verify_symbol(const iso_wire *format, const iso_wire_field *field, const unsigned char *at) {
    const int is_signed = field->kind == ISO__ENUMERATION;
    const uint64_t value = is_signed ? iso__load_signed(at, field->part, format->is_big_endian)
                                     : iso__load(at, field->part, format->is_big_endian);
    size_t low = field->nested, high = field->nested + field->symbols;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const uint64_t symbol = format->symbols[middle].value;
        if (symbol == value)
            return ISO_OK;
        if (is_signed ? (int64_t)symbol < (int64_t)value : symbol < value)
            low = middle + 1;
        else
            high = middle;
    }
    return ISO_SYMBOL;
}

static int iso__verify_structure(iso__walk *walk, const iso_wire_structure *structure, const unsigned char *record);

static int iso__verify_element(iso__walk *walk, const iso_wire_field *field, const unsigned char *at) {
    if (field->kind == ISO__STRUCTURE)
        return iso__verify_structure(walk, &walk->format->structures[field->nested], at);
    walk->error->path[0] = 0;
    if (field->kind == ISO__STRING)
        return iso__verify_string(walk, at);
    if (field->kind == ISO__BOOLEAN)
        return iso__load(at, field->part, walk->format->is_big_endian) > 1 ? ISO_BOOLEAN : ISO_OK;
    return iso__verify_symbol(walk->format, field, at);
}

static int iso__verify_structure(iso__walk *walk, const iso_wire_structure *structure, const unsigned char *record) {
    size_t f;
    for (f = 0; structure->is_checked && f < structure->count; f++) {
        const iso_wire_field *field = &walk->format->fields[structure->first + f];
        const unsigned char *elements = record + field->offset;
        uint64_t lengths[8], count = field->fixed, i;
        int code, is_empty, is_element = 0;
        if (!field->is_indirect && !field->is_checked)
            continue;
        walk->error->path[0] = 0;
        code = iso__lengths(walk->format, structure, field, record, lengths, &is_empty) ? ISO_OK : ISO_ARRAY_LENGTH;
        if (code == ISO_OK && field->is_indirect)
            code = iso__verify_block(walk, field, elements, lengths, is_empty, &count, &elements);
        for (i = 0; code == ISO_OK && elements && field->is_checked && i < count; i++) {
            code = iso__verify_element(walk, field, elements + i * field->size);
            if (code) {
                iso__element_in_front(walk->error, lengths, field->rank, i);
                is_element = field->rank > 0;
            }
        }
        if (code) {
            iso__name_in_front(walk->error, (const char *)field->name, field->length, is_element);
            return code;
        }
    }
    return ISO_OK;
}

static int iso__verify(iso_reader *reader, const iso_wire *format, const unsigned char *body, uint64_t length) {
    const iso_wire_structure *record = &format->structures[format->structure_count - 1];
    iso__walk walk;
    int code;
    walk.error = &reader->error;
    walk.format = format;
    walk.body = body;
    walk.length = length;
    walk.cursor = record->size;
    if (length < record->size)
        return iso__fail(&reader->error, ISO_BODY_LENGTH);
    code = iso__verify_structure(&walk, record, body);
    reader->error.code = code;
    return code ? code : walk.cursor == length ? ISO_OK : iso__fail(&reader->error, ISO_BODY_LENGTH);
}

/* ---- Messages and streams. ---- */

void iso_read_open(iso_reader *reader, const void *stream, size_t count, iso_wire *formats, size_t room) {
    size_t i;
    memset(reader, 0, sizeof *reader);
    reader->at = (const unsigned char *)stream;
    reader->end = reader->at + count;
    reader->formats = formats;
    reader->room = room;
    for (i = 0; i < room; i++)
        formats[i].seen = 0;
}

static iso_wire *iso__known(iso_reader *reader, const unsigned char *token) {
    size_t i;
    for (i = 0; i < reader->room; i++)
        if (reader->formats[i].seen && memcmp(reader->formats[i].token, token, 16) == 0)
            return &reader->formats[i];
    return NULL;
}

/* Learns a format, in the place of the one that was not seen for longest. */
static int iso__learn(iso_reader *reader, const unsigned char *description, size_t count) {
    unsigned char hash[32];
    iso_wire *format;
    size_t i;
    int code;
    iso__derive_key("isoform 2026 format token v1", description, count, hash);
    format = iso__known(reader, hash);
    if (format && !iso__is_same(format->description, format->description_size, description, count))
        return ISO_TOKEN_MISMATCH;
    if (!format) {
        if (reader->room == 0)
            return ISO_FIELDS;
        for (format = reader->formats, i = 1; i < reader->room; i++)
            if (reader->formats[i].seen < format->seen)
                format = &reader->formats[i];
        format->seen = 0;
        code = iso__parse(format, description, count);
        if (code)
            return code;
        memcpy(format->token, hash, 16);
    }
    format->seen = ++reader->seen;
    return ISO_OK;
}

/* The header of the message at the reader's place. */
static int iso__header(const iso_reader *reader, uint64_t *length) {
    static const unsigned char magic[4] = { 0x89, 'I', 'S', 'O' };
    const size_t left = (size_t)(reader->end - reader->at);
    if (memcmp(reader->at, magic, left < 4 ? left : 4) != 0)
        return ISO_NOT_A_MESSAGE;
    if (left > 4 && reader->at[4] != 1)
        return ISO_VERSION;
    if (left < 32)
        return ISO_CUT;
    if (reader->at[5] || reader->at[7])
        return ISO_FLAGS;
    *length = iso__load(reader->at + 24, 8, 0);
    return *length > left - 32 ? ISO_CUT : ISO_OK;
}

int iso_read_next(iso_reader *reader, iso_incoming *message) {
    static const unsigned char none[16] = { 0 }, locators[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 },
                               seal[16] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2 };
    while (reader->at != reader->end) {
        const unsigned char *token = reader->at + 8, *body = reader->at + 32;
        uint64_t length = 0, padding, left;
        iso_wire *format;
        int code = iso__header(reader, &length);
        if (code) {
            reader->is_final = 1;
            return iso__fail(&reader->error, code);
        }
        left = (uint64_t)(reader->end - body) - length;
        padding = iso__round(length, 16) - length;
        reader->at = body + length + (padding < left ? padding : left);
        if (memcmp(token, none, 16) == 0) {
            code = length > ISO__LONGEST ? ISO_DESCRIPTION_SIZE : iso__learn(reader, body, (size_t)length);
            if (code)
                return iso__fail(&reader->error, code);
            continue;
        }
        if (memcmp(token, locators, 16) == 0 || memcmp(token, seal, 16) == 0)
            continue;
        format = iso__known(reader, token);
        if (!format)
            return iso__fail(&reader->error, ISO_UNKNOWN_FORMAT);
        format->seen = ++reader->seen;
        message->format = format;
        message->body = body;
        message->length = (size_t)length;
        return iso__verify(reader, format, body, length);
    }
    reader->is_final = 1;
    return iso__fail(&reader->error, ISO_END);
}

const char *iso_read_name(const iso_incoming *message, size_t *count) {
    const iso_wire_structure *record = &message->format->structures[message->format->structure_count - 1];
    *count = record->length;
    return (const char *)record->name;
}

/* ---- Conversion, by spec/conversion.md: first the pair of formats, once for each table, then the record. ---- */

/* What the type of a want says. */
typedef struct iso__type {
    char word; /* i u integer, f float, z complex, b bool, c char, s string, { structure */
    size_t size, part; /* of one element; of each part of a complex number */
    unsigned rank;
    uint64_t dimensions[8]; /* the first is the room, if a row has the length */
    uint64_t inner; /* the product of all dimensions but the first */
    const iso_want *length; /* the row of the length, or NULL */
} iso__type;

static const iso_want *iso__row(const iso_wants *wants, const char *name, size_t length) {
    size_t i;
    for (i = 0; i < wants->count; i++)
        if (strlen(wants->rows[i].name) == length && memcmp(wants->rows[i].name, name, length) == 0)
            return &wants->rows[i];
    return NULL;
}

static int iso__type_word(iso__type *type, const char *word, size_t length) {
    static const struct {
        const char *text;
        char word;
        size_t size;
    } words[] = {
        { "i8", 'i', 1 }, { "i16", 'i', 2 }, { "i32", 'i', 4 }, { "i64", 'i', 8 }, { "u8", 'u', 1 }, { "u16", 'u', 2 },
        { "u32", 'u', 4 }, { "u64", 'u', 8 }, { "int", 'i', sizeof(int) }, { "unsigned", 'u', sizeof(int) },
        { "short", 'i', sizeof(short) }, { "unsigned short", 'u', sizeof(short) }, { "long", 'i', sizeof(long) },
        { "unsigned long", 'u', sizeof(long) }, { "long long", 'i', sizeof(long long) },
        { "unsigned long long", 'u', sizeof(long long) }, { "size_t", 'u', sizeof(size_t) }, { "signed char", 'i', 1 },
        { "unsigned char", 'u', 1 }, { "float", 'f', 4 }, { "double", 'f', 8 }, { "float complex", 'z', 8 },
        { "double complex", 'z', 16 }, { "bool", 'b', 1 }, { "char", 'c', 1 }, { "string", 's', sizeof(char *) },
        { "struct", '{', 0 },
    };
    size_t i;
    for (i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i].text) == length && memcmp(words[i].text, word, length) == 0) {
            type->word = words[i].word;
            type->size = words[i].size;
            type->part = type->word == 'z' ? type->size / 2 : type->size;
            return 1;
        }
    return 0;
}

static int iso__dimension(const iso_wants *wants, const char *text, size_t length, iso__type *type) {
    uint64_t number = 0;
    size_t i;
    for (i = 0; i < length && text[i] >= '0' && text[i] <= '9' && number < iso__largest; i++)
        number = number * 10 + (unsigned)(text[i] - '0');
    if (type->rank == 8)
        return 0;
    if (i < length) {
        type->length = iso__row(wants, text, length);
        number = 1;
        if (type->rank != 0 || !type->length)
            return 0;
    }
    if (type->rank > 0)
        type->inner = number <= iso__largest / type->inner ? type->inner * number : 0;
    type->dimensions[type->rank++] = number;
    return number != 0 && type->inner != 0;
}

/* Whether the type is that of the member, and divides the array as the member does, if the compiler has told it. The type may
   have fewer dimensions, or more. An integer may be a boolean or a character. */
static int iso__is_told(const iso_want *want, const iso__type *type) {
    const char told = (char)want->told;
    size_t row = type->size, told_rows = 0, in_type = 0, common = 0, i;
    unsigned d;
    if (told == 0)
        return 1;
    if (want->rows[7] != type->size || (told != type->word && (!strchr("iucb", told) || !strchr("iucb", type->word) ||
                                                               (strchr("iu", told) && strchr("iu", type->word)))))
        return 0;
    for (i = 0; i < 7; i++)
        told_rows += want->rows[i] > type->size && want->rows[i] < want->extent && (i == 0 || want->rows[i] != want->rows[i - 1]);
    for (d = type->rank; d-- > 1;) {
        if (type->dimensions[d] == 1)
            continue;
        row *= (size_t)type->dimensions[d];
        for (i = 0; i < 7 && want->rows[i] != row; i++) {
        }
        in_type += row < want->extent;
        common += row < want->extent && i < 7;
    }
    return common == told_rows || common == in_type;
}

/* Parses the type of a want, and compares it with the member. */
static int iso__parse_type(const iso_wants *wants, const iso_want *want, iso__type *type) {
    const char *text = want->type, *bracket = strchr(text, '[');
    uint64_t row;
    memset(type, 0, sizeof *type);
    type->inner = 1;
    if (!iso__type_word(type, text, bracket ? (size_t)(bracket - text) : strlen(text)) ||
        (type->word == '{') != (want->nested != NULL))
        return 0;
    if (want->nested)
        type->size = want->nested->size;
    while (bracket && *bracket == '[') {
        const char *end = strchr(bracket, ']');
        if (!end || !iso__dimension(wants, bracket + 1, (size_t)(end - bracket - 1), type))
            return 0;
        bracket = end + 1;
    }
    if ((bracket && *bracket) || want->offset > wants->size || want->extent > wants->size - want->offset ||
        type->size == 0 || type->inner > want->extent / type->size || !iso__is_told(want, type))
        return 0;
    row = type->inner * type->size;
    if (!type->length)
        return want->extent ==
               (type->rank ? type->dimensions[0] <= want->extent / row ? type->dimensions[0] * row : 0 : row);
    type->dimensions[0] = want->extent / row;
    return want->extent % row == 0;
}

/* The name of a struct, without "struct " or namespaces in front. */
static const char *iso__struct_name(const char *text) {
    const char *at;
    for (at = text; *at && *at != '<'; at++)
        if (*at == ' ' || *at == ':')
            text = at + 1;
    return text;
}

/* Whether a row belongs to the struct of the table, as far as both are known. */
static int iso__is_own(const iso_wants *wants, const iso_want *want) {
    return (want->struct_size == 0 || want->struct_size == wants->size) &&
           (!want->struct_name || !wants->struct_name ||
            strcmp(iso__struct_name(want->struct_name), iso__struct_name(wants->struct_name)) == 0);
}

static int iso__is_length_row(const iso_wants *wants, const iso_want *row) {
    iso__type type;
    size_t i;
    for (i = 0; i < wants->count; i++)
        if (iso__parse_type(wants, &wants->rows[i], &type) && type.length == row)
            return 1;
    return 0;
}

/* The wire field of a path, and the place of the structure that it is in. */
static const iso_wire_field *iso__find(const iso_wire *format, const iso_wire_structure **structure, const char *path,
                                       uint64_t *base) {
    *base = 0;
    for (;;) {
        const char *dot = strchr(path, '.');
        const size_t length = dot ? (size_t)(dot - path) : strlen(path);
        const iso_wire_field *field = NULL;
        size_t i;
        for (i = 0; i < (*structure)->count; i++) {
            const iso_wire_field *one = &format->fields[(*structure)->first + i];
            if (iso__is_same(one->name, one->length, (const unsigned char *)path, length))
                field = one;
        }
        if (!field || !dot)
            return field;
        if (field->kind != ISO__STRUCTURE || field->rank || field->is_indirect)
            return NULL;
        *base += field->offset;
        *structure = &format->structures[field->nested];
        path = dot + 1;
    }
}

/* A string that becomes an array of char. */
static int iso__is_text(const iso__type *type, const iso_wire_field *field) {
    return type->word == 'c' && type->rank == 1 && !type->length && field->kind == ISO__STRING && field->rank == 0 &&
           !field->is_indirect;
}

static int iso__converts(const iso__type *type, const iso_wire_field *field) {
    const char *words = field->kind == ISO__STRUCTURE                                          ? "{"
                        : field->kind == ISO__STRING                                           ? "s"
                        : field->kind >= ISO__ENUMERATION                                      ? "iu"
                        : field->kind >= ISO__COMPLEX && field->kind <= ISO__COMPLEX_DOUBLE2 ? "z"
                        : field->kind >= ISO__FLOAT && field->kind < ISO__COMPLEX              ? "iufc"
                                                                                               : "iufcb";
    return strchr(words, type->word) != NULL || iso__is_text(type, field);
}

/* Compares everything that depends only on the two formats. `level` bounds tables that nest themselves. */
static int iso__pair(iso_reader *reader, const iso_wire *format, const iso_wire_structure *wire, const iso_wants *wants,
                     unsigned level) {
    size_t i, taken = 0;
    int code = ISO_OK;
    for (i = 0; code == ISO_OK && i < wants->count; i++) {
        const iso_want *want = &wants->rows[i];
        const iso_wire_structure *structure = wire;
        const iso_wire_field *field;
        iso__type type, length;
        uint64_t base;
        unsigned k;
        int is_short = 0;
        reader->error.path[0] = 0;
        if (!iso__is_own(wants, want) || !iso__parse_type(wants, want, &type) || level > ISO__LEVELS ||
            (type.length && (!iso__parse_type(wants, type.length, &length) || length.rank || !strchr("iu", length.word)))) {
            code = ISO_DECLARATION;
        } else if (!iso__is_length_row(wants, want)) {
            field = iso__find(format, &structure, want->name, &base);
            taken += field != NULL;
            if (!field)
                code = want->keeps ? ISO_OK : ISO_REQUIRED;
            else if (!iso__converts(&type, field))
                code = ISO_NO_CONVERSION;
            else if (!iso__is_text(&type, field) && type.rank != field->rank)
                code = ISO_SHAPE;
            else if (field->kind == ISO__STRUCTURE)
                code = iso__pair(reader, format, &format->structures[field->nested], want->nested, level + 1);
            for (k = 0; code == ISO_OK && field && k < field->rank; k++) {
                const uint64_t came = field->dimensions[k] / 2, room = type.dimensions[k];
                if (!(field->dimensions[k] & 1) && (k > 0 ? came != room : came > room))
                    code = k > 0 ? ISO_SHAPE : ISO_TOO_LONG;
                else if (!(field->dimensions[k] & 1) && k == 0 && came < room && !type.length && !want->keeps &&
                         !(type.word == 'c' && type.rank == 1))
                    is_short = 1;
            }
            if (is_short) {
                code = ISO_REQUIRED;
                iso__in_front(&reader->error, "[]", 2);
            }
        }
        if (code)
            iso__name_in_front(&reader->error, want->name, strlen(want->name), is_short);
    }
    if (code == ISO_OK && taken == 0)
        code = ISO_NO_CONVERSION;
    reader->error.code = code;
    return code;
}

static int iso__fill(iso_reader *reader, const iso_incoming *message, const iso_wire_structure *wire, const iso_wants *wants,
                     const unsigned char *from, unsigned char *record);

/* Converts a string into an array of char. */
static int iso__fill_text(const iso__type *type, const unsigned char *text, unsigned char *member) {
    const size_t length = text ? strlen((const char *)text) : 0;
    if (length >= type->dimensions[0])
        return ISO_TOO_LONG;
    memset(member, 0, (size_t)type->dimensions[0]);
    if (text)
        memcpy(member, text, length);
    return ISO_OK;
}

static int iso__fill_number(const iso_wire *format, const iso__type *type, const iso_wire_field *field,
                            const unsigned char *from, void *member) {
    const iso__value value = iso__number(field, from, format->is_big_endian);
    if (type->word == 'f' || type->word == 'z')
        return iso__store_float(value, type->part, member);
    if (type->word == 'b' && (value.high || value.low > 1 || value.is_negative))
        return ISO_OVERFLOW;
    return iso__store_integer(value, type->word == 'i', type->size, member);
}

static int iso__fill_element(iso_reader *reader, const iso_incoming *message, const iso_want *want, const iso__type *type,
                             const iso_wire_field *field, const unsigned char *from, unsigned char *member) {
    const iso_wire *format = message->format;
    int code;
    if (field->kind == ISO__STRUCTURE)
        return iso__fill(reader, message, &format->structures[field->nested], want->nested, from, member);
    reader->error.path[0] = 0;
    if (field->kind == ISO__STRING) {
        const uint64_t slot = iso__slot(format, from);
        const char *text = slot ? (const char *)message->body + slot : NULL;
        if (iso__is_text(type, field))
            return iso__fill_text(type, (const unsigned char *)text, member);
        memcpy(member, &text, sizeof text);
        return ISO_OK;
    }
    code = iso__fill_number(format, type, field, from, member);
    if (code == ISO_OK && type->word == 'z')
        code = iso__fill_number(format, type, field, from + field->part, member + type->part);
    return code;
}

/* Stores the length of an array. Arrays that share it agree. */
static int iso__fill_length(const iso_wants *wants, const iso_want *want, const iso_want *length, const iso_wire *format,
                            const iso_wire_structure *wire, uint64_t count, unsigned char *record) {
    iso__value value = { 0, 0, 0, 1, 0, 0, 0 };
    const iso_want *other;
    unsigned char before[8];
    iso__type type, shared;
    int code;
    value.low = count;
    iso__parse_type(wants, length, &type);
    memcpy(before, record + length->offset, type.size);
    code = iso__store_integer(value, type.word == 'i', type.size, record + length->offset);
    for (other = wants->rows; code == ISO_OK && other < want; other++) {
        const iso_wire_structure *structure = wire;
        uint64_t base;
        iso__parse_type(wants, other, &shared);
        if (shared.length == length && iso__find(format, &structure, other->name, &base) &&
            memcmp(before, record + length->offset, type.size) != 0)
            code = ISO_LENGTHS;
    }
    return code;
}

/* How many elements came, and whether they fit. */
static int iso__count(const iso__type *type, const iso_want *want, const iso_wire_field *field, const uint64_t *lengths,
                      int is_empty, uint64_t *count) {
    unsigned k;
    *count = field->rank && is_empty ? 0 : field->rank ? lengths[0] : 1;
    if (field->rank == 0)
        return ISO_OK;
    for (k = 1; *count > 0 && k < field->rank; k++)
        if (lengths[k] != type->dimensions[k])
            return ISO_SHAPE;
    if (*count > type->dimensions[0])
        return ISO_TOO_LONG;
    if (*count < type->dimensions[0] && !type->length && !want->keeps && !(type->word == 'c' && type->rank == 1))
        return ISO_REQUIRED;
    *count *= type->inner;
    return ISO_OK;
}

static int iso__fill_field(iso_reader *reader, const iso_incoming *message, const iso_wants *wants, const iso_want *want,
                           const iso_wire_structure *wire, const iso_wire_field *field, const iso_wire_structure *structure,
                           const unsigned char *from, uint64_t base, unsigned char *record, int *is_element) {
    const unsigned char *elements = from + base + field->offset;
    unsigned char *member = record + want->offset;
    uint64_t lengths[8], count, i;
    iso__type type;
    int code, is_empty;
    reader->error.path[0] = 0;
    iso__parse_type(wants, want, &type);
    iso__lengths(message->format, structure, field, from + base, lengths, &is_empty);
    if (field->is_indirect) {
        const uint64_t slot = iso__slot(message->format, elements);
        if (slot == 0 && !field->is_dynamic)
            return ISO_NULL;
        elements = message->body + slot;
    }
    code = iso__count(&type, want, field, lengths, is_empty, &count);
    if (code == ISO_OK && type.length)
        code = iso__fill_length(wants, want, type.length, message->format, wire, count / type.inner, record);
    if (code == ISO_OK && type.word == 'c' && type.rank == 1 && field->kind != ISO__STRING && !type.length)
        memset(member + count, 0, (size_t)(type.dimensions[0] - count));
    for (i = 0; code == ISO_OK && i < count; i++) {
        code = iso__fill_element(reader, message, want, &type, field, elements + i * field->size, member + i * type.size);
        if (code) {
            iso__element_in_front(&reader->error, lengths, field->rank, i);
            *is_element = field->rank > 0;
        }
    }
    return code;
}

static int iso__fill(iso_reader *reader, const iso_incoming *message, const iso_wire_structure *wire, const iso_wants *wants,
                     const unsigned char *from, unsigned char *record) {
    size_t i;
    for (i = 0; i < wants->count; i++) {
        const iso_want *want = &wants->rows[i];
        const iso_wire_structure *structure = wire;
        uint64_t base;
        int code, is_element = 0;
        const iso_wire_field *field;
        if (iso__is_length_row(wants, want))
            continue;
        field = iso__find(message->format, &structure, want->name, &base);
        if (!field)
            continue;
        code = iso__fill_field(reader, message, wants, want, wire, field, structure, from, base, record, &is_element);
        if (code) {
            iso__name_in_front(&reader->error, want->name, strlen(want->name), is_element);
            return code;
        }
    }
    return ISO_OK;
}

int iso_read_into(iso_reader *reader, const iso_incoming *message, const iso_wants *wants, void *record) {
    const iso_wire_structure *wire = &message->format->structures[message->format->structure_count - 1];
    int code;
    iso__fail(&reader->error, ISO_OK);
    code = iso__pair(reader, message->format, wire, wants, 1);
    if (code == ISO_OK)
        code = iso__fill(reader, message, wire, wants, message->body, (unsigned char *)record);
    reader->error.code = code;
    return code;
}

#endif /* ISOFORM_READER_IMPLEMENTATION */
