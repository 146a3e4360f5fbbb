/* Walks over a JPEG file: marker segments, and every Huffman symbol of its scans. What is found perfect here is what a decoder reads
   without a word of complaint; everything else, damaged or merely unusual, is left to a decoder (PICTURE_ASK). */
#include "jpeg.h"

#include <stdlib.h>
#include <string.h>

static uint32_t read16(const uint8_t *data) { return (uint32_t)data[0] << 8 | data[1]; }

static int read_quants(struct reader *reader, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        int wide = *at >> 4, place = *at & 15;
        size_t bytes = 1 + (wide ? 128 : 64);
        if (wide > 1 || place > 3 || (size_t)(end - at) < bytes)
            return 0;
        reader->quant_known[place] = 1;
        at += bytes;
    }
    return 1;
}

/* Stands for a table that is only looked at. */
static struct table *outlined(const uint8_t *given, int is_dc) {
    static struct table none;
    return codes_fit(given, is_dc) ? &none : NULL;
}

static int read_tables(struct reader *reader, const uint8_t *at, const uint8_t *end) {
    while (at < end) {
        if (end - at < 17)
            return 0;
        int kind = *at >> 4, place = *at & 15, symbols = 0;
        for (int length = 1; length <= 16; length++)
            symbols += at[length];
        if (kind > 1 || place > 3 || symbols > 256 || end - at < 17 + symbols)
            return 0;
        struct table *table = reader->outline ? outlined(at + 1, kind == 0) : known_table(at + 1, symbols, kind == 0, place);
        if (!table)
            return 0;
        *(kind ? &reader->ac[place] : &reader->dc[place]) = table;
        at += 17 + symbols;
    }
    return 1;
}

static uint32_t rounded_up(uint32_t value, uint32_t by) { return (value + by - 1) / by; }

static int lay_out(struct reader *reader) {
    struct picture *picture = reader->picture;
    for (uint32_t each = 0; each < picture->components; each++) {
        struct component *part = &reader->components[each];
        reader->max_h = part->h > reader->max_h ? part->h : reader->max_h;
        reader->max_v = part->v > reader->max_v ? part->v : reader->max_v;
    }
    uint32_t across = rounded_up(picture->width, 8 * reader->max_h), down = rounded_up(picture->height, 8 * reader->max_v);
    for (uint32_t each = 0; each < picture->components; each++) {
        struct component *part = &reader->components[each];
        if (reader->max_h % part->h || reader->max_v % part->v)
            return 0;
        part->width_blocks = rounded_up(rounded_up(picture->width * part->h, reader->max_h), 8);
        part->height_blocks = rounded_up(rounded_up(picture->height * part->v, reader->max_v), 8);
        part->padded_width = across * part->h;
        part->padded_height = down * part->v;
        memset(part->known, -1, sizeof part->known);
    }
    return 1;
}

static int read_frame(struct reader *reader, uint32_t process, const uint8_t *at, const uint8_t *end) {
    struct picture *picture = reader->picture;
    if (picture->components || end - at < 6)
        return 0;
    picture->process = process;
    picture->precision = at[0];
    picture->height = read16(at + 1);
    picture->width = read16(at + 3);
    uint32_t count = at[5];
    if (picture->precision != 8 || !picture->height || !picture->width || end - at != 6 + 3 * (ptrdiff_t)count)
        return 0;
    if (count != 1 && count != 3 && count != 4)
        return 0;
    picture->components = count;
    for (uint32_t each = 0; each < count; each++) {
        const uint8_t *given = at + 6 + 3 * each;
        struct component *part = &reader->components[each];
        part->id = given[0];
        part->h = given[1] >> 4;
        part->v = given[1] & 15;
        part->quant = given[2];
        if (!part->h || part->h > 4 || !part->v || part->v > 4 || part->quant > 3)
            return 0;
        for (uint32_t other = 0; other < each; other++)
            if (reader->components[other].id == part->id)
                return 0;
    }
    return lay_out(reader);
}

/* A picture that claims more than a quarter of a gigapixel is not given room on its word. */
#define MOST_PIXELS (1ull << 28)

/* Room for what progressive scans refine; small pictures and large ones alike take an eighth of a byte per pixel and component. */
static int make_room(struct reader *reader) {
    if ((uint64_t)reader->picture->width * reader->picture->height > MOST_PIXELS)
        return 0;
    for (uint32_t each = 0; each < reader->picture->components; each++) {
        struct component *part = &reader->components[each];
        if (!part->nonzero)
            part->nonzero = calloc((size_t)part->padded_width * part->padded_height, 8);
        if (!part->nonzero)
            return 0;
    }
    return 1;
}

