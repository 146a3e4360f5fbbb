/* Walks over a buffer of TFRecord records: both checksums of each, and what its tf.train.Example holds. */
#include "files.h"

#include <string.h>

enum { HEAD_BYTES = 12, FRAME_BYTES = 16 };

static uint32_t masked(const uint8_t *data, size_t count) {
    uint32_t crc = crashcart_crc32c(0, data, count);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static uint32_t read32(const uint8_t *data) {
    return data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

static uint64_t read64(const uint8_t *data) { return read32(data) | (uint64_t)read32(data + 4) << 32; }

static void one(const uint8_t *data, size_t count, struct walk *walk) {
    if (!count)
        walk->empty++;
    if (!walk->parse)
        return;
    int kind = read_example(data, count, walk);
    walk->examples += kind == 1;
    walk->sequences += kind == 2;
    if (!kind && !walk->others++)
        walk->first_other = walk->records;
}

/* For Python to compare with its own: a library of another build would write where nothing is. */
PUBLIC uint64_t crashcart_walk_bytes(void) { return sizeof(struct walk); }

/* Walks from `offset` on. Stops at a record that is not whole in the buffer, or whose length cannot be trusted. */
PUBLIC int crashcart_records(const uint8_t *data, size_t count, struct walk *walk) {
    while (walk->offset < count) {
        const uint8_t *record = data + walk->offset;
        size_t left = count - walk->offset;
        walk->wanted_bytes = HEAD_BYTES;
        if (left < HEAD_BYTES)
            return WALK_MORE;
        if (masked(record, 8) != read32(record + 8))
            return WALK_BAD_LENGTH;
        uint64_t length = read64(record);
        if (length > UINT64_MAX - FRAME_BYTES)
            return WALK_BAD_LENGTH;
        walk->wanted_bytes = length + FRAME_BYTES;
        if (left < walk->wanted_bytes)
            return WALK_MORE;
        if (masked(record + HEAD_BYTES, length) != read32(record + HEAD_BYTES + length)) {
            if (!walk->bad_data++)
                walk->first_bad_data = walk->records;
        } else
            one(record + HEAD_BYTES, length, walk);
        walk->least_bytes = length < walk->least_bytes ? length : walk->least_bytes;
        walk->most_bytes = length > walk->most_bytes ? length : walk->most_bytes;
        walk->data_bytes += length;
        walk->records++;
        walk->offset += walk->wanted_bytes;
    }
    walk->wanted_bytes = HEAD_BYTES;
    return WALK_DONE;
}
