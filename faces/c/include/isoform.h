/* isoform.h - records exchanged as they lie in memory: Isoform's library, for C99 and C++11.

   A record is a struct. It is declared once, as a table of its members, and from then on goes to files, pipes and other
   processes as it lies in memory. Whoever receives it has a struct of its own - on any machine, in any language, with
   fields added, dropped, reordered, renamed or widened - and gets the values by the names of the members. A complete
   program, which writes a stream and reads it with another struct:

       #include <isoform.h>
       #include <stdio.h>

       typedef struct { int step; const char *station; int n; float *depth; } Sample;
       static const iso_field sample[] = { ISO_FIELD(Sample, step, "int"), ISO_FIELD(Sample, station, "string"),
                                           ISO_FIELD(Sample, n, "int"), ISO_POINTER_UNIT(Sample, depth, "float[n]", "m") };
       static const iso_structure samples[] = { ISO_STRUCTURE(Sample, sample) };

       typedef struct { int64_t n; double *depth; int64_t step; } Seen;
       static const iso_field seen[] = { ISO_FIELD(Seen, n, "int64_t"), ISO_FIELD_UNIT(Seen, depth, "double[n]", "m"),
                                         ISO_FIELD(Seen, step, "int64_t") };
       static const iso_structure seens[] = { ISO_STRUCTURE(Seen, seen) };

       static int failed(iso_code code) { return code && fprintf(stderr, "%s\n", iso_last_error()->text); }

       int main(void) {
           float depth[] = { 0.5f, 0.25f, 2.0f };
           Sample record = { 7, "Old Mill", 3, depth };
           const void *came;
           iso_format *format = NULL, *wanted = NULL;
           iso_writer *writer = NULL;
           iso_reader *reader = NULL;
           iso_decoder *decoder = NULL;
           if (failed(iso_format_open(samples, 1, &format)) || failed(iso_writer_open_file("river.iso", &writer)) ||
               failed(iso_writer_write(writer, format, &record)) || failed(iso_writer_close(&writer)))
               return 1;
           if (failed(iso_format_open(seens, 1, &wanted)) || failed(iso_reader_open_file("river.iso", &reader)) ||
               failed(iso_decoder_open(wanted, NULL, ISO_FAULTS_ERROR, &decoder)))
               return 1;
           while (!failed(iso_reader_read(reader, decoder, &came)) && came) {
               const Seen *record = (const Seen *)came;
               printf("%d: %g\n", (int)record->step, record->depth[2]);
           }
           iso_decoder_close(&decoder);
           iso_reader_close(&reader);
           iso_format_close(&wanted);
           iso_format_close(&format);
           return 0;
       }

   It is compiled by  cc river.c $(pkg-config --cflags --libs isoform),  or with CMake by find_package(isoform) and
   target_link_libraries(river isoform::isoform). docs/book/guides/c.md is the guide to all of it, channels included.

   TABLES are those of isoform_writer.h, which is for machines without this library: a program goes from one to the other
   without changing them. (Not both in one source file: they declare the same names.) A member's type is a text:
   element [ "(" bytes ")" ] { "[" dimension "]" } [ "*" ]

       C's words             char, signed char, unsigned char, short, int, long, long long and their kin, size_t,
                             int32_t, uint8_t .., bool, double, long double, double complex, __int128, char*
       of one size           i8 .. i128, u8 .. u128, f16, bf16, f32, f64, f128
       of the member's size  float, integer, unsigned integer, complex float, boolean, enumeration{red=0,green=1},
                             unsigned enumeration{..}, x87, double-double, bfloat; or of a stated one: boolean(4)
       others                string (a char * to text with a NUL, or NULL); the name of a structure declared before

   A dimension is a number, or the name of an integer member that holds the length; an array with such a length is
   behind a pointer: double *grid is "double[nx][ny]". Anything else behind a pointer ends in *: Point *home is
   "Point*", double *three is "double[3]*". A symbol without a number has that of the one before, plus 1. "char" is
   text; "signed char" and "unsigned char" are numbers.

   HANDLES are made by functions that end in open (or copy, find, ..), into a variable of yours, and closed by functions that
   are given the address of that variable, and set it to NULL: so closing twice, or closing what was never opened, does
   nothing. Handles do not need each other to stay: a format may be closed when an encoder of it is still used, a node when
   there are still channels. A NULL where a handle is needed is an error, and not a crash.

   ERRORS. Functions that can fail return 0 or a number of Isoform's table of errors, the same in every language.
   iso_last_error() has the rest of it, for the thread that asks: a sentence, the path of the field at fault, what was
   expected there, what came. If a function fails that was to open something, the variable is NULL. A defect of the library
   itself is ISO_INTERNAL, and nothing worse.

   WHAT IS LENT - messages, records that were decoded, texts - is lent until the next call with the handle that lends it, or
   until that is closed, unless something else is said. A record that is lent may point into memory of the message that it was
   made of, of the decoder, or both.

   RECORDS that are encoded must keep the promises of their table. Broken ones that can be seen - a negative length, NULL
   beside a length, a boolean of 2, an enumeration's number without a symbol - are ISO_BAD_RECORD. What pointers point at
   must be there.

   THREADS. Formats, nodes and channels may be used by all threads at once. Every other handle is used by one thread at a time,
   whichever that is. A function of yours that the library calls must not use the handle that calls it, nor leave by longjmp or an
   exception.

   Channels - nodes, channels, sources, sinks, handlers - are for Unix so far.

   Licensed under either of MIT or Apache-2.0 at your option.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_H
#define ISOFORM_H

#ifdef ISOFORM_WRITER_H
#error "isoform.h and isoform_writer.h declare the same names: include one of them in a source file. isoform.h does all that the other does."
#endif

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors. ---- */

