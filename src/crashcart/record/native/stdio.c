/* The C library's stderr stream, and formatted printing to a file descriptor.
 *
 * The C library writes its streams out by calls of its own that nobody can interpose, so the copy is taken where the
 * program hands its text over. Formatted text is formatted a second time, into a buffer on the stack.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With optimisation, headers make macros of these. */
#undef fwrite_unlocked
#undef fputc_unlocked
#undef putc
#undef putc_unlocked

/* How much of one formatted message is kept. */
#define FORMATTED_BYTES 4096

/* A flag that no caller of the checking functions passes: use the function without checks. */
#define UNCHECKED INT_MIN

static size_t (*real_fwrite)(const void *, size_t, size_t, FILE *);
static size_t (*real_fwrite_unlocked)(const void *, size_t, size_t, FILE *);
static int (*real_fputs)(const char *, FILE *);
static int (*real_fputs_unlocked)(const char *, FILE *);
static int (*real_fputc)(int, FILE *);
static int (*real_fputc_unlocked)(int, FILE *);
static int (*real_overflow)(FILE *, int); /* glibc only */
static int (*real_vfprintf)(FILE *, const char *, va_list);
static int (*real_vfprintf_chk)(FILE *, int, const char *, va_list); /* glibc only */
static int (*real_vdprintf)(int, const char *, va_list);
static int (*real_vdprintf_chk)(int, int, const char *, va_list); /* glibc only */
static void (*real_perror)(const char *);

__attribute__((noinline, cold)) static void find_real_functions(void)
{
    int before = errno;
    find_real(&real_fwrite, "fwrite");
    find_real(&real_fwrite_unlocked, "fwrite_unlocked");
    find_real(&real_fputs, "fputs");
    find_real(&real_fputs_unlocked, "fputs_unlocked");
    find_real(&real_fputc, "fputc");
    find_real(&real_fputc_unlocked, "fputc_unlocked");
    find_real(&real_overflow, "__overflow");
    find_real(&real_vfprintf, "vfprintf");
    find_real(&real_vfprintf_chk, "__vfprintf_chk");
    find_real(&real_vdprintf, "vdprintf");
    find_real(&real_vdprintf_chk, "__vdprintf_chk");
    find_real(&real_perror, "perror");
    errno = before;
}

void stdio_start(void) { find_real_functions(); }

/* Unformatted. */

EXPORT size_t fwrite(const void *items, size_t item_bytes, size_t count, FILE *stream)
{
    size_t written = REAL(fwrite)(items, item_bytes, count, stream);
    if (stream == stderr)
        keep(STREAM_STDERR, items, written * item_bytes);
    return written;
}

EXPORT size_t fwrite_unlocked(const void *items, size_t item_bytes, size_t count, FILE *stream)
{
    size_t written = REAL(fwrite_unlocked)(items, item_bytes, count, stream);
    if (stream == stderr)
        keep(STREAM_STDERR, items, written * item_bytes);
    return written;
}

EXPORT int fputs(const char *text, FILE *stream)
{
    int result = REAL(fputs)(text, stream);
    if (stream == stderr && result != EOF)
        keep(STREAM_STDERR, text, strlen(text));
    return result;
}

EXPORT int fputs_unlocked(const char *text, FILE *stream)
{
    int result = REAL(fputs_unlocked)(text, stream);
    if (stream == stderr && result != EOF)
        keep(STREAM_STDERR, text, strlen(text));
    return result;
}

static void keep_character(int result, FILE *stream)
{
    if (stream == stderr && result != EOF)
        keep(STREAM_STDERR, &(unsigned char){(unsigned char)result}, 1);
}

EXPORT int fputc(int character, FILE *stream)
{
    int result = REAL(fputc)(character, stream);
    keep_character(result, stream);
    return result;
}

EXPORT int fputc_unlocked(int character, FILE *stream)
{
    int result = REAL(fputc_unlocked)(character, stream);
    keep_character(result, stream);
    return result;
}

EXPORT int putc(int character, FILE *stream) { return fputc(character, stream); }
EXPORT int _IO_putc(int character, FILE *stream) { return fputc(character, stream); }
EXPORT int putc_unlocked(int character, FILE *stream) { return fputc_unlocked(character, stream); }

