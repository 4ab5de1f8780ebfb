/* What this machine's compiler makes of numbers: each kind of number that it has becomes each other.
 *
 *     numbers kinds          prints the kinds, one in a line, with their sizes
 *     numbers COUNT          reads COUNT numbers of each of these kinds, in this order, as they lie in memory
 *
 * The second writes, for each pair of kinds, a line "from to", and for each number of the first kind the fault that it
 * meets, one letter (- Overflow Underflow Inexact), the number that C makes of it, and the one nearest to it that the
 * second kind has. Where C leaves undefined what is made - a float beyond an integer's range - that is zeros.
 */
#include <float.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __ARM_FEATURE_BF16_SCALAR_ARITHMETIC
#include <arm_neon.h>
#endif
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#endif

typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define LARGEST_f32 FLT_MAX
#define LARGEST_f64 DBL_MAX

#ifdef __SIZEOF_INT128__
typedef __int128 i128;
typedef unsigned __int128 u128;
typedef u128 widest;
#define IF_128(...) __VA_ARGS__
#else
typedef uint64_t widest;
#define IF_128(...)
#endif

#ifdef __FLT16_MANT_DIG__
#ifdef __arm__
typedef __fp16 f16;
#else
typedef _Float16 f16;
#endif
#define LARGEST_f16 ((f16)65504)
#define IF_F16(...) __VA_ARGS__
#else
#define IF_F16(...)
#endif

#if __LDBL_MANT_DIG__ == 64
typedef long double x87;
#define LARGEST_x87 LDBL_MAX
#define IF_X87(...) __VA_ARGS__
#else
#define IF_X87(...)
#endif

#if __LDBL_MANT_DIG__ == 106
typedef long double dd;
#define LARGEST_dd LDBL_MAX
#define IF_DD(...) __VA_ARGS__
#else
#define IF_DD(...)
#endif

#if __LDBL_MANT_DIG__ == 113
typedef long double f128;
#define LARGEST_f128 LDBL_MAX
#define IF_F128(...) __VA_ARGS__
#elif defined(__SIZEOF_FLOAT128__)
typedef __float128 f128;
#define LARGEST_f128 __FLT128_MAX__
#define IF_F128(...) __VA_ARGS__
#else
#define IF_F128(...)
#endif

#define INTEGERS(X) X(i8) X(i16) X(i32) X(i64) X(u8) X(u16) X(u32) X(u64) IF_128(X(i128) X(u128))
#define FLOATS(X) X(f32) X(f64) IF_F16(X(f16)) IF_X87(X(x87)) IF_DD(X(dd)) IF_F128(X(f128))
/* The same for use within the former. */
#define INTO_INTEGERS(X, F) \
  X(F, i8) X(F, i16) X(F, i32) X(F, i64) X(F, u8) X(F, u16) X(F, u32) X(F, u64) IF_128(X(F, i128) X(F, u128))
#define INTO_FLOATS(X, F) \
  X(F, f32) X(F, f64) IF_F16(X(F, f16)) IF_X87(X(F, x87)) IF_DD(X(F, dd)) IF_F128(X(F, f128))

static size_t count;

static void put(const void *bytes, size_t size) {
  if (fwrite(bytes, 1, size, stdout) != size) exit(1);
}

static void line(const char *from, const char *to) { printf("%s %s\n", from, to); }

/* The range of integers. */
#define BITS(T) (8 * (int)sizeof(T))
#define SIGNED(T) ((T)-1 < (T)1)
#define LOW(T) (SIGNED(T) ? (T)((widest)1 << (BITS(T) - 1)) : (T)0)
#define HIGH(T) ((T) ~LOW(T))
#define NEAREST(T, negative) ((negative) ? LOW(T) : HIGH(T))

static double power(int exponent) {
  double value = 1;
  while (exponent-- > 0) value *= 2;
  return value;
}

/* Whether the integer part of a float fits into T. Powers of two are exact in every kind of float, or infinite; one less
 * than a large one may be the same. */
#define WITHIN_low(F, T) ((F)(SIGNED(T) ? -power(BITS(T) - 1) : 0))
#define WITHIN(F, T, x)                                                                        \
  ((x) - (x) == 0 && (x) < (F)power(BITS(T) - SIGNED(T)) &&                                    \
   ((F)(WITHIN_low(F, T) - 1) == WITHIN_low(F, T) ? (x) >= WITHIN_low(F, T) : (x) > (F)(WITHIN_low(F, T) - 1)))

