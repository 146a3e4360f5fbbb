/* What the parts of the JPEG walk share. */
#ifndef CRASHCART_JPEG_H
#define CRASHCART_JPEG_H

#include "files.h"

enum { LOOK_BITS = 11, LOOK_SIZE = 1 << LOOK_BITS, MOST_COMPONENTS = 4, END_OF_BLOCK = 128, NOT_A_CODE = 255, MOST_BITS = 18 };

/* Zeros in a row that are looked into: 512 bits are two whole blocks of coefficients, and more where codes are short. Coefficients from a
   band on that is wide enough: no drawing has 32 neighbours of one value in block after block. */
enum { ZEROS_BYTES = 64, WIDE_BAND = 31 };

/* A Huffman table as the file gives it, and as it is looked up. An entry of `one` is a whole symbol with the bits that follow its
   code: bits used, symbol, coefficients passed. An entry of `many` is as many whole symbols as fit in the window. */
struct step {
    uint8_t bits, advance, symbol, ends;
};

struct table {
    uint8_t given[16 + 256]; /* numbers of codes by length, then symbols */
    int symbols;
    int is_dc;
    int valid, many_ready;
    struct step one[LOOK_SIZE], many[LOOK_SIZE];
    int32_t last_code[18]; /* largest code of a length, -1 where there is none; [17] ends the search */
    int32_t offset[17];
};

struct component {
    uint8_t id, h, v, quant, dc, ac;
    uint32_t width_blocks, height_blocks;   /* of the picture itself */
    uint32_t padded_width, padded_height;   /* whole MCUs */
    uint32_t seen;                          /* scans that held it (sequential) */
    uint64_t *nonzero;                      /* a bit per coefficient, per block (progressive) */
    int8_t known[64];                       /* the lowest bit known of each coefficient; -1 none (progressive) */
};

/* The bits of one stretch of entropy-coded data, stuffing removed. */
struct bits {
    const uint8_t *at, *end; /* end: where the data ends; zeros follow */
    uint64_t held;
    uint32_t count;
};

struct scan {
    int count;
    struct component *parts[MOST_COMPONENTS];
    uint32_t first, last, high, low; /* Ss, Se, Ah, Al */
    uint32_t interval;
    uint32_t end_of_band_run;
    int flat;                        /* zeros mean that nothing more is in a block */
};

struct reader {
    const uint8_t *data, *at, *end;
    struct picture *picture;
    struct component components[MOST_COMPONENTS];
    uint32_t max_h, max_v, interval;
    struct table *dc[4], *ac[4];
    uint8_t quant_known[4];
    uint8_t *plain; /* room for a stretch without stuffing */
    size_t plain_size;
    const uint8_t *zeros;  /* the first long run of zeros of this stretch; NULL: none, or they are flat */
    uint64_t zeros_offset; /* its place in the file */
    int outline;           /* nothing is decoded */
};

struct table *known_table(const uint8_t *given, int symbols, int is_dc, int place);
void prepare_many(struct table *table);
int codes_fit(const uint8_t *given, int is_dc);
int find_symbol(const struct table *table, uint64_t held);
int walk_scan(struct reader *reader, struct scan *scan);
int skip_scan(struct reader *reader, struct scan *scan);
void units_of(const struct scan *scan, uint32_t *columns, uint32_t *rows);
const uint8_t *find_zeros(const uint8_t *at, const uint8_t *end);
int zeros_are_flat(const struct reader *reader, const struct scan *scan);

/* At least 56 bits afterwards; past the end they are zeros, and `overrun` tells. */
static inline void refill(struct bits *bits) {
    uint64_t word;
    __builtin_memcpy(&word, bits->at, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    bits->held |= word >> bits->count;
    bits->at += (63 - bits->count) >> 3;
    bits->count |= 56;
}

static inline void drop(struct bits *bits, uint32_t count) {
    bits->held <<= count;
    bits->count -= count;
}

/* More was read than there was. */
static inline int overrun(const struct bits *bits) {
    return bits->at > bits->end && (size_t)(bits->at - bits->end) * 8 > bits->count;
}

/* Bits of the stretch that were not read. */
static inline int64_t left_over(const struct bits *bits) { return (bits->end - bits->at) * 8 + (int64_t)bits->count; }

#endif