/* What glibc's headers make of putc_unlocked when there is no room in the buffer; stderr has none at all. */
EXPORT int __overflow(FILE *stream, int character)
{
    int result = REAL(overflow)(stream, character);
    if (character != EOF)
        keep_character(result, stream);
    return result;
}

/* Formatted. */

/* Format once more for the record. A separate frame, so that its buffer does not add to the real function's. */
__attribute__((noinline)) static void keep_formatted(int stream, int printed, int errno_before, const char *format,
                                                     va_list arguments)
{
    char text[FORMATTED_BYTES];
    int after = errno;
    errno = errno_before; /* for %m */
    int length = vsnprintf(text, sizeof text, format, arguments);
    errno = after;
    if (length < 0)
        return;
    if ((size_t)length >= sizeof text) {
        length = sizeof text;
        text[sizeof text - 1] = '\n'; /* what comes next begins on a line of its own */
    }
    keep(stream, text, (size_t)(length < printed ? length : printed));
}

static int print_stream(FILE *stream, int flag, const char *format, va_list arguments)
{
    int before = errno;
    va_list again;
    va_copy(again, arguments);
    bool checked = flag != UNCHECKED && REAL(vfprintf_chk) != NULL;
    int printed = checked ? REAL(vfprintf_chk)(stream, flag, format, arguments)
                          : REAL(vfprintf)(stream, format, arguments);
    if (stream == stderr && printed > 0 && output_is_kept(STREAM_STDERR))
        keep_formatted(STREAM_STDERR, printed, before, format, again);
    va_end(again);
    return printed;
}

static int print_fd(int fd, int flag, const char *format, va_list arguments)
{
    int before = errno;
    va_list again;
    va_copy(again, arguments);
    bool checked = flag != UNCHECKED && REAL(vdprintf_chk) != NULL;
    int printed = checked ? REAL(vdprintf_chk)(fd, flag, format, arguments) : REAL(vdprintf)(fd, format, arguments);
    if (is_standard(fd) && printed > 0 && output_is_kept(stream_of(fd)))
        keep_formatted(stream_of(fd), printed, before, format, again);
    va_end(again);
    return printed;
}

#define FORWARD(call)                \
    va_list arguments;               \
    va_start(arguments, format);     \
    int printed = call;              \
    va_end(arguments);               \
    return printed

EXPORT int vfprintf(FILE *stream, const char *format, va_list arguments)
{
    return print_stream(stream, UNCHECKED, format, arguments);
}

EXPORT int __vfprintf_chk(FILE *stream, int flag, const char *format, va_list arguments)
{
    return print_stream(stream, flag, format, arguments);
}

EXPORT int fprintf(FILE *stream, const char *format, ...)
{
    FORWARD(print_stream(stream, UNCHECKED, format, arguments));
}

EXPORT int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    FORWARD(print_stream(stream, flag, format, arguments));
}

EXPORT int vdprintf(int fd, const char *format, va_list arguments)
{
    return print_fd(fd, UNCHECKED, format, arguments);
}

EXPORT int __vdprintf_chk(int fd, int flag, const char *format, va_list arguments)
{
    return print_fd(fd, flag, format, arguments);
}

EXPORT int dprintf(int fd, const char *format, ...)
{
    FORWARD(print_fd(fd, UNCHECKED, format, arguments));
}

EXPORT int __dprintf_chk(int fd, int flag, const char *format, ...)
{
    FORWARD(print_fd(fd, flag, format, arguments));
}

EXPORT void perror(const char *prefix)
{
    int number = errno;
    REAL(perror)(prefix);
    if (!output_is_kept(STREAM_STDERR))
        return;
    int after = errno;
    bool prefixed = prefix != NULL && *prefix != '\0';
    const char *parts[] = {prefixed ? prefix : "", prefixed ? ": " : "", strerror(number), "\n"};
    struct iovec pieces[4];
    size_t total = 0;
    for (int i = 0; i < 4; i++) {
        pieces[i] = (struct iovec){(void *)parts[i], strlen(parts[i])};
        total += pieces[i].iov_len;
    }
    output_append(STREAM_STDERR, pieces, total);
    errno = after;
}
