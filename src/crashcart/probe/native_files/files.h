/* What the parts of the library share, and what Python calls. Python mirrors `struct walk`, `struct picture` and `struct file` in file_native.py. */
#ifndef CRASHCART_FILES_H
#define CRASHCART_FILES_H

#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

enum { MOST_FEATURES = 256, MOST_NAME_BYTES = 240 };

enum kind_seen { SEEN_EMPTY = 1, SEEN_BYTES = 2, SEEN_FLOAT = 4, SEEN_INT = 8, SEEN_LIST = 16 };

/* One feature of the tf.train.Examples of a file, over all records so far. */
struct feature {
    uint8_t name[MOST_NAME_BYTES];
    uint32_t name_bytes;
    uint32_t kinds;           /* a set of kind_seen */
    uint64_t records;         /* that have it */
    uint64_t last_record;     /* + 1, so that a name that comes twice in a record counts once */
    uint64_t least, most;     /* values per record */
    int64_t low, high;        /* of integers */
    uint64_t not_finite;      /* NaN and infinite floats */
    uint64_t first_not_finite;
    uint64_t outside;         /* integers below 0 or from `classes` on, where classes were given */
    uint64_t first_outside;
    uint64_t first_other_kind; /* record of the first value whose kind is not the one before */
    uint64_t filled;          /* values of bytes that are not empty */
    uint64_t pictures;        /* those that begin as a picture does */
    uint64_t first_plain;     /* record + 1 of the first that does not */
};

/* Called for each picture inside of a record that is not perfect at the walk over it, or that there is no walk for. */
typedef void (*picture_found)(uint64_t record, const uint8_t *data, uint64_t bytes, const uint8_t *name, uint64_t name_bytes);

enum walk_state { WALK_DONE = 0, WALK_MORE = 1, WALK_BAD_LENGTH = 2 };

/* What is known of a file of records so far. */
struct walk {
    uint64_t offset;          /* of the next record, in the buffer */
    uint64_t wanted_bytes;    /* of the record that did not fit: its whole length with frame */
    uint64_t records;
    uint64_t data_bytes;
    uint64_t least_bytes, most_bytes;
    uint64_t empty;
    uint64_t bad_data, first_bad_data;
    uint64_t examples, sequences, others, first_other;
    int64_t classes;          /* -1: not asked */
    uint32_t parse;           /* 0: checksums alone */
    uint32_t too_many;        /* features beyond the table, or names too long for it */
    uint32_t features_count;
    uint32_t last_feature;    /* where the last name was found: records repeat their order */
    uint32_t dry;             /* a record is only tried */
    uint32_t unused;
    picture_found found;
    struct feature features[MOST_FEATURES];
};

/* What the marker segments of a JPEG file say, and where the walk over its entropy-coded data ended. */
struct picture {
    uint32_t width, height, components, precision;
    uint32_t process;         /* the number of its SOF marker: 0 baseline, 2 progressive… */
    uint32_t scans;
    uint32_t adobe;           /* colour transform of Adobe's segment + 1; 0 where there is none */
    uint32_t multi;           /* more pictures follow (MPF) */
    uint64_t end;             /* the byte after EOI */
    uint32_t overrun;         /* the number of an MCU (from 1) with a block of more coefficients than a block has; 0: none */
    uint32_t unused;
    uint64_t zeros;           /* where zeros begin that stand for coefficients, ZEROS_BYTES of them or more; 0: nowhere */
};

/* A file that was read by its name. */
struct file {
    uint64_t bytes;
    int64_t modified_ns;
    uint32_t crc, unused;
    struct picture picture;
};

enum picture_state { PICTURE_SOUND = 0, PICTURE_ASK = 1 };

uint32_t crashcart_crc32c(uint32_t crc, const uint8_t *data, size_t count);
uint64_t crashcart_walk_bytes(void);
int crashcart_records(const uint8_t *data, size_t count, struct walk *walk);
int crashcart_jpeg(const uint8_t *data, size_t count, int outline, struct picture *picture);
int crashcart_jpeg_file(const char *path, int outline, int sum, struct file *file);

/* 1: a tf.train.Example; 2: a SequenceExample; 0: neither. */
int read_example(const uint8_t *data, size_t count, struct walk *walk);

int is_picture(const uint8_t *data, size_t count);

#endif