#define CONVERT(F, T, INTO)                        \
  line(#F, #T);                                    \
  for (size_t i = 0; i < count; i++) {             \
    F x;                                           \
    volatile T made, nearest;                      \
    T result;                                      \
    char fault = '-';                              \
    memset((void *)&made, 0, sizeof made);         \
    memset((void *)&nearest, 0, sizeof nearest);   \
    memcpy(&x, bytes + i * sizeof x, sizeof x);    \
    INTO(F, T)                                     \
    put(&fault, 1);                                \
    result = made;                                 \
    put(&result, sizeof result);                   \
    result = nearest;                              \
    put(&result, sizeof result);                   \
  }

#define INTEGER_TO_INTEGER(F, T)                                       \
  made = nearest = (T)x;                                               \
  if ((F)made != x || (x < 0) != (made < 0)) {                         \
    fault = 'O';                                                       \
    nearest = NEAREST(T, x < 0);                                       \
  }

#define INTEGER_TO_FLOAT(F, T)                                         \
  made = nearest = (T)x;                                               \
  if (made - made != 0) {                                              \
    fault = 'O';                                                       \
    nearest = x < 0 ? -LARGEST_##T : LARGEST_##T;                      \
  } else if (!WITHIN(T, F, made) || (F)made != x) {                    \
    fault = 'I';                                                       \
  }

#define FLOAT_TO_INTEGER(F, T)                                         \
  if (WITHIN(F, T, x)) {                                               \
    made = nearest = (T)x;                                             \
    if ((F)made != x) fault = 'I';                                     \
  } else {                                                             \
    fault = 'O';                                                       \
    nearest = x == x ? NEAREST(T, x < 0) : 0;                          \
  }

#define FLOAT_TO_FLOAT(F, T)                                           \
  made = nearest = (T)x;                                               \
  if (x - x == 0 && made - made != 0) {                                \
    fault = 'O';                                                       \
    nearest = x < 0 ? -LARGEST_##T : LARGEST_##T;                      \
  } else if (x == x && x != 0 && made == 0) {                          \
    fault = 'U';                                                       \
  }

#define FROM_INTEGER_TO_INTEGER(F, T) CONVERT(F, T, INTEGER_TO_INTEGER)
#define FROM_INTEGER_TO_FLOAT(F, T) CONVERT(F, T, INTEGER_TO_FLOAT)
#define FROM_FLOAT_TO_INTEGER(F, T) CONVERT(F, T, FLOAT_TO_INTEGER)
#define FROM_FLOAT_TO_FLOAT(F, T) CONVERT(F, T, FLOAT_TO_FLOAT)

#define INTEGER(F)                             \
  static void from_##F(const char *bytes) {    \
    INTO_INTEGERS(FROM_INTEGER_TO_INTEGER, F)  \
    INTO_FLOATS(FROM_INTEGER_TO_FLOAT, F)      \
  }
#define FLOAT(F)                               \
  static void from_##F(const char *bytes) {    \
    INTO_INTEGERS(FROM_FLOAT_TO_INTEGER, F)    \
    INTO_FLOATS(FROM_FLOAT_TO_FLOAT, F)        \
  }
INTEGERS(INTEGER)
FLOATS(FLOAT)

#ifdef __ARM_FEATURE_BF16_SCALAR_ARITHMETIC
/* Not a type of C: there are two instructions. */
typedef bfloat16_t bf16;

static void from_bf16(const char *bytes) {
  line("bf16", "f32");
  for (size_t i = 0; i < count; i++) {
    bf16 x;
    memcpy(&x, bytes + i * sizeof x, sizeof x);
    f32 made = vcvtah_f32_bf16(x);
    put("-", 1);
    put(&made, sizeof made);
    put(&made, sizeof made);
  }
}

static void into_bf16(const char *bytes) {
  line("f32", "bf16");
  for (size_t i = 0; i < count; i++) {
    f32 x;
    memcpy(&x, bytes + i * sizeof x, sizeof x);
    bf16 made = vcvth_bf16_f32(x), nearest = made;
    f32 back = vcvtah_f32_bf16(made);
    char fault = '-';
    if (x - x == 0 && back - back != 0) {
      fault = 'O';
      uint16_t largest = x < 0 ? 0xff7f : 0x7f7f;
      memcpy(&nearest, &largest, sizeof nearest);
    } else if (x == x && x != 0 && back == 0) {
      fault = 'U';
    }
    put(&fault, 1);
    put(&made, sizeof made);
    put(&nearest, sizeof nearest);
  }
}
#endif

static char *read_all(size_t size) {
  char *bytes = malloc(count * size);
  if (!bytes || fread(bytes, size, count, stdin) != count) {
    fprintf(stderr, "numbers: expected %lu numbers of %lu bytes\n", (unsigned long)count, (unsigned long)size);
    exit(1);
  }
  return bytes;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
#ifdef _WIN32
  _setmode(0, _O_BINARY);
  _setmode(1, _O_BINARY);
#endif
#define KIND(T) printf("%s %d\n", #T, (int)sizeof(T));
  if (!strcmp(argv[1], "kinds")) {
    INTEGERS(KIND)
    FLOATS(KIND)
#ifdef __ARM_FEATURE_BF16_SCALAR_ARITHMETIC
    KIND(bf16)
#endif
    return 0;
  }
  count = strtoul(argv[1], NULL, 10);
#define READ(T) char *T##s = read_all(sizeof(T));
  INTEGERS(READ)
  FLOATS(READ)
#define RUN(T) from_##T(T##s);
  INTEGERS(RUN)
  FLOATS(RUN)
#ifdef __ARM_FEATURE_BF16_SCALAR_ARITHMETIC
  READ(bf16)
  RUN(bf16)
  into_bf16(f32s);
#endif
  return fflush(stdout) != 0;
}
