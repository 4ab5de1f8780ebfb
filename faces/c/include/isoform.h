/* isoform.h - Isoform's library for C99 and C++11: exchange records as they are in memory.

   A record is a struct. A program declares it once, as a table of its members, and then sends it to files, pipes and
   other processes as it is in memory. The receiver has a struct of its own, on any machine and in any language. Members
   may be added, dropped, reordered, renamed and widened; the values are matched by the names of the members. This
   program writes a stream, and reads it with another struct:

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
           const void *next;
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
           while (!failed(iso_reader_read(reader, decoder, &next)) && next) {
               const Seen *record = (const Seen *)next;
               printf("%d: %g\n", (int)record->step, record->depth[2]);
           }
           iso_decoder_close(&decoder);
           iso_reader_close(&reader);
           iso_format_close(&wanted);
           iso_format_close(&format);
           return 0;
       }

   Compile it with  cc river.c $(pkg-config --cflags --libs isoform),  or with CMake by find_package(isoform) and
   target_link_libraries(river isoform::isoform). docs/book/guides/c.md is the guide, which also covers channels.

   TABLES have the form of isoform_writer.h, which is for machines without this library. A program can change from one
   header to the other without changing its tables. (One source file cannot include both: they declare the same names.)
   The type of a member is a text:  element [ "(" bytes ")" ] { "[" dimension "]" } [ "*" ]

       words of C            char, signed char, unsigned char, short, int, long, long long and their variants, size_t,
                             int32_t, uint8_t .., bool, double, long double, double complex, __int128, char*
       of fixed size         i8 .. i128, u8 .. u128, f16, bf16, f32, f64, f128
       of the member's size  float, integer, unsigned integer, complex float, boolean, enumeration{red=0,green=1},
                             unsigned enumeration{..}, x87, double-double, bfloat; or of a given size: boolean(4)
       others                string (a char * to text with a NUL, or NULL); the name of a structure declared before

   A dimension is a number, or the name of an integer member that holds the length. An array with such a length is
   behind a pointer: double *grid is "double[nx][ny]". For all other pointers the type ends in *: Point *home is
   "Point*", and double *three is "double[3]*". A symbol without a number has the number of the one before, plus 1.
   "char" is text; "signed char" and "unsigned char" are numbers.

   A STRUCT WITHIN A STRUCT is declared before it, and its name is the type of the member: "Point", "Point[3]". For an unnamed
   struct { int x; float y; } inner, declare a struct of the same members, and take its table. The members of an anonymous
   struct { int a; }; belong to the outer struct: ISO_FIELD(Outer, a, "int").

   HANDLES. Functions whose names end in open (or copy, find, and similar) create a handle and store it in a variable of
   the caller. Functions that close a handle take the address of that variable, and set it to NULL. So it does no harm
   to close a handle twice, or one that was never opened. Handles do not depend on each other: a program may close a
   format while an encoder still uses it, and a node while it still has channels. If a function needs a handle and gets
   NULL, it returns an error and does not crash.

   ERRORS. A function that can fail returns 0, or a number of Isoform's table of errors, which is the same in every
   language. iso_last_error() returns the details of the last error of the calling thread: a sentence, the path of the
   field at fault, what was expected, and what was found. If a function that opens something fails, it sets the variable
   to NULL. A defect of the library itself is reported as ISO_INTERNAL.

   LENT MEMORY. Messages, decoded records and texts belong to the handle that returns them. Unless stated otherwise,
   they are valid until the next call with that handle, or until it is closed. A decoded record may point into the
   memory of its message, of the decoder, or of both.

   RECORDS that a program encodes must follow their table. The library detects some violations: a negative length, NULL
   with a length above 0, a boolean of 2, the number of an enumeration without a symbol. It returns ISO_BAD_RECORD for
   them. Pointers must be valid: the library cannot check them.

   THREADS. All threads may use formats, nodes and channels at once. Only one thread at a time may use any other handle,
   and it may be a different thread each time. A function of the program that the library calls must not use the handle
   that calls it, and must not leave by longjmp or an exception.

   CHANNELS - nodes, channels, sources, sinks, handlers - are available on Unix only.

   Licensed under either of MIT or Apache-2.0 at your option.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_H
#define ISOFORM_H

#ifdef ISOFORM_WRITER_H
#error "isoform.h and isoform_writer.h declare the same names: include one of them in a source file. isoform.h can do everything that isoform_writer.h can."
#endif

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <string.h>
#include <type_traits>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors. ---- */

/* The numbers of spec/errors.md. */
typedef enum iso_code {
    ISO_OK = 0,
    ISO_NOT_A_MESSAGE = 100, /* the bytes do not begin with the magic number of a message */
    ISO_VERSION = 101, /* a message or a description has a version that this reader does not know */
    ISO_FLAGS = 102, /* a message or a description has a critical flag that this reader does not know */
    ISO_CUT = 103, /* the stream ends within a message */
    ISO_DAMAGED = 104, /* a part of a file differs from its checksum, or breaks the format of the file */
    ISO_DESCRIPTION = 110, /* a description breaks the encoding of spec/format.md */
    ISO_NOT_CANONICAL = 111, /* a description differs from the canonical description of the format that it encodes */
    /* a format, or a declaration of one, contradicts itself or breaks a rule of spec/format.md */
    ISO_DECLARATION = 112,
    /* a description does not hash to the token under which it was requested or stored; or another description
       is already known under its token */
    ISO_TOKEN_MISMATCH = 113,
    ISO_BODY_LENGTH = 120, /* the body is shorter or longer than its record and blocks */
    ISO_SLOT = 121, /* a slot does not hold the offset at which its block must be */
    ISO_NULL_ARRAY = 122, /* a slot is null although the length of its array is not 0 */
    ISO_ARRAY_LENGTH = 123, /* the length of an array is negative, or the array does not fit into its message */
    ISO_BOOLEAN = 124, /* a boolean is neither 0 nor 1 */
    ISO_SYMBOL = 125, /* the value of an enumeration belongs to none of its symbols */
    ISO_UNTERMINATED = 126, /* a string has no terminating NUL */
    ISO_UTF8 = 127, /* a string is not UTF-8, but the caller needs text */
    ISO_TEXT = 130, /* JSON, or other text, is malformed or is not a record of the format */
    /* the other node of a link sent something that is not a frame, or a frame that is not allowed at this point */
    ISO_FRAME = 140,
    ISO_HANDSHAKE = 141, /* the other side of a connection did not complete the handshake of a link */
    ISO_MESSAGE_SIZE = 200, /* a message is larger than this receiver accepts */
    ISO_DESCRIPTION_SIZE = 201, /* a description is larger than 64 KiB, or larger than this receiver accepts */
    ISO_DEPTH = 202, /* structures are nested deeper than 32 levels, or deeper than this receiver accepts */
    ISO_FIELDS = 203, /* a format has more than 4,096 fields in all, or more than this receiver accepts */
    ISO_SIZE = 204, /* a record, an array or an offset is larger than this machine, or the format, can address */
    ISO_PEERS = 205, /* there would be more links, members or subscriptions than this node allows */
    ISO_BUDGET = 206, /* another node asked for more memory or more things than its budget has; the error names the budget */
    ISO_REQUIRED = 300, /* the receiver marked a field as required, and the sender's format lacks it */
    /* two matching fields have types that cannot be converted, or two records have no field in common */
    ISO_NO_CONVERSION = 301,
    ISO_UNIT = 302, /* two matching fields are in different units */
    ISO_SHAPE = 303, /* two matching arrays differ in the number of dimensions, or in an inner dimension */
    ISO_OVERFLOW = 310, /* a number is beyond the range of its destination */
    ISO_UNDERFLOW = 311, /* a number other than zero would become zero */
    ISO_INEXACT = 312, /* an integer would lose digits in a float, or a float its fraction in an integer */
    ISO_UNKNOWN_SYMBOL = 313, /* the receiver does not know the symbol of an enumeration */
    ISO_TOO_LONG = 314, /* an array or a text is longer than its destination */
    ISO_LENGTHS = 315, /* arrays that share one length field have different lengths */
    ISO_NULL = 316, /* a pointer is null, and the receiver's field cannot be null */
    ISO_NOT_COMPATIBLE = 317, /* one version of a name cannot read another, as the name's rule wants */
    ISO_UNKNOWN_FORMAT = 400, /* the reader knows no description for a token. The error carries the token */
    ISO_IO = 401, /* the operating system refused to read or write */
    ISO_DEADLINE = 402, /* no answer or event arrived within the given time */
    ISO_UNREACHABLE = 403, /* no node answers at an address, or the link with a node has ended */
    ISO_NO_SUCH_CHANNEL = 404, /* the node at the address has no channel of that name or identity */
    ISO_CLOSED = 405, /* the channel, source, sink or node was closed */
    ISO_WRONG_NODE = 406, /* the node at the address is not the node that the caller wanted */
    ISO_DUPLICATE = 407, /* the two nodes already have a link, and that link stays */
    ISO_TAKEN = 408, /* the name of a channel, or an address to listen at, is already in use */
    ISO_NOT_GRANTED = 409, /* a source does not grant the policy that a sink must have */
    ISO_NOT_ADMITTED = 410, /* one of two nodes does not admit the other, since they have no shared key in common */
    ISO_FORBIDDEN = 411, /* the rules of a node do not allow another node what it asks for */
    ISO_NO_SUCH_NAME = 412, /* a server knows no name, or no version of it */
    ISO_NOT_WRITER = 413, /* a server copies names from another one, which alone changes them */
    ISO_NO_SUCH_FIELD = 500, /* there is no field, element or symbol of that name */
    ISO_WRONG_TYPE = 501, /* the caller asked for a field as a type that it does not have */
    ISO_BAD_RECORD = 502, /* a record in memory does not follow its declaration */
    ISO_SOURCE = 503, /* a source on the command line is malformed or not supported */
    ISO_ADDRESS = 504, /* an address, or the id of a channel, is malformed */
    /* an address is beyond this machine, where traffic would not be encrypted, and the caller has not allowed that */
    ISO_INSECURE = 505,
    ISO_INTERNAL = 900 /* Isoform has a defect */
} iso_code;

/* The cause of an error, and so what to do. */
typedef enum iso_class {
    ISO_CLASS_NONE = 0,        /* no error */
    ISO_CLASS_BAD_INPUT = 1,   /* the input does not follow the specification: drop it, or examine its sender */
    ISO_CLASS_LIMIT = 2,       /* the input exceeds a limit of this receiver */
    ISO_CLASS_MISMATCH = 3,    /* both sides are well-formed but incompatible: change one of them, or the rules */
    ISO_CLASS_UNAVAILABLE = 4, /* something is missing, perhaps only for now */
    ISO_CLASS_USAGE = 5,       /* the caller asked for something that does not exist, or passed an invalid argument */
    ISO_CLASS_INTERNAL = 6     /* Isoform has a defect: please report it */
} iso_class;

typedef struct iso_error {
    iso_code code;
    const char *text;           /* the whole message: "overflow at grid[3].rho: expected integer of 2 bytes, found 70000" */
    const char *path;           /* the field at fault, such as "grid[3].rho"; this and the next two may be "" */
    const char *expected;       /* what was expected there */
    const char *actual;         /* what was found instead */
    const unsigned char *token; /* for ISO_UNKNOWN_FORMAT: the 16 bytes of the token; else NULL */
} iso_error;

/* The last error of this thread, or one with ISO_OK if there was none. Valid until the next error. */
const iso_error *iso_last_error(void);

/* The name of a code in spec/errors.md and its text, or NULL if there is no such code; and its class. */
const char *iso_code_name(iso_code code);
const char *iso_code_text(iso_code code);
iso_class iso_code_class(iso_code code);

/* The version of the library, such as "0.1.0". */
const char *iso_version(void);

/* ---- Formats. ---- */

