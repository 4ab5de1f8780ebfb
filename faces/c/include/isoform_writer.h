/* isoform_writer.h - writes records as Isoform streams, from C99 or C++11, without any library.

   A record is a struct. A program declares it once, as a table of its members. From then on it writes such structs to
   files and sockets as they are in memory: without a copy, without conversion, and without heap memory. Readers on any
   machine get the values by the names of the members. This header only writes. It is for programs on machines that have
   a C compiler and no Rust.

   One source file of the program contains

       #define ISOFORM_WRITER_IMPLEMENTATION
       #include "isoform_writer.h"

   and the other source files only include the header. This is a complete program:

       #define ISOFORM_WRITER_IMPLEMENTATION
       #include "isoform_writer.h"

       typedef struct { char *station; int n; double *level; } Gauge;
       static const iso_field fields[] = { ISO_FIELD(Gauge, station, "string"), ISO_FIELD(Gauge, n, "int"),
                                           ISO_FIELD_UNIT(Gauge, level, "double[n]", "m") };
       static const iso_structure structures[] = { ISO_STRUCTURE(Gauge, fields) };

       int main(void) {
           double level[] = { 1.5, 1.25 };
           char bern[] = "Bern";
           Gauge gauge = { bern, 2, level };
           iso_error error;
           iso_writer writer;
           iso_format *format = iso_declare(structures, 1, &error);
           iso_open_file(&writer, stdout);
           if (!format || iso_write(&writer, format, &gauge))
               fprintf(stderr, "%s\n", format ? writer.error.text : error.text);
           iso_release(format);
       }

   TYPES. A member's type is a text:  element [ "(" bytes ")" ] { "[" dimension "]" } [ "*" ]

       words of C            char, signed char, unsigned char, short, int, long, long long and their variants, size_t,
                             int32_t, uint8_t .., bool, double, long double, double complex, __int128, char*
       of fixed size         i8 .. i128, u8 .. u128, f16, bf16, f32, f64, f128
       of the member's size  float (a C float, where the compiler tells), integer, unsigned integer, complex float, boolean, enumeration{red=0,green=1},
                             unsigned enumeration{..}, x87, double-double, bfloat; or of a given size: boolean(4)
       others                string (a char * to text with a NUL, or NULL); the name of a structure declared before

   A dimension is a number, or the name of an integer member that holds the length. An array with such a length is
   behind a pointer: double *grid is "double[nx][ny]". For all other pointers the type ends in *: Point *home is
   "Point*", and double *three is "double[3]*". A symbol without a number has the number of the one before, plus 1.
   "char" is text; "signed char" and "unsigned char" are numbers. "long double" is the type of this machine's C
   compiler, which the description tells readers.

   TABLES. ISO_FIELD takes the size, the offset and, in C11 and C++, the type and the dimensions of the member from the
   compiler. iso_declare compares them with the type, and refuses a table that differs: "float" is no double then, and
   "float[300][2]" no float[2][300]. ISO_FIELD_STRUCT is for a member that is a struct: C11 compares which one it is.
   ISO_FIELD_UNIT adds a unit. ISO_POINTER is for a pointer whose type leaves the size open, such as "float[n]". It
   takes the size of the object that the member points at, which must be one element. In C11 and C++, ISO_FIELD takes
   that size from the compiler, too, if the member points at a number. ISO_POINTER_UNIT adds a unit. ISO_ROW states
   everything: name, type, the size of one element, offset; it is not compared. ISO_STRUCTURE names a structure after
   its C type, and ISO_STRUCTURE_AS by a text. iso_declare refuses rows of another struct, except those of ISO_ROW. Use
   the same name of the struct in ISO_FIELD and in ISO_STRUCTURE. One table contains all structures; each comes after
   those that it nests, and the record is the last.

   WRITING. iso_write writes the description of a format before its first record. It refuses a record that does not
   follow its declaration: a negative length, NULL with a length above 0, a boolean of 2, the number of an enumeration
   without a symbol. It does so before it writes any byte of the record, so the stream can continue. The pointers of a
   record must be valid, and their memory must not change, until the call returns. Records go to a FILE by fwrite; the
   result of fclose tells whether all of them arrived. iso_message writes one message without description and padding,
   for transports that keep messages apart.

   ERRORS. Functions return 0, or a number of Isoform's table of errors. The `error` of the writer, or the last argument
   of iso_declare, has the number and a sentence: the fault, its place, what was expected, and what was found. NULL for
   structures, a format, a record or a file is such an error. After ISO_IO the stream is broken, because part of a
   message may have been written. All later writes fail.

   THREADS. All threads may use a format at once. Only one thread at a time may use a writer. There are no globals.

   SETTINGS. Define these before the implementation: ISO_MALLOC and ISO_FREE, used once for each format.

   spec/ in Isoform's repository specifies streams. This header was written from that text.

   Licensed under either of MIT or Apache-2.0 at your option, as Isoform itself is.
   SPDX-License-Identifier: MIT OR Apache-2.0
*/
#ifndef ISOFORM_WRITER_H
#define ISOFORM_WRITER_H

#ifdef ISOFORM_H
#error "isoform.h and isoform_writer.h declare the same names: include one of them in a source file. isoform.h can do everything that isoform_writer.h can."
#endif

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
#include <string.h>
#include <type_traits>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The errors of Isoform's table that a writer can meet; the numbers are the same in every language. */
typedef enum iso_code {
    ISO_OK = 0,
    ISO_DECLARATION = 112,      /* a table of fields contradicts itself or the compiler */
    ISO_DESCRIPTION_SIZE = 201, /* its description would have more than 65,536 bytes */
    ISO_DEPTH = 202,            /* structures are nested deeper than 32 levels */
    ISO_FIELDS = 203,           /* more than 4,096 fields in all */
    ISO_SIZE = 204,             /* too large to address, or for the available memory */
    ISO_IO = 401,               /* the sink or file did not accept all bytes */
    ISO_WRONG_TYPE = 501,       /* an argument is NULL */
    ISO_BAD_RECORD = 502        /* a record does not follow its declaration */
} iso_code;

typedef struct iso_error {
    iso_code code;
    char text[320]; /* such as "record contradicts its format at tracks[3].n: expected a length, found -1" */
} iso_error;

/* A member of a struct: its name, its type, and its place. */
typedef struct iso_field {
    const char *name;
    const char *type;
    size_t size; /* of one element; 0 if `type` or `extent` determines it */
    size_t offset;
    const char *unit; /* such as "m/s", or NULL */
    size_t extent; /* of the whole member within the struct; 0 if unknown */
    const char *member; /* the member's type in C, or that of its elements, such as "float" or "char *"; NULL if unknown */
    size_t rows[7]; /* see ISO_ROWS; 0 where unknown */
    /* The struct that the row belongs to, which is compared with that of the structure: its size, and its name in C or, in C++,
       a function that returns it. 0 and NULL if unknown. */
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
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), ISO_MEMBER(Struct, member), \
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
    { #at, type, bytes, offsetof(Struct, at), of, sizeof(((Struct *)0)->at), .rows = { \
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
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), \
      ISO_MEMBER_AT(ISO_ROW_OF(ISO_ROW_OF(((Struct *)0)->member)), Struct), ISO_ROWS_AT(((Struct *)0)->member), \
      sizeof(Struct), ISO_STRUCT_NAME(Struct), NULL }
