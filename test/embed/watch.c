/* watch.c: preloaded, writes down what a library must not do to its host's process: end it, handle
 * its signals, print, read its environment. Only while the host says so; then every call goes on as
 * it would. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int watching;
static FILE *report;

void watch(int on) {
  if (!report)
    report = fopen(getenv("WATCH_REPORT"), "w");
  atomic_store(&watching, on);
  fflush(report);
}

static void note(const char *function, const char *argument) {
  static __thread int inside; /* the report is printed too */
  if (!atomic_load(&watching) || inside++)
    return;
  ((int (*)(FILE *, const char *, ...))dlsym(RTLD_NEXT, "fprintf"))(report, "%s %s\n", function,
                                                                    argument);
  fflush(report);
  inside = 0;
}

#define PASS_ON(RESULT, NAME, PARAMETERS, ARGUMENTS, ARGUMENT)                                     \
  RESULT NAME PARAMETERS {                                                                         \
    note(#NAME, ARGUMENT);                                                                         \
    return ((RESULT(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME))ARGUMENTS;                               \
  }
#define STREAM_OF(FILE) ((FILE) == stdout ? "stdout" : (FILE) == stderr ? "stderr" : "a file")

PASS_ON(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old),
        (number, action, old), "")
PASS_ON(sighandler_t, signal, (int number, sighandler_t handler), (number, handler), "")
PASS_ON(ssize_t, write, (int file, const void *data, size_t bytes), (file, data, bytes),
        file == 1 || file == 2 ? "standard" : "a file")
PASS_ON(size_t, fwrite, (const void *data, size_t size, size_t count, FILE *file),
        (data, size, count, file), STREAM_OF(file))
PASS_ON(int, fputs, (const char *text, FILE *file), (text, file), STREAM_OF(file))
PASS_ON(int, fputc, (int c, FILE *file), (c, file), STREAM_OF(file))
PASS_ON(int, puts, (const char *text), (text), "stdout")
PASS_ON(int, putchar, (int c), (c), "stdout")
PASS_ON(int, vprintf, (const char *format, va_list list), (format, list), "stdout")
PASS_ON(int, vfprintf, (FILE * file, const char *format, va_list list), (file, format, list),
        STREAM_OF(file))
PASS_ON(char *, getenv, (const char *name), (name), name)
PASS_ON(char *, secure_getenv, (const char *name), (name), name)

int printf(const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = vprintf(format, list);
  va_end(list);
  return count;
}
int fprintf(FILE *file, const char *format, ...) {
  va_list list;
  va_start(list, format);
  int count = vfprintf(file, format, list);
  va_end(list);
  return count;
}

#define ENDS(NAME, PARAMETERS, ARGUMENTS)                                                          \
  void NAME PARAMETERS {                                                                           \
    note(#NAME, "");                                                                               \
    ((void(*) PARAMETERS)dlsym(RTLD_NEXT, #NAME)) ARGUMENTS;                                       \
    __builtin_unreachable();                                                                       \
  }
ENDS(exit, (int code), (code))
ENDS(_exit, (int code), (code))
ENDS(quick_exit, (int code), (code))
ENDS(abort, (void), ())
