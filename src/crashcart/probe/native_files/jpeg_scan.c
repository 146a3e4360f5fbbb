/* Walks over the entropy-coded data of one scan: every symbol of every block is read; no coefficient is computed. */
#include "jpeg.h"

#include <stdlib.h>
#include <string.h>

/* A block takes at most 64 symbols of 31 bits and 63 further bits before it is asked whether the data ended: 256 bytes. */
enum { PAD_BYTES = 512 };

/* The data up to the next marker, without stuffing; 0 where something is met that a decoder has to judge. */
static int take_stretch(struct reader *reader, const struct scan *scan, struct bits *bits) {
    const uint8_t *at = reader->at, *end = reader->end;
    size_t room = (size_t)(end - at) + PAD_BYTES;
    if (reader->plain_size < room) {
        free(reader->plain);
        reader->plain = malloc(room);
        reader->plain_size = reader->plain ? room : 0;
        if (!reader->plain)
            return 0;
    }
    uint8_t *to = reader->plain;
    reader->zeros = NULL;
    for (;;) {
        const uint8_t *stop = memchr(at, 0xff, (size_t)(end - at));
        if (!stop || stop + 1 >= end || stop[1] == 0xff)
            return 0;
        size_t count = (size_t)(stop - at) + (stop[1] == 0);
        const uint8_t *zeros = scan->flat || reader->zeros ? NULL : find_zeros(at, stop);
        if (zeros) {
            reader->zeros = to + (zeros - at);
            reader->zeros_offset = (uint64_t)(zeros - reader->data);
        }
        memcpy(to, at, count);
        to += count;
        if (stop[1]) {
            at = stop;
            break;
        }
        at = stop + 2;
    }
    memset(to, 0, PAD_BYTES);
    reader->at = at;
    *bits = (struct bits){reader->plain, to, 0, 0};
    return 1;
}

/* A difference of DC values: the symbol says how many bits follow. */
static inline int pass_dc(const struct table *table, struct bits *bits) {
    struct step step = table->one[bits->held >> (64 - LOOK_BITS)];
    if (step.bits) {
        drop(bits, step.bits);
        return 1;
    }
    int found = find_symbol(table, bits->held);
    if (found < 0)
        return 0;
    drop(bits, (uint32_t)(found >> 8) + (found & 255));
    return 1;
}

/* One AC symbol: coefficients passed, END_OF_BLOCK, or 0 where there is no such code. */
static inline uint32_t pass_ac(const struct table *table, struct bits *bits) {
    struct step step = table->one[bits->held >> (64 - LOOK_BITS)];
    if (step.bits) {
        drop(bits, step.bits);
        return step.ends ? END_OF_BLOCK : step.advance;
    }
    int found = find_symbol(table, bits->held);
    if (found < 0)
        return 0;
    uint32_t run = found >> 4 & 15, size = found & 15;
    drop(bits, (uint32_t)(found >> 8) + size);
    return size || run == 15 ? run + 1 : END_OF_BLOCK;
}

/* As many symbols as the window holds. Leaves for the slow way where the block would be full, or no code is known. */
#define PASS_MANY                                                     \
    step = ac->many[bits->held >> (64 - LOOK_BITS)];                  \
    if (__builtin_expect(k + step.advance >= 64, 0))                  \
        goto slowly;                                                  \
    drop(bits, step.bits);                                            \
    k += step.advance;                                                \
    if (step.ends)                                                    \
        return 1;

/* A block of a sequential scan; 0 where it breaks the rules. Bits are fetched once for three
   lookups: these take at most 3 * MOST_BITS, and at least 56 are there. */
static inline int pass_block(const struct table *dc, const struct table *ac, struct bits *bits, struct picture *picture) {
    struct step step;
    uint32_t k = 1;
    refill(bits);
    if (!pass_dc(dc, bits))
        return 0;
    for (;;) {
        refill(bits);
        PASS_MANY
        PASS_MANY
        PASS_MANY
        continue;
    slowly:
        refill(bits);
        uint32_t advance = pass_ac(ac, bits);
        if (!advance)
            return 0;
        k += advance;
        if (k >= 64)
            break;
    }
    if (k == 64 || k >= END_OF_BLOCK)
        return 1;
    picture->overrun = !overrun(bits);
    return 0;
}