/* A member of a struct: its name, its type, and its place. */
typedef struct iso_field {
    const char *name;
    const char *type;
    size_t size; /* of one element; 0 if `type` or `extent` determines it */
    size_t offset;
    const char *unit; /* such as "m/s", or NULL */
    size_t extent; /* of the whole member within the struct; 0 if unknown */
    /* The value for senders that lack the field, as JSON such as "11.5" or "[0, 1]"; "" for 0, NULL and empty; NULL if there
       is none. A receiver refuses senders without the field then, unless it is a pointer to a single element. */
    const char *standard;
    const char *member; /* the member's type in C, or that of its elements, such as "float" or "char *"; NULL if unknown */
    size_t rows[7]; /* see ISO_ROWS; 0 where unknown */
    /* The struct that the row belongs to, which is compared with that of the structure: its size, and its name. In C, struct_name
       is the name; in C++, struct_of returns it. 0 and NULL if unknown. */
    size_t struct_size;
    const char *struct_name;
    const char *(*struct_of)(void);
} iso_field;

/* ISO_MEMBER is the type of a member, or of its elements if it is an array, as the compiler tells it: "float", "char *",
   "double complex", "char **"; in C++ also "struct Point". In C, it is "struct" for all other types that are no pointers, and
   "? *" for pointers to them. It is NULL before C11, and for types of a pointer's size where the compiler lacks
   __builtin_classify_type. ISO_ROWS are the bytes of an element of the array, of an element of
   that, and so on: seven, since the format allows eight dimensions. C11 compilers without __typeof__ and __COUNTER__ tell
   nothing of arrays of five dimensions and more. */
#if defined(__cplusplus)
extern "C++" {
#if defined(_MSC_VER) && !defined(__clang__)
#define ISO_SIGNATURE __FUNCSIG__
#else
#define ISO_SIGNATURE __PRETTY_FUNCTION__
#endif
/* The compiler's name of a class, "struct Point" or "struct Point *", in the signature of a function of iso_struct_of. GCC and
   Clang write "T = Point]" at its end, and Microsoft's compiler "iso_struct_of<struct Point>::". */
struct iso_struct_name {
    char text[256];
    iso_struct_name(const char *signature, const char *after) {
        static const char before[] = "struct ", function[] = "iso_struct_of<";
        const char *at = strstr(signature, "T = "), *end = strrchr(signature, at ? ']' : '>');
        size_t length = sizeof before - 1;
        memcpy(text, before, length);
        at = at ? at + 4 : strstr(signature, function) + (sizeof function - 1);
        at += strncmp(at, before, length) == 0 ? length : strncmp(at, "class ", 6) == 0 || strncmp(at, "union ", 6) == 0 ? 6 : 0;
        for (; at < end && length < sizeof text - 3; at++)
            text[length++] = *at;
        memcpy(text + length, after, strlen(after) + 1);
        /* An unnamed struct may take the table of any struct with the same members. */
        if (strstr(text, "<unnamed") || strstr(text, "(unnamed ") || strstr(text, "(anonymous struct"))
            memcpy(text, "struct", sizeof "struct");
    }
};
template <class T> struct iso_struct_of {
    static const char *name() {
        static const iso_struct_name made(ISO_SIGNATURE, "");
        return made.text;
    }
    static const char *pointer() {
        static const iso_struct_name made(ISO_SIGNATURE, " *");
        return made.text;
    }
};
template <class T> struct iso_member;
/* Whether it is like std::complex, which this header does not include. */
template <class C> constexpr bool iso_is_complex(decltype(((const C *)0)->real() + ((const C *)0)->imag()) *) {
    return sizeof(C) == 2 * sizeof(typename C::value_type) && std::is_floating_point<typename C::value_type>::value;
}
template <class C> constexpr bool iso_is_complex(...) { return false; }
/* Whether it is an integer of at most 4 bytes; those that have a name have it elsewhere. */
template <class T, bool Whole = std::is_integral<T>::value> struct iso_is_small {
    static constexpr bool value = false;
};
template <class T> struct iso_is_small<T, true> {
    static constexpr bool value = sizeof(T) <= sizeof(int32_t);
};
template <class T> constexpr int iso_kind_of() {
    return std::is_enum<T>::value                               ? 1
           : iso_is_complex<T>(NULL)                            ? 2
           : std::is_class<T>::value || std::is_union<T>::value ? 3
           : iso_is_small<T>::value                             ? 4
                                                                : 0;
}
template <class T, int Kind> struct iso_unnamed {
    static constexpr const char *name() { return NULL; }
    static constexpr const char *pointer() { return "? *"; }
};
template <class T> struct iso_unnamed<T, 1> : iso_member<typename std::underlying_type<T>::type> {};
template <class T> struct iso_unnamed<T, 2> {
    static constexpr const char *name() {
        return std::is_same<typename T::value_type, float>::value    ? "float complex"
               : std::is_same<typename T::value_type, double>::value ? "double complex"
                                                                     : "long double complex";
    }
    static constexpr const char *pointer() {
        return std::is_same<typename T::value_type, float>::value    ? "float complex *"
               : std::is_same<typename T::value_type, double>::value ? "double complex *"
                                                                     : "long double complex *";
    }
};
template <class T> struct iso_unnamed<T, 3> : iso_struct_of<T> {};
/* wchar_t and the like. */
template <class T> struct iso_unnamed<T, 4>
    : iso_member<typename std::conditional<
          sizeof(T) == 1, unsigned char,
          typename std::conditional<sizeof(T) == 2, uint16_t, typename std::conditional<std::is_signed<T>::value, int32_t, uint32_t>::type>::type>::type> {
};
template <class T> struct iso_member : iso_unnamed<T, iso_kind_of<T>()> {};
template <class T> struct iso_member<const T> : iso_member<T> {};
template <class T> struct iso_member<volatile T> : iso_member<T> {};
template <class T> struct iso_member<const volatile T> : iso_member<T> {};
template <class T, size_t N> struct iso_member<T[N]> : iso_member<T> {};
template <class T, size_t N> struct iso_member<const T[N]> : iso_member<T> {};
template <class T> struct iso_member<T *> {
    static constexpr auto name() -> decltype(iso_member<T>::pointer()) { return iso_member<T>::pointer(); }
    static constexpr const char *pointer() {
        return std::is_same<typename std::remove_cv<T>::type, char>::value ? "char **" : "? **";
    }
};
template <> struct iso_member<void> {
    static constexpr const char *name() { return NULL; }
    static constexpr const char *pointer() { return "void *"; }
};
/* std::array, which this header does not include either. */
template <template <class, size_t> class A, class T, size_t N>
struct iso_member<A<T, N>> : std::conditional<sizeof(A<T, N>) == N * sizeof(T), iso_member<T>, iso_struct_of<A<T, N>>>::type {};
#define ISO_MEMBER_OF(T) \
    template <> struct iso_member<T> { \
        static constexpr const char *name() { return #T; } \
        static constexpr const char *pointer() { return #T " *"; } \
    };
ISO_MEMBER_OF(bool)
ISO_MEMBER_OF(char)
ISO_MEMBER_OF(signed char)
ISO_MEMBER_OF(unsigned char)
ISO_MEMBER_OF(short)
ISO_MEMBER_OF(unsigned short)
ISO_MEMBER_OF(int)
ISO_MEMBER_OF(unsigned int)
ISO_MEMBER_OF(long)
ISO_MEMBER_OF(unsigned long)
ISO_MEMBER_OF(long long)
ISO_MEMBER_OF(unsigned long long)
ISO_MEMBER_OF(float)
ISO_MEMBER_OF(double)
ISO_MEMBER_OF(long double)
#undef ISO_MEMBER_OF
/* An element of T. */
template <class T> struct iso_row { typedef typename std::remove_extent<T>::type type; };
template <template <class, size_t> class A, class T, size_t N> struct iso_row<A<T, N>> {
    typedef typename std::conditional<sizeof(A<T, N>) == N * sizeof(T), T, A<T, N>>::type type;
};
/* The bytes of an element that is this many dimensions further within an element of T. */
template <class T, int Depth> struct iso_rows : iso_rows<typename iso_row<T>::type, Depth - 1> {};
template <class T> struct iso_rows<T, 0> {
    static constexpr size_t size = sizeof(typename iso_row<T>::type);
};
}
#define ISO_MEMBER(Struct, member) iso_member<decltype(((Struct *)0)->member)>::name()
#define ISO_STRUCT_NAME(Struct) iso_struct_of<Struct>::name()
#define ISO_ROWS(Struct, member) \
    { \
        iso_rows<decltype(((Struct *)0)->member), 0>::size, iso_rows<decltype(((Struct *)0)->member), 1>::size, \
            iso_rows<decltype(((Struct *)0)->member), 2>::size, iso_rows<decltype(((Struct *)0)->member), 3>::size, \
            iso_rows<decltype(((Struct *)0)->member), 4>::size, iso_rows<decltype(((Struct *)0)->member), 5>::size, \
            iso_rows<decltype(((Struct *)0)->member), 6>::size \
    }
#define ISO_TOLD_ROW(Struct, member, type, size, unit, json) \
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), json, ISO_MEMBER(Struct, member), \
      ISO_ROWS(Struct, member), sizeof(Struct), NULL, &iso_struct_of<Struct>::name }
#define ISO_TOLD_STRUCT(Struct, member, type, Nested) ISO_TOLD_ROW(Struct, member, type, 0, NULL, NULL)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#if defined(__GNUC__) && defined(__COUNTER__)
/* Each step into the array is the type of a pointer in a struct of its own, so that its expression does not grow. */
#define ISO_TOLD_ROW(Struct, member, type, size, unit, json) \
    ISO_TOLD_AS(Struct, member, type, size, unit, json, ISO_MEMBER_AT, Struct, __COUNTER__)
#define ISO_TOLD_STRUCT(Struct, member, type, Nested) \
    ISO_TOLD_AS(Struct, member, type, 0, NULL, NULL, ISO_STRUCT_AT, Nested, __COUNTER__)
#define ISO_TOLD_AS(Struct, member, type, size, unit, json, TELL, Nested, id) \
    ISO_TOLD_AT(Struct, member, type, size, unit, json, TELL, Nested, id)
#define ISO_TOLD_AT(Struct, at, type, bytes, of, json, TELL, Nested, id) \
    { #at, type, bytes, offsetof(Struct, at), of, sizeof(((Struct *)0)->at), json, .rows = { \
        ISO_STEP(((Struct *)0)->at, 1, id), ISO_STEP(ISO_AT(1, id), 2, id), ISO_STEP(ISO_AT(2, id), 3, id), \
        ISO_STEP(ISO_AT(3, id), 4, id), ISO_STEP(ISO_AT(4, id), 5, id), ISO_STEP(ISO_AT(5, id), 6, id), \
        ISO_STEP(ISO_AT(6, id), 7, id) }, .member = TELL(ISO_AT(7, id), Nested), .struct_size = sizeof(Struct), \
      .struct_name = ISO_STRUCT_NAME(Struct) }
#define ISO_STEP(at, depth, id) sizeof(*((struct iso_step_##depth##_##id { __typeof__(ISO_ROW_OF(at)) *row; } *)0)->row)
#define ISO_AT(depth, id) (*((struct iso_step_##depth##_##id *)0)->row)
/* The value of an array is a pointer, which has another type. */
#define ISO_IS_ARRAY(at) (!__builtin_types_compatible_p(__typeof__(at), __typeof__(((void)0, (at)))))
/* GCC and Clang number the classes of types: 5 are pointers. */
#define ISO_OTHER(at) _Generic(ISO_IF(__builtin_classify_type(at) == 5), ISO_THEN: "? *", default: "struct")
#else
#define ISO_TOLD_ROW(Struct, member, type, size, unit, json) \
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), json, \
      ISO_MEMBER_AT(ISO_ROW_OF(ISO_ROW_OF(((Struct *)0)->member)), Struct), ISO_ROWS_AT(((Struct *)0)->member), \
      sizeof(Struct), ISO_STRUCT_NAME(Struct), NULL }
#define ISO_TOLD_STRUCT(Struct, member, type, Nested) \
    { #member, type, 0, offsetof(Struct, member), NULL, sizeof(((Struct *)0)->member), NULL, \
      ISO_STRUCT_AT(ISO_ROW_OF(ISO_ROW_OF(((Struct *)0)->member)), Nested), ISO_ROWS_AT(((Struct *)0)->member), \
      sizeof(Struct), ISO_STRUCT_NAME(Struct), NULL }
/* An array of the size of a pointer is not recognised. */
#define ISO_IS_ARRAY(at) (ISO_IS_POINTER(at) && sizeof(at) != sizeof(void *))
#define ISO_OTHER(at) _Generic(ISO_IF(ISO_IS_POINTER(at)), ISO_THEN: (const char *)NULL, default: "struct")
#endif
/* The address of an array is no T * or T **, so an array of one or two dimensions is left to the second choice, where it
   decays to a pointer. */
