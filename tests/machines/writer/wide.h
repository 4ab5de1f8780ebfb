/* Numbers that not every C compiler has: the compiler's own where it has them, else bytes of the same size and
   alignment that hold what the machine's memory would, in its byte order. */
#ifndef WIDE_H
#define WIDE_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What numbers of 16 bytes are aligned to by the compilers that have them, Rust's included (spec/layouts.md). */
#if defined(__i386__)
#define ALIGNMENT_OF_INTEGERS 16
#define ALIGNMENT_OF_FLOATS 16
#elif defined(__powerpc__) && !defined(__powerpc64__)
#define ALIGNMENT_OF_INTEGERS 8
#define ALIGNMENT_OF_FLOATS 16
#elif UINTPTR_MAX == 0xffffffff || defined(__s390x__)
#define ALIGNMENT_OF_INTEGERS 8
#define ALIGNMENT_OF_FLOATS 8
#else
#define ALIGNMENT_OF_INTEGERS 16
#define ALIGNMENT_OF_FLOATS 16
#endif
#define ALIGNED(bytes) __attribute__((aligned(bytes)))

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;
typedef u128 packed_u128;
#else
typedef struct { unsigned char bytes[16]; } ALIGNED(ALIGNMENT_OF_INTEGERS) i128;
typedef struct { unsigned char bytes[16]; } ALIGNED(ALIGNMENT_OF_INTEGERS) u128;
typedef struct { unsigned char bytes[16]; } packed_u128; /* an aligned struct would be none in a packed one */
#endif

#ifdef __FLT16_MAX__
__extension__ typedef _Float16 f16;
#else
typedef uint16_t f16;
#endif
typedef uint16_t bf16; /* C has no name for it on most machines */

#if LDBL_MANT_DIG == 113
typedef long double f128;
typedef long double _Complex complex_f128;
#elif defined(__x86_64__) || defined(__i386__)
__extension__ typedef __float128 f128;
typedef struct { f128 parts[2]; } complex_f128;
#else
typedef struct { unsigned char bytes[16]; } ALIGNED(ALIGNMENT_OF_FLOATS) f128;
typedef struct { f128 parts[2]; } complex_f128;
#endif

#if LDBL_MANT_DIG == 64 && defined(__x86_64__)
typedef long double x87_16;
#else
typedef struct { unsigned char bytes[16]; } ALIGNED(ALIGNMENT_OF_FLOATS) x87_16;
#endif
#if LDBL_MANT_DIG == 64 && defined(__i386__)
typedef long double x87_12;
#else
typedef struct { unsigned char bytes[12]; } ALIGNED(4) x87_12;
#endif
typedef struct { unsigned char bytes[10]; } ALIGNED(2) x87_10;

#if LDBL_MANT_DIG == 106
typedef long double double2;
#else
typedef struct { double parts[2]; } ALIGNED(ALIGNMENT_OF_FLOATS) double2;
#endif

/* Writes an integer of `size` bytes in this machine's order. */
static inline void set_bytes(void *to, uint64_t value, size_t size) {
    const uint16_t one = 1;
    const int is_little = *(const unsigned char *)&one;
    size_t i;
    for (i = 0; i < size; i++)
        ((unsigned char *)to)[is_little ? i : size - 1 - i] = (unsigned char)(value >> 8 * i);
}

/* The same of 16 bytes, of two halves. */
static inline void set_16_bytes(void *to, uint64_t high, uint64_t low) {
    const uint16_t one = 1;
    const size_t is_little = *(const unsigned char *)&one;
    set_bytes((char *)to + 8 * is_little, high, 8);
    set_bytes((char *)to + 8 * (1 - is_little), low, 8);
}

/* Sign and exponent, and the 64 digits, of an x87 number: in the first 10 bytes, on big-endian machines in the last. */
static inline void set_x87(void *to, size_t size, uint64_t head, uint64_t digits) {
    const uint16_t one = 1;
    const int is_little = *(const unsigned char *)&one;
    char *at = (char *)to + (is_little ? 0 : size - 10);
    set_bytes(at + (is_little ? 8 : 0), head, 2);
    set_bytes(at + (is_little ? 0 : 2), digits, 8);
}

#endif