static uint32_t take(struct bits *bits, uint32_t count) {
    if (!count)
        return 0;
    uint32_t value = (uint32_t)(bits->held >> (64 - count));
    drop(bits, count);
    return value;
}

static inline int next_symbol(const struct table *table, struct bits *bits) {
    struct step step = table->one[bits->held >> (64 - LOOK_BITS)];
    if (step.bits) {
        drop(bits, step.bits - (step.symbol & 15u));
        return step.symbol;
    }
    int found = find_symbol(table, bits->held);
    if (found < 0)
        return found;
    drop(bits, (uint32_t)found >> 8);
    return found & 255;
}

/* The first pass over a band of AC coefficients. */
static int pass_band(struct scan *scan, const struct table *ac, struct bits *bits, uint64_t *nonzero) {
    if (scan->end_of_band_run) {
        scan->end_of_band_run--;
        return 1;
    }
    for (uint32_t k = scan->first; k <= scan->last; k++) {
        refill(bits);
        int symbol = next_symbol(ac, bits);
        if (symbol < 0)
            return 0;
        uint32_t run = (uint32_t)symbol >> 4, size = symbol & 15;
        if (size) {
            k += run;
            if (k > scan->last)
                return 0;
            drop(bits, size);
            *nonzero |= 1ull << k;
        } else if (run == 15)
            k += 15;
        else {
            scan->end_of_band_run = (1u << run) + take(bits, run) - 1;
            return 1;
        }
    }
    return 1;
}

/* Correction bits of coefficients that are not zero, until `run` zeros were passed; the place of the next zero. */
static uint32_t correct(struct scan *scan, struct bits *bits, uint64_t nonzero, uint32_t k, int run) {
    for (; k <= scan->last; k++) {
        if (nonzero >> k & 1) {
            if (bits->count < 2)
                refill(bits);
            drop(bits, 1);
        } else if (--run < 0)
            break;
    }
    return k;
}

/* The same where no zero matters any more: the band ends in this block. */
static void correct_rest(struct scan *scan, struct bits *bits, uint64_t nonzero, uint32_t k) {
    uint64_t band = (scan->last == 63 ? ~0ull : (1ull << (scan->last + 1)) - 1) & (k < 64 ? ~0ull << k : 0);
    uint32_t count = (uint32_t)__builtin_popcountll(nonzero & band);
    while (count) {
        uint32_t now = count < 32 ? count : 32;
        refill(bits);
        drop(bits, now);
        count -= now;
    }
}

/* A further bit of a band of AC coefficients. */
static int refine_band(struct scan *scan, const struct table *ac, struct bits *bits, uint64_t *nonzero) {
    uint32_t k = scan->first;
    if (!scan->end_of_band_run) {
        for (; k <= scan->last; k++) {
            refill(bits);
            int symbol = next_symbol(ac, bits);
            if (symbol < 0)
                return 0;
            uint32_t run = (uint32_t)symbol >> 4, size = symbol & 15;
            if (size > 1)
                return 0;
            if (size)
                drop(bits, 1);
            else if (run != 15) {
                scan->end_of_band_run = (1u << run) + take(bits, run);
                break;
            }
            k = correct(scan, bits, *nonzero, k, (int)run);
            if (size) {
                if (k > scan->last)
                    return 0;
                *nonzero |= 1ull << k;
            }
        }
    }
    if (scan->end_of_band_run) {
        correct_rest(scan, bits, *nonzero, k);
        scan->end_of_band_run--;
    }
    return 1;
}