#define ISO_MEMBER_AT(at, Struct) \
    _Generic(&(at), ISO_TYPES(ISO_VALUE) void **: "void *", const void **: "void *", void *const *: "void *", \
             const void *const *: "void *", default: _Generic((at), ISO_TYPES(ISO_ARRAY) char **: "char *", \
             const char **: "char *", default: ISO_OTHER(at)))
#define ISO_STRUCT_AT(at, T) \
    _Generic(&(at), ISO_VALUE_AS(T, "struct " #T) default: _Generic((at), ISO_ARRAY_AS(T, "struct " #T) \
             default: _Generic(ISO_IF(ISO_IS_ARRAY(at)), ISO_THEN: (const char *)NULL, default: "struct ?")))
#define ISO_ROWS_AT(at) \
    { sizeof(ISO_ROW_OF(at)), sizeof(ISO_ROW_OF(ISO_ROW_OF(at))), sizeof(ISO_ROW_OF(ISO_ROW_OF(ISO_ROW_OF(at)))), 0, 0, 0, 0 }
/* The first element of an array, or the member itself. In a conditional expression, an array decays to a pointer. */
#define ISO_ROW_OF(at) (*_Generic(ISO_IF(ISO_IS_ARRAY(at)), ISO_THEN: (at), default: &(at)))
#define ISO_IS_POINTER(at) (sizeof(1 ? (at) : (at)) == sizeof(void *))
#define ISO_IF(condition) ((char (*)[(condition) + 1])0)
#define ISO_THEN char (*)[2]
#define ISO_VALUE(T) ISO_VALUE_AS(T, #T)
#define ISO_ARRAY(T) ISO_ARRAY_AS(T, #T)
#define ISO_VALUE_AS(T, name) \
    T *: name, const T *: name, volatile T *: name, const volatile T *: name, T **: name " *", const T **: name " *", \
    T *const *: name " *", const T *const *: name " *", T (**)[]: name " *", const T (**)[]: name " *", \
    T ***: name " **", const T ***: name " **", T *const **: name " **", const T *const **: name " **",
/* A T (*)[] is compatible with a pointer to an array of any length: to a row of an array of two dimensions. */
#define ISO_ARRAY_AS(T, name) T *: name, const T *: name, volatile T *: name, T (*)[]: name, const T (*)[]: name,
#define ISO_TYPES(X) \
    X(_Bool) X(char) X(signed char) X(unsigned char) X(short) X(unsigned short) X(int) X(unsigned int) X(long) \
    X(unsigned long) X(long long) X(unsigned long long) X(float) X(double) X(long double) ISO_COMPLEX(X##_AS)
#ifdef __STDC_NO_COMPLEX__
#define ISO_COMPLEX(X)
#else
#define ISO_COMPLEX(X) \
    X(float _Complex, "float complex") X(double _Complex, "double complex") X(long double _Complex, "long double complex")
#endif
#else
#define ISO_TOLD_ROW(Struct, member, type, size, unit, json) \
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), json, NULL, { 0 }, \
      sizeof(Struct), ISO_STRUCT_NAME(Struct), NULL }
#define ISO_TOLD_STRUCT(Struct, member, type, Nested) ISO_TOLD_ROW(Struct, member, type, 0, NULL, NULL)
#endif
#ifndef __cplusplus
#define ISO_STRUCT_NAME(Struct) "struct " #Struct
#endif

/* A struct and its fields, in any order. */
typedef struct iso_structure {
    const char *name;
    size_t size;
    size_t alignment;
    const iso_field *fields;
    size_t count;
    const char *struct_name; /* what the compiler calls the struct, such as "struct Point"; NULL if unknown */
} iso_structure;

/* ISO_FIELD takes the size, the offset and, in C11 and C++, the type and the dimensions of the member from the compiler. The
   library compares them with the type, and refuses a table that differs; the error names the member and the type that fits:
   "float" is no double, "int" no unsigned int, "float[32]" no float[64], "float[300][2]" no float[2][300], "double[2]" no
   struct. "float[600]" for a float[2][300] is allowed, and the reverse. Which struct a member is, the compiler tells in C++,
   and in C11 by ISO_FIELD_STRUCT. Where only the size is known, a char[8] passes for a "string". ISO_POINTER is for a pointer
   whose type leaves the size open, such as "float[n]". It takes the size of the object that the member points at, which must
   be one element; so it also finds a float * that is declared as "double[n]". In C11 and C++, ISO_FIELD takes that size from the
   compiler, too, if the member points at a number. ISO_ROW states everything: name, type, the size of one element, offset; it is
   not compared. ISO_STRUCTURE names a structure after its C type, and ISO_STRUCTURE_AS by a text. The library refuses rows of
   another struct, except those of ISO_ROW. A C compiler does not tell that a tag and a typedef mean one struct: use the same name
   in ISO_FIELD and in ISO_STRUCTURE. */
#define ISO_FIELD(Struct, member, type) ISO_FIELD_UNIT(Struct, member, type, NULL)
#define ISO_FIELD_UNIT(Struct, member, type, unit) \
    ISO_TOLD_ROW(Struct, member, type, 0, unit, NULL)
/* With a default, as JSON; "" for 0, NULL and empty. */
#define ISO_FIELD_DEFAULT(Struct, member, type, json) ISO_FIELD_UNIT_DEFAULT(Struct, member, type, NULL, json)
#define ISO_FIELD_UNIT_DEFAULT(Struct, member, type, unit, json) \
    ISO_TOLD_ROW(Struct, member, type, 0, unit, json)
/* A member that is a struct, an array of them or a pointer to them, with the type of that struct. C11 compares that with the
   member: ISO_FIELD_STRUCT(Track, ends, "Point[2]", Point). In C++, ISO_FIELD compares it as well. */
#define ISO_FIELD_STRUCT(Struct, member, type, Nested) \
    ISO_TOLD_STRUCT(Struct, member, type, Nested)
#define ISO_POINTER(Struct, member, type) ISO_POINTER_UNIT(Struct, member, type, NULL)
#define ISO_POINTER_UNIT(Struct, member, type, unit) \
    ISO_TOLD_ROW(Struct, member, type, sizeof(*((Struct *)0)->member), unit, NULL)
#define ISO_ROW(name, type, size, offset) ISO_ROW_UNIT_DEFAULT(name, type, size, offset, NULL, NULL)
#define ISO_ROW_UNIT_DEFAULT(name, type, size, offset, unit, json) \
    { name, type, size, offset, unit, 0, json, NULL, { 0, 0, 0, 0, 0, 0, 0 }, 0, NULL, NULL }

#define ISO_STRUCTURE(Struct, fields) ISO_STRUCTURE_AS(#Struct, Struct, fields)
#define ISO_STRUCTURE_AS(name, Struct, fields) \
    { name, sizeof(Struct), ISO_ALIGNMENT(Struct), fields, sizeof(fields) / sizeof((fields)[0]), \
      ISO_STRUCT_NAME(Struct) }

#if defined(__cplusplus)
#define ISO_ALIGNMENT(Struct) alignof(Struct)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define ISO_ALIGNMENT(Struct) _Alignof(Struct)
#elif defined(__GNUC__)
#define ISO_ALIGNMENT(Struct) __alignof__(Struct)
#else
#define ISO_ALIGNMENT(Struct) offsetof(struct { char first; Struct second; }, second)
#endif

/* The name and the fields of a record, as one kind of machine lays them out in memory. */
typedef struct iso_format iso_format;

/* Declares the format of the last structure in the table. The others are the structures that it nests; each comes after
   those that it nests itself. The library copies tables and texts. */
iso_code iso_format_open(const iso_structure *structures, size_t count, iso_format **format);
/* The format of a description, which may be from any machine. */
iso_code iso_format_parse(const void *description, size_t count, iso_format **format);
/* A handle of its own for a lent format. */
iso_code iso_format_copy(const iso_format *format, iso_format **copy);
void iso_format_close(iso_format **format);

const char *iso_format_name(const iso_format *format);
/* Bytes of the record itself, without the memory that its pointers point at. */
size_t iso_format_size(const iso_format *format);
/* The 16 bytes that name the format on the wire; and its description. The format owns both. */
iso_code iso_format_token(const iso_format *format, unsigned char token[16]);
const void *iso_format_description(const iso_format *format, size_t *count);
/* The fields as a table, with nested structures first and the record last. The format owns it. */
const iso_structure *iso_format_structures(const iso_format *format, size_t *count);

/* ---- Formats of documents: how documents are loaded, and watched. ---- */

/* How documents are loaded. A member that is 0 means its default. */
typedef struct iso_document_options {
    const char *language; /* xsd, idl, msg, jsonschema, proto or c; by default the extension of the place tells */
    const char *layout;   /* the machine for which records are laid out, such as "s390x"; by default this machine */
    const char *overlay;  /* the path of an overlay: other names, units and defaults, and what pointers are */
    const char *hosts;    /* hosts from which documents may bring in others, with commas between them; by default only the
                             server of the document itself */
    const char *schemes;  /* allowed schemes, such as "https,file", also for redirects; by default file, http and https */
    const char *cache;    /* a folder that keeps documents: servers are only asked whether they have changed, and may be
                             down */
    uint64_t deadline_ms; /* how long all documents may take together, in milliseconds; by default 10,000 */
    uint64_t limit;       /* the most bytes that all documents may have together; by default 16 MiB, and never more */
    int redirects;        /* the most redirects that are followed for one document; by default 5; none if it is negative */
} iso_document_options;

/* The format of a record that a document declares, such as "http://127.0.0.1:8000/river.xsd" (http:, https:, or the path of a
   file), laid out for this machine. The extension tells the language: .idl, .msg, .proto, .h, JSON Schema in .json; others are XML
   Schema. The function waits for servers for at most ten seconds. It gets the document anew each time. The
   document's defaults are those of fields that senders lack, as defaults in a table are. */
iso_code iso_format_load(const char *place, const char *name, iso_format **format);
/* `options` may be NULL. */
iso_code iso_format_load_with(const char *place, const char *name, const iso_document_options *options,
                              iso_format **format);

/* A record of a document that a program looks at again while it runs. There is no thread: the program asks. */
typedef struct iso_watch iso_watch;

/* Watches a record. `every_ms` is the time between two looks, in milliseconds. `options` may be NULL. The function does not
   look at the document. */
iso_code iso_watch_open(const char *place, const char *name, const iso_document_options *options, uint64_t every_ms,
                        iso_watch **watch);
/* Looks at the document if it is time. A server is only asked whether the document has changed. `format` becomes the new
   format, or the same with new defaults, which the program closes; or NULL if nothing is new. The first call has the format
   as it is. An error is returned once, until something else is found. A cache does not stand in for a server that cannot be
   reached. */
iso_code iso_watch_poll(iso_watch *watch, iso_format **format);
/* The same at once. */
iso_code iso_watch_check(iso_watch *watch, iso_format **format);
/* The time until iso_watch_poll looks again, in milliseconds, for programs that wait for several things. */
uint64_t iso_watch_due_ms(const iso_watch *watch);
void iso_watch_close(iso_watch **watch);

/* A thread that looks at the document in place of the program. It calls a function with each new format, and with each error:
   `code` is the error's, the format is NULL, and iso_last_error() has the details. The format is valid until the function
   returns; iso_format_copy keeps it. The thread takes the watch, which becomes NULL. */
typedef struct iso_watching iso_watching;
typedef void (*iso_watched)(void *context, iso_code code, const iso_format *format);
iso_code iso_watch_spawn(iso_watch **watch, iso_watched watched, void *context, iso_watching **watching);
/* After this has returned, the library neither calls the function nor uses its context. So it waits for a call that runs,
   but not for a server. If it is called from within the function, it does not wait, and that call is the last. */
void iso_watching_close(iso_watching **watching);

/* ---- Rules: aliases, defaults and required fields of a receiver. ---- */

typedef struct iso_rules iso_rules;