#define ISO_TOLD_STRUCT(Struct, member, type, Nested) \
    { #member, type, 0, offsetof(Struct, member), NULL, sizeof(((Struct *)0)->member), \
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
    { #member, type, size, offsetof(Struct, member), unit, sizeof(((Struct *)0)->member), NULL, { 0 }, \
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

#define ISO_FIELD(Struct, member, type) ISO_FIELD_UNIT(Struct, member, type, NULL)
#define ISO_FIELD_UNIT(Struct, member, type, unit) \
    ISO_TOLD_ROW(Struct, member, type, 0, unit, NULL)
/* As in isoform.h. A default concerns readers only, so a writer ignores it. */
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
    { name, type, size, offset, unit, 0, NULL, { 0, 0, 0, 0, 0, 0, 0 }, 0, NULL, NULL }

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

/* A declared record. */
typedef struct iso_format iso_format;

/* Declares the format of the last structure; the others are those that it nests. The texts in the tables must remain
   until iso_release; the tables need not. Returns NULL if the declaration is wrong, and says why in `error`. */
iso_format *iso_declare(const iso_structure *structures, size_t count, iso_error *error);
void iso_release(iso_format *format);

/* The 16 bytes that name the format on the wire; and its description. */
const unsigned char *iso_token(const iso_format *format);
const unsigned char *iso_description(const iso_format *format, size_t *count);

/* Receives bytes of a stream, in several calls for each message. Returns 0 if it took all of them. */
typedef int (*iso_sink)(void *context, const void *bytes, size_t count);

/* A writer remembers that it has described this many formats, and then describes them again. At most 64: every reader
   keeps that many formats, however long their descriptions are. */
enum { ISO_DESCRIBED = 64 };

typedef struct iso_writer {
    iso_error error; /* of the last call that failed */
    /* The other members are private. */
    iso_sink sink;
    void *context;
    int broken;
    size_t described;
    unsigned char tokens[ISO_DESCRIBED][16];
    size_t filled;
    unsigned char buffer[512];
} iso_writer;

/* Begins a stream. A stream needs no end: it is complete after each message. */
void iso_open(iso_writer *writer, iso_sink sink, void *context);
void iso_open_file(iso_writer *writer, FILE *file);

/* Writes a record, and before it the description of its format if the stream does not have it yet. */
iso_code iso_write(iso_writer *writer, const iso_format *format, const void *record);
/* Writes only the description, if the stream does not have it yet. */
iso_code iso_describe(iso_writer *writer, const iso_format *format);
/* Writes a record as a single message. Its reader must know the format from another source. */
iso_code iso_message(iso_writer *writer, const iso_format *format, const void *record);

#ifdef __cplusplus
}
#endif
#endif /* ISOFORM_WRITER_H */

#if defined(ISOFORM_WRITER_IMPLEMENTATION) && !defined(ISOFORM_WRITER_IMPLEMENTED)
#define ISOFORM_WRITER_IMPLEMENTED

#include <float.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#ifndef ISO_MALLOC
#define ISO_MALLOC(size) malloc(size)
#define ISO_FREE(memory) free(memory)
#endif

#if CHAR_BIT != 8
#error "Isoform needs bytes of 8 bits"
#endif

/* ---- Formats in memory, by spec/format.md. ---- */

/* Kinds of elements, with their numbers in a description. The kind of a complex number is 4 more than that of its
   parts. */
enum {
    ISO__INTEGER = 1,
    ISO__UNSIGNED,
    ISO__FLOAT,
    ISO__BFLOAT,
    ISO__X87,
    ISO__DOUBLE2,
    ISO__COMPLEX,
    ISO__COMPLEX_X87 = 9,
    ISO__COMPLEX_DOUBLE2,
    ISO__CHAR,
    ISO__BOOLEAN,
    ISO__ENUMERATION,
    ISO__UNSIGNED_ENUMERATION,
    ISO__STRING,
    ISO__STRUCTURE
};

enum { ISO__RANK = 8, ISO__LEVELS = 32, ISO__MOST_FIELDS = 4096, ISO__NAME = 255, ISO__LONGEST = 65536 };
static const uint64_t iso__largest = ((uint64_t)1 << 40) - 1;

typedef struct iso__symbol {
    const char *name;
    size_t length;
    uint64_t value; /* in two's complement */
} iso__symbol;

typedef struct iso__field {
    const char *name;
    const char *unit;
    size_t offset;
    size_t row; /* its place in the table, which is in any order */
    unsigned char kind;
    unsigned char part; /* bytes of a number, of each part if it is complex; 0 if it is none */
    unsigned char rank;
    unsigned char indirect;
    unsigned char has_slots; /* its elements hold pointers */
    unsigned char is_checked; /* its elements hold pointers, booleans or enumerations */
    unsigned char is_whole; /* no byte of its elements is a gap or in a pointer */
    size_t size; /* of one element */
    size_t fixed; /* the product of the fixed dimensions */
    uint64_t dimensions[ISO__RANK]; /* as in a description: 2n for n, 2i + 1 for the length in field i */
    struct iso__structure *structure;
    iso__symbol *symbols;
    size_t symbol_count;
} iso__field;

typedef struct iso__structure {
    const char *name;
    size_t size;
    size_t alignment;
    iso__field *fields; /* by ascending offset */
    size_t count;
    size_t depth;
    size_t total; /* fields, those of nested structures included */
    size_t place; /* in the description, counted from 1; 0 while it is not there */
    unsigned char has_slots, is_checked, is_whole;
} iso__structure;

struct iso_format {
    iso__structure *structures;
    iso__structure *record;
    unsigned char *description;
    size_t description_size;
    unsigned char token[16];
};

static int iso__is_big_endian(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

/* ---- Errors. ---- */

static const char *iso__text(iso_code code) {
    switch (code) {
    case ISO_OK: return "no error";
    case ISO_DECLARATION: return "invalid declaration";
    case ISO_DESCRIPTION_SIZE: return "description too large";
    case ISO_DEPTH: return "nested too deeply";
    case ISO_FIELDS: return "too many fields";
    case ISO_SIZE: return "too large to address";
    case ISO_IO: return "input/output";
    case ISO_WRONG_TYPE: return "wrong type";
    case ISO_BAD_RECORD: return "record contradicts its format";
    }
    return "unknown error";
}

static iso_code iso__fail(iso_error *error, iso_code code, const char *path, const char *what, va_list arguments) {
    const size_t room = sizeof error->text;
    int length = snprintf(error->text, room, "%s%s%.160s: ", iso__text(code), path[0] ? " at " : "", path);
    error->code = code;
    if (length > 0 && (size_t)length < room)
        vsnprintf(error->text + length, room - (size_t)length, what, arguments);
    return code;
}

/* ---- Declarations: from tables of fields to formats. ---- */

/* What is being declared, for errors to name it. */
typedef struct iso__declaring {
    iso_error *error;
    const iso_structure *structure;
    const iso_field *row; /* NULL when it is the structure itself */
} iso__declaring;

static iso_code iso__refuse(const iso__declaring *where, iso_code code, const char *what, ...) {
    char path[2 * ISO__NAME + 2];
    const char *structure = where->structure && where->structure->name ? where->structure->name : "";
    const char *field = where->row && where->row->name ? where->row->name : "";
    va_list arguments;
    snprintf(path, sizeof path, "%.255s%s%.255s", structure, field[0] ? "." : "", field);
    va_start(arguments, what);
    iso__fail(where->error, code, path, what, arguments);
    va_end(arguments);
    return code;
}

/* The character that begins at `text`, and how many bytes it has; -1 if that is not UTF-8. */
static int32_t iso__character(const char *text, size_t left, size_t *length) {
    static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    const unsigned char first = (unsigned char)text[0];
    const size_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    int32_t character = bytes == 1 ? first : first & (0x7f >> bytes);
    size_t i;
    if ((first & 0xc0) == 0x80 || first >= 0xf8 || bytes > left)
        return -1;
    for (i = 1; i < bytes; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80)
            return -1;
        character = character << 6 | (next & 0x3f);
    }
    *length = bytes;
    if (character < least[bytes] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return -1;
    return character;
}

static int iso__is_white(int32_t character) {
    static const int32_t others[] = { 0x20, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000 };
    size_t i;
    for (i = 0; i < sizeof others / sizeof others[0]; i++)
        if (character == others[i])
            return 1;
    return character >= 0x2000 && character <= 0x200a;
}

/* Whether a text is 1 to 255 bytes of UTF-8 without control characters; a name also has no white space, nor what would
   make a path ambiguous. */
static int iso__is_text(const char *text, size_t length, int is_name) {
    size_t at, bytes = 0;
    for (at = 0; at < length; at += bytes) {
        const int32_t character = iso__character(text + at, length - at, &bytes);
        if (character < 0x20 || (character >= 0x7f && character < 0xa0))
            return 0;
        if (is_name && (iso__is_white(character) || (character < 0x80 && strchr(".[]{}*,=", (int)character))))
            return 0;
    }
    return length >= 1 && length <= ISO__NAME;
}

static iso_code iso__check_name(const iso__declaring *where, const char *name, size_t length) {
    if (iso__is_text(name, length, 1))
        return ISO_OK;
    return iso__refuse(where, ISO_DECLARATION,
                       "expected a name of 1 to 255 bytes of UTF-8 without space, control character or any of"
                       " . [ ] { } * , =, found \"%.*s\"", (int)(length > 60 ? 60 : length), name);
}

/* The kind of C's `long double`; 0 where Isoform has none. */
static unsigned char iso__long_double(void) {
    switch (LDBL_MANT_DIG) {
    case 24: case 53: case 113: return ISO__FLOAT;
    case 64: return iso__is_big_endian() ? 0 : ISO__X87; /* the 68881 has gaps elsewhere */
    case 106: return ISO__DOUBLE2;
    default: return 0;
    }
}

/* The kind and size that words stand for, which are separated by single spaces: 0 if they are not known. A size of 0 is
   left open. */
static unsigned char iso__known(const char *words, unsigned char *size) {
    enum { LONG = sizeof(long), POINTER = sizeof(void *), LONG_DOUBLE = sizeof(long double) };
    static const struct { const char *words; unsigned char kind, size; } known[] = {
        { "integer", ISO__INTEGER, 0 }, { "signed integer", ISO__INTEGER, 0 },
        { "unsigned integer", ISO__UNSIGNED, 0 }, { "unsigned", ISO__UNSIGNED, 0 },
        { "float", ISO__FLOAT, 0 }, { "bfloat", ISO__BFLOAT, 0 }, { "x87", ISO__X87, 0 },
        { "double-double", ISO__DOUBLE2, 0 }, { "char", ISO__CHAR, 1 }, { "boolean", ISO__BOOLEAN, 0 },
        { "enumeration", ISO__ENUMERATION, 0 }, { "enum", ISO__ENUMERATION, 0 },
        { "unsigned enumeration", ISO__UNSIGNED_ENUMERATION, 0 }, { "unsigned enum", ISO__UNSIGNED_ENUMERATION, 0 },
        { "string", ISO__STRING, POINTER },

        { "i8", ISO__INTEGER, 1 }, { "int8_t", ISO__INTEGER, 1 }, { "signed char", ISO__INTEGER, 1 },
        { "i16", ISO__INTEGER, 2 }, { "int16_t", ISO__INTEGER, 2 }, { "short", ISO__INTEGER, 2 },
        { "short int", ISO__INTEGER, 2 }, { "signed short", ISO__INTEGER, 2 }, { "signed short int", ISO__INTEGER, 2 },
        { "i32", ISO__INTEGER, 4 }, { "int32_t", ISO__INTEGER, 4 }, { "int", ISO__INTEGER, 4 },
        { "signed int", ISO__INTEGER, 4 }, { "signed", ISO__INTEGER, 4 },
        { "i64", ISO__INTEGER, 8 }, { "int64_t", ISO__INTEGER, 8 }, { "long long", ISO__INTEGER, 8 },
        { "long long int", ISO__INTEGER, 8 }, { "signed long long", ISO__INTEGER, 8 },
        { "signed long long int", ISO__INTEGER, 8 }, { "i128", ISO__INTEGER, 16 }, { "__int128", ISO__INTEGER, 16 },
        { "long", ISO__INTEGER, LONG }, { "long int", ISO__INTEGER, LONG }, { "signed long", ISO__INTEGER, LONG },
        { "signed long int", ISO__INTEGER, LONG }, { "ssize_t", ISO__INTEGER, POINTER },
        { "ptrdiff_t", ISO__INTEGER, POINTER }, { "intptr_t", ISO__INTEGER, POINTER },
        { "isize", ISO__INTEGER, POINTER },

        { "u8", ISO__UNSIGNED, 1 }, { "uint8_t", ISO__UNSIGNED, 1 }, { "unsigned char", ISO__UNSIGNED, 1 },
        { "u16", ISO__UNSIGNED, 2 }, { "uint16_t", ISO__UNSIGNED, 2 }, { "unsigned short", ISO__UNSIGNED, 2 },
        { "unsigned short int", ISO__UNSIGNED, 2 }, { "u32", ISO__UNSIGNED, 4 }, { "uint32_t", ISO__UNSIGNED, 4 },
        { "unsigned int", ISO__UNSIGNED, 4 }, { "u64", ISO__UNSIGNED, 8 }, { "uint64_t", ISO__UNSIGNED, 8 },
        { "unsigned long long", ISO__UNSIGNED, 8 }, { "unsigned long long int", ISO__UNSIGNED, 8 },
        { "u128", ISO__UNSIGNED, 16 }, { "unsigned __int128", ISO__UNSIGNED, 16 },
        { "unsigned long", ISO__UNSIGNED, LONG }, { "unsigned long int", ISO__UNSIGNED, LONG },
        { "size_t", ISO__UNSIGNED, POINTER }, { "uintptr_t", ISO__UNSIGNED, POINTER },
        { "usize", ISO__UNSIGNED, POINTER },

        { "f16", ISO__FLOAT, 2 }, { "f32", ISO__FLOAT, 4 }, { "f64", ISO__FLOAT, 8 }, { "double", ISO__FLOAT, 8 },
        { "f128", ISO__FLOAT, 16 }, { "bf16", ISO__BFLOAT, 2 }, { "bool", ISO__BOOLEAN, 1 },
        { "_Bool", ISO__BOOLEAN, 1 }
    };
    const size_t length = strlen(words);
    size_t i;
    if (strncmp(words, "complex ", 8) == 0 || (length > 8 && strcmp(words + length - 8, " complex") == 0)) {
        char real[16];
        unsigned char kind;
        snprintf(real, sizeof real, "%.*s", (int)(length - 8), words[0] == 'c' ? words + 8 : words);
        kind = length - 8 < sizeof real ? iso__known(real, size) : 0;
        return kind >= ISO__FLOAT && kind <= ISO__DOUBLE2 ? (unsigned char)(kind + 4) : 0;
    }
    if (strcmp(words, "long double") == 0) {
        *size = LONG_DOUBLE;
        return iso__long_double();
    }
    for (i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(words, known[i].words) == 0) {
            *size = known[i].size;
            return known[i].kind;
        }
    return 0;
}

static int iso__is_complex(const iso__field *field) {
    return field->kind >= ISO__COMPLEX && field->kind <= ISO__COMPLEX_DOUBLE2;
}

static int iso__is_enumeration(const iso__field *field) {
    return field->kind == ISO__ENUMERATION || field->kind == ISO__UNSIGNED_ENUMERATION;
}

/* Whether an element of this kind can have `size` bytes. */
static int iso__has_size(const iso__field *field, size_t size) {
    static const uint32_t sizes[] = { 0, 0x10116, 0x10116, 0x10114, 0x4, 0x11400, 0x10000,
                                      0x10114, 0x4, 0x11400, 0x10000, 0x2, 0x116, 0x116, 0x116 }; /* one bit for each size */
    return size <= 16 && (sizes[field->kind] >> size & 1);
}

/* The unread rest of a type's text. */
typedef const char *iso__rest;

static void iso__skip_space(iso__rest *rest) {
    while (**rest == ' ' || **rest == '\t' || **rest == '\n')
        ++*rest;
}

/* Skips a character, and the space around it, if it comes next. */
static int iso__take(iso__rest *rest, char character) {
    iso__skip_space(rest);
    if (**rest != character)
        return 0;
    ++*rest;
    iso__skip_space(rest);
    return 1;
}

static size_t iso__word(iso__rest rest) {
    return strcspn(rest, " \t\n[](){}*,=.\"");
}

/* Reads a number. Returns 0 if there are no digits, or the number is too large. */
static int iso__digits(iso__rest *rest, uint64_t *number) {
    const char *start = *rest;
    for (*number = 0; **rest >= '0' && **rest <= '9'; ++*rest) {
        const uint64_t digit = (uint64_t)(**rest - '0');
        if (*number > (UINT64_MAX - digit) / 10)
            return 0;
        *number = *number * 10 + digit;
    }
    return *rest > start && iso__word(*rest) == 0;
}

static iso_code iso__expected(const iso__declaring *where, const char *expected, iso__rest rest) {
    return iso__refuse(where, ISO_DECLARATION, "expected %s, found %s%.40s%s in the type \"%.60s\"", expected,
                       *rest ? "`" : "the end", rest, *rest ? "`" : "", where->row->type);
}

/* Whether a word is one of C with its _t left out, such as int32. */
static int iso__is_short_of_t(const char *word) {
    char whole[16];
    unsigned char size;
    return snprintf(whole, sizeof whole, "%.12s_t", word) < 12 && iso__known(whole, &size) != 0;
}

/* Reads the words before a size, a dimension or a `*`. Unknown words name a structure declared before. */
static iso_code iso__read_element(const iso__declaring *where, iso__field *field, iso__rest *rest,
                                  iso__structure *structures, const iso__structure *end) {
    char words[ISO__NAME + 8] = "", meant[120];
    const char *name = words;
    size_t length = 0, count;
    iso__rest start;
    iso__skip_space(rest);
    start = *rest;
    for (; (count = iso__word(*rest)) > 0; iso__skip_space(rest)) {
        if (length + count + 2 > sizeof words)
            return iso__expected(where, "a type", start);
        if (length > 0)
            words[length++] = ' ';
        memcpy(words + length, *rest, count);
        words[length += count] = '\0';
        *rest += count;
    }
    field->kind = iso__known(words, &field->part);
    if (field->kind == ISO__CHAR && iso__take(rest, '*')) {
        field->kind = ISO__STRING;
        field->part = sizeof(void *);
    }
    if (field->kind != 0)
        return ISO_OK;
    if (strncmp(words, "struct ", 7) == 0)
        name += 7;
    for (; structures < end; structures++)
        if (strcmp(name, structures->name) == 0) {
            field->kind = ISO__STRUCTURE;
            field->structure = structures;
            return ISO_OK;
        }
    snprintf(meant, sizeof meant, "a type, such as %.40s_t, or the name of a structure declared before", words);
    return iso__expected(where,
                         strcmp(words, "float32") == 0   ? "a type, such as float, or the name of a structure declared before"
                         : strcmp(words, "float64") == 0 ? "a type, such as double, or the name of a structure declared before"
                         : iso__is_short_of_t(words)     ? meant
                                                         : "a type, or the name of a structure declared before",
                         start);
}

/* Compares two values of an enumeration, as signed or unsigned numbers. */
static int iso__is_less(const iso__field *field, uint64_t a, uint64_t b) {
    const uint64_t bias = field->kind == ISO__ENUMERATION ? (uint64_t)1 << 63 : 0;
    return (a ^ bias) < (b ^ bias);
}

/* Reads the symbols of an enumeration, and sorts them while it reads. */
static iso_code iso__read_symbols(const iso__declaring *where, iso__field *field, iso__rest *rest) {
    const int is_signed = field->kind == ISO__ENUMERATION;
    uint64_t next = 0;
    int is_last = 0; /* whether there is no larger number */
    if (!iso__take(rest, '{'))
        return iso__expected(where, "`{` and symbols", *rest);
    do {
        iso__symbol symbol;
        size_t at;
        symbol.name = *rest;
        symbol.length = strcspn(*rest, " \t\n=,}");
        *rest += symbol.length;
        if (iso__check_name(where, symbol.name, symbol.length))
            return ISO_DECLARATION;
        if (iso__take(rest, '=')) {
            const iso__rest start = *rest;
            const int is_negative = iso__take(rest, '-');
            const uint64_t most = is_signed ? (UINT64_MAX >> 1) + (uint64_t)is_negative : is_negative ? 0 : UINT64_MAX;
            if (!iso__digits(rest, &next) || next > most)
                return iso__expected(where, "a number of an enumeration", start);
            next = is_negative ? 0 - next : next;
        } else if (is_last) {
            return iso__expected(where, "a number, since there is none above the last", symbol.name);
        }
        symbol.value = next;
        is_last = next == (is_signed ? UINT64_MAX >> 1 : UINT64_MAX);
        next++;
        for (at = 0; at < field->symbol_count; at++) {
            const iso__symbol *other = &field->symbols[at];
            if (other->value == symbol.value ||
                (other->length == symbol.length && memcmp(other->name, symbol.name, symbol.length) == 0))
                return iso__expected(where, "symbols that differ in name and number", symbol.name);
        }
        for (; at > 0 && iso__is_less(field, symbol.value, field->symbols[at - 1].value); at--)
            field->symbols[at] = field->symbols[at - 1];
        field->symbols[at] = symbol;
        field->symbol_count++;
    } while (iso__take(rest, ','));
    return iso__take(rest, '}') ? ISO_OK : iso__expected(where, "`,` or `}`", *rest);
}

static int iso__fits(const iso__field *field, uint64_t value) {
    const unsigned bits = field->part * 8u;
    const uint64_t high = bits == 64 ? 0 : value >> (field->kind == ISO__ENUMERATION ? bits - 1 : bits);
    return high == 0 || (field->kind == ISO__ENUMERATION && high == UINT64_MAX >> (bits - 1));
}

/* Reads dimensions. A length field is stored as its row in the table until all fields are sorted. */
static iso_code iso__read_dimensions(const iso__declaring *where, iso__field *field, iso__rest *rest) {
    field->fixed = 1;
    while (iso__take(rest, '[')) {
        const iso__rest start = *rest;
        const size_t length = iso__word(*rest);
        uint64_t number = 0;
        if (field->rank == ISO__RANK)
            return iso__expected(where, "at most 8 dimensions", start);
        if (length > 0 && strspn(*rest, "0123456789") == length) {
            if (!iso__digits(rest, &number) || number == 0 || number > iso__largest)
                return iso__expected(where, "a dimension of at least 1 and less than 2^40", start);
            if (number > iso__largest / field->fixed || number * field->fixed > SIZE_MAX)
                return iso__refuse(where, ISO_SIZE, "expected less than 2^40 bytes, found \"%.60s\"", where->row->type);
            field->fixed *= (size_t)number;
            field->dimensions[field->rank++] = 2 * number;
        } else {
            const iso_structure *structure = where->structure;
            while (number < structure->count && (strlen(structure->fields[number].name) != length ||
                                                 memcmp(structure->fields[number].name, start, length) != 0))
                number++;
            if (number == structure->count)
                return iso__expected(where, "a number or the name of an integer field", start);
            *rest += length;
            field->indirect = 1;
            field->dimensions[field->rank++] = 2 * number + 1;
        }
        if (!iso__take(rest, ']'))
            return iso__expected(where, "`]`", *rest);
    }
    if (**rest == '*' && field->indirect)
        return iso__expected(where, "no `*`, since an array whose length is a field is behind a pointer", *rest);
    field->indirect = (unsigned char)(iso__take(rest, '*') || field->indirect);
    return **rest ? iso__expected(where, "the end of the type", *rest) : ISO_OK;
}

/* Determines the sizes. Those of the type, of the row, and of the compiler must agree. */
static iso_code iso__settle_size(const iso__declaring *where, iso__field *field) {
    const iso_field *row = where->row;
    const size_t parts = iso__is_complex(field) ? 2 : 1;
    const size_t known = field->structure ? field->structure->size : parts * field->part;
    size_t size = row->size;
    if (size == 0 && !field->indirect && row->extent % field->fixed == 0)
        size = row->extent / field->fixed;
    if (size == 0)
        size = known;
    if (size == 0)
        return iso__refuse(where, ISO_DECLARATION, "expected ISO_POINTER, or the size of an element, as in float(4), found \"%.60s\"",
                           row->type);
    if (known != 0 && known != size)
        return iso__refuse(where, ISO_DECLARATION, "expected elements of %lu bytes, as \"%.60s\" has, found %lu",
                           (unsigned long)known, row->type, (unsigned long)size);
    if (field->kind == ISO__FLOAT && known == 0 && size == 16)
        return iso__refuse(where, ISO_DECLARATION, "expected \"long double\" or \"f128\", which differ, found \"%.60s\"",
                           row->type);
    if (field->kind < ISO__STRING && (size % parts != 0 || !iso__has_size(field, size / parts)))
        return iso__refuse(where, ISO_DECLARATION, "expected a size that \"%.60s\" can have, found %lu", row->type,
                           (unsigned long)size);
    if (size > iso__largest / field->fixed || size > SIZE_MAX / field->fixed)
        return iso__refuse(where, ISO_SIZE, "expected less than 2^40 bytes, found \"%.60s\"", row->type);
    field->size = size;
    field->part = (unsigned char)(field->kind < ISO__STRING ? size / parts : 0);
    size = field->indirect ? sizeof(void *) : field->size * field->fixed;
    if (row->extent != 0 && row->extent != size)
        return iso__refuse(where, ISO_DECLARATION, "expected a member of %lu bytes, as \"%.60s\" has, found %lu",
                           (unsigned long)size, row->type, (unsigned long)row->extent);
    return ISO_OK;
}

/* How many rows the compiler tells. */
enum { ISO__ROWS = sizeof(((iso_field *)0)->rows) / sizeof(size_t) };

/* A member's type as the compiler tells it, beside that of its row. */
typedef struct iso__told {
    char word[256]; /* of its element, or of what it points at */
    int pointer; /* 1 for a pointer, 2 for a pointer to a pointer */
    size_t size; /* of an element; 0 if it has no word of its own */
} iso__told;

/* Whether the type divides the array as the member does. One of them may have fewer dimensions: float[2][300] may be
   "float[600]", but not "float[300][2]". What is within the last row that the compiler tells is not compared. */
static int iso__is_divided_so(const iso_field *row, const iso__field *field, size_t element) {
    size_t last = row->extent, stated = element, common = 0, told = 0, in_type = 0, i, d;
    for (i = 0; i < ISO__ROWS; i++) {
        if (row->rows[i] > 0 && row->rows[i] < last)
            last = row->rows[i];
        if (row->rows[i] > element && row->rows[i] < row->extent && (i == 0 || row->rows[i] != row->rows[i - 1]))
            told++;
    }
    for (d = field->rank; d-- > 0;) {
        const size_t before = stated;
        stated *= (size_t)(field->dimensions[d] / 2);
        if (stated <= element || stated >= row->extent || stated < last || stated == before)
            continue;
        in_type++;
        for (i = 0; i < ISO__ROWS && row->rows[i] != stated; i++) {
        }
        common += i < ISO__ROWS;
    }
    return common == told || common == in_type;
}

static iso_code iso__refuse_member(const iso__declaring *where, const iso__told *told, const char *fit) {
    const iso_field *row = where->row;
    const char *word = strncmp(fit, "struct ", 7) == 0 ? fit + 7 : fit;
    char dimensions[200] = "";
    size_t outer = row->extent, i;
    if (told->pointer && strcmp(word, "char") == 0)
        return iso__refuse(where, ISO_DECLARATION, "expected string, for a member char *, found \"%.60s\"", row->type);
    if (told->pointer)
        return iso__refuse(where, ISO_DECLARATION, "expected %.60s* or %.60s[n], for a member %.60s *, found \"%.60s\"", word,
                           word, told->word, row->type);
    for (i = 0; i <= ISO__ROWS; i++) {
        const size_t inner = i < ISO__ROWS ? row->rows[i] : told->size;
        if (inner > 0 && inner < outer) {
            snprintf(dimensions + strlen(dimensions), sizeof dimensions - strlen(dimensions), "[%lu]", (unsigned long)(outer / inner));
            outer = inner;
        }
    }
    return iso__refuse(where, ISO_DECLARATION, "expected %.60s%s, for a member %.60s%s, found \"%.60s\"", word, dimensions,
                       told->word, dimensions, row->type);
}

/* Whether the compiler would have told the word of such an element. */
static int iso__has_word(const iso__field *field, size_t size) {
    if (field->kind == ISO__FLOAT)
        return size == 4 || size == 8;
    return iso__is_complex(field) || field->kind == ISO__STRING || (field->kind != ISO__STRUCTURE && field->kind != ISO__BFLOAT && size <= 8);
}

/* Compares the type with a member of which the compiler tells only that it is a pointer, or that it is one to a pointer. */
static iso_code iso__compare_pointer(const iso__declaring *where, const iso__field *field, const iso__told *told) {
    static const char structure[] = "expected a structure behind a pointer, such as %.60s* or %.60s[n], since the member is a pointer,"
                                    " or ISO_ROW, which is not compared with the member, found \"%.60s\"";
    const char *name = field->structure ? field->structure->name : "Point";
    const char *type = where->row->type;
    const size_t size = field->part ? field->part : where->row->size ? where->row->size : sizeof(int);
    if (told->pointer == 2 && strcmp(told->word, "char") == 0)
        return field->kind == ISO__STRING && field->indirect
                   ? ISO_OK
                   : iso__refuse(where, ISO_DECLARATION, "expected string* or string[n], for a member char **, found \"%.60s\"", type);
    if (told->pointer == 2)
        return iso__refuse(where, ISO_DECLARATION, "expected ISO_ROW, since no type is a pointer to a pointer, found \"%.60s\"", type);
    if (strcmp(told->word, "void") == 0)
        return field->kind == ISO__STRING || field->indirect
                   ? ISO_OK
                   : iso__refuse(where, ISO_DECLARATION,
                                 "expected a type behind a pointer, such as double* or double[n], for a member void *, found \"%.60s\"", type);
    return field->indirect && !iso__has_word(field, size) ? ISO_OK : iso__refuse(where, ISO_DECLARATION, structure, name, name, type);
}

/* Compares the type with a member that is no number or text. `first` is that of the declared structures. */
static iso_code iso__compare_struct(const iso__declaring *where, const iso__field *field, const iso__told *told,
                                    const iso_structure *first) {
    static const char other[] = "expected %s, or ISO_ROW, which is not compared with the member, found \"%.60s\"";
    const size_t size = where->row->extent / field->fixed;
    const char *fit = told->word;
    int same = field->structure && told->pointer == field->indirect;
    if (strcmp(told->word, "struct ?") == 0)
        return iso__refuse(where, ISO_DECLARATION, other, "the member's own struct in ISO_FIELD_STRUCT", where->row->type);
    if (strcmp(told->word, "struct") == 0 && !field->indirect && iso__has_word(field, size))
        return iso__refuse(where, ISO_DECLARATION, other, "the name of a structure, since the member is a struct or a union",
                           where->row->type);
    if (strcmp(told->word, "struct") == 0)
        same = 1;
    else
        for (; first <= where->structure; first++)
            if (first->struct_name && strcmp(first->struct_name, told->word) == 0)
                fit = first->name;
            else if (first->struct_name && field->structure && strcmp(first->name, field->structure->name) == 0)
                same = 0;
    if (same && (field->indirect || iso__is_divided_so(where->row, field, size)))
        return ISO_OK;
    return iso__refuse_member(where, told, fit);
}

/* Compares the type with the member's type in C, if the compiler has told it. An integer may be a boolean, a character or an
   enumeration, and may hold a half, for which C has no type. */
static iso_code iso__compare_member(const iso__declaring *where, iso__field *field, const iso_structure *first) {
    const iso_field *row = where->row;
    const size_t length = row->member ? strlen(row->member) : 0, parts = iso__is_complex(field) ? 2 : 1;
    const int floats = field->kind >= ISO__FLOAT && field->kind <= ISO__COMPLEX_DOUBLE2;
    iso__told told;
    iso__field member;
    size_t size;
    int same;
    if (length == 0 || row->extent == 0 || length >= sizeof told.word)
        return ISO_OK;
    memcpy(told.word, row->member, length + 1);
    told.pointer = length > 3 && strcmp(told.word + length - 3, " **") == 0  ? 2
                   : length > 2 && strcmp(told.word + length - 2, " *") == 0 ? 1
                                                                             : 0;
    told.word[length - (told.pointer ? (size_t)told.pointer + 1 : 0)] = '\0';
    if (strcmp(told.word, "_Bool") == 0)
        memcpy(told.word, "bool", sizeof "bool");
    told.size = 0;
    if (told.pointer == 2 || strcmp(told.word, "void") == 0 || strcmp(told.word, "?") == 0)
        return iso__compare_pointer(where, field, &told);
    if (strncmp(told.word, "struct", 6) == 0)
        return iso__compare_struct(where, field, &told, first);
    memset(&member, 0, sizeof member);
    member.kind = iso__known(told.word, &member.part);
    if (member.kind == 0)
        return ISO_OK;
    if (member.part == 0)
        member.part = sizeof(float);
    told.size = member.part * (iso__is_complex(&member) ? 2u : 1u);
    /* "float" without a size is C's. */
    size = field->kind == ISO__FLOAT && field->part == 0 ? sizeof(float) : field->part == 0 ? told.size : parts * field->part;
    if (floats && (member.kind < ISO__FLOAT || member.kind > ISO__COMPLEX_DOUBLE2))
        same = size == 2 && !iso__is_complex(field);
    else if (floats || (member.kind <= ISO__UNSIGNED && field->kind <= ISO__UNSIGNED))
        same = field->kind == member.kind;
    else
        same = field->kind < ISO__STRING && (member.kind < ISO__FLOAT || member.kind > ISO__COMPLEX_DOUBLE2);
    same = same && size == told.size && told.pointer == field->indirect &&
           (field->indirect || (size * field->fixed == row->extent && iso__is_divided_so(row, field, size)));
    if (field->kind == ISO__STRING)
        same = told.pointer && member.kind == ISO__CHAR && !field->indirect;
    /* The size of what a pointer points at, if neither the type nor the row states it. */
    if (same && field->indirect && field->part == 0 && row->size == 0)
        field->part = (unsigned char)(told.size / parts);
    return same ? ISO_OK : iso__refuse_member(where, &told, told.word);
}

/* The name of a struct, without "struct " in front; NULL if it has none. */
static const char *iso__struct_name(const char *text) {
    while (text && strncmp(text, "struct ", 7) == 0)
        text += 7;
    return text && strcmp(text, "struct") != 0 ? text : NULL;
}

/* Refuses a row of another struct than that of the structure. */
static iso_code iso__compare_owner(const iso__declaring *where) {
    const iso_field *row = where->row;
    const char *own = iso__struct_name(where->structure->struct_name);
    const char *of = iso__struct_name(row->struct_of ? row->struct_of() : row->struct_name);
    if (own && of && strcmp(own, of) != 0)
        return iso__refuse(where, ISO_DECLARATION,
                           "expected a row of %.60s, with the same name in ISO_FIELD and ISO_STRUCTURE, found a row of %.60s", own, of);
    if (row->struct_size != 0 && row->struct_size != where->structure->size)
        return iso__refuse(where, ISO_DECLARATION, "expected a row of a struct of %lu bytes, found a row of one of %lu bytes",
                           (unsigned long)where->structure->size, (unsigned long)row->struct_size);
    return ISO_OK;
}

static iso_code iso__declare_field(const iso__declaring *where, iso__field *field, iso__structure *structures,
                                   const iso__structure *end) {
    const iso_structure *first = where->structure - (end - structures);
    iso__rest rest = where->row->type;
    uint64_t bytes;
    iso_code code = iso__compare_owner(where);
    size_t i;
    if (code == ISO_OK)
        code = iso__read_element(where, field, &rest, structures, end);
    if (code)
        return code;
    if ((field->part == 0 || field->kind == ISO__CHAR) && field->kind < ISO__STRING && iso__take(&rest, '(')) {
        const iso__rest start = rest;
        if (!iso__digits(&rest, &bytes) || bytes > 16 || !iso__has_size(field, (size_t)bytes) || !iso__take(&rest, ')'))
            return iso__expected(where, "a size in bytes that this type can have, and `)`", start);
        field->part = (unsigned char)bytes;
    }
    if (iso__is_enumeration(field))
        code = iso__read_symbols(where, field, &rest);
    if (code == ISO_OK)
        code = iso__read_dimensions(where, field, &rest);
    if (code == ISO_OK)
        code = iso__compare_member(where, field, first);
    if (code == ISO_OK)
        code = iso__settle_size(where, field);
    for (i = 0; code == ISO_OK && i < field->symbol_count; i++)
        if (!iso__fits(field, field->symbols[i].value))
            code = iso__expected(where, "numbers that fit the enumeration", field->symbols[i].name);
    if (code == ISO_OK && field->unit && !iso__is_text(field->unit, strlen(field->unit), 0))
        code = iso__refuse(where, ISO_DECLARATION,
                           "expected a unit of 1 to 255 bytes of UTF-8 without control characters, found \"%.60s\"",
                           field->unit);
    field->has_slots = field->structure ? field->structure->has_slots : field->kind == ISO__STRING;
    field->is_checked = field->structure ? field->structure->is_checked : field->kind >= ISO__BOOLEAN;
    if (field->structure)
        field->is_whole = field->structure->is_whole;
    else if (field->kind == ISO__X87 || field->kind == ISO__COMPLEX_X87)
        field->is_whole = field->part == 10;
    else
        field->is_whole = field->kind != ISO__STRING;
    return code;
}

static int iso__by_offset(const void *a, const void *b) {
    const size_t left = ((const iso__field *)a)->offset, right = ((const iso__field *)b)->offset;
    return left < right ? -1 : left > right;
}

/* Replaces the rows of length fields in dimensions with their places by offset. */
static iso_code iso__find_lengths(iso__declaring *where, iso__structure *structure) {
    size_t i, d, place;
    for (i = 0; i < structure->count; i++)
        for (d = 0; d < structure->fields[i].rank; d++) {
            uint64_t *dimension = &structure->fields[i].dimensions[d];
            const iso__field *length = structure->fields;
            if (*dimension % 2 == 0)
                continue;
            for (place = 0; length->row != *dimension / 2; place++)
                length++;
            where->row = &where->structure->fields[structure->fields[i].row];
            if (length->kind > ISO__UNSIGNED || length->part > 8 || length->rank > 0 || length->indirect)
                return iso__refuse(where, ISO_DECLARATION,
                                   "expected a single integer of at most 8 bytes as length, found %.60s", length->name);
            *dimension = 2 * place + 1;
        }
    return ISO_OK;
}

/* Checks that no field overlaps another or leaves the structure. */
static iso_code iso__check_places(iso__declaring *where, iso__structure *structure) {
    size_t i, j, end = 0;
    structure->is_whole = 1;
    structure->depth = 1;
    structure->total = structure->count;
    for (i = 0; i < structure->count; i++) {
        const iso__field *field = &structure->fields[i];
        const size_t extent = field->indirect ? sizeof(void *) : field->size * field->fixed;
        const size_t size = structure->size, offset = field->offset;
        where->row = &where->structure->fields[field->row];
        for (j = 0; j < i; j++)
            if (strcmp(structure->fields[j].name, field->name) == 0)
                return iso__refuse(where, ISO_DECLARATION, "expected names that differ, found two fields of this name");
        if (offset < end || offset > size || extent > size - offset)
            return iso__refuse(where, ISO_DECLARATION, "expected free bytes from %lu to %lu, found %lu bytes at %lu",
                               (unsigned long)end, (unsigned long)size, (unsigned long)extent, (unsigned long)offset);
        structure->is_whole &= (unsigned char)(offset == end && field->is_whole && !field->indirect);
        structure->has_slots |= (unsigned char)(field->indirect | field->has_slots);
        structure->is_checked |= (unsigned char)(field->indirect | field->is_checked);
        end = offset + extent;
        if (field->structure && field->structure->depth >= structure->depth)
            structure->depth = field->structure->depth + 1;
        structure->total += field->structure ? field->structure->total : 0;
        if (structure->total > ISO__MOST_FIELDS)
            return iso__refuse(where, ISO_FIELDS, "expected at most 4096 with those of nested structures");
    }
    where->row = NULL;
    structure->is_whole &= (unsigned char)(end == structure->size);
    if (structure->depth > ISO__LEVELS)
        return iso__refuse(where, ISO_DEPTH, "expected at most 32 levels, found %lu", (unsigned long)structure->depth);
    return ISO_OK;
}

/* Declares a structure, which may nest those from `structures` on. */
static iso_code iso__declare_structure(iso__declaring *where, iso__structure *structure, iso__structure *structures) {
    const iso_structure *declared = where->structure;
    iso_code code;
    size_t i;
    for (i = 0; i < declared->count; i++) {
        iso__field *field = &structure->fields[i];
        where->row = &declared->fields[i];
        field->name = where->row->name;
        field->unit = where->row->unit;
        field->offset = where->row->offset;
        field->row = i;
        if (iso__check_name(where, field->name, strlen(field->name)))
            return ISO_DECLARATION;
        code = iso__declare_field(where, field, structures, structure);
        if (code)
            return code;
    }
    where->row = NULL;
    qsort(structure->fields, structure->count, sizeof *structure->fields, iso__by_offset);
    code = iso__find_lengths(where, structure);
    return code ? code : iso__check_places(where, structure);
}

/* Checks a structure before it is used. */
static iso_code iso__check_structure(iso__declaring *where, const iso_structure *first) {
    const iso_structure *declared = where->structure;
    size_t i;
    if (!declared->name || iso__check_name(where, declared->name, strlen(declared->name)))
        return declared->name ? ISO_DECLARATION : iso__refuse(where, ISO_DECLARATION, "expected a name, found NULL");
    for (; first < declared; first++)
        if (strcmp(first->name, declared->name) == 0)
            return iso__refuse(where, ISO_DECLARATION, "expected names that differ, found two structures of this name");
    if (declared->count == 0 || !declared->fields)
        return iso__refuse(where, ISO_DECLARATION, "expected at least one field");
    if (declared->count > ISO__MOST_FIELDS)
        return iso__refuse(where, ISO_FIELDS, "expected at most 4096, found %lu", (unsigned long)declared->count);
    if (declared->size > iso__largest)
        return iso__refuse(where, ISO_SIZE, "expected less than 2^40 bytes");
    if (declared->alignment == 0 || (declared->alignment & (declared->alignment - 1)) || declared->alignment > 65536 ||
        declared->size == 0 || declared->size % declared->alignment)
        return iso__refuse(where, ISO_DECLARATION,
                           "expected a size that is a multiple of an alignment of up to 65536, found %lu and %lu",
                           (unsigned long)declared->size, (unsigned long)declared->alignment);
    for (i = 0; i < declared->count; i++)
        if (!declared->fields[i].name || !declared->fields[i].type)
            return iso__refuse(where, ISO_DECLARATION, "expected a name and a type for each field, found NULL");
    return ISO_OK;
}

/* ---- The description. ---- */

/* Collects bytes. Bytes without room are only counted. */
typedef struct iso__bytes {
    unsigned char *bytes;
    size_t room;
    size_t count;
} iso__bytes;

static void iso__byte(iso__bytes *to, size_t byte) {
    if (to->count < to->room)
        to->bytes[to->count] = (unsigned char)byte;
    to->count++;
}

static void iso__number(iso__bytes *to, uint64_t number) {
    for (; number >= 0x80; number >>= 7)
        iso__byte(to, (size_t)(number & 0x7f) | 0x80);
    iso__byte(to, (size_t)number);
}

static void iso__put_text(iso__bytes *to, const char *text, size_t length) {
    iso__number(to, length);
    for (; length > 0; length--)
        iso__byte(to, (unsigned char)*text++);
}

static void iso__describe_field(iso__bytes *to, const iso__field *field, size_t end) {
    size_t i;
    iso__put_text(to, field->name, strlen(field->name));
    iso__number(to, field->offset - end);
    iso__byte(to, field->kind | (field->rank ? 0x20u : 0) | (field->indirect ? 0x40u : 0) | (field->unit ? 0x80u : 0));
    if (field->structure)
        iso__number(to, field->structure->place - 1);
    else if (field->kind != ISO__CHAR && field->kind != ISO__STRING)
        iso__byte(to, field->part);
    if (iso__is_enumeration(field))
        iso__number(to, field->symbol_count);
    for (i = 0; i < field->symbol_count; i++) {
        const uint64_t value = field->symbols[i].value;
        iso__put_text(to, field->symbols[i].name, field->symbols[i].length);
        if (field->kind == ISO__ENUMERATION)
            iso__number(to, value << 1 ^ (value >> 63 ? UINT64_MAX : 0));
        else
            iso__number(to, value);
    }
    if (field->rank > 0)
        iso__number(to, field->rank);
    for (i = 0; i < field->rank; i++)
        iso__number(to, field->dimensions[i]);
    if (field->unit)
        iso__put_text(to, field->unit, strlen(field->unit));
}

/* Describes a structure after those that it nests, unless it is already described. `next` is the next free place. */
static void iso__describe_structure(iso__bytes *to, iso__structure *structure, size_t *next) {
    size_t i, end = 0, log2 = 0;
    for (i = 0; i < structure->count; i++)
        if (structure->fields[i].structure && structure->fields[i].structure->place == 0)
            iso__describe_structure(to, structure->fields[i].structure, next);
    structure->place = ++*next;
    while (structure->alignment >> log2 > 1)
        log2++;
    iso__put_text(to, structure->name, strlen(structure->name));
    iso__number(to, structure->size);
    iso__byte(to, log2);
    iso__number(to, structure->count);
    for (i = 0; i < structure->count; i++) {
        const iso__field *field = &structure->fields[i];
        iso__describe_field(to, field, end);
        end = field->offset + (field->indirect ? sizeof(void *) : field->size * field->fixed);
    }
}

/* Counts the structures that the description of this one lists and that are not marked yet, and marks them. */
static size_t iso__count_structures(iso__structure *structure) {
    size_t i, count = 1;
    structure->place = 1;
    for (i = 0; i < structure->count; i++)
        if (structure->fields[i].structure && structure->fields[i].structure->place == 0)
            count += iso__count_structures(structure->fields[i].structure);
    return count;
}

static void iso__describe_format(iso__bytes *to, iso_format *format) {
    iso__structure *structure;
    size_t next = 0;
    iso__byte(to, 1);
    iso__byte(to, (iso__is_big_endian() ? 1u : 0) | (sizeof(void *) == 8 ? 2u : 0));
    iso__number(to, iso__count_structures(format->record));
    for (structure = format->structures; structure <= format->record; structure++)
        structure->place = 0;
    iso__describe_structure(to, format->record, &next);
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

/* ---- Creating formats. ---- */

/* Takes bytes from a piece of memory, aligned for any object. */
static void *iso__reserve(size_t *used, void *memory, size_t size) {
    const size_t at = *used;
    *used += (size + 15) / 16 * 16;
    return memory ? (unsigned char *)memory + at : NULL;
}

/* Divides the memory of a format among its parts. Without memory, only computes its size. */
static size_t iso__divide(const iso_structure *structures, size_t count, iso_format *format) {
    size_t used = 0, text = 16, i, j;
    iso_format *first = (iso_format *)iso__reserve(&used, format, sizeof(iso_format));
    iso__structure *list = (iso__structure *)iso__reserve(&used, format, count * sizeof(iso__structure));
    for (i = 0; i < count; i++) {
        const iso_structure *declared = &structures[i];
        iso__field *fields = (iso__field *)iso__reserve(&used, format, declared->count * sizeof(iso__field));
        text += strlen(declared->name) + 16;
        if (format) {
            list[i].name = declared->name;
            list[i].size = declared->size;
            list[i].alignment = declared->alignment;
            list[i].fields = fields;
            list[i].count = declared->count;
        }
        for (j = 0; j < declared->count; j++) {
            const iso_field *row = &declared->fields[j];
            const char *type = row->type;
            size_t symbols = 1;
            while ((type = strchr(type, ',')) != NULL) {
                type++;
                symbols++;
            }
            text += strlen(row->name) + strlen(row->type) + (row->unit ? strlen(row->unit) : 0) + 12 * symbols + 80;
            if (strchr(row->type, '{')) {
                iso__symbol *room = (iso__symbol *)iso__reserve(&used, format, symbols * sizeof(iso__symbol));
                if (format)
                    fields[j].symbols = room;
            }
        }
    }
    if (text > ISO__LONGEST)
        text = ISO__LONGEST;
    if (format) {
        first->structures = list;
        first->record = list + count - 1;
        first->description_size = text;
        first->description = (unsigned char *)iso__reserve(&used, format, text);
    } else {
        iso__reserve(&used, format, text);
    }
    return used;
}

static iso_code iso__make(iso__declaring *where, const iso_structure *structures, iso_format *format) {
    iso__bytes description = { NULL, 0, 0 };
    unsigned char derived[32];
    iso__structure *structure;
    for (structure = format->structures; structure <= format->record; structure++) {
        iso_code code;
        where->structure = &structures[structure - format->structures];
        code = iso__declare_structure(where, structure, format->structures);
        if (code)
            return code;
    }
    description.bytes = format->description;
    description.room = format->description_size;
    iso__describe_format(&description, format);
    if (description.count > ISO__LONGEST)
        return iso__refuse(where, ISO_DESCRIPTION_SIZE, "expected at most 65536 bytes, found %lu",
                           (unsigned long)description.count);
    format->description_size = description.count;
    iso__derive_key("isoform 2026 format token v1", description.bytes, description.count, derived);
    memcpy(format->token, derived, sizeof format->token);
    return ISO_OK;
}

iso_format *iso_declare(const iso_structure *structures, size_t count, iso_error *error) {
    iso_error unread;
    iso__declaring where = { NULL, NULL, NULL };
    iso_format *format;
    size_t i, size;
    where.error = error ? error : &unread;
    where.error->code = ISO_OK;
    where.error->text[0] = '\0';
    if (!structures) {
        iso__refuse(&where, ISO_WRONG_TYPE, "expected structures, found NULL");
        return NULL;
    }
    if (count == 0 || (sizeof(void *) != 4 && sizeof(void *) != 8)) {
        iso__refuse(&where, ISO_DECLARATION, "expected a structure, and pointers of 4 or 8 bytes");
        return NULL;
    }
    for (i = 0; i < count; i++) {
        where.structure = &structures[i];
        if (iso__check_structure(&where, structures))
            return NULL;
    }
    size = iso__divide(structures, count, NULL);
    format = (iso_format *)ISO_MALLOC(size);
    if (!format) {
        iso__refuse(&where, ISO_SIZE, "expected %lu bytes of memory, found none", (unsigned long)size);
        return NULL;
    }
    memset(format, 0, size);
    iso__divide(structures, count, format);
    if (iso__make(&where, structures, format)) {
        ISO_FREE(format);
        return NULL;
    }
    return format;
}

void iso_release(iso_format *format) {
    if (format)
        ISO_FREE(format);
}

const unsigned char *iso_token(const iso_format *format) {
    return format ? format->token : NULL;
}

const unsigned char *iso_description(const iso_format *format, size_t *count) {
    *count = format ? format->description_size : 0;
    return format ? format->description : NULL;
}

/* ---- Records: the length of their bodies, and whether they follow their declaration, by spec/message.md. ---- */

/* A field on the path from the record to the current element. */
typedef struct iso__step {
    const struct iso__step *outer;
    const iso__field *field;
    uint64_t lengths[ISO__RANK];
    uint64_t index;
    int is_element; /* whether it is the element of this index, and not the whole field */
} iso__step;

/* A walk over a record. The cursor is the end of the last block. */
typedef struct iso__walk {
    iso_writer *writer;
    uint64_t cursor;
    int is_checking; /* if not, the record was checked before */
} iso__walk;

static void iso__path(const iso__step *step, char *path, size_t room) {
    size_t used, d, k;
    if (step->outer)
        iso__path(step->outer, path, room);
    used = strlen(path);
    snprintf(path + used, room - used, "%s%s", step->outer ? "." : "", step->field->name);
    for (d = 0; step->is_element && d < step->field->rank; d++) {
        uint64_t stride = 1;
        for (k = d + 1; k < step->field->rank; k++)
            stride *= step->lengths[k];
        used = strlen(path);
        snprintf(path + used, room - used, "[%llu]", (unsigned long long)(step->index / stride % step->lengths[d]));
    }
}

static iso_code iso__bad(const iso__walk *walk, const iso__step *step, iso_code code, const char *what, ...) {
    char path[160] = "";
    va_list arguments;
    iso__path(step, path, sizeof path);
    va_start(arguments, what);
    iso__fail(&walk->writer->error, code, path, what, arguments);
    va_end(arguments);
    return code;
}

/* Reads an integer of up to 8 bytes; a negative one in two's complement. */
static uint64_t iso__integer(const iso__field *field, const unsigned char *bytes) {
    const int is_signed = field->kind == ISO__INTEGER || field->kind == ISO__ENUMERATION;
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t value = 0;
    switch (field->part) {
    case 1: memcpy(&one, bytes, 1); value = one; break;
    case 2: memcpy(&two, bytes, 2); value = two; break;
    case 4: memcpy(&four, bytes, 4); value = four; break;
    default: memcpy(&value, bytes, 8); break;
    }
    if (is_signed && field->part < 8 && value >> (8 * field->part - 1))
        value |= UINT64_MAX << 8 * field->part;
    return value;
}

static const unsigned char *iso__pointer(const unsigned char *slot) {
    const void *pointer;
    memcpy(&pointer, slot, sizeof pointer);
    return (const unsigned char *)pointer;
}

/* The elements of the step's field in a structure, and their number; NULL if there are none. */
static iso_code iso__locate(const iso__walk *walk, iso__step *step, const iso__structure *structure,
                            const unsigned char *memory, const unsigned char **elements, size_t *count) {
    const iso__field *field = step->field;
    uint64_t product = 1;
    int is_empty = 0, is_dynamic = 0, is_too_large = 0;
    size_t d;
    *elements = NULL;
    for (d = 0; d < field->rank; d++) {
        uint64_t length = field->dimensions[d] / 2;
        if (field->dimensions[d] % 2) {
            const iso__field *holder = &structure->fields[length];
            length = iso__integer(holder, memory + holder->offset);
            is_dynamic = 1;
            if (holder->kind == ISO__INTEGER && length >> 63)
                return iso__bad(walk, step, ISO_BAD_RECORD, "expected a length, found %lld", (long long)length);
        }
        step->lengths[d] = length;
        is_empty |= length == 0;
        is_too_large |= length != 0 && product > SIZE_MAX / 2 / field->size / length;
        product = is_too_large ? product : product * length;
    }
    *elements = field->indirect ? iso__pointer(memory + field->offset) : memory + field->offset;
    *count = (size_t)product;
    if (is_empty)
        *elements = NULL;
    else if (is_too_large)
        return iso__bad(walk, step, ISO_BAD_RECORD, "expected a length that memory can hold, found more");
    else if (!*elements && is_dynamic)
        return iso__bad(walk, step, ISO_BAD_RECORD, "expected %llu elements, found NULL", (unsigned long long)product);
    return ISO_OK;
}

static uint64_t iso__round(uint64_t cursor, size_t alignment) {
    return (cursor + alignment - 1) / alignment * alignment;
}

/* The alignment of the block of a field's elements. */
static size_t iso__alignment(const iso__field *field) {
    const size_t alignment = field->structure ? field->structure->alignment : field->part;
    return alignment >= 16 ? 16 : 8;
}

/* Moves the cursor behind a block, and returns the start of the block. */
static uint64_t iso__place(uint64_t *cursor, size_t alignment, size_t size) {
    const uint64_t begin = iso__round(*cursor, alignment);
    *cursor = begin + size;
    return begin;
}

static iso_code iso__walk_block(iso__walk *walk, const iso__step *step, size_t alignment, size_t size) {
    const uint64_t begin = iso__place(&walk->cursor, alignment, size);
    if (walk->is_checking && (begin > UINTPTR_MAX || walk->cursor > UINT64_MAX / 2))
        return iso__bad(walk, step, ISO_SIZE, "expected an offset of %lu bytes, found %llu",
                        (unsigned long)sizeof(void *), (unsigned long long)begin);
    return ISO_OK;
}

static int iso__has_symbol(const iso__field *field, uint64_t value) {
    size_t low = 0, high = field->symbol_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (field->symbols[middle].value == value)
            return 1;
        if (iso__is_less(field, field->symbols[middle].value, value))
            low = middle + 1;
        else
            high = middle;
    }
    return 0;
}

static iso_code iso__walk_structure(iso__walk *walk, const iso__structure *structure, const unsigned char *memory,
                                    const iso__step *outer);

static iso_code iso__walk_elements(iso__walk *walk, iso__step *step, const unsigned char *elements, size_t count) {
    const iso__field *field = step->field;
    iso_code code = ISO_OK;
    step->is_element = 1;
    for (step->index = 0; code == ISO_OK && step->index < count; step->index++, elements += field->size) {
        if (field->structure) {
            code = iso__walk_structure(walk, field->structure, elements, step);
        } else if (field->kind == ISO__STRING) {
            const char *text = (const char *)iso__pointer(elements);
            if (text)
                code = iso__walk_block(walk, step, 8, strlen(text) + 1);
        } else if (walk->is_checking) {
            const uint64_t value = iso__integer(field, elements);
            if (field->kind == ISO__BOOLEAN && value > 1)
                code = iso__bad(walk, step, ISO_BAD_RECORD, "expected 0 or 1, found %llu", (unsigned long long)value);
            else if (iso__is_enumeration(field) && !iso__has_symbol(field, value))
                code = iso__bad(walk, step, ISO_BAD_RECORD, "expected the value of a symbol, found %lld",
                                (long long)value);
        }
    }
    return code;
}

/* Moves the cursor behind all blocks of a field. */
static iso_code iso__walk_field(iso__walk *walk, const iso__structure *structure, const iso__field *field,
                                const unsigned char *memory, const iso__step *outer) {
    iso__step step = { outer, field, { 0 }, 0, 0 };
    const unsigned char *elements;
    size_t count;
    iso_code code = iso__locate(walk, &step, structure, memory, &elements, &count);
    if (code == ISO_OK && elements && field->indirect)
        code = iso__walk_block(walk, &step, iso__alignment(field), count * field->size);
    if (code == ISO_OK && elements && (field->has_slots || (walk->is_checking && field->is_checked)))
        code = iso__walk_elements(walk, &step, elements, count);
    return code;
}

static iso_code iso__walk_structure(iso__walk *walk, const iso__structure *structure, const unsigned char *memory,
                                    const iso__step *outer) {
    iso_code code = ISO_OK;
    size_t i;
    if (!structure->is_checked)
        return ISO_OK;
    for (i = 0; code == ISO_OK && i < structure->count; i++)
        code = iso__walk_field(walk, structure, &structure->fields[i], memory, outer);
    return code;
}

/* ---- Writing. Small pieces are gathered in the writer's buffer; large ones go to the sink directly. ----
   A slot holds the offset of its block, so the length of everything before the block must be known. The writer measures
   the memory behind a slot when it writes the slot, once for each level of pointers above it. Elements without pointers
   are measured by a multiplication. */

/* A message during writing. */
typedef struct iso__output {
    iso_writer *writer;
    uint64_t written; /* of the body */
    uint64_t cursor; /* the end of the last block whose slot is written */
} iso__output;

static void iso__pass_on(iso_writer *writer, const void *bytes, size_t count) {
    if (!writer->broken && count > 0)
        writer->broken = writer->sink(writer->context, bytes, count) != 0;
}

static void iso__flush(iso_writer *writer) {
    iso__pass_on(writer, writer->buffer, writer->filled);
    writer->filled = 0;
}

static void iso__put(iso__output *to, const void *bytes, size_t count) {
    iso_writer *writer = to->writer;
    to->written += count;
    if (count > sizeof writer->buffer - writer->filled)
        iso__flush(writer);
    if (count > sizeof writer->buffer) {
        iso__pass_on(writer, bytes, count);
    } else {
        memcpy(writer->buffer + writer->filled, bytes, count);
        writer->filled += count;
    }
}

static void iso__zeros(iso__output *to, uint64_t count) {
    static const unsigned char zeros[64] = { 0 };
    for (; count > sizeof zeros; count -= sizeof zeros)
        iso__put(to, zeros, sizeof zeros);
    iso__put(to, zeros, (size_t)count);
}

static void iso__put_slot(iso__output *to, uint64_t offset) {
    const uintptr_t slot = (uintptr_t)offset;
    iso__put(to, &slot, sizeof(void *));
}

/* An x87 number is in the first 10 bytes, or in the last 10 on a big-endian machine. The other bytes are a gap. */
static void iso__put_x87(iso__output *to, const unsigned char *part, size_t size) {
    const size_t gap = size - 10, before = iso__is_big_endian() ? gap : 0;
    iso__zeros(to, before);
    iso__put(to, part + before, 10);
    iso__zeros(to, gap - before);
}

static void iso__put_structure(iso__output *to, const iso__structure *structure, const unsigned char *memory);

/* Writes elements as they are in memory, except their pointers and gaps. */
static void iso__put_elements(iso__output *to, const iso__field *field, const unsigned char *elements, size_t count) {
    if (field->is_whole) {
        iso__put(to, elements, count * field->size);
        return;
    }
    for (; count > 0; count--, elements += field->size) {
        if (field->structure) {
            iso__put_structure(to, field->structure, elements);
        } else if (field->kind == ISO__STRING) {
            const char *text = (const char *)iso__pointer(elements);
            iso__put_slot(to, text ? iso__place(&to->cursor, 8, strlen(text) + 1) : 0);
        } else {
            iso__put_x87(to, elements, field->part);
            if (iso__is_complex(field))
                iso__put_x87(to, elements + field->part, field->part);
        }
    }
}

/* Writes a structure as it is in memory, with slots for blocks that begin at the cursor. */
static void iso__put_structure(iso__output *to, const iso__structure *structure, const unsigned char *memory) {
    size_t i, end = 0;
    for (i = 0; i < structure->count; i++) {
        const iso__field *field = &structure->fields[i];
        iso__zeros(to, field->offset - end);
        end = field->offset;
        if (field->indirect) {
            iso__walk walk = { to->writer, to->cursor, 0 };
            iso__walk_field(&walk, structure, field, memory, NULL);
            iso__put_slot(to, walk.cursor == to->cursor ? 0 : iso__round(to->cursor, iso__alignment(field)));
            to->cursor = walk.cursor;
            end += sizeof(void *);
        } else {
            iso__put_elements(to, field, memory + end, field->fixed);
            end += field->size * field->fixed;
        }
    }
    iso__zeros(to, structure->size - end);
}

static void iso__put_blocks(iso__output *to, const iso__structure *structure, const unsigned char *memory);

/* Writes the blocks for the pointers in these elements. */
static void iso__put_element_blocks(iso__output *to, const iso__field *field, const unsigned char *elements,
                                    size_t count) {
    for (; count > 0; count--, elements += field->size) {
        if (field->structure) {
            iso__put_blocks(to, field->structure, elements);
        } else {
            const char *text = (const char *)iso__pointer(elements);
            if (text) {
                iso__zeros(to, iso__round(to->written, 8) - to->written);
                iso__put(to, text, strlen(text) + 1);
            }
        }
    }
}

/* Writes the blocks for the pointers in a structure, each followed by the blocks for its own pointers. */
static void iso__put_blocks(iso__output *to, const iso__structure *structure, const unsigned char *memory) {
    const iso__walk walk = { to->writer, 0, 0 };
    size_t i;
    for (i = 0; structure->has_slots && i < structure->count; i++) {
        iso__step step = { NULL, &structure->fields[i], { 0 }, 0, 0 };
        const iso__field *field = step.field;
        const unsigned char *elements;
        size_t count;
        if (!(field->indirect || field->has_slots) ||
            iso__locate(&walk, &step, structure, memory, &elements, &count) || !elements)
            continue;
        if (field->indirect) {
            iso__zeros(to, iso__round(to->written, iso__alignment(field)) - to->written);
            to->cursor = to->written + count * field->size;
            iso__put_elements(to, field, elements, count);
        }
        if (field->has_slots)
            iso__put_element_blocks(to, field, elements, count);
    }
}

static void iso__put_header(iso__output *to, const unsigned char token[16], uint64_t length) {
    unsigned char header[32] = { 0x89, 'I', 'S', 'O', 1 };
    int i;
    memcpy(header + 8, token, 16);
    for (i = 0; i < 8; i++)
        header[24 + i] = (unsigned char)(length >> 8 * i);
    iso__put(to, header, sizeof header);
    to->written = 0;
}

static iso_code iso__refuse_to_write(iso_writer *writer, iso_code code, const char *what, ...) {
    va_list arguments;
    va_start(arguments, what);
    iso__fail(&writer->error, code, "", what, arguments);
    va_end(arguments);
    return code;
}

static int iso__to_file(void *context, const void *bytes, size_t count) {
    return fwrite(bytes, 1, count, (FILE *)context) != count;
}

/* Whether anything can be written, of this format. */
static iso_code iso__check_writer(iso_writer *writer, const iso_format *format) {
    if (!writer)
        return ISO_WRONG_TYPE;
    if (!writer->sink)
        return iso__refuse_to_write(writer, ISO_WRONG_TYPE, "expected a sink, found NULL");
    if (writer->sink == iso__to_file && !writer->context)
        return iso__refuse_to_write(writer, ISO_IO, "expected an open file, found NULL, as fopen returns if it fails");
    if (writer->broken)
        return iso__refuse_to_write(writer, ISO_IO, "a message before was written only in part");
    return format ? ISO_OK : iso__refuse_to_write(writer, ISO_WRONG_TYPE, "expected a format, found NULL");
}

/* Checks a record, and computes the length of its body. */
static iso_code iso__measure(iso_writer *writer, const iso_format *format, const void *record, uint64_t *length) {
    iso__walk walk = { writer, 0, 1 };
    iso_code code = iso__check_writer(writer, format);
    if (code)
        return code;
    if (!record)
        return iso__refuse_to_write(writer, ISO_WRONG_TYPE, "expected a record, found NULL");
    walk.cursor = format->record->size;
    code = iso__walk_structure(&walk, format->record, (const unsigned char *)record, NULL);
    *length = walk.cursor;
    return code;
}

static iso_code iso__finish(iso_writer *writer) {
    iso__flush(writer);
    return writer->broken ? iso__refuse_to_write(writer, ISO_IO, "the sink took less than it was given") : ISO_OK;
}

/* Writes a header and a body. */
static iso_code iso__put_message(iso__output *to, const iso_format *format, const void *record, uint64_t length) {
    iso__put_header(to, format->token, length);
    to->cursor = format->record->size;
    iso__put_structure(to, format->record, (const unsigned char *)record);
    iso__put_blocks(to, format->record, (const unsigned char *)record);
    if (to->written == length || to->writer->broken)
        return ISO_OK;
    to->writer->broken = 1;
    return iso__refuse_to_write(to->writer, ISO_BAD_RECORD, "expected %llu bytes, found %llu: it changed meanwhile",
                                (unsigned long long)length, (unsigned long long)to->written);
}

static void iso__put_padding(iso__output *to) {
    iso__zeros(to, iso__round(to->written, 16) - to->written);
}

/* Writes the description of a format, unless the stream has it already. */
static void iso__put_description(iso_writer *writer, const iso_format *format) {
    static const unsigned char none[16] = { 0 };
    iso__output to = { writer, 0, 0 };
    size_t i;
    for (i = 0; i < writer->described; i++)
        if (memcmp(writer->tokens[i], format->token, 16) == 0)
            return;
    if (writer->described == ISO_DESCRIBED)
        writer->described = 0;
    memcpy(writer->tokens[writer->described++], format->token, 16);
    iso__put_header(&to, none, format->description_size);
    iso__put(&to, format->description, format->description_size);
    iso__put_padding(&to);
}

void iso_open(iso_writer *writer, iso_sink sink, void *context) {
    memset(writer, 0, sizeof *writer);
    writer->sink = sink;
    writer->context = context;
}

void iso_open_file(iso_writer *writer, FILE *file) {
    iso_open(writer, iso__to_file, file);
}

iso_code iso_describe(iso_writer *writer, const iso_format *format) {
    const iso_code code = iso__check_writer(writer, format);
    if (code)
        return code;
    iso__put_description(writer, format);
    return iso__finish(writer);
}

iso_code iso_message(iso_writer *writer, const iso_format *format, const void *record) {
    iso__output to = { writer, 0, 0 };
    uint64_t length;
    iso_code code = iso__measure(writer, format, record, &length);
    if (code == ISO_OK)
        code = iso__put_message(&to, format, record, length);
    return code ? code : iso__finish(writer);
}

iso_code iso_write(iso_writer *writer, const iso_format *format, const void *record) {
    iso__output to = { writer, 0, 0 };
    uint64_t length;
    iso_code code = iso__measure(writer, format, record, &length);
    if (code)
        return code;
    iso__put_description(writer, format);
    code = iso__put_message(&to, format, record, length);
    iso__put_padding(&to);
    return code ? code : iso__finish(writer);
}

#endif /* ISOFORM_WRITER_IMPLEMENTATION */