/* What went wrong: the numbers of spec/errors.md. */
typedef enum iso_code {
    ISO_OK = 0,
    ISO_NOT_A_MESSAGE = 100, /* the bytes do not begin like a message */
    ISO_VERSION = 101, /* a message, or a description, is of a version that this reader does not know */
    ISO_FLAGS = 102, /* a message or a description has a flag that a reader must know, and this one does not */
    ISO_CUT = 103, /* the stream ends within a message */
    ISO_DESCRIPTION = 110, /* a description breaks the encoding of spec/format.md */
    ISO_NOT_CANONICAL = 111, /* a description says in other bytes what has one canonical spelling */
    ISO_DECLARATION = 112, /* a format, or a field list that declares one, contradicts itself */
    /* a description, asked for or kept under a token, does not hash to it; or another description is known under its token */
    ISO_TOKEN_MISMATCH = 113,
    ISO_BODY_LENGTH = 120, /* the body is longer or shorter than its blocks */
    ISO_SLOT = 121, /* a pointer slot does not point at the one place where its block must be */
    ISO_NULL_ARRAY = 122, /* a null pointer stands for an array whose length is not zero */
    ISO_ARRAY_LENGTH = 123, /* an array's length is negative, or larger than its message */
    ISO_BOOLEAN = 124, /* a boolean that is neither 0 nor 1 */
    ISO_SYMBOL = 125, /* an enumeration's number that has no symbol */
    ISO_UNTERMINATED = 126, /* a string without its terminating NUL */
    ISO_UTF8 = 127, /* a string that is not UTF-8 where text is needed */
    ISO_TEXT = 130, /* JSON or other text that is not a record of the format */
    ISO_FRAME = 140, /* what came over a link is no frame, or one that may not come here */
    ISO_HANDSHAKE = 141, /* a connection does not begin as a link does, or was given up before it was one */
    ISO_MESSAGE_SIZE = 200, /* a message is larger than this receiver accepts */
    ISO_DESCRIPTION_SIZE = 201, /* a description is larger than 64 KiB, or than this receiver accepts */
    ISO_DEPTH = 202, /* structures are nested deeper than 32 levels, or than this receiver accepts */
    ISO_FIELDS = 203, /* a format has more than 4,096 fields in all, or than this receiver accepts */
    ISO_SIZE = 204, /* a record, an array or an offset is larger than this machine or its format can address */
    ISO_PEERS = 205, /* more links, members or subscriptions than this node allows */
    ISO_REQUIRED = 300, /* a field that the receiver marked as required is missing in what was sent */
    /* two fields of one name cannot be converted into each other, or two records have no field in common */
    ISO_NO_CONVERSION = 301,
    ISO_UNIT = 302, /* two fields of one name are in different units */
    ISO_SHAPE = 303, /* two arrays of one name differ in rank or in an inner dimension */
    ISO_OVERFLOW = 310, /* a number does not fit its destination */
    ISO_UNDERFLOW = 311, /* a number other than zero becomes zero */
    ISO_INEXACT = 312, /* a number would lose digits that its kind promises to keep */
    ISO_UNKNOWN_SYMBOL = 313, /* an enumeration's symbol is unknown to the receiver */
    ISO_TOO_LONG = 314, /* more elements came than the destination has room for */
    ISO_LENGTHS = 315, /* arrays that share one length field have different lengths */
    ISO_NULL = 316, /* a null pointer where the receiver has no way to hold one */
    ISO_UNKNOWN_FORMAT = 400, /* no description is known for a token; the error carries it */
    ISO_IO = 401, /* the operating system refused to read or write */
    ISO_DEADLINE = 402, /* nothing came within the time that was given */
    ISO_UNREACHABLE = 403, /* nobody answers at an address, or the link with a node has ended */
    ISO_NO_SUCH_CHANNEL = 404, /* the node that was asked has no channel of that name or identity */
    ISO_CLOSED = 405, /* the channel, source, sink or node was closed */
    ISO_WRONG_NODE = 406, /* at the address is another node than the one that was meant */
    ISO_DUPLICATE = 407, /* the two nodes have a link already, and it stands */
    ISO_TAKEN = 408, /* a channel's name, or an address to listen at, is in use already */
    ISO_NO_SUCH_FIELD = 500, /* no field, element or symbol of that name */
    ISO_WRONG_TYPE = 501, /* a field was asked for as something that it is not */
    ISO_BAD_RECORD = 502, /* a record in memory breaks the promise of its declaration */
    ISO_SOURCE = 503, /* a source on the command line that cannot be understood or is not supported */
    ISO_ADDRESS = 504, /* an address or a channel's id that cannot be understood */
    /* an address beyond this machine, where nothing would be encrypted, without the word that this is meant */
    ISO_INSECURE = 505,
    ISO_INTERNAL = 900 /* a defect of Isoform */
} iso_code;