iso_code iso_rules_open(iso_rules **rules);
void iso_rules_close(iso_rules **rules);
/* Another name under which the field may arrive. A name with dots reaches into nested structures of the sender. */
iso_code iso_rules_alias(iso_rules *rules, const char *structure, const char *field, const char *alias);
/* The value of a field that the sender lacks, as JSON: "11.5", "true", "\"none\"", "[0, 0, 1]"; NULL for 0, null and empty.
   A sender that lacks a field without a default is refused, unless the field is a pointer to a single element. */
iso_code iso_rules_default(iso_rules *rules, const char *structure, const char *field, const char *json);
/* The receiver refuses formats without the field. */
iso_code iso_rules_required(iso_rules *rules, const char *structure, const char *field);

/* The treatment of fields that the sender lacks and that have no default. */
typedef enum iso_missing {
    ISO_MISSING_REFUSE = 0, /* the sender's format is refused; the error names all of them */
    ISO_MISSING_ZERO = 1    /* they become 0, NULL and empty */
} iso_missing;
iso_code iso_rules_missing(iso_rules *rules, iso_missing missing);

/* The treatment of a number that does not fit its field. */
typedef enum iso_faults {
    ISO_FAULTS_ERROR = 0,    /* the record is refused, with the path of the field */
    ISO_FAULTS_SATURATE = 1, /* it becomes the nearest that fits */
    ISO_FAULTS_WRAP = 2      /* it keeps its low bits */
} iso_faults;

/* ---- Single messages, for transports of your own. ---- */

/* A part of a message. On Unix it has the layout of struct iovec. */
typedef struct iso_buffer {
    const void *bytes;
    size_t length;
} iso_buffer;

typedef struct iso_encoder iso_encoder;

iso_code iso_encoder_open(const iso_format *format, iso_encoder **encoder);
void iso_encoder_close(iso_encoder **encoder);
/* Encodes a record as a message of several buffers. Most of them point into the record, since data that needs no change
   is not copied. The encoder owns them; they are valid while the record does not change. */
iso_code iso_encode(iso_encoder *encoder, const void *record, const iso_buffer **buffers, size_t *count);
/* Encodes a record as a message in one piece, in memory of the encoder. */
iso_code iso_encode_whole(iso_encoder *encoder, const void *record, const void **bytes, size_t *length);

/* A received message: its format, and its body as it was in the sender's memory. */
typedef struct iso_message {
    const iso_format *format; /* NULL if there is none */
    const void *body;
    size_t length;
} iso_message;

/* The known formats. A single message does not contain its format. */
typedef struct iso_registry iso_registry;

iso_code iso_registry_open(iso_registry **registry);
/* Another handle to the same formats, for another thread. */
iso_code iso_registry_share(const iso_registry *registry, iso_registry **other);
void iso_registry_close(iso_registry **registry);
/* iso_registry_add makes a format of the program known for ever. iso_registry_learn makes the format of a received
   description known; the registry keeps the most recent ones. iso_registry_find returns the format of a token. */
iso_code iso_registry_add(const iso_registry *registry, const iso_format *format);
iso_code iso_registry_learn(const iso_registry *registry, const void *description, size_t count);
iso_code iso_registry_find(iso_registry *registry, const unsigned char token[16], iso_format **format);
/* The message at the start of these bytes. It is valid as long as the bytes, and until the next call with the registry.
   */
iso_code iso_message_parse(iso_registry *registry, const void *bytes, size_t count, iso_message *message);

/* ---- Decoders: from messages to structs. ---- */

typedef struct iso_decoder iso_decoder;

/* `rules` may be NULL. */
iso_code iso_decoder_open(const iso_format *format, const iso_rules *rules, iso_faults faults, iso_decoder **decoder);
void iso_decoder_close(iso_decoder **decoder);
/* Verifies a message, and returns its record: in the message itself if possible, otherwise in memory of the decoder.
   The record is valid as long as the message, and until the next call with the decoder. */
iso_code iso_decode(iso_decoder *decoder, const iso_message *message, const void **record);
/* Returns the record of a body that the program may change and that begins at a multiple of 16. If the layouts agree,
   the record is in that memory, with everything that it points at. So it is if only the byte order differs, or if the sender
   has more fields: then the body is converted where it is, if that is faster. It is valid as long as the body, and until the
   next call with the decoder. The body is no message after that. */
iso_code iso_decode_in_place(iso_decoder *decoder, const iso_format *format, void *body, size_t length,
                             const void **record);

/* The memory that the pointers of a record point at. */
typedef struct iso_blocks iso_blocks;

/* Decodes into a struct of the caller. The memory that it points at goes into *blocks, which the function creates if it
   is NULL, and empties otherwise. Keep the blocks as long as the record. For a record without pointers, `blocks` may be
   NULL. */
iso_code iso_decode_into(iso_decoder *decoder, const iso_message *message, void *record, iso_blocks **blocks);
void iso_blocks_close(iso_blocks **blocks);
/* What the decoder does with each field of records of a sender, what that costs, and all obstacles: the table of
   `isoform explain`. Valid until the next call. */
iso_code iso_decoder_explain(iso_decoder *decoder, const iso_format *sender, const char **text);
/* The same with the cost of each step, of verification and of all steps, in bytes and nanoseconds for a record. It is
   measured now, on this machine, with a record that is made for it, which takes some milliseconds. */
iso_code iso_decoder_explain_timed(iso_decoder *decoder, const iso_format *sender, const char **text);
/* The number of bytes copied or converted so far. It does not grow for records that are used where they were received.
   */
uint64_t iso_decoder_copied(const iso_decoder *decoder);

/* ---- Strided arrays: a member of each struct, a column of a matrix, a block. ---- */

/* The place of an array whose elements are not side by side, for a field of a record that is an array. Elements must be as in
   the field, byte by byte; they need not be aligned. iso_gather only reads them. */
typedef struct iso_strided {
    const char *field; /* the path of the field, such as "depth", or "com.depth" in a nested struct */
    void *first;       /* the first element */
    size_t size;       /* of one element, which must be that of the field's elements */
    size_t rank;       /* the number of dimensions, at most 8 */
    size_t dims[8];    /* the slowest-varying first */
    ptrdiff_t strides[8]; /* bytes from one element to the next in each dimension; may be negative or 0 */
} iso_strided;

/* ISO_STRIDED is an array of one dimension, and ISO_STRIDED_2 of two. The level of each of 100 gauges, the column 2 of a matrix
   double m[100][7], and the block of 3 rows and 4 columns from m[1][2] on:

       ISO_STRIDED("level", &gauges[0].level, 100, sizeof gauges[0])
       ISO_STRIDED("level", &m[0][2], 100, sizeof m[0])
       ISO_STRIDED_2("block", &m[1][2], 3, sizeof m[0], 4, sizeof m[0][0]) */
#define ISO_STRIDED(field, first, count, stride) \
    { field, (void *)(first), sizeof *(first), 1, { count, 0, 0, 0, 0, 0, 0, 0 }, \
      { (ptrdiff_t)(stride), 0, 0, 0, 0, 0, 0, 0 } }
#define ISO_STRIDED_2(field, first, rows, row_stride, columns, stride) \
    { field, (void *)(first), sizeof *(first), 2, { rows, columns, 0, 0, 0, 0, 0, 0 }, \
      { (ptrdiff_t)(row_stride), (ptrdiff_t)(stride), 0, 0, 0, 0, 0, 0 } }

/* The memory of a gathered record. */
typedef struct iso_scratch iso_scratch;

iso_code iso_scratch_open(iso_scratch **scratch);
void iso_scratch_close(iso_scratch **scratch);
/* A record in which these arrays are contiguous, for any function that takes a record: a copy of `record`, with pointers to the
   gathered elements, and with the dimensions as the values of the length fields. What `record` has in these fields does not
   matter. It is valid until the next call with the scratch, and as long as all that `record` points at.
   So neither the arrays nor what `record` points at may be what the same scratch gathered before.
   Such an array is refused with ISO_WRONG_TYPE.

       iso_strided level = ISO_STRIDED("level", &gauges[0].level, 100, sizeof gauges[0]);
       code = iso_gather(scratch, format, &profile, &level, 1, &gathered);
       if (!code) code = iso_source_submit(source, gathered); */
iso_code iso_gather(iso_scratch *scratch, const iso_format *format, const void *record, const iso_strided *arrays, size_t count,
                    const void **gathered);
/* Copies arrays of a decoded record to strided memory. `dims` is the room; it becomes the dimensions that the record has. If one
   of them is larger, the code is ISO_TOO_LONG, and that array is not copied.
   A record with a negative length is refused with ISO_BAD_RECORD, as by iso_encode. */
iso_code iso_scatter(const iso_format *format, const void *record, iso_strided *arrays, size_t count);

/* ---- Several kinds of records: each becomes the one that fits. ---- */

/* The kinds of records that a program takes from one stream or channel, numbered from 0 in the order in which they were
   added. The format of a sender becomes the kind of the same name, if the kind can be made of it. Otherwise it becomes the
   kind that takes most of the sender's fields; spec/conversion.md, "Several kinds", says how ties are decided. The choice is
   made for the first message of a format. */
typedef struct iso_kinds iso_kinds;

iso_code iso_kinds_open(iso_kinds **kinds);
void iso_kinds_close(iso_kinds **kinds);
/* `rules` may be NULL. */
iso_code iso_kinds_add(iso_kinds *kinds, const iso_format *format, const iso_rules *rules, iso_faults faults);
/* As iso_decode, for the kind that fits, whose number becomes `kind`. If none fits, the code is ISO_NO_CONVERSION and the
   error says why for each kind. The program can then read the message by names, pass it on, or do nothing. */
iso_code iso_kinds_decode(iso_kinds *kinds, const iso_message *message, int *kind, const void **record);
/* The number of the kind that a message of this format becomes. Errors as of iso_kinds_decode. */
iso_code iso_kinds_of(iso_kinds *kinds, const iso_format *format, int *kind);
/* The choice for a format: a line with the reason, and a line for each kind. Valid until the next call. */
iso_code iso_kinds_explain(iso_kinds *kinds, const iso_format *format, const char **text);
/* The number of messages so far for which no kind was found. */
uint64_t iso_kinds_others(const iso_kinds *kinds);

/* ---- Fields by name, for messages of any format. ---- */

typedef enum iso_kind {
    ISO_KIND_NULL = 0,     /* a null pointer: no string, no record, no array of fixed length */
    ISO_KIND_INTEGER = 1,  /* `integer`, `real`; and `whole` if it is not negative */
    ISO_KIND_UNSIGNED = 2, /* `whole`, `real`: an integer beyond int64_t */
    ISO_KIND_REAL = 3,     /* `real` */
    ISO_KIND_COMPLEX = 4,  /* `real`, `imaginary` */
    ISO_KIND_BOOLEAN = 5,  /* `integer`, 0 or 1 */
    ISO_KIND_TEXT = 6,     /* `bytes`, `length`: a string, or an array of char; it may lack a final NUL */
    ISO_KIND_SYMBOL = 7,   /* `bytes`, `length`, `integer`: the symbol and the number of an enumeration */
    ISO_KIND_ARRAY = 8,    /* `count` elements; `bytes`, `length`: all of them, as in the sender's memory */
    ISO_KIND_RECORD = 9    /* `bytes`, `length` */
} iso_kind;

typedef struct iso_item {
    iso_kind kind;
    int64_t integer;
    uint64_t whole;
    double real;
    double imaginary;
    const void *bytes; /* in the message */
    size_t length;
    size_t count;
} iso_item;

/* The value at a path, such as "grid[3].rho" or "station". */
iso_code iso_message_get(const iso_message *message, const char *path, iso_item *item);
/* The whole record as a line of JSON. Valid until the next call in this thread. */
iso_code iso_message_json(const iso_message *message, const char **json);

/* ---- Documents: records as the XML and JSON that a document describes. ---- */

/* A record that a document declares. iso_document_load takes what iso_format_load takes, and iso_document_load_with the options
   of iso_format_load_with. iso_document_format lends the format, with the document's defaults. */
typedef struct iso_document iso_document;

iso_code iso_document_load(const char *place, const char *name, iso_document **document);
/* `options` may be NULL. */
iso_code iso_document_load_with(const char *place, const char *name, const iso_document_options *options,
                                iso_document **document);
