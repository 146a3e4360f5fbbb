/* What the parts of the native recorder share: the layout of the output file, and the functions between the parts.
 *
 * recorder.c    start, and the interposed functions on file descriptors: each calls the real one and keeps a copy
 * stdio.c       the interposed functions on the stderr stream
 * output.c      the byte rings in a shared file that hold the copies
 * crash.c       the handlers of fatal signals, armed only on request from inside the process
 * crash_file.c  what they write
 * exec.c        the interposed exec functions: a question of the watcher must not meet the next program
 */
#ifndef CRASHCART_RECORDER_H
#define CRASHCART_RECORDER_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define RARE(condition) __builtin_expect(!!(condition), 0)

/* The file <CRASHCART_RECORDING>/output, little endian. The watcher creates it at its full size before the program
 * starts; blackbox/output.py holds the same constants.
 *
 *    0  char[8]  magic "CCOUTPUT"
 *    8  u32      version, 1
 *   12  u32      number of streams, 2 (0 is stdout, 1 is stderr)
 *   16  stream descriptors, 32 bytes each:
 *         +0  u64  offset of the stream's data in the file
 *         +8  u64  head_bytes: filled once with the first bytes ever written
 *        +16  u64  ring_bytes: a ring behind the head
 *        +24  u64  position: total bytes ever appended (atomic)
 *   80  u64      which file the run's stdout is (a hash); 0 until the first process of the run sets it (atomic)
 *
 * Byte number p of a stream lives at offset + p if p < head_bytes, else at
 * offset + head_bytes + (p - head_bytes) % ring_bytes.
 */
#define OUTPUT_MAGIC "CCOUTPUT"
#define OUTPUT_VERSION 1
#define OUTPUT_FILE "/output"

enum { STREAM_STDOUT, STREAM_STDERR, STREAM_COUNT };

struct output_stream {
    uint64_t offset;
    uint64_t head_bytes;
    uint64_t ring_bytes;
    _Atomic uint64_t position;
};

struct output_header {
    char magic[8];
    uint32_t version;
    uint32_t stream_count;
    struct output_stream streams[STREAM_COUNT];
    _Atomic uint64_t stdout_identity;
};

_Static_assert(offsetof(struct output_header, streams) == 16, "the descriptors follow the counts");
_Static_assert(sizeof(struct output_stream) == 32, "a descriptor has 32 bytes");
_Static_assert(offsetof(struct output_header, stdout_identity) == 80, "the identity follows the descriptors");

/* Map the output file of the run, if there is one. Called once, before the program's main function. */
void output_attach(const char *directory);

/* Whether anything appended to the stream would be kept. */
bool output_is_kept(int stream);

/* Keep the first total bytes of the pieces. No locks, no allocation, no system calls, errno untouched. */
void output_append(int stream, const struct iovec *pieces, size_t total);

static inline void keep(int stream, const void *bytes, size_t length)
{
    output_append(stream, &(struct iovec){(void *)bytes, length}, length);
}

static inline bool is_standard(int fd) { return fd == STDOUT_FILENO || fd == STDERR_FILENO; }

static inline int stream_of(int fd) { return fd == STDOUT_FILENO ? STREAM_STDOUT : STREAM_STDERR; }

/* Put the function that would be called without us into the slot. */
void find_real(void *slot, const char *name);

/* The function that would be called without us. The constructors of other libraries may print before ours has run;
 * each file that uses this finds its functions then. */
#define REAL(name) (RARE(real_##name == NULL) ? (find_real_functions(), real_##name) : real_##name)

void stdio_start(void);
void exec_start(void);

/* The watcher will ask this process questions, with signals. */
void exec_note_hooked(void);

/* Write all bytes with the real write function, which records nothing. */
void write_fully(int fd, const void *bytes, size_t length);

/* Install the handlers of fatal signals, which will write to the path. False, with errno, where that cannot be. */
bool crash_arm(const char *path, size_t length);

/* The crash file: learn beforehand what cannot be learned in a crash; write it; close it, however far it came. */
bool crash_file_prepare(const char *path, size_t length);
void crash_file_write(int number, const siginfo_t *info, ucontext_t *context);
void crash_file_close(void);

static inline pid_t own_tid(void) { return (pid_t)syscall(SYS_gettid); }

#endif
