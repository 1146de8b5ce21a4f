/* Fails read(2) of the file that FAIL_NAME names, FAIL_TIMES times, with the error FAIL_ERROR; with 0 it
   says that the file has ended. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t read(int descriptor, void *buffer, size_t length) {
  static ssize_t (*next)(int, void *, size_t);
  static int failed;
  char link[64], path[4096];
  const char *name = getenv("FAIL_NAME");
  if (!next) next = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t size = readlink(link, path, sizeof path - 1);
  if (name && size > 0) {
    path[size] = 0;
    if (strstr(path, name) && failed < atoi(getenv("FAIL_TIMES"))) {
      failed++;
      errno = atoi(getenv("FAIL_ERROR"));
      return errno ? -1 : 0;
    }
  }
  return next(descriptor, buffer, length);
}