void iso_document_close(iso_document **document);
const iso_format *iso_document_format(const iso_document *document);
/* The XML, or the JSON, of a message of that format, in UTF-8. Valid until the next call with the document. */
iso_code iso_document_xml(iso_document *document, const iso_message *message, const char **xml);
iso_code iso_document_json(iso_document *document, const iso_message *message, const char **json);
/* The one record in a text, as a message. Valid until the next call with the document. Elements, attributes and members with a default may
   be absent. */
iso_code iso_document_of_xml(iso_document *document, const char *xml, iso_message *message);
iso_code iso_document_of_json(iso_document *document, const char *json, iso_message *message);

/* ---- Streams: sequences of messages, with the descriptions of their formats. ---- */

typedef struct iso_writer iso_writer;

/* Receives bytes of a stream; returns 0 if it took all of them. */
typedef int (*iso_put)(void *context, const void *bytes, size_t count);

/* "-" is standard output. Output to a file is buffered until it is flushed or closed; a function is called at once. */
iso_code iso_writer_open_file(const char *path, iso_writer **writer);
iso_code iso_writer_open(iso_put put, void *context, iso_writer **writer);
/* Appends to the stream in a file, and creates the file if it is not there. Until the writer is closed, the file is locked; if
   another program is appending to it, this fails. If the stream was cut, or ends with bytes that are no message, these bytes
   are first moved to a new file beside it (river.iso.cut): nobody could read what follows them. To a sealed stream, sealed
   messages are appended. A file that does not begin with a message is refused. */
iso_code iso_writer_append_file(const char *path, iso_writer **writer);
/* What was moved aside when the file was opened: the number of bytes, 0 if the stream was whole; their position in the
   stream, and the file that has them now. `at` and `aside` may be NULL. The path is valid as long as the writer. */
iso_code iso_writer_healed(const iso_writer *writer, uint64_t *bytes, uint64_t *at, const char **aside);
/* Writes a record, and before it the description of its format if the stream does not have it yet. */
iso_code iso_writer_write(iso_writer *writer, const iso_format *format, const void *record);
/* Writes the records of an array. */
iso_code iso_writer_write_many(iso_writer *writer, const iso_format *format, const void *records, size_t count);
/* Writes a message unchanged. */
iso_code iso_writer_pass(iso_writer *writer, const iso_message *message);
/* Seals every message from now on, or stops it. A seal takes 48 bytes. With it, readers notice a message that was damaged,
   and can resume behind it. */
iso_code iso_writer_set_sealed(iso_writer *writer, int is_sealed);
iso_code iso_writer_flush(iso_writer *writer);
/* The writer is closed even if this call fails. The code tells whether everything was written. */
iso_code iso_writer_close(iso_writer **writer);

typedef struct iso_reader iso_reader;

/* Fills memory with bytes of a stream; returns their number, 0 at the end, or a negative number on failure. */
typedef ptrdiff_t (*iso_get)(void *context, void *bytes, size_t room);

/* "-" is standard input. */
iso_code iso_reader_open_file(const char *path, iso_reader **reader);
iso_code iso_reader_open(iso_get get, void *context, iso_reader **reader);
void iso_reader_close(iso_reader **reader);
/* Asks for less: the reader then gives what a query makes of the records, such as "where any(depth > 2) | select step, deep =
   max(depth)", in place of the records. Call it before the first message is read, and after iso_reader_set_servers. An error about a
   query that does not fit is one of the first record. A recording has the times of its events, for durations and time(). See
   docs/book/guides/queries.md. */
iso_code iso_reader_set_query(iso_reader *reader, const char *query);
/* The next message, of any format. At the end of the stream its format is NULL; a file may still grow after that. */
iso_code iso_reader_next(iso_reader *reader, iso_message *message);
/* The next record; NULL at the end. */
iso_code iso_reader_read(iso_reader *reader, iso_decoder *decoder, const void **record);
/* The next records of one kind, side by side: those of the next message and of messages after it that have arrived and have the
   same format and length. Records with pointers come one by one. `count` is their number, 0 at the end. They are valid until the
   next call with the kinds or the reader. After an error, none of them is returned, and the next call goes on behind them; if
   the next message fits no kind, that is this message alone. */
iso_code iso_kinds_read(iso_kinds *kinds, iso_reader *reader, int *kind, const void **records, size_t *count);
/* The format and the length of the next message, before its body has arrived: the `body` of `head` is NULL, and at the end
   of the stream its format is. Any function that reads takes that message then. To choose by it:
   - iso_reader_skip skips the message without storing it. `skipped`, which may be NULL, becomes 0 at the end, else 1.
   - iso_reader_read_into reads the body to memory of the program, and `message` is valid as long as that memory. Its format
     is valid until the next call. If the message needs more than `room` bytes, the code is ISO_MESSAGE_SIZE, and the message
     remains the next one. After ISO_CUT, a file may still grow: the next call with the same memory continues. With memory
     that begins at a multiple of 16, iso_decode_in_place decodes there. */
iso_code iso_reader_peek(iso_reader *reader, iso_message *head);
iso_code iso_reader_skip(iso_reader *reader, int *skipped);
iso_code iso_reader_read_into(iso_reader *reader, void *body, size_t room, iso_message *message);
/* Whether, after an error, the next call continues after the message at fault. If not, the stream itself is at fault.
   */
int iso_reader_goes_on(const iso_reader *reader);
/* Continues behind damage, after an error of the stream itself, if the stream is sealed: passes over all bytes up to the next
   message that is sealed and whole, which the next call returns. `resumed` becomes 1, and `from` and `to`, which may be NULL,
   the positions of the first byte that is missing and behind the last one. `resumed` becomes 0 if no such message follows. */
iso_code iso_reader_resume(iso_reader *reader, int *resumed, uint64_t *from, uint64_t *to);

/* ---- Texts: many records in one XML or JSON. ---- */

/* The records of a text that comes in pieces, each as a message of the document's format. The document may be closed before
   them. A program writes such a text record by record, with iso_document_xml or iso_document_json. */
typedef struct iso_texts iso_texts;

/* XML: documents of one record each, or the records in one element of the name `within`, unless that is NULL. No more is read
   than the next record needs. */
iso_code iso_texts_open_xml(const iso_document *document, const char *within, iso_get get, void *context, iso_texts **texts);
/* JSON: a record on each line that is not empty. */
iso_code iso_texts_open_json(const iso_document *document, iso_get get, void *context, iso_texts **texts);
/* The next record, valid until the next call; at the end its format is NULL. After an error there are no more. */
iso_code iso_texts_next(iso_texts *texts, iso_message *message);
void iso_texts_close(iso_texts **texts);

/* ---- Unknown formats: found at format servers, or by the program. ---- */

/* Servers of formats, for any number of readers, writers and registries, in all threads. Those keep what they need of it, so
   it may be closed before them. */
typedef struct iso_servers iso_servers;

/* `urls` are "http://HOST:PORT" or "https://HOST:PORT/path", with commas between them, or NULL for none. They are asked in this
   order, all together for at most 10 seconds, and no answer is trusted: a description is compared with the token. `cache` is a
   folder where descriptions are kept and found first, which programs may share, or NULL. Opening connects to no server. */
iso_code iso_servers_open(const char *urls, const char *cache, iso_servers **servers);
/* These settings are for readers, writers and registries that get the servers afterwards.
   A secret for servers that ask who comes. */
iso_code iso_servers_secret(iso_servers *servers, const char *secret);
/* PEM files: the authorities that are trusted in place of the system's; the certificate that servers are shown, with its key. */
iso_code iso_servers_trust(iso_servers *servers, const char *authorities);
iso_code iso_servers_certificate(iso_servers *servers, const char *identity);
/* Messages may say at which servers their formats are described. Readers ask there if the host is allowed, "HOST" or "HOST:PORT",
   before they ask the servers of `urls`. No host is allowed without this. The secret is not shown there. */
iso_code iso_servers_allow(iso_servers *servers, const char *host);
void iso_servers_close(iso_servers **servers);
/* Stores a format at the first server that accepts it. If no server can be asked, that is no error for a format that one of them
   stored or answered before: in this process, or stored it for one with the same cache. */
iso_code iso_servers_put(const iso_servers *servers, const iso_format *format);

/* Messages whose format is unknown then ask the servers for it. If they do not have it, the code is ISO_UNKNOWN_FORMAT. If one
   of them could not be asked, it is ISO_IO or ISO_DEADLINE; if it wants a secret, or another one, ISO_NOT_ADMITTED or
   ISO_FORBIDDEN. The text says what each of them did. The reader goes on with the next message. */
iso_code iso_registry_set_servers(const iso_registry *registry, const iso_servers *servers);
iso_code iso_reader_set_servers(const iso_reader *reader, const iso_servers *servers);
/* The writer then leaves descriptions out of the stream, and stores each format at the servers before its first message, as
   iso_servers_put does. If no server can be asked (ISO_IO, ISO_DEADLINE), the writer describes the format in the stream. If they refuse
   it, the message is not written. */
iso_code iso_writer_set_servers(iso_writer *writer, const iso_servers *servers);

/* Answers for the formats of this program at an HTTP address, in threads of its own, until it is closed. So programs that exchange
   records need no server between them. */
typedef struct iso_responder iso_responder;

/* `address` is "HOST:PORT", with port 0 for any free one. The code is ISO_INSECURE if other machines can reach the address, unless
   `insecure` is 1: nothing is encrypted, and everybody gets a description who knows its token. */
iso_code iso_responder_open(const char *address, int insecure, iso_responder **responder);
void iso_responder_close(iso_responder **responder);
/* "http://HOST:PORT"; it stays valid as long as the responder. NULL for NULL. */
const char *iso_responder_url(const iso_responder *responder);
iso_code iso_responder_add(const iso_responder *responder, const iso_format *format);
/* The writer then leaves descriptions out of the stream, has the responder answer for its formats, and says so in the stream. */
iso_code iso_writer_set_responder(iso_writer *writer, const iso_responder *responder);
/* Says in the stream that the formats of the following messages are described at these servers, which are 1 to 8 URLs with commas
   between them: after iso_writer_set_responder, for a host that has another name for those who read. */
iso_code iso_writer_set_locators(iso_writer *writer, const char *urls);

/* A function of the program that finds formats: it fills memory with the description of the format of this token, and returns
   its length, 0 if it does not know the format, or a negative number on failure. Threads that share a registry may call it at
   the same time. */
typedef ptrdiff_t (*iso_resolve)(void *context, const unsigned char token[16], void *description, size_t room);

/* `context` must be valid as long as the reader, or the registry and all that share it. */
iso_code iso_registry_set_resolver(const iso_registry *registry, iso_resolve resolve, void *context);
iso_code iso_reader_set_resolver(const iso_reader *reader, iso_resolve resolve, void *context);

/* ---- Columns: single fields of many records, each in one array; also for Arrow. ---- */

/* The structures of Arrow's C data interface, which every program that uses it declares so. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

typedef struct iso_columns iso_columns;

/* Columns for the fields at these paths, such as "depth" or "com.x". If `count` is 0, columns for all fields but the lengths of
   arrays, which Arrow's lists have anyway. `rules` may be NULL.

       const char *const fields[] = { "time", "depth" };
       code = iso_columns_open(format, fields, 2, NULL, ISO_FAULTS_ERROR, &columns);
       if (!code) code = iso_columns_read(columns, reader);
       if (!code) code = iso_columns_arrow(columns, &schema, &array); */
iso_code iso_columns_open(const iso_format *format, const char *const *fields, size_t count, const iso_rules *rules,
                          iso_faults faults, iso_columns **columns);
void iso_columns_close(iso_columns **columns);
/* Adds a row for a message. After an error, the columns are as before. */
iso_code iso_columns_add(iso_columns *columns, const iso_message *message);
/* Adds a row for each message of a stream, up to its end. */
iso_code iso_columns_read(iso_columns *columns, iso_reader *reader);
/* The same for several kinds of records: each message becomes a row of the columns with the number of its kind. `count` is the
   number of the kinds, and columns may be NULL for kinds that are not wanted. Messages that fit no kind become no row;
   iso_kinds_others counts them. */
iso_code iso_columns_read_kinds(iso_columns *const *columns, size_t count, iso_kinds *kinds, iso_reader *reader);
size_t iso_columns_rows(const iso_columns *columns);
/* The values of a column, side by side, and the bytes of one. Valid until the columns change. The field has a fixed size and no
   pointers; iso_columns_arrow has others, too. */
