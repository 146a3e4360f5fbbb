/* The byte rings that keep the head and the tail of stdout and stderr in a file shared by all processes of the run.
 *
 * The kernel keeps a shared mapping when the process is killed, so nothing needs to be flushed. A writer reserves its
 * bytes with one atomic addition and then copies; writers never wait for each other. A writer that dies between the
 * two leaves stale bytes in its reservation, and no other harm.
 */
#define _GNU_SOURCE
#include "recorder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the position must be atomic without locks, also between processes");

/* A private copy of the bounds: a stray write into the shared file cannot send us outside of the mapping. */
struct kept_stream {
    unsigned char *data; /* NULL: not kept */
    uint64_t head_bytes;
    uint64_t ring_bytes;
    _Atomic uint64_t *position;
};

static struct kept_stream kept[STREAM_COUNT];

bool output_is_kept(int stream) { return kept[stream].data != NULL; }

static uint64_t smaller(uint64_t one, uint64_t other) { return one < other ? one : other; }

/* Copy the bytes numbered at … at + length of a reservation that ends at end. */
static void place(const struct kept_stream *stream, uint64_t at, uint64_t end, const unsigned char *bytes,
                  uint64_t length)
{
    if (at < stream->head_bytes) {
        uint64_t now = smaller(length, stream->head_bytes - at);
        memcpy(stream->data + at, bytes, now);
        at += now, bytes += now, length -= now;
    }
    if (end - at > stream->ring_bytes) { /* the end of this very reservation would overwrite what comes first */
        uint64_t skipped = smaller(length, end - at - stream->ring_bytes);
        at += skipped, bytes += skipped, length -= skipped;
    }
    while (length > 0) {
        uint64_t slot = (at - stream->head_bytes) % stream->ring_bytes;
        uint64_t now = smaller(length, stream->ring_bytes - slot);
        memcpy(stream->data + stream->head_bytes + slot, bytes, now);
        at += now, bytes += now, length -= now;
    }
}

void output_append(int index, const struct iovec *pieces, size_t total)
{
    const struct kept_stream *stream = &kept[index];
    if (stream->data == NULL)
        return;
    uint64_t at = atomic_fetch_add_explicit(stream->position, total, memory_order_relaxed);
    uint64_t end = at + total;
    for (; at < end; pieces++) {
        uint64_t length = smaller(pieces->iov_len, end - at);
        place(stream, at, end, pieces->iov_base, length);
        at += length;
    }
}

/* A hash of what /proc calls the file behind stdout (pipe:[123], /dev/pts/0, a path); 0 where it is not known. */
static uint64_t stdout_identity(void)
{
    char name[512];
    ssize_t length = readlink("/proc/self/fd/1", name, sizeof name);
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (ssize_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 1099511628211u;
    return length > 0 ? hash | 1 : 0;
}

/* The first process of the run says which file is the run's stdout. A child whose stdout is another file (captured
 * through a pipe, sent to a file) writes data, not something the user was shown: that is not kept. */
static bool has_stdout_of_run(struct output_header *header, uint64_t own)
{
    uint64_t of_run = 0;
    if (own == 0 || atomic_compare_exchange_strong(&header->stdout_identity, &of_run, own))
        return true;
    return own == of_run;
}

static bool fits(const struct output_stream *stream, uint64_t file_bytes)
{
    uint64_t offset = stream->offset, head = stream->head_bytes, ring = stream->ring_bytes;
    return offset >= sizeof(struct output_header) && offset <= file_bytes && head <= file_bytes - offset && ring > 0 &&
           ring <= file_bytes - offset - head;
}

static bool is_ours(const struct output_header *header, uint64_t file_bytes)
{
    if (memcmp(header->magic, OUTPUT_MAGIC, sizeof header->magic) != 0 || header->version != OUTPUT_VERSION ||
        header->stream_count != STREAM_COUNT)
        return false;
    for (int i = 0; i < STREAM_COUNT; i++)
        if (!fits(&header->streams[i], file_bytes))
            return false;
    return true;
}

static void keep_stream(struct output_header *header, int index)
{
    struct output_stream *described = &header->streams[index];
    kept[index].head_bytes = described->head_bytes;
    kept[index].ring_bytes = described->ring_bytes;
    kept[index].position = &described->position;
    kept[index].data = (unsigned char *)header + described->offset;
}

static struct output_header *map_file(const char *path, uint64_t *file_bytes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    off_t size = lseek(fd, 0, SEEK_END);
    void *mapping = MAP_FAILED;
    if (size >= (off_t)sizeof(struct output_header))
        mapping = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    *file_bytes = (uint64_t)size;
    return mapping == MAP_FAILED ? NULL : mapping;
}

void output_attach(const char *directory)
{
    char path[PATH_MAX];
    size_t length = strlen(directory);
    if (length == 0 || length + sizeof OUTPUT_FILE > sizeof path)
        return;
    memcpy(path, directory, length);
    memcpy(path + length, OUTPUT_FILE, sizeof OUTPUT_FILE);
    uint64_t identity = stdout_identity(); /* before open, which may hand out a closed stdout's number */
    uint64_t file_bytes;
    struct output_header *header = map_file(path, &file_bytes);
    if (header == NULL)
        return;
    if (!is_ours(header, file_bytes)) {
        munmap(header, (size_t)file_bytes);
        return;
    }
    if (has_stdout_of_run(header, identity))
        keep_stream(header, STREAM_STDOUT);
    keep_stream(header, STREAM_STDERR);
}
