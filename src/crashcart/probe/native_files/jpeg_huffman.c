/* Huffman tables of JPEG files for fast lookups. Most files bring the same tables, so the last ones are kept. */
#include "jpeg.h"

#include <string.h>

enum { KEPT = 8 };

static __thread struct table kept[2][4][KEPT / 4];
static __thread int next_kept[2][4];

static struct step as_step(int code_bits, int symbol, int is_dc) {
    int run = symbol >> 4, size = symbol & 15;
    struct step step = {(uint8_t)(code_bits + size), (uint8_t)(run + 1), (uint8_t)symbol, 0};
    if (is_dc)
        step.advance = 1;
    else if (!size && run != 15) {
        step.advance = 0;
        step.ends = 1;
    }
    return step;
}

/* Whether codes in order of length, as the standard generates them, fit into their lengths. */
int codes_fit(const uint8_t *given, int is_dc) {
    int32_t code = 0, at = 0;
    for (int length = 1; length <= 16; length++, code <<= 1)
        for (int each = 0; each < given[length - 1]; each++, at++, code++)
            if (code >= 1 << length || (is_dc && given[16 + at] > 15))
                return 0;
    return 1;
}

static void fill(struct table *table) {
    int32_t code = 0, at = 0;
    memset(table->one, 0, sizeof table->one);
    for (int length = 1; length <= 16; length++, code <<= 1) {
        int count = table->given[length - 1];
        table->offset[length] = at - code;
        for (int each = 0; each < count; each++, at++, code++) {
            if (length > LOOK_BITS)
                continue;
            struct step step = as_step(length, table->given[16 + at], table->is_dc);
            int room = LOOK_BITS - length;
            for (int rest = 0; rest < 1 << room; rest++)
                table->one[code << room | rest] = step;
        }
        table->last_code[length] = count ? code - 1 : -1;
    }
    table->last_code[17] = INT32_MAX;
}

/* Symbols that lie in the window with all of their bits are taken at once. */
void prepare_many(struct table *table) {
    if (table->many_ready)
        return;
    table->many_ready = 1;
    for (int window = 0; window < LOOK_SIZE; window++) {
        struct step all = table->one[window];
        while (all.bits && !all.ends && all.bits < LOOK_BITS) {
            struct step next = table->one[window << all.bits & (LOOK_SIZE - 1)];
            if (!next.bits || all.bits + next.bits > LOOK_BITS || all.advance + next.advance > 63)
                break;
            all.bits = (uint8_t)(all.bits + next.bits);
            all.advance = (uint8_t)(all.advance + next.advance);
            all.ends = next.ends;
        }
        if (!all.bits || all.bits > MOST_BITS)
            all.advance = NOT_A_CODE;
        table->many[window] = all;
    }
}

struct table *known_table(const uint8_t *given, int symbols, int is_dc, int place) {
    struct table *set = kept[is_dc][place];
    for (int at = 0; at < KEPT / 4; at++)
        if (set[at].valid && set[at].symbols == symbols && !memcmp(set[at].given, given, 16 + (size_t)symbols))
            return &set[at];
    if (!codes_fit(given, is_dc))
        return NULL;
    struct table *table = &set[next_kept[is_dc][place]++ % (KEPT / 4)];
    table->valid = 0;
    table->symbols = symbols;
    table->is_dc = is_dc;
    memcpy(table->given, given, 16 + (size_t)symbols);
    fill(table);
    table->many_ready = 0;
    table->valid = 1;
    return table;
}

/* A symbol whose code is longer than the window, or whose window holds no code: bits of the code << 8 | symbol; -1 for none. */
__attribute__((noinline)) int find_symbol(const struct table *table, uint64_t held) {
    for (int length = 1; length <= 16; length++) {
        int32_t code = (int32_t)(held >> (64 - length));
        if (code <= table->last_code[length] && table->last_code[length] >= 0)
            return length << 8 | table->given[16 + ((code + table->offset[length]) & 255)];
    }
    return -1;
}
