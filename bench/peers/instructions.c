/*
 * A plugin of QEMU's user mode (interface 1, QEMU 4.2 and later) that counts the instructions of each thread.
 * Its argument `counts=FILE` names a file of 1,024 64-bit integers, one a thread in the order of their start,
 * which others read while the program runs. QEMU's header is not needed: these are its declarations.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define THREADS 1024

struct qemu_plugin_tb;
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
extern void qemu_plugin_register_vcpu_tb_trans_cb(
    uint64_t id, void (*translated)(uint64_t id, struct qemu_plugin_tb *block));
extern void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb *block, void (*runs)(unsigned thread, void *data), int flags, void *data);

EXPORT int qemu_plugin_version = 1;

static uint64_t *counts;

static void runs(unsigned thread, void *instructions) {
  if (thread < THREADS) counts[thread] += (uintptr_t)instructions;
}

static void translated(uint64_t id, struct qemu_plugin_tb *block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_cb(block, runs, 0, (void *)qemu_plugin_tb_n_insns(block));
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
  (void)info;
  if (count != 1 || strncmp(arguments[0], "counts=", 7) != 0) return 1;
  int file = open(arguments[0] + 7, O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (file < 0 || ftruncate(file, THREADS * sizeof *counts) != 0) return 1;
  counts = mmap(NULL, THREADS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (counts == MAP_FAILED) return 1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  return 0;
}