/* Whose failure it is, and so what to do. */
typedef enum iso_class {
    ISO_CLASS_NONE = 0,        /* no error */
    ISO_CLASS_BAD_INPUT = 1,   /* what came does not follow the specification: drop it, or look at who sent it */
    ISO_CLASS_LIMIT = 2,       /* a limit of this receiver was reached */
    ISO_CLASS_MISMATCH = 3,    /* both sides are well-formed and do not fit each other: change one of them, or the rules */
    ISO_CLASS_UNAVAILABLE = 4, /* something that is needed is not here (yet) */
    ISO_CLASS_USAGE = 5,       /* the caller asked for what does not exist, or broke a promise */
    ISO_CLASS_INTERNAL = 6     /* a defect of Isoform: please report it */
} iso_class;

typedef struct iso_error {
    iso_code code;
    const char *text;     /* all of it, such as "overflow at grid[3].rho: expected integer of 2 bytes, came 70000" */
    const char *path;     /* the field at fault, such as "grid[3].rho"; the others may be "", too */
    const char *expected; /* what was expected there */
    const char *came;     /* what came instead */
} iso_error;

/* The last error of this thread; one with ISO_OK if there was none. Lent until the next one. */
const iso_error *iso_last_error(void);

/* Of a code: its name in spec/errors.md and its text, or NULL; and its class. */
const char *iso_code_name(iso_code code);
const char *iso_code_text(iso_code code);
iso_class iso_code_class(iso_code code);

/* The version of the library, such as "0.1.0". */
const char *iso_version(void);

/* ---- Formats. ---- */