iso_code iso_columns_values(iso_columns *columns, const char *field, const void **values, size_t *size);
/* Moves all rows to Arrow, as a struct array with a child for each column, without a copy of numbers; the columns are empty
   then. The program releases both structures, by their `release`. After an error, there is nothing to release, and no row
   left.
   - Text and char arrays become strings, enumerations dictionaries, nested records structs, and units metadata.
   - Arrays become fixed-size lists. Arrays of variable length, arrays behind pointers, and arrays within records behind pointers
     become lists.
   - Null is what a null pointer points at: text, a number, a record, or an array of fixed length. */
iso_code iso_columns_arrow(iso_columns *columns, struct ArrowSchema *schema, struct ArrowArray *array);

/* A record batch of Arrow as records to send: an array of structs, in a format that follows the schema. Each column becomes
   a field of the same name: numbers, booleans, text (also of a dictionary), structs, and lists.
   - A list becomes an array of variable length, whose length is a field `NAME_len`; a list of fixed size becomes a fixed array.
   - A column with nulls becomes a pointer to each value, which may be null. Text may be null
     anyway, also as a value of a dictionary.
   - Lists and elements of lists that are null are refused, and so are lists in lists, unless a struct is in between.

       iso_arrow *arrow; const iso_format *format; const void *records; size_t count;
       code = iso_arrow_open("River", &schema, &array, &arrow);
       if (!code) code = iso_arrow_records(arrow, &format, &records, &count);
       if (!code) code = iso_writer_write_many(writer, format, records, count);
       iso_arrow_close(&arrow); */
typedef struct iso_arrow iso_arrow;

/* Copies a batch, which is a struct array. `name` is that of the records. The program still releases the structures.
   Refuses with ISO_WRONG_TYPE structures that are released, and those whose lengths, offsets, counts
   or null pointers do not fit each other. Of the contents of buffers, it checks the order of offsets,
   the ends of lists and the indices of dictionaries, and trusts the rest. */
iso_code iso_arrow_open(const char *name, const struct ArrowSchema *schema, const struct ArrowArray *array, iso_arrow **arrow);
void iso_arrow_close(iso_arrow **arrow);
/* The format, and the records. The handle owns both. */
iso_code iso_arrow_records(const iso_arrow *arrow, const iso_format **format, const void **records, size_t *count);

/* ---- Channels. ---- */

/* The member of channels that acts for this process; usually there is one. */
typedef struct iso_node iso_node;
typedef struct iso_channel iso_channel;

enum {
    ISO_ALLOW_INSECURE = 1, /* allows addresses beyond this machine, without encryption */
    ISO_ADMIT_ANYONE = 2    /* admits everyone who can connect, and talks to whatever answers */
};

/* `listen` is NULL for a port that the system chooses, or a list of addresses with spaces between them, such as
   "127.0.0.1:7000 unix:/run/river.sock". Other words may be among them:
   - "advertise=gateway.example:7000" is an address that the node tells others in place of those of TCP at which it listens;
     port 0 is that of the first of them;
   - "key=HEX", 64 hexadecimal digits, is a shared key besides that of the user: see "Who may connect" in the guide;
   - "identity=FILE" is the certificate, key and authority for TLS, in place of those of the user. The path has no spaces;
   - "identity-key=FILE" is its private key, if that is in another file; "trust=FILE" has the certificates of authorities to trust, if
     they are in another file; "revoked=FILE" has their revocation lists;
   - "trust-platform" trusts the authorities that this machine trusts. These give certificates to anybody, so it needs
     "trust-name=*.cluster.example": only certificates with such a name are accepted;
   - "rules=FILE" says what other nodes may do on which channels: docs/book/reference/rules.md. The path has no spaces;
   - "tls-on-loopback" speaks TLS also on TCP within this machine, for tunnels and containers.
   `flags` is 0, or ISO_ALLOW_INSECURE and ISO_ADMIT_ANYONE, joined by |. By default, a node admits programs of the same user. */
iso_code iso_node_open(const char *listen, unsigned flags, iso_node **node);
void iso_node_close(iso_node **node);
/* The first address at which others reach the node: "tcp:127.0.0.1:7000". The node owns the text. */
const char *iso_node_address(const iso_node *node);

/* For the milliseconds of all functions that wait: a negative number waits for ever, and 0 not at all. */
enum { ISO_FOREVER = -1 };

/* Calls the handlers of the node for the events that have arrived. If there are none, waits for one. `count` may be
   NULL. */
iso_code iso_node_poll(const iso_node *node, int milliseconds, size_t *count);
/* A descriptor that is readable whenever iso_node_poll has something to do. Wait for it with poll(2), but do not read
   from it. It may report spurious readiness until iso_node_poll has found nothing. Windows has none: ISO_IO. */
iso_code iso_node_fd(const iso_node *node, int *fd);

/* Creates a channel for records of a format, or for all formats if it is NULL. */
iso_code iso_channel_create(const iso_node *node, const char *name, const iso_format *format, iso_channel **channel);
/* Opens a channel, such as "iso://127.0.0.1:7000/river". */
iso_code iso_channel_open(const iso_node *node, const char *id, iso_channel **channel);
/* Derives a channel: what a query gives of the events of another one (spec/query.md). Its sinks get that, and their queries are queries of
   it. The sources evaluate it, once for all sinks. Others open it by its id, in which the query stands. If there is a `name`, the id has
   that in place of the query: others can open the name at this node as long as this handle is open. A derived channel has no sources.
   ISO_TEXT, ISO_NO_SUCH_FIELD: something is wrong with the query. */
iso_code iso_channel_derive(const iso_channel *channel, const char *query, const char *name, iso_channel **derived);
/* The id with which others open the channel. The channel owns the text. */
const char *iso_channel_id(const iso_channel *channel);
/* The format of its records, or NULL if it accepts all formats. */
iso_code iso_channel_format(const iso_channel *channel, iso_format **format);
/* Closes this handle. Its sources, sinks and handlers remain. */
void iso_channel_close(iso_channel **channel);
/* Leaves the channel. This ends its sources, sinks and handlers. */
iso_code iso_channel_leave(iso_channel **channel);

/* ---- Sources submit events. ---- */

typedef struct iso_source iso_source;

/* The settings of a source. A field of 0 means its default. */
typedef struct iso_source_options {
    int lossless; /* whether it waits as long as necessary for sinks with ISO_POLICY_LOSSLESS; by default it refuses
                     them */
    uint64_t keep; /* the number of its latest events that it keeps for sinks that subscribe later; by default none */
    uint32_t wait_event_us;  /* how long it waits for one event for sinks with ISO_POLICY_BLOCK, in microseconds; by
                                default 1,000 */
    uint32_t wait_second_us; /* and how long in a second, for all of them together; by default 10,000 */
    uint32_t query_once_us;  /* how much time a query of another node takes for an event at most, in microseconds, by its
                                number of steps; by default 1,000. Beyond it, the event is lost (ISO_CAUSE_THINNED) */
    uint32_t query_second_us; /* and how much all of them take in a second, writing their results included; by default
                                 20,000 */
    uint32_t most_queries;    /* the most different queries of other nodes; a sink with another one is refused (ISO_BUDGET).
                                 By default 64 */
    uint32_t most_sinks; /* the most sinks of one other node; further ones are refused (ISO_PEERS). By default 64 */
    const iso_format *parameters_format; /* the format of `parameters`; NULL if the source has none */
    const void *parameters; /* values that its sinks choose: a record with the defaults. See "Parameters" */
    uint32_t most_demands;  /* the most different values that sinks ask for, besides the defaults; others are refused
                               (ISO_BUDGET). By default 16 */
} iso_source_options;

iso_code iso_source_open(const iso_channel *channel, const iso_format *format, iso_source **source);
/* `options` may be NULL. */
iso_code iso_source_open_with(const iso_channel *channel, const iso_format *format, const iso_source_options *options,
                              iso_source **source);
/* Submits a record to all sinks. If a sink with ISO_POLICY_BLOCK has no room, the function waits, as long as
   iso_source_options says; then it drops events for this sink. If a sink with ISO_POLICY_LOSSLESS has no room, the
   function waits for ever, or as long as the patience that was set. After that it returns ISO_DEADLINE, and the record
   is not submitted. Without sinks, the record is only numbered. */
iso_code iso_source_submit(iso_source *source, const void *record);
iso_code iso_source_submit_many(iso_source *source, const void *records, size_t count);
/* The number of the event behind the one that was submitted last: how many there are, heard or not, since they are numbered from 0. */
uint64_t iso_source_next(const iso_source *source);
iso_code iso_source_set_patience(iso_source *source, int milliseconds);
/* Waits until `sinks` sinks have subscribed, and returns ISO_DEADLINE if they have not in time; or ISO_FORBIDDEN, if there is
   no sink, and the rules do not let this node publish to a sink that is there. */
iso_code iso_source_wait(const iso_source *source, size_t sinks, int milliseconds);
/* Why the node of a sink has declined this source last, unless it has another sink here now: ISO_FORBIDDEN if the rules do not
   let this node publish, and others if the records do not fit, for example. iso_last_error has the text, which names the
   node and the right. ISO_OK if none has. */
iso_code iso_source_declined(const iso_source *source);
size_t iso_source_sinks(const iso_source *source);

/* The reason why events do not come. Those of every cause are lost, but for ISO_CAUSE_SUPERSEDED. */
typedef enum iso_cause {
    ISO_CAUSE_OVERRUN = 1,   /* the sink was too slow for its policy */
    ISO_CAUSE_CUT = 2,       /* the connection on which they were sent broke */
    ISO_CAUSE_TOO_LARGE = 3, /* they are longer than the sink accepts */
    ISO_CAUSE_ENDED = 4,     /* the sink left, or its subscription ended for another reason */
    ISO_CAUSE_UNKNOWN = 5,   /* the link ended, and nobody knows whether they arrived */
    ISO_CAUSE_DECLINED = 6,  /* the sink declined the rest of a long event */
    ISO_CAUSE_THINNED = 7,   /* the source had no time left to evaluate the sink's query */
    ISO_CAUSE_SUPERSEDED = 8 /* the sink wants the latest event only (ISO_POLICY_LATEST), and a newer one took their place */
} iso_cause;

/* The account of a source's events to one sink. At all times,
   submitted == acknowledged + superseded + lost + skipped + in_flight. */
typedef struct iso_account {
    unsigned char node[16]; /* the node of the sink */
    uint32_t sink;          /* the number of the sink at that node */
    int present;            /* whether the sink is still subscribed */
    uint64_t submitted;
    uint64_t acknowledged;
    uint64_t in_flight;
    uint64_t lost;
    uint64_t lost_for[9]; /* indexed by iso_cause; 0 for ISO_CAUSE_SUPERSEDED, which is not a loss */
    uint64_t skipped;     /* events that the sink did not want */
    uint64_t superseded;  /* events in whose place a newer one is sent, under ISO_POLICY_LATEST */
    uint64_t waited;      /* how long the source has waited for the sink, in nanoseconds */
    uint64_t changes;     /* how often the source has changed the policy */
    uint64_t earlier;     /* events that the source submitted before, and that are not among `submitted` */
} iso_account;

/* The accounts of all subscribed sinks, and of those that left most recently, up to `room`. `count` is the number of
   accounts that exist. `accounts` and `count` may be NULL. */
iso_code iso_source_ledger(const iso_source *source, iso_account *accounts, size_t room, size_t *count);
/* Waits until the sinks have taken all events or the time is over, ends the source, and returns the accounts. */
iso_code iso_source_end(iso_source **source, int milliseconds, iso_account *accounts, size_t room, size_t *count);
/* Ends the source at once. The sinks have ten seconds to take the submitted events, but at most one second after the
   node and all of its objects are closed. Events that are left then are lost. iso_source_end can wait longer. */
void iso_source_close(iso_source **source);

/* ---- Sinks receive events. ---- */

typedef struct iso_sink iso_sink;

/* The behaviour of a source when the sink is too slow. */
typedef enum iso_policy {
    ISO_POLICY_BLOCK = 0,       /* the source waits, but not for long; then it drops events. See iso_source_options */
    ISO_POLICY_DROP_OLDEST = 1, /* it keeps `events` events and `bytes` bytes, and drops the oldest */
    ISO_POLICY_LATEST = 2,      /* it keeps only the latest event */
    ISO_POLICY_LOSSLESS = 3     /* it waits as long as necessary; a source that is not lossless is refused */
} iso_policy;