/* Scans must come in the order that the standard asks for: each bit of each coefficient once, DC before AC. */
static int in_order(struct reader *reader, struct scan *scan) {
    if (reader->picture->process != 2) {
        for (int each = 0; each < scan->count; each++)
            if (scan->parts[each]->seen++)
                return 0;
        return scan->first == 0 && scan->last == 63 && !scan->high && !scan->low;
    }
    if (scan->last > 63 || scan->first > scan->last || scan->low > 13 || (scan->high && scan->high != scan->low + 1))
        return 0;
    if (scan->first ? scan->count != 1 : scan->last != 0)
        return 0;
    for (int each = 0; each < scan->count; each++) {
        struct component *part = scan->parts[each];
        if (scan->first && part->known[0] < 0)
            return 0;
        for (uint32_t k = scan->first; k <= scan->last; k++) {
            if (part->known[k] != (scan->high ? (int)scan->high : -1))
                return 0;
            part->known[k] = (int8_t)scan->low;
        }
        part->seen++;
    }
    return reader->outline || make_room(reader);
}

static int has_tables(struct reader *reader, struct scan *scan) {
    uint32_t blocks = 0;
    for (int each = 0; each < scan->count; each++) {
        struct component *part = scan->parts[each];
        int progressive = reader->picture->process == 2;
        int needs_dc = !progressive || (!scan->first && !scan->high), needs_ac = !progressive || scan->first;
        if (!reader->quant_known[part->quant] || (needs_dc && !reader->dc[part->dc]) || (needs_ac && !reader->ac[part->ac]))
            return 0;
        blocks += part->h * part->v;
    }
    return scan->count == 1 || blocks <= 10;
}

static int read_scan(struct reader *reader, const uint8_t *at, const uint8_t *end) {
    struct scan scan = {.interval = reader->interval};
    if (end - at < 1 || *at < 1 || *at > 4 || end - at != 4 + 2 * *at)
        return 0;
    scan.count = *at++;
    for (int each = 0; each < scan.count; each++, at += 2) {
        for (uint32_t other = 0; other < reader->picture->components; other++)
            if (reader->components[other].id == at[0])
                scan.parts[each] = &reader->components[other];
        struct component *part = scan.parts[each];
        if (!part || at[1] >> 4 > 3 || (at[1] & 15) > 3)
            return 0;
        for (int other = 0; other < each; other++)
            if (scan.parts[other] >= part)
                return 0;
        part->dc = at[1] >> 4;
        part->ac = at[1] & 15;
    }
    scan.first = at[0];
    scan.last = at[1];
    scan.high = at[2] >> 4;
    scan.low = at[2] & 15;
    if (!in_order(reader, &scan) || !has_tables(reader, &scan))
        return 0;
    reader->at = end;
    reader->picture->scans++;
    return reader->outline ? skip_scan(reader, &scan) : walk_scan(reader, &scan);
}

static void note_application(struct reader *reader, uint32_t marker, const uint8_t *at, const uint8_t *end) {
    if (marker == 0xee && end - at >= 12 && !memcmp(at, "Adobe", 5))
        reader->picture->adobe = at[11] + 1u;
    if (marker == 0xe2 && end - at >= 4 && !memcmp(at, "MPF", 4))
        reader->picture->multi = 1;
}

static int read_segment(struct reader *reader, uint32_t marker) {
    if (reader->end - reader->at < 2)
        return 0;
    uint32_t length = read16(reader->at);
    if (length < 2 || length > (size_t)(reader->end - reader->at))
        return 0;
    const uint8_t *at = reader->at + 2, *end = reader->at + length;
    reader->at = end;
    if (marker == 0xdb)
        return read_quants(reader, at, end);
    if (marker == 0xc4)
        return read_tables(reader, at, end);
    if (marker == 0xc0 || marker == 0xc1 || marker == 0xc2)
        return read_frame(reader, marker - 0xc0, at, end);
    if (marker == 0xda)
        return reader->picture->components && read_scan(reader, at, end);
    if (marker == 0xdd) {
        reader->interval = end - at == 2 ? read16(at) : 0;
        return end - at == 2;
    }
    note_application(reader, marker, at, end);
    return (marker >= 0xe0 && marker <= 0xef) || marker == 0xfe;
}

static int all_seen(const struct reader *reader) {
    for (uint32_t each = 0; each < reader->picture->components; each++)
        if (!reader->components[each].seen)
            return 0;
    return reader->picture->components > 0;
}

static int walk(struct reader *reader) {
    for (;;) {
        if (reader->end - reader->at < 2 || *reader->at++ != 0xff)
            return 0;
        while (reader->at < reader->end && *reader->at == 0xff)
            reader->at++;
        if (reader->at == reader->end)
            return 0;
        uint32_t marker = *reader->at++;
        if (marker == 0xd9)
            break;
        if (!read_segment(reader, marker))
            return 0;
    }
    reader->picture->end = (uint64_t)(reader->at - reader->data);
    return all_seen(reader);
}

PUBLIC int crashcart_jpeg(const uint8_t *data, size_t count, int outline, struct picture *picture) {
    struct reader reader = {.data = data, .at = data + 2, .end = data + count, .picture = picture, .outline = outline};
    memset(picture, 0, sizeof *picture);
    if (count < 4 || data[0] != 0xff || data[1] != 0xd8)
        return PICTURE_ASK;
    int sound = walk(&reader);
    for (int each = 0; each < MOST_COMPONENTS; each++)
        free(reader.components[each].nonzero);
    free(reader.plain);
    return sound && !picture->zeros ? PICTURE_SOUND : PICTURE_ASK;
}
