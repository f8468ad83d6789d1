/** A program without its syncs: what a build that forgot them would be. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A library that makes every sync of a process do nothing, as a build that forgot it would. */
const withoutSync = `
  #define _GNU_SOURCE
  #include <dlfcn.h>
  #include <fcntl.h>
  #include <stdarg.h>
  int fdatasync(int fd) { return 0; }
  int fsync(int fd) { return 0; }
  static int plain(const char *name, const char *path, int flags, int mode) {
    int (*next)(const char *, int, int) = dlsym(RTLD_NEXT, name);
    return next(path, flags & ~(O_SYNC | O_DSYNC), mode);
  }
  #define OPEN(name) int name(const char *path, int flags, ...) { \\
    va_list list; va_start(list, flags); int mode = va_arg(list, int); va_end(list); \\
    return plain(#name, path, flags, mode); }
  OPEN(open)
  OPEN(open64)
`;

/** Compiles that library in a folder; loaded before a program's own (LD_PRELOAD), it takes its syncs away. */
export function buildWithoutSync(folder: string): string {
  writeFileSync(join(folder, 'nosync.c'), withoutSync);
  const library = join(folder, 'nosync.so');
  execFileSync('cc', ['-shared', '-fPIC', '-o', library, join(folder, 'nosync.c'), '-ldl']);
  return library;
}
