/* A plugin for QEMU's emulators of single programs: counts the instructions that the emulated program executes, and keeps
   their number in a file of 8 bytes, which the program reads. It is brought up to date whenever the program asks for the
   number of its parent process, which it does for this purpose alone.

   The declarations are those parts of QEMU's interface for plugins, version 1, that are used here: QEMU's header is not
   installed with its emulators. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *, enum qemu_plugin_op, void *, uint64_t);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, unsigned, int64_t, uint64_t,
                                                                     uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                                     uint64_t, uint64_t));

EXPORT int qemu_plugin_version = 1;

/* The number of the system call getppid on aarch64. */
enum { GETPPID = 173 };

static uint64_t count;
static FILE *counter;

static void block(qemu_plugin_id_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &count, qemu_plugin_tb_n_insns(block));
}

static void called(qemu_plugin_id_t id, unsigned processor, int64_t number, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
  (void)id, (void)processor, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
  if (number == GETPPID) {
    rewind(counter);
    fwrite(&count, sizeof count, 1, counter);
    fflush(counter);
  }
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int argc, char **argv) {
  (void)about;
  const char *file = argc == 1 ? strchr(argv[0], '=') : NULL;
  counter = file ? fopen(file + 1, "wb") : NULL;
  if (!counter) {
    fprintf(stderr, "counter: expected counter=FILE, a file that can be written\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, block);
  qemu_plugin_register_vcpu_syscall_cb(id, called);
  return 0;
}