static int pass_progressive(struct reader *reader, struct scan *scan, struct component *part, struct bits *bits, size_t block) {
    if (!scan->first) {
        refill(bits);
        if (scan->high) {
            drop(bits, 1);
            return 1;
        }
        return pass_dc(reader->dc[part->dc], bits);
    }
    return scan->high ? refine_band(scan, reader->ac[part->ac], bits, part->nonzero + block)
                      : pass_band(scan, reader->ac[part->ac], bits, part->nonzero + block);
}

/* The blocks of one MCU of a sequential scan. The bits are kept in registers. */
static int pass_sequential(struct reader *reader, struct scan *scan, struct bits *given) {
    struct bits bits = *given;
    for (int each = 0; each < scan->count; each++) {
        struct component *part = scan->parts[each];
        const struct table *dc = reader->dc[part->dc], *ac = reader->ac[part->ac];
        uint32_t blocks = scan->count == 1 ? 1 : part->h * part->v;
        for (; blocks; blocks--)
            if (!pass_block(dc, ac, &bits, reader->picture) || overrun(&bits))
                return 0;
    }
    *given = bits;
    return 1;
}

static int pass_one(struct reader *reader, struct scan *scan, struct component *part, struct bits *bits, size_t block) {
    return pass_progressive(reader, scan, part, bits, block) && !overrun(bits);
}

/* The blocks of one MCU. */
static int pass_unit(struct reader *reader, struct scan *scan, struct bits *bits, uint32_t column, uint32_t row) {
    if (reader->picture->process != 2)
        return pass_sequential(reader, scan, bits);
    if (scan->count == 1) {
        struct component *part = scan->parts[0];
        return pass_one(reader, scan, part, bits, (size_t)row * part->padded_width + column);
    }
    for (int each = 0; each < scan->count; each++) {
        struct component *part = scan->parts[each];
        for (uint32_t y = 0; y < part->v; y++)
            for (uint32_t x = 0; x < part->h; x++) {
                size_t block = (size_t)(row * part->v + y) * part->padded_width + column * part->h + x;
                if (!pass_one(reader, scan, part, bits, block))
                    return 0;
            }
    }
    return 1;
}

/* Zeros that were read as coefficients, and do not just follow after the last block. */
static void note_zeros(struct reader *reader, const struct bits *bits) {
    if (reader->zeros && !reader->picture->zeros && bits->at - bits->count / 8 >= reader->zeros + ZEROS_BYTES)
        reader->picture->zeros = reader->zeros_offset;
}

/* A stretch ends with less than a byte of padding, right before its marker. */
static int ends_well(struct reader *reader, const struct bits *bits) {
    note_zeros(reader, bits);
    int64_t left = left_over(bits);
    return left >= 0 && left < 8;
}

void units_of(const struct scan *scan, uint32_t *columns, uint32_t *rows) {
    const struct component *first = scan->parts[0];
    *columns = scan->count > 1 ? first->padded_width / first->h : first->width_blocks;
    *rows = scan->count > 1 ? first->padded_height / first->v : first->height_blocks;
}

int walk_scan(struct reader *reader, struct scan *scan) {
    uint32_t columns, rows;
    units_of(scan, &columns, &rows);
    scan->flat = zeros_are_flat(reader, scan);
    if (reader->picture->process != 2)
        for (int each = 0; each < scan->count; each++)
            prepare_many(reader->ac[scan->parts[each]->ac]);
    struct bits bits;
    if (!take_stretch(reader, scan, &bits))
        return 0;
    uint32_t until_restart = scan->interval, marker = 0;
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++) {
            if (scan->interval && !until_restart--) {
                if (!ends_well(reader, &bits) || reader->end - reader->at < 2 || reader->at[1] != 0xd0 + marker)
                    return 0;
                reader->at += 2;
                marker = (marker + 1) & 7;
                scan->end_of_band_run = 0;
                until_restart = scan->interval - 1;
                if (!take_stretch(reader, scan, &bits))
                    return 0;
            }
            if (!pass_unit(reader, scan, &bits, column, row)) {
                note_zeros(reader, &bits);
                reader->picture->overrun *= row * columns + column + 1;
                return 0;
            }
        }
    return ends_well(reader, &bits);
}
