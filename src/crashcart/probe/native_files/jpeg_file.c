/* A JPEG file by its name, in one call: asked for, opened, read, summed up and walked over. For small files, the way through Python costs
   more than all of that. What is not perfect is left to the way through Python (PICTURE_ASK). */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger files are read in another way. */
enum { MOST_FILE_BYTES = 1 << 20 };

static int read_whole(int handle, uint8_t *to, size_t count) {
    while (count) {
        ssize_t got = read(handle, to, count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        to += got;
        count -= (size_t)got;
    }
    return 1;
}

/* A pipe or a device is never opened. */
static int load(const char *path, uint8_t *to, struct file *file) {
    struct stat found;
    if (stat(path, &found) || !S_ISREG(found.st_mode) || found.st_size < 4 || found.st_size > MOST_FILE_BYTES)
        return 0;
    int handle = open(path, O_RDONLY | O_CLOEXEC);
    if (handle < 0)
        return 0;
    file->bytes = (uint64_t)found.st_size;
    file->modified_ns = (int64_t)found.st_mtim.tv_sec * 1000000000 + found.st_mtim.tv_nsec;
    int whole = read_whole(handle, to, (size_t)found.st_size);
    close(handle);
    return whole;
}

PUBLIC int crashcart_jpeg_file(const char *path, int outline, int sum, struct file *file) {
    static __thread uint8_t *room;
    if (!room)
        room = malloc(MOST_FILE_BYTES);
    if (!room || !load(path, room, file))
        return PICTURE_ASK;
    int state = crashcart_jpeg(room, file->bytes, outline, &file->picture);
    if (state != PICTURE_SOUND || file->picture.end != file->bytes)
        return PICTURE_ASK;
    file->crc = sum ? crashcart_crc32c(0, room, file->bytes) : 0;
    return PICTURE_SOUND;
}
