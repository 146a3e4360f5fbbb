/* What can be told of the entropy-coded data of a JPEG file without decoding it: where its markers are, whether those of restarts come
   in their order and number, and long runs of zeros. */
#include "jpeg.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* The first run of at least ZEROS_BYTES zeros; NULL where there is none. Any such run covers a whole word at one of the places looked at. */
const uint8_t *find_zeros(const uint8_t *at, const uint8_t *end) {
    enum { STEP = ZEROS_BYTES - 7 };
    if (end - at < ZEROS_BYTES)
        return NULL;
    for (const uint8_t *look = at; end - look >= 8; look += STEP) {
        uint64_t word;
        memcpy(&word, look, 8);
        if (word)
            continue;
        const uint8_t *first = look, *last = look + 8;
        while (first > at && !first[-1])
            first--;
        while (last < end && !*last)
            last++;
        if (last - first >= ZEROS_BYTES)
            return first;
    }
    return NULL;
}

/* A code of zeros is the first of its table. Where it says that nothing more is in a block, zeros are flat areas of the picture;
   where it stands for a coefficient, a long run of zeros would be blocks in which all of them are the same. A narrow band of a
   progressive scan may be that in a drawing (a slope), and bits of refinement may be anything: neither is judged. */
int zeros_are_flat(const struct reader *reader, const struct scan *scan) {
    if (reader->picture->process == 2 && (!scan->first || scan->high || scan->last - scan->first < WIDE_BAND))
        return 1;
    for (int each = 0; each < scan->count; each++) {
        const struct table *ac = reader->ac[scan->parts[each]->ac];
        if (ac->symbols && ac->given[16] & 15)
            return 0;
    }
    return 1;
}

/* Restarts that a scan has to have. */
static uint64_t restarts_of(const struct scan *scan) {
    uint32_t columns, rows;
    units_of(scan, &columns, &rows);
    return scan->interval ? ((uint64_t)columns * rows - 1) / scan->interval : 0;
}

/* Bits that the data has at least: a code for each DC value, and one for the AC values of each block where a code does not stand for many. */
static uint64_t least_bits(const struct reader *reader, const struct scan *scan) {
    uint32_t columns, rows, blocks = 0;
    units_of(scan, &columns, &rows);
    for (int each = 0; each < scan->count; each++)
        blocks += scan->count == 1 ? 1 : scan->parts[each]->h * scan->parts[each]->v;
    int bits = reader->picture->process != 2 ? 2 : !scan->first;
    return (uint64_t)columns * rows * blocks * (uint32_t)bits;
}

/* The first 0xff that no zero follows; NULL where there is none. One byte of a photograph's data in 250 is 0xff with a zero behind it: a search
   that ends at each of them takes twice as long as all the rest. */
static const uint8_t *find_marker(const uint8_t *at, const uint8_t *end) {
#if defined(__SSE2__)
    const __m128i ones = _mm_set1_epi8(-1), zeros = _mm_setzero_si128();
    for (; end - at > 16; at += 16) {
        __m128i first = _mm_loadu_si128((const __m128i *)at), second = _mm_loadu_si128((const __m128i *)(at + 1));
        int found = _mm_movemask_epi8(_mm_andnot_si128(_mm_cmpeq_epi8(second, zeros), _mm_cmpeq_epi8(first, ones)));
        if (found)
            return at + __builtin_ctz((unsigned)found);
    }
#endif
    for (; end - at > 1; at += 2) {
        at = memchr(at, 0xff, (size_t)(end - at - 1));
        if (!at || at[1])
            return at;
    }
    return NULL;
}

/* Passes over the data of a scan, up to the marker that ends it. A run of zeros may count the one that is stuffed before it: what is not
   perfect is only looked at again. */
int skip_scan(struct reader *reader, struct scan *scan) {
    const uint8_t *begin = reader->at, *at = begin;
    for (uint64_t restarts = 0;; restarts++) {
        const uint8_t *stop = find_marker(at, reader->end);
        if (!stop || stop[1] == 0xff || find_zeros(at, stop))
            return 0;
        if (stop[1] != 0xd0 + (restarts & 7)) {
            reader->at = stop;
            return restarts == restarts_of(scan) && (uint64_t)(stop - begin) * 8 >= least_bits(reader, scan);
        }
        at = stop + 2;
    }
}