/* The settings of a sink. A field of 0 means its default. */
typedef struct iso_sink_options {
    iso_policy policy;
    uint64_t events; /* of ISO_POLICY_DROP_OLDEST; by default as many as the source keeps */
    uint64_t bytes;  /* of ISO_POLICY_DROP_OLDEST; by default 4 MiB */
    uint64_t window_events; /* events of one source that are on their way or wait here; by default 65,536, and 1 for
                               ISO_POLICY_LATEST */
    uint64_t window_bytes;  /* the bytes of these events; by default 4 MiB */
    uint64_t longest; /* bytes of the longest event that the sink accepts; longer ones are gaps. By default 1 GiB */
    iso_faults faults;
    const char *const *fields; /* the paths of the needed fields; NULL for all fields. A sink of several kinds needs each of
                                  them for one of its kinds at least */
    size_t field_count;
    int heads; /* not 0: the heads of events longer than 65,536 bytes come before the rest (ISO_EVENT_HEAD) */
    const char *query; /* what the sources send of the events, and in their place, such as "where any(depth > 2) | every 10";
                          NULL for all of them. See docs/book/guides/queries.md */
    const iso_format *parameters_format; /* the format of `parameters`; NULL to ask for none */
    const void *parameters; /* a record: the values that the sources are asked for. See "Parameters" */
} iso_sink_options;

typedef enum iso_event_kind {
    ISO_EVENT_NOTHING = 0, /* no event arrived in time */
    ISO_EVENT_RECORD = 1,  /* a record: `stamp`, and `record` or `message` */
    ISO_EVENT_GAP = 2,     /* `count` events of the source, from `stamp.sequence` on, do not come for this `cause`: they are lost,
                              unless it is ISO_CAUSE_SUPERSEDED */
    ISO_EVENT_JOINED = 3,  /* a source has joined, at this `node`, with records of this `format`. It submitted
                              `count` events before, which do not come: they are not lost */
    ISO_EVENT_LEFT = 4,    /* a source has left, also one that was refused; it sends nothing more. `count` other sources are still there */
    ISO_EVENT_REFUSED = 5, /* the source's records cannot become this sink's, or it does not grant the sink's policy
                              (ISO_NOT_GRANTED); see `error` */
    ISO_EVENT_GRANTED = 6, /* the source grants this `policy` instead of the one that the sink asked for, or changes it;
                              see `reason` */
    ISO_EVENT_HEAD = 7,    /* the head of a long event: `stamp`, its `format`, the bytes of its whole body as `count`, and as
                              `message` the fields that have come: all but pointers, and those beyond 65,536 bytes. If there
                              are none, the message has no format. The event follows, or a gap in its place, or
                              ISO_EVENT_LEFT. See iso_sink_decline */
    ISO_EVENT_GIVEN = 8    /* the source has parameters, and from its event `stamp.sequence` on, the sink has the values in
                              `message`. If `error` is not NULL, it says why other values were refused. `count` is the
                              number of calls of iso_sink_set_parameters that the source knew. See "Parameters" */
} iso_event_kind;

/* Why a source grants a policy. */
typedef enum iso_reason {
    ISO_REASON_ASKED = 0,      /* it is what the sink asked for */
    ISO_REASON_LESS = 1,       /* the source keeps fewer events or bytes than the sink asked for */
    ISO_REASON_SLOW = 2,       /* the source has waited for the sink as long as it may; it drops events instead */
    ISO_REASON_CAUGHT_UP = 3,  /* the sink has caught up; the source waits for it again */
    ISO_REASON_NOT_GRANTED = 4, /* another policy that the sink must have was not granted; the policy stays */
    ISO_REASON_FORBIDDEN = 5   /* the rules of the source's node do not let it wait for this sink */
} iso_reason;

typedef struct iso_stamp {
    uint32_t source;      /* the number of the source at this node */
    uint64_t sequence;    /* the number of the event at its source, which numbers all that it submits, heard or not */
    uint64_t nanoseconds; /* the time of submission, since 1970, by the clock of the source */
} iso_stamp;

typedef struct iso_event {
    iso_event_kind kind;
    iso_stamp stamp;
    const void *record;  /* for a sink with a format */
    iso_message message; /* for a sink without, and for ISO_EVENT_HEAD and ISO_EVENT_GIVEN */
    uint64_t count;      /* for ISO_EVENT_GAP, ISO_EVENT_LEFT and others: see iso_event_kind */
    iso_cause cause;
    unsigned char node[16];
    const iso_error *error;
    iso_policy policy; /* for ISO_EVENT_GRANTED */
    iso_reason reason;
    int which; /* for a sink of several kinds: the number of the record's kind; -1 if it fits none */
    /* For ISO_EVENT_HEAD and ISO_EVENT_JOINED; for the latter NULL if the source's records may have several. Copy it to
       keep it. */
    const iso_format *format;
} iso_event;

/* Opens a sink for records of a format, which sources of other formats are converted to. If the format is NULL, the
   sink receives messages of all formats. `rules` and `options` may be NULL. */
iso_code iso_sink_open(const iso_channel *channel, const iso_format *format, const iso_rules *rules,
                       const iso_sink_options *options, iso_sink **sink);
/* The treatment of records that fit none of several kinds. */
typedef enum iso_others {
    ISO_OTHERS_REFUSE = 0,  /* their source is refused (ISO_EVENT_REFUSED), once; the error says why for each kind */
    ISO_OTHERS_MESSAGES = 1, /* they come as `message`, and `which` is -1 */
    ISO_OTHERS_COUNT = 2     /* they do not come; iso_sink_others and iso_handler_others return their number */
} iso_others;
/* Opens a sink for records of several kinds. An event has the record in `record`, and the number of its kind in `which`.
   The sink copies the kinds. `options` may be NULL; its `faults` are those of each kind. */
iso_code iso_sink_open_kinds(const iso_channel *channel, const iso_kinds *kinds, iso_others others,
                             const iso_sink_options *options, iso_sink **sink);
/* The number of records so far that fitted none of several kinds, unless their sources are refused. */
uint64_t iso_sink_others(const iso_sink *sink);
void iso_sink_close(iso_sink **sink);
/* Asks all sources for another policy. With ISO_POLICY_LOSSLESS, sources that do not grant it keep the policy of
   before. ISO_EVENT_GRANTED tells what each source grants. */
iso_code iso_sink_set_policy(iso_sink *sink, iso_policy policy, uint64_t events, uint64_t bytes);
/* Declines the rest of a long event, by the stamp of its ISO_EVENT_HEAD. `declined` is set to 1 if the rest was still on its
   way, else to 0; it may be NULL. Then a gap comes in its place, with the cause ISO_CAUSE_DECLINED; or the event after all, if
   its source had sent it already. */
iso_code iso_sink_decline(const iso_sink *sink, const iso_stamp *stamp, int *declined);
/* The next event. The sink owns the memory that it points at. If the class of an error is ISO_CLASS_UNAVAILABLE, the
   sink has ended. Any other error is about one event that cannot become this sink's record, and the next call
   continues. */
iso_code iso_sink_next(iso_sink *sink, int milliseconds, iso_event *event);
/* The next events at once, for records without pointers. Copies up to `most` records that have arrived to `records`,
   and their stamps to `stamps` if that is not NULL. `count` of the event is their number, and `stamp` that of the
   first. An event of another kind than ISO_EVENT_RECORD is returned alone.
   For a sink of several kinds, `records` must be NULL: `record` of the event has `count` records of the kind `which` side by side,
   in memory of the sink until the next call. A record with pointers, and one that fits no kind, comes alone. */
iso_code iso_sink_take(iso_sink *sink, void *records, size_t most, iso_stamp *stamps, int milliseconds,
                       iso_event *event);
/* A descriptor that is readable whenever iso_sink_next would return an event. Wait for it with poll(2), but do not read
   from it. It may report spurious readiness until iso_sink_next has found nothing. Windows has none: ISO_IO. */
iso_code iso_sink_fd(const iso_sink *sink, int *fd);

typedef struct iso_counts {
    uint64_t received;   /* events that have arrived */
    uint64_t taken;      /* events that the program has taken */
    uint64_t lost;       /* events that were declared lost */
    uint64_t superseded; /* events in whose place a newer one came, under ISO_POLICY_LATEST */
    uint64_t skipped;    /* events that the sink did not want */
    uint64_t refused;    /* how often the sink was told of a source whose events it does not get: ISO_EVENT_REFUSED */
    uint64_t unfit;      /* records taken that could not become records of this sink */
    uint64_t earlier;    /* events that sources submitted before the sink had them: the sum of ISO_EVENT_JOINED */
} iso_counts;

iso_code iso_sink_counts(const iso_sink *sink, iso_counts *counts);

/* ---- Parameters: a source generates what its sinks ask for. ----

   A source may have parameters: a record of values that its sinks choose, such as a region or a resolution. The program states
   the defaults in iso_source_options. A sink states values in iso_sink_options, in a struct of its own: the fields that the source
   has, by name. Fields that are missing have the default. The sinks with the same values are one demand. The program submits
   records for each demand, and nothing without one:

       iso_demand demands[17];
       size_t count = 0, i;
       iso_source_demands(source, demands, 17, &count);
       for (i = 0; i < count; i++) {
           const struct detail *detail;
           iso_decode(decoder, &demands[i].values, (const void **)&detail);
           iso_source_submit_for(source, demands[i].number, cells_at(detail->level));
       }

   See docs/book/guides/parameters.md. */

typedef struct iso_demand {
    uint32_t number;    /* for the functions below, until the next call of iso_source_demands */
    uint64_t sinks;     /* how many sinks have these values */
    iso_message values; /* in the format of the source's parameters; valid until the next call of iso_source_demands */
} iso_demand;

/* Stores as many demands as there is `room` for, and their number. */
iso_code iso_source_demands(iso_source *source, iso_demand *demands, size_t room, size_t *count);
/* Waits until the demands are others than iso_source_demands has stored last; not for longer than so many milliseconds.
   `is_new` is set to 1 if they are, else to 0. */
iso_code iso_source_new_demands(const iso_source *source, int milliseconds, int *is_new);
/* Submits a record only to the sinks of a demand. For others, the event counts as skipped. `demand` is one that
   iso_source_demands has stored last; for any other number, nothing is submitted. */
iso_code iso_source_submit_for(iso_source *source, uint32_t demand, const void *record);
/* Grants a demand other values than its sinks ask for. Fields that the record does not have stay as they are. ISO_EVENT_GIVEN
   tells the sinks. If there is a demand for these values already, they become part of it. */
iso_code iso_source_grant(iso_source *source, uint32_t demand, const iso_format *format, const void *values);
/* Refuses a demand. ISO_EVENT_REFUSED tells its sinks what was expected, with ISO_NOT_GRANTED. */
iso_code iso_source_refuse(iso_source *source, uint32_t demand, const char *expected);
/* Asks all sources of a sink for other values. ISO_EVENT_GIVEN says from which event on they hold, or why not. */
iso_code iso_sink_set_parameters(iso_sink *sink, const iso_format *format, const void *values);

/* ---- Handlers call a function for each event. ---- */

typedef struct iso_handler iso_handler;

/* The thread that calls iso_node_poll calls this for each event. The event and its memory are valid until it returns.
   */
typedef void (*iso_handle)(void *context, const iso_event *event);

/* As iso_sink_open; the format must not be NULL. */
iso_code iso_handler_open(const iso_channel *channel, const iso_format *format, const iso_rules *rules,
                          const iso_sink_options *options, iso_handle handle, void *context, iso_handler **handler);
/* Several kinds of records, with a function for each. iso_kinds_handle states the function for a kind, by its number. It is
   called with the records of that kind; `which` is the number. `handle` is called with all other events, and may be NULL:
   records of kinds without a function, records that fit no kind (ISO_OTHERS_MESSAGES), sources that come, leave or are
   refused. The handler copies the kinds and their functions.

       iso_kinds_add(kinds, river_format, NULL, ISO_FAULTS_ERROR);
       iso_kinds_add(kinds, alarm_format, NULL, ISO_FAULTS_ERROR);
       iso_kinds_handle(kinds, 0, on_river, &gauge);
       iso_kinds_handle(kinds, 1, on_alarm, &bell);
       iso_handler_open_kinds(channel, kinds, ISO_OTHERS_COUNT, NULL, NULL, NULL, &handler); */