/* A member of a struct: what it is called, what it holds, and where it lies. */
typedef struct iso_field {
    const char *name;
    const char *type;
    size_t size; /* of one element; 0 if `type` or `extent` tells */
    size_t offset;
    const char *unit; /* such as "m/s", or NULL */
    size_t extent; /* of the whole member within the struct; 0 if unknown */
} iso_field;

/* A struct and its fields, in any order. */
typedef struct iso_structure {
    const char *name;
    size_t size;
    size_t alignment;
    const iso_field *fields;
    size_t count;
} iso_structure;

/* ISO_FIELD takes size and offset from the compiler, and whatever the type says is held against them. ISO_POINTER is for a
   pointer whose type leaves the size open, such as "float[n]": it takes the size of what the member points at, which must
   be one element. ISO_ROW is written by hand: name, type, the size of one element, offset. ISO_STRUCTURE names a structure
   after its C type, ISO_STRUCTURE_AS by a text. */
#define ISO_FIELD(Struct, member, type) ISO_FIELD_UNIT(Struct, member, type, NULL)
#define ISO_FIELD_UNIT(Struct, member, type, unit) \
    { #member, type, 0, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member) }
#define ISO_POINTER(Struct, member, type) ISO_POINTER_UNIT(Struct, member, type, NULL)
#define ISO_POINTER_UNIT(Struct, member, type, unit) \
    { #member, type, sizeof(*((Struct *)0)->member), offsetof(Struct, member), unit, sizeof(((Struct *)0)->member) }
#define ISO_ROW(name, type, size, offset) { name, type, size, offset, NULL, 0 }

#define ISO_STRUCTURE(Struct, fields) ISO_STRUCTURE_AS(#Struct, Struct, fields)
#define ISO_STRUCTURE_AS(name, Struct, fields) \
    { name, sizeof(Struct), ISO_ALIGNMENT(Struct), fields, sizeof(fields) / sizeof((fields)[0]) }

#if defined(__cplusplus)
#define ISO_ALIGNMENT(Struct) alignof(Struct)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ISO_ALIGNMENT(Struct) _Alignof(Struct)
#else
#define ISO_ALIGNMENT(Struct) offsetof(struct { char first; Struct second; }, second)
#endif

/* A record's name and fields, as they lie in the memory of some machine. */
typedef struct iso_format iso_format;

/* Declares the last of the structures; the others are those that it may nest, each behind those that it nests itself. Tables
   and texts need not stay. */
iso_code iso_format_open(const iso_structure *structures, size_t count, iso_format **format);
/* The format of a description: of any machine. */
iso_code iso_format_parse(const void *description, size_t count, iso_format **format);
/* A format to keep, of one that is lent. */
iso_code iso_format_copy(const iso_format *format, iso_format **copy);
void iso_format_close(iso_format **format);

const char *iso_format_name(const iso_format *format);
/* Bytes of the record itself, without what its pointers point at. */
size_t iso_format_size(const iso_format *format);
/* The 16 bytes that name it on the wire, and the canonical bytes that describe it. Lent by the format. */
iso_code iso_format_token(const iso_format *format, unsigned char token[16]);
const void *iso_format_description(const iso_format *format, size_t *count);
/* Its fields, as a table: those of nested structures first, its own last. Lent by the format. */
const iso_structure *iso_format_structures(const iso_format *format, size_t *count);

/* ---- Rules: what a receiver says of its fields beyond the table. ---- */

typedef struct iso_rules iso_rules;

iso_code iso_rules_open(iso_rules **rules);
void iso_rules_close(iso_rules **rules);
/* Another name under which the field may come; one with dots reaches into nested structures of what came. */
iso_code iso_rules_alias(iso_rules *rules, const char *structure, const char *field, const char *alias);
/* The value of a field that does not come, as JSON: "11.5", "true", "\"none\"", "[0, 0, 1]". Without one it is zero. */
iso_code iso_rules_default(iso_rules *rules, const char *structure, const char *field, const char *json);
/* Formats without the field are refused. */
iso_code iso_rules_required(iso_rules *rules, const char *structure, const char *field);

/* What becomes of a number that does not fit its field. */
typedef enum iso_faults {
    ISO_FAULTS_ERROR = 0,    /* the record is refused, with the path of the field */
    ISO_FAULTS_SATURATE = 1, /* it becomes the nearest that fits */
    ISO_FAULTS_WRAP = 2      /* it keeps its low bits */
} iso_faults;

/* ---- Messages by themselves: for transports of your own. ---- */

/* A part of a message; on Unix it is laid out as struct iovec is. */
typedef struct iso_buffer {
    const void *bytes;
    size_t length;
} iso_buffer;

typedef struct iso_encoder iso_encoder;

iso_code iso_encoder_open(const iso_format *format, iso_encoder **encoder);
void iso_encoder_close(iso_encoder **encoder);
/* The message of a record, as buffers, most of which point into the record: what needs no change is not copied. Lent by the
   encoder, and good as long as the record is not changed. */
iso_code iso_encode(iso_encoder *encoder, const void *record, const iso_buffer **buffers, size_t *count);
/* The same in one piece, in memory of the encoder. */
iso_code iso_encode_whole(iso_encoder *encoder, const void *record, const void **bytes, size_t *length);

/* A message that came: its format, and its body as the sender had it in memory. */
typedef struct iso_message {
    const iso_format *format; /* NULL if there is none */
    const void *body;
    size_t length;
} iso_message;

/* The formats that are known. A message by itself does not bring its own. */
typedef struct iso_registry iso_registry;

iso_code iso_registry_open(iso_registry **registry);
/* Another handle on the same formats, for another thread. */
iso_code iso_registry_share(const iso_registry *registry, iso_registry **other);
void iso_registry_close(iso_registry **registry);
/* Makes a format known; for good, if it is the program's own, and among the latest that came if it is a description. */
iso_code iso_registry_add(const iso_registry *registry, const iso_format *format);
iso_code iso_registry_learn(const iso_registry *registry, const void *description, size_t count);
iso_code iso_registry_find(iso_registry *registry, const unsigned char token[16], iso_format **format);
/* The message that these bytes begin with. It is lent by them and by the registry. */
iso_code iso_message_parse(iso_registry *registry, const void *bytes, size_t count, iso_message *message);

/* ---- Decoders: from messages to structs. ---- */

typedef struct iso_decoder iso_decoder;

/* Rules may be NULL. */
iso_code iso_decoder_open(const iso_format *format, const iso_rules *rules, iso_faults faults, iso_decoder **decoder);
void iso_decoder_close(iso_decoder **decoder);
/* The record of a message, which is checked first: in the message itself if it can be, else in memory of the decoder. Lent by
   the message and the decoder. */
iso_code iso_decode(iso_decoder *decoder, const iso_message *message, const void **record);
/* The record of a body that is yours to change, and begins at a multiple of 16: used where it is if layouts agree, with all
   that it points at. Lent by the body and the decoder. */
iso_code iso_decode_in_place(iso_decoder *decoder, const iso_format *format, void *body, size_t length,
                             const void **record);

/* What the pointers of a record point at. */
typedef struct iso_blocks iso_blocks;

/* Puts the record into a struct of yours. What it points at is put into *blocks, which is made if it is NULL, else emptied
   first, and must stay as long as the record is used; a record without pointers needs none, and blocks may be NULL. */
iso_code iso_decode_into(iso_decoder *decoder, const iso_message *message, void *record, iso_blocks **blocks);
void iso_blocks_close(iso_blocks **blocks);
/* How many bytes were copied or converted so far: none, for records that are used where they were received. */
uint64_t iso_decoder_copied(const iso_decoder *decoder);

/* ---- Fields by name, of messages of any format. ---- */

typedef enum iso_kind {
    ISO_KIND_NULL = 0,     /* a null pointer: no string, no record, no array of fixed length */
    ISO_KIND_INTEGER = 1,  /* `integer`, `real`; and `whole` if it is not negative */
    ISO_KIND_UNSIGNED = 2, /* `whole`, `real`: an integer beyond int64_t */
    ISO_KIND_REAL = 3,     /* `real` */
    ISO_KIND_COMPLEX = 4,  /* `real`, `imaginary` */
    ISO_KIND_BOOLEAN = 5,  /* `integer`, 0 or 1 */
    ISO_KIND_TEXT = 6,     /* `bytes`, `length`: a string, or an array of char; there need not be a NUL behind it */
    ISO_KIND_SYMBOL = 7,   /* the same, and `integer`: an enumeration's symbol and number */
    ISO_KIND_ARRAY = 8,    /* `count`: elements; `bytes`, `length`: all of them, as the sender has them in memory */
    ISO_KIND_RECORD = 9    /* `bytes`, `length` */
} iso_kind;

typedef struct iso_item {
    iso_kind kind;
    int64_t integer;
    uint64_t whole;
    double real;
    double imaginary;
    const void *bytes; /* lent by the message */
    size_t length;
    size_t count;
} iso_item;

/* What is at a path, such as "grid[3].rho" or "station". */
iso_code iso_message_get(const iso_message *message, const char *path, iso_item *item);
/* All of it as a line of JSON. Lent until the next call in this thread. */
iso_code iso_message_json(const iso_message *message, const char **json);

/* ---- Streams: messages one after another, which bring their formats along. ---- */

typedef struct iso_writer iso_writer;

/* Takes bytes of a stream; 0 if it took them all. */
typedef int (*iso_put)(void *context, const void *bytes, size_t count);

/* "-" is standard output. What is written to a file gathers until it is flushed or closed; a function is called at once. */
iso_code iso_writer_open_file(const char *path, iso_writer **writer);
iso_code iso_writer_open(iso_put put, void *context, iso_writer **writer);
/* Writes a record, and before it the description of its format if that is new to the stream. */
iso_code iso_writer_write(iso_writer *writer, const iso_format *format, const void *record);
/* Writes records that lie one after another. */
iso_code iso_writer_write_many(iso_writer *writer, const iso_format *format, const void *records, size_t count);
/* Writes a message as it came. */
iso_code iso_writer_pass(iso_writer *writer, const iso_message *message);
iso_code iso_writer_flush(iso_writer *writer);
/* Closed it is in any case; the code says whether all was written. */
iso_code iso_writer_close(iso_writer **writer);

typedef struct iso_reader iso_reader;

/* Fills memory with bytes of a stream: how many, 0 at the end, a negative number if that failed. */
typedef ptrdiff_t (*iso_get)(void *context, void *bytes, size_t room);

/* "-" is standard input. */
iso_code iso_reader_open_file(const char *path, iso_reader **reader);
iso_code iso_reader_open(iso_get get, void *context, iso_reader **reader);
void iso_reader_close(iso_reader **reader);
/* The next message, whatever its format; its format is NULL at the end, as far as there is one: a file may still grow. */
iso_code iso_reader_next(iso_reader *reader, iso_message *message);
/* The next record; NULL at the end. */
iso_code iso_reader_read(iso_reader *reader, iso_decoder *decoder, const void **record);
/* Whether, after an error, the next call goes on behind the message that it was about. If not, it was about the stream. */
int iso_reader_goes_on(const iso_reader *reader);

/* ---- Channels. ---- */

/* This process's part in channels; usually there is one. */
typedef struct iso_node iso_node;
typedef struct iso_channel iso_channel;

enum { ISO_ALLOW_INSECURE = 1 }; /* addresses beyond this machine, where nothing would be encrypted */

/* Where it listens: NULL for a port that the system chooses, or addresses with spaces between them, such as
   "127.0.0.1:7000 unix:/run/river.sock". Flags: 0 or ISO_ALLOW_INSECURE. */
iso_code iso_node_open(const char *listen, unsigned flags, iso_node **node);
void iso_node_close(iso_node **node);
/* Where it listens, first of all: "tcp:127.0.0.1:7000". Lent by the node. */
const char *iso_node_address(const iso_node *node);

/* In milliseconds, of all functions that wait; a negative number is for ever, 0 not at all. */
enum { ISO_FOREVER = -1 };

/* Runs the handlers of the node for which something has come; if nothing has, waits for it. The count may be NULL. */
iso_code iso_node_poll(const iso_node *node, int milliseconds, size_t *count);
/* A descriptor that can be read whenever iso_node_poll would find something: to be waited for by poll(2), not to be read. It may
   be ready without need, until iso_node_poll has found nothing. */
iso_code iso_node_fd(const iso_node *node, int *fd);

/* Makes a channel for records of a format; for any, if it is NULL. */
iso_code iso_channel_create(const iso_node *node, const char *name, const iso_format *format, iso_channel **channel);
/* Opens a channel, such as "iso://127.0.0.1:7000/river". */
iso_code iso_channel_open(const iso_node *node, const char *id, iso_channel **channel);
/* The id by which others open it. Lent by the channel. */
const char *iso_channel_id(const iso_channel *channel);
/* The format of its records; NULL if it takes any. */
iso_code iso_channel_format(const iso_channel *channel, iso_format **format);
/* Closes this handle; sources, sinks and handlers stay. */
void iso_channel_close(iso_channel **channel);
/* Leaves the channel: sources, sinks and handlers of it end, too. */
iso_code iso_channel_leave(iso_channel **channel);

/* ---- Sources: where events come from. ---- */

typedef struct iso_source iso_source;

iso_code iso_source_open(const iso_channel *channel, const iso_format *format, iso_source **source);
/* Submits a record to all sinks. Waits if one has no room that lets its sources wait: for ever, unless a patience was set, behind
   which it is ISO_DEADLINE and the record is not submitted. */
iso_code iso_source_submit(iso_source *source, const void *record);
iso_code iso_source_submit_many(iso_source *source, const void *records, size_t count);
iso_code iso_source_set_patience(iso_source *source, int milliseconds);
/* Waits until so many sinks have subscribed: ISO_DEADLINE if they have not in time. */
iso_code iso_source_wait(const iso_source *source, size_t sinks, int milliseconds);
size_t iso_source_sinks(const iso_source *source);

/* Why events were lost. */
typedef enum iso_cause {
    ISO_CAUSE_OVERRUN = 1,   /* the sink was too slow for its policy */
    ISO_CAUSE_CUT = 2,       /* they were sent on a connection that broke */
    ISO_CAUSE_TOO_LARGE = 3, /* they are longer than the sink takes */
    ISO_CAUSE_ENDED = 4,     /* the sink has left, or its subscription has ended otherwise */
    ISO_CAUSE_UNKNOWN = 5    /* the link has ended: nobody knows whether they arrived */
} iso_cause;

/* What has become of a source's events to one sink: submitted == acknowledged + lost + in_flight, always. */
typedef struct iso_account {
    unsigned char node[16]; /* where the sink is */
    uint32_t sink;          /* its number there */
    int present;            /* whether it is still subscribed */
    uint64_t submitted;
    uint64_t acknowledged;
    uint64_t in_flight;
    uint64_t lost;
    uint64_t lost_for[6]; /* by iso_cause */
} iso_account;

/* The accounts of all sinks that are there, and of the latest that have left: as many as there is room for. `count` is how many
   there are; both may be NULL. */
iso_code iso_source_ledger(const iso_source *source, iso_account *accounts, size_t room, size_t *count);
/* Ends the source, when all has been taken or the time is over, and tells the account. */
iso_code iso_source_end(iso_source **source, int milliseconds, iso_account *accounts, size_t room, size_t *count);
/* Ends the source at once. What was submitted has ten seconds to be taken, but no more than one from when the node and all that
   belongs to it are closed; whatever is then left is lost. iso_source_end waits longer. */
void iso_source_close(iso_source **source);

/* ---- Sinks: where events go. ---- */

typedef struct iso_sink iso_sink;

/* What a source does when the sink cannot keep up. */
typedef enum iso_policy {
    ISO_POLICY_BLOCK = 0,       /* it waits */
    ISO_POLICY_DROP_OLDEST = 1, /* it keeps so many `events` of so many `bytes`, and loses the oldest */
    ISO_POLICY_LATEST = 2       /* it keeps the latest */
} iso_policy;

/* How a sink shall be. Zeros are what is usual, each by itself. */
typedef struct iso_sink_options {
    iso_policy policy;
    uint64_t events; /* of ISO_POLICY_DROP_OLDEST; usually as many as there are */
    uint64_t bytes;  /* the same; usually 4 MiB */
    uint64_t window_events; /* how much may be under way from one source, or wait here; usually 65,536, of
                               ISO_POLICY_LATEST 1 */
    uint64_t window_bytes;  /* the same; usually 4 MiB */
    uint64_t longest; /* the longest event that is taken, in bytes; longer ones are gaps. Usually 1 GiB */
    iso_faults faults;
    const char *const *fields; /* the paths of the fields that are needed, if not all are */
    size_t field_count;
} iso_sink_options;

typedef enum iso_event_kind {
    ISO_EVENT_NOTHING = 0, /* nothing has come in time */
    ISO_EVENT_RECORD = 1,  /* an event: `stamp`, and `record` or `message` */
    ISO_EVENT_GAP = 2,     /* `count` events of the source from `stamp.sequence` on will not come, for this `cause` */
    ISO_EVENT_JOINED = 3,  /* a source has come, at this `node` */
    ISO_EVENT_LEFT = 4,    /* a source has left: nothing more comes from it */
    ISO_EVENT_REFUSED = 5  /* the source's records cannot become this sink's: `error` */
} iso_event_kind;

typedef struct iso_stamp {
    uint32_t source;      /* as this node tells it from others */
    uint64_t sequence;    /* its number at that source */
    uint64_t nanoseconds; /* when it was submitted, since 1970, by the clock of its source */
} iso_stamp;

typedef struct iso_event {
    iso_event_kind kind;
    iso_stamp stamp;
    const void *record;  /* of a sink with a format */
    iso_message message; /* of one without */
    uint64_t count;
    iso_cause cause;
    unsigned char node[16];
    const iso_error *error;
} iso_event;

/* A sink for records of a format, whatever their sources have; or for messages of any, if it is NULL. Rules and options may
   be NULL. */
iso_code iso_sink_open(const iso_channel *channel, const iso_format *format, const iso_rules *rules,
                       const iso_sink_options *options, iso_sink **sink);
void iso_sink_close(iso_sink **sink);
/* The next event, or the next thing that there is to know about events. What it points at is lent by the sink. An error may be
   about one event, which has come and cannot be this sink's record: then the next call goes on. Of class
   ISO_CLASS_UNAVAILABLE, it is the end. */
iso_code iso_sink_next(iso_sink *sink, int milliseconds, iso_event *event);
/* The next events at once: as many records as have come, up to `most`, one after another, and their stamps if those are not
   NULL. `count` is how many, `stamp` that of the first. What is no event comes alone. They must be records without
   pointers. */
iso_code iso_sink_take(iso_sink *sink, void *records, size_t most, iso_stamp *stamps, int milliseconds,
                       iso_event *event);
/* A descriptor that can be read whenever iso_sink_next would find something: to be waited for by poll(2), not to be read. It may
   be ready without need, until iso_sink_next has found nothing. */
iso_code iso_sink_fd(const iso_sink *sink, int *fd);

typedef struct iso_counts {
    uint64_t received; /* events that have come */
    uint64_t taken;    /* events that were handed out */
    uint64_t lost;     /* events that were declared lost */
} iso_counts;

iso_code iso_sink_counts(const iso_sink *sink, iso_counts *counts);

/* ---- Handlers: functions that are called for each event. ---- */

typedef struct iso_handler iso_handler;

/* Called for each event by the thread that calls iso_node_poll. What the event points at is lent until it returns. */
typedef void (*iso_handle)(void *context, const iso_event *event);

/* As iso_sink_open; the format must not be NULL. */
iso_code iso_handler_open(const iso_channel *channel, const iso_format *format, const iso_rules *rules,
                          const iso_sink_options *options, iso_handle handle, void *context, iso_handler **handler);
/* Once this has returned, the function is not called any more, and its context is not needed: a call that runs on another thread
   is waited for. Called from within the function, it waits for nothing, and that call is the last. */
void iso_handler_close(iso_handler **handler);
/* Waits for no call of the function, and may be called from within it. An event that could not be given to the function is an
   error of iso_node_poll. */
iso_code iso_handler_counts(const iso_handler *handler, iso_counts *counts);

#ifdef __cplusplus
}
#endif
#endif /* ISOFORM_H */
