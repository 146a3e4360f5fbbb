/* Whether bytes begin as a picture does. Stricter than for files, which have a name as well: a feature may hold any bytes, and nobody may be
   told that a key or a sentence is a broken picture. `file_signature.py` is the same in Python; a test compares the two. */
#include "files.h"

#include <string.h>

enum { BMP_HEADER_BYTES = 30, GIF_HEADER_BYTES = 13, MOST_BMP_OFFSET = 1 << 12 };

static int begins(const uint8_t *data, size_t count, const char *mark, size_t mark_bytes) {
    return count >= mark_bytes && !memcmp(data, mark, mark_bytes);
}

/* The start of image, then a marker that may come next: a frame or table, a note of a program, a comment. */
static int is_jpeg(const uint8_t *data, size_t count) {
    if (!begins(data, count, "\xff\xd8\xff", 3) || count < 4)
        return 0;
    uint8_t marker = data[3];
    return (marker >= 0xc0 && marker <= 0xcf) || marker == 0xdb || marker == 0xdd || marker == 0xfe || (marker >= 0xe0 && marker <= 0xef);
}

/* A sentence may begin with the mark of a GIF; its header goes on with numbers. */
static int is_gif(const uint8_t *data, size_t count) {
    if (count < GIF_HEADER_BYTES || !(begins(data, count, "GIF87a", 6) || begins(data, count, "GIF89a", 6)))
        return 0;
    for (int at = 6; at < GIF_HEADER_BYTES; at++)
        if (data[at] < 9)
            return 1;
    return 0;
}

static uint32_t little(const uint8_t *data) { return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24; }

/* Two letters say nothing: what is reserved must be zero, and one plane of pixels must follow a header of a known size. */
static int is_bmp(const uint8_t *data, size_t count) {
    static const uint8_t sizes[] = {40, 52, 56, 64, 108, 124};
    if (count < BMP_HEADER_BYTES || !begins(data, count, "BM", 2) || little(data + 6) || little(data + 10) > MOST_BMP_OFFSET ||
        data[26] != 1 || data[27])
        return 0;
    for (size_t each = 0; each < sizeof sizes; each++)
        if (little(data + 14) == sizes[each])
            return 1;
    return 0;
}

int is_picture(const uint8_t *data, size_t count) {
    if (count < 4)
        return 0;
    switch (data[0]) {
    case 0xff:
        return is_jpeg(data, count);
    case 0x89:
        return begins(data, count, "\x89PNG\r\n\x1a\n", 8);
    case 'G':
        return is_gif(data, count);
    case 'B':
        return is_bmp(data, count);
    case 'R':
        return begins(data, count, "RIFF", 4) && count >= 12 && !memcmp(data + 8, "WEBP", 4);
    default:
        return 0;
    }
}