iso_code iso_kinds_handle(iso_kinds *kinds, int kind, iso_handle handle, void *context);
iso_code iso_handler_open_kinds(const iso_channel *channel, const iso_kinds *kinds, iso_others others,
                                const iso_sink_options *options, iso_handle handle, void *context, iso_handler **handler);
/* The number of records so far that fitted no kind, unless their sources are refused. */
uint64_t iso_handler_others(const iso_handler *handler);
/* After this has returned, the library neither calls the function nor uses its context. So it waits for a call that
   runs on another thread. If it is called from within the function, it does not wait, and that call is the last. */
void iso_handler_close(iso_handler **handler);
/* Does not wait for a call of the function, and may be called from within it. If an event cannot be given to the
   function, iso_node_poll returns the error. */
iso_code iso_handler_counts(const iso_handler *handler, iso_counts *counts);

/* ---- Emitting lets others listen to values, by one line for each place. ----

       iso_emit_start("river", &emitting);
       ..
       ISO_EMIT("river/step", ISO_SHOW(step), ISO_SHOW_UNIT(level, "m"), ISO_SHOW_ARRAY_UNIT(depth, n, "m"));

   Each name of records is a channel of a node of its own ("river.step" for that one), which other programs of the user find
   by `isoform emitting`. Nothing listens before iso_emit_start, so a library may emit. Then, or while nobody listens, a place
   costs two or three nanoseconds: its record is numbered, and its values are not evaluated. The name of a value is the last name of its
   expression: "grid" for ISO_SHOW_ARRAY(&run->grid[0][0], n). An array of two dimensions is ISO_SHOW_GRID(grid, rows, columns), and a value
   of an enumeration ISO_SHOW_ENUM(stage, STAGES), with its symbols in `static const iso_symbol STAGES[] = { { "Low", LOW }, ..`. A record that cannot be emitted is dropped and counted, and
   iso_last_error() says why. All functions may be used by all threads. ISO_EMIT needs C11 or C++11. A forked process emits nothing unless it calls
   iso_emit_start. Each rank of an MPI program is a process of its own: give each a name of its own, such as "river.3". */

typedef struct iso_emitting iso_emitting;
/* A place of a program that emits. It is static, and all zeros at first. */
typedef struct iso_place {
    uint64_t *numbers; /* the number of the next record, or the highest bit while somebody listens; NULL before the place has run */
    void *made;
} iso_place;

/* Submits to channels what this process emits, until iso_emit_stop. `name` is that of the program for `isoform emitting`:
   letters, digits, '.', '_' and '-'. A process does so once at a time: ISO_TAKEN. */
iso_code iso_emit_start(const char *name, iso_emitting **emitting);
/* Sinks have a second to take the last records. A program that ends without it loses those that are still on their way. */
void iso_emit_stop(iso_emitting **emitting);
/* The id of a channel ("river.step"), once a place has run that emits its records. It stays until iso_emit_stop. */
iso_code iso_emit_id(const iso_emitting *emitting, const char *channel, const char **id);
/* The number of records that could not be emitted although somebody listened, and of those whose names no channel can have. */
size_t iso_emit_failed(void);

/* A value; ISO_SHOW and its kin make them. */
typedef struct iso_value {
    const char *name, *unit; /* the unit may be NULL */
    int kind;                /* 1 signed, 2 unsigned, 3 float, 4 bool, 5 text, 6 symbol */
    int size;                /* bytes of an element */
    int rank;                /* 0, or dimensions of an array */
    size_t dims[4];          /* dims[0] is the number of symbols */
    const void *data; /* a text, an array, or symbols */
    unsigned char here[16]; /* a number; that of a symbol as a long long */
} iso_value;

/* A symbol of an enumeration. The symbols of a place stay as they are, since they are read once. */
typedef struct iso_symbol {
    const char *name;
    long long value;
} iso_symbol;

/* A record begins. Returns whether somebody listens: then it is to be emitted. Otherwise, it is only numbered. */
int iso_emit_begin(iso_place *place, const char *name);
iso_code iso_emit(const iso_place *place, const iso_value *values, size_t count);

#ifdef __cplusplus
}
#endif

#if defined __cplusplus || (defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L)
#include <string.h>

/* As iso_emit_begin, and without a call where it has run before. */
static inline int iso_place_begin_(iso_place *place, const char *name) {
#if defined __GNUC__ && __GCC_ATOMIC_LLONG_LOCK_FREE == 2
    uint64_t *numbers = __atomic_load_n(&place->numbers, __ATOMIC_ACQUIRE);
    if (numbers != NULL)
        return __atomic_load_n(numbers, __ATOMIC_RELAXED) >> 63 || __atomic_fetch_add(numbers, 1, __ATOMIC_RELAXED) >> 63;
#endif
    return iso_emit_begin(place, name);
}

#define ISO_EMIT(name, ...)                                                                                            \
    do {                                                                                                               \
        static iso_place iso_this_place;                                                                               \
        if (iso_place_begin_(&iso_this_place, (name))) {                                                               \
            const iso_value iso_these_values[] = { __VA_ARGS__ };                                                      \
            iso_emit(&iso_this_place, iso_these_values, sizeof iso_these_values / sizeof *iso_these_values);           \
        }                                                                                                              \
    } while (0)

/* A variable: a number or a text. The others have a name and a unit, or are arrays: a pointer, and the number of elements. */
#define ISO_SHOW(variable) ISO_SHOW_AS(#variable, NULL, variable)
#define ISO_SHOW_UNIT(variable, unit) ISO_SHOW_AS(#variable, unit, variable)
#define ISO_SHOW_ARRAY(pointer, count) ISO_SHOW_ARRAY_AS(#pointer, NULL, pointer, count)
#define ISO_SHOW_ARRAY_UNIT(pointer, count, unit) ISO_SHOW_ARRAY_AS(#pointer, unit, pointer, count)
/* Two dimensions, row by row: an array such as double grid[24][40], or a pointer to its first element. */
#define ISO_SHOW_GRID(array, rows, columns) ISO_SHOW_GRID_AS(#array, NULL, array, rows, columns)
#define ISO_SHOW_GRID_UNIT(array, rows, columns, unit) ISO_SHOW_GRID_AS(#array, unit, array, rows, columns)
/* A value of an enumeration. `symbols` is an array of iso_symbol, whose length the compiler knows. */
#define ISO_SHOW_ENUM(variable, symbols) ISO_SHOW_ENUM_AS(#variable, variable, symbols)
#define ISO_SHOW_ENUM_AS(name, value, symbols) \
    iso_value_symbol_(name, (long long)(value), symbols, sizeof(symbols) / sizeof *(symbols))

/* The types of numbers: type, a word for it, kind. */
#define ISO_NUMBERS_(EACH)                                                                                             \
    EACH(char, c, (char)-1 < 0 ? 1 : 2)                                                                                \
    EACH(signed char, sc, 1)                                                                                           \
    EACH(unsigned char, uc, 2)                                                                                         \
    EACH(short, s, 1)                                                                                                  \
    EACH(unsigned short, us, 2)                                                                                        \
    EACH(int, i, 1)                                                                                                    \
    EACH(unsigned, ui, 2)                                                                                              \
    EACH(long, l, 1)                                                                                                   \
    EACH(unsigned long, ul, 2)                                                                                         \
    EACH(long long, ll, 1)                                                                                             \
    EACH(unsigned long long, ull, 2)                                                                                   \
    EACH(float, f, 3)                                                                                                  \
    EACH(double, d, 3)

static inline iso_value iso_value_text_(const char *name, const char *unit, const char *text) {
    iso_value value;
    memset(&value, 0, sizeof value);
    value.name = name, value.unit = unit, value.kind = 5, value.data = text;
    return value;
}

static inline iso_value iso_value_grid_(iso_value value, size_t columns) {
    value.rank = 2, value.dims[1] = columns;
    return value;
}

static inline iso_value iso_value_symbol_(const char *name, long long given, const iso_symbol *symbols, size_t count) {
    iso_value value = iso_value_text_(name, NULL, NULL);
    value.kind = 6, value.size = (int)sizeof given, value.dims[0] = count, value.data = symbols;
    memcpy(value.here, &given, sizeof given);
    return value;
}

#ifdef __cplusplus
template <class T> static inline const T *iso_value_first_(T *array) { return array; }
template <class T, size_t n> static inline const T *iso_value_first_(T (*array)[n]) { return *array; }
#define ISO_NUMBER_(type, word, number)                                                                                \
    static inline iso_value iso_value_(const char *name, const char *unit, type given) {                               \
        iso_value value = iso_value_text_(name, unit, NULL);                                                           \
        value.kind = number, value.size = (int)sizeof given;                                                           \
        memcpy(value.here, &given, sizeof given);                                                                      \
        return value;                                                                                                  \
    }                                                                                                                  \
    static inline iso_value iso_values_(const char *name, const char *unit, const type *given, size_t count) {         \
        iso_value value = iso_value_text_(name, unit, NULL);                                                           \
        value.kind = number, value.size = (int)sizeof *given, value.rank = 1, value.dims[0] = count;                   \
        value.data = given;                                                                                            \
        return value;                                                                                                  \
    }
ISO_NUMBERS_(ISO_NUMBER_)
ISO_NUMBER_(bool, b, 4)
#undef ISO_NUMBER_
static inline iso_value iso_value_(const char *name, const char *unit, const char *text) {
    return iso_value_text_(name, unit, text);
}
#define ISO_SHOW_AS(name, unit, value) iso_value_(name, unit, value)
#define ISO_SHOW_ARRAY_AS(name, unit, pointer, count) iso_values_(name, unit, pointer, count)
#define ISO_SHOW_GRID_AS(name, unit, array, rows, columns)                                                             \
    iso_value_grid_(iso_values_(name, unit, iso_value_first_(array), rows), columns)
#else
#define ISO_NUMBER_(type, word, number)                                                                                \
    static inline iso_value iso_value_##word(const char *name, const char *unit, type given) {                         \
        iso_value value = iso_value_text_(name, unit, NULL);                                                           \
        value.kind = number, value.size = (int)sizeof given;                                                           \
        memcpy(value.here, &given, sizeof given);                                                                      \
        return value;                                                                                                  \
    }                                                                                                                  \
    static inline iso_value iso_values_##word(const char *name, const char *unit, const type *given, size_t count) {   \
        iso_value value = iso_value_text_(name, unit, NULL);                                                           \
        value.kind = number, value.size = (int)sizeof *given, value.rank = 1, value.dims[0] = count;                   \
        value.data = given;                                                                                            \
        return value;                                                                                                  \
    }
ISO_NUMBERS_(ISO_NUMBER_)
ISO_NUMBER_(_Bool, b, 4)
#undef ISO_NUMBER_
#define ISO_OF_VALUE_(type, word, number) type : iso_value_##word,
#define ISO_OF_VALUES_(type, word, number) type * : iso_values_##word, const type * : iso_values_##word,
#define ISO_SHOW_AS(name, unit, value)                                                                                \
    _Generic((value), ISO_NUMBERS_(ISO_OF_VALUE_) _Bool: iso_value_b, char *: iso_value_text_,                         \
                 const char *: iso_value_text_)(name, unit, value)
#define ISO_SHOW_ARRAY_AS(name, unit, pointer, count)                                                                      \
    _Generic((pointer), ISO_NUMBERS_(ISO_OF_VALUES_) _Bool *: iso_values_b, const _Bool *: iso_values_b)(name, unit, pointer, count)
/* The elements of *(double (*)[40]) and of *(double *) are doubles. */
#define ISO_OF_GRIDS_(type, word, number) type : iso_values_##word, type * : iso_values_##word, const type * : iso_values_##word,
#define ISO_SHOW_GRID_AS(name, unit, array, rows, columns)                                                             \
    iso_value_grid_(_Generic(*(array), ISO_NUMBERS_(ISO_OF_GRIDS_) _Bool: iso_values_b, _Bool *: iso_values_b,         \
                             const _Bool *: iso_values_b)(name, unit, (const void *)(array), rows), columns)
#endif
#endif
#endif /* ISOFORM_H */
