/* Reads a tf.train.Example or SequenceExample from the wire format of protocol buffers, without building anything: names, kinds, numbers
   of values, the range of integers, floats that are not finite, bytes that are pictures. Strict about what those two messages may hold: any other field at
   the top makes the record "neither", as random bytes often parse as unknown fields. */
#include "files.h"

#include <string.h>

struct part {
    const uint8_t *at, *end;
};

/* What one Feature holds. */
struct values {
    uint32_t kind;
    uint64_t count, not_finite, outside, filled, pictures;
    int64_t low, high, classes;
    struct walk *walk;
    struct part name;
};

static int read_varint(struct part *part, uint64_t *value) {
    uint64_t result = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (part->at == part->end)
            return 0;
        uint8_t byte = *part->at++;
        result |= shift < 64 ? (uint64_t)(byte & 127) << shift : 0;
        if (byte < 128) {
            *value = result;
            return 1;
        }
    }
    return 0;
}

/* The next field: its number, its wire type, and its content (of types 1, 2 and 5) or its value (type 0). */
static int read_field(struct part *part, uint32_t *number, uint32_t *type, struct part *content, uint64_t *value) {
    uint64_t tag, length;
    if (!read_varint(part, &tag) || tag >> 3 == 0 || tag >> 32)
        return 0;
    *number = (uint32_t)(tag >> 3);
    *type = tag & 7;
    if (*type == 0)
        return read_varint(part, value);
    if (*type == 2) {
        if (!read_varint(part, &length))
            return 0;
    } else if (*type == 1)
        length = 8;
    else if (*type == 5)
        length = 4;
    else
        return 0;
    if (length > (uint64_t)(part->end - part->at))
        return 0;
    content->at = part->at;
    content->end = part->at += length;
    return 1;
}

static void add_integer(struct values *values, uint64_t raw) {
    int64_t value = (int64_t)raw;
    if (!values->count++)
        values->low = values->high = value;
    values->low = value < values->low ? value : values->low;
    values->high = value > values->high ? value : values->high;
    values->outside += values->classes >= 0 && (value < 0 || value >= values->classes);
}

static int add_floats(struct values *values, struct part content) {
    size_t bytes = (size_t)(content.end - content.at);
    if (bytes % 4)
        return 0;
    uint64_t strange = 0;
    for (size_t at = 0; at < bytes; at += 4) {
        uint32_t bits;
        memcpy(&bits, content.at + at, 4);
        strange += (bits & 0x7f800000u) == 0x7f800000u;
    }
    values->not_finite += strange;
    values->count += bytes / 4;
    return 1;
}

static int add_integers(struct values *values, struct part content) {
    uint64_t raw;
    while (content.at < content.end) {
        if (!read_varint(&content, &raw))
            return 0;
        add_integer(values, raw);
    }
    return 1;
}

/* A JPEG of one or three components that is perfect to its last byte: nothing is left to be said of it. Two bytes of padding are common. */
static int is_perfect(const uint8_t *data, size_t count) {
    struct picture picture;
    return data[0] == 0xff && crashcart_jpeg(data, count, 0, &picture) == PICTURE_SOUND && count - picture.end <= 2 &&
           (picture.components == 1 || picture.components == 3) && picture.width > 1 && picture.height > 1;
}

static void add_bytes(struct values *values, struct part content) {
    size_t bytes = (size_t)(content.end - content.at);
    values->count++;
    if (values->walk->dry || !bytes)
        return;
    values->filled++;
    if (!is_picture(content.at, bytes))
        return;
    values->pictures++;
    if (values->walk->found && !is_perfect(content.at, bytes))
        values->walk->found(values->walk->records, content.at, bytes, values->name.at, (uint64_t)(values->name.end - values->name.at));
}

/* BytesList, FloatList or Int64List: field 1, repeated, packed or not. */
static int read_values(struct part list, struct values *values) {
    uint32_t number, type;
    struct part content;
    uint64_t raw;
    while (list.at < list.end) {
        if (!read_field(&list, &number, &type, &content, &raw) || number != 1)
            return 0;
        if (values->kind == SEEN_BYTES && type == 2)
            add_bytes(values, content);
        else if (values->kind == SEEN_FLOAT && (type == 2 || type == 5)) {
            if (!add_floats(values, content))
                return 0;
        } else if (values->kind == SEEN_INT && type == 2) {
            if (!add_integers(values, content))
                return 0;
        } else if (values->kind == SEEN_INT && type == 0)
            add_integer(values, raw);
        else
            return 0;
    }
    return 1;
}

static int read_feature(struct part feature, struct values *values) {
    uint32_t number, type;
    struct part content;
    uint64_t raw;
    while (feature.at < feature.end) {
        if (!read_field(&feature, &number, &type, &content, &raw) || type != 2 || number < 1 || number > 3)
            return 0;
        values->kind = 1u << number;
        values->count = 0;
        if (!read_values(content, values))
            return 0;
    }
    return 1;
}

static int is_name(const struct feature *known, struct part name) {
    size_t bytes = (size_t)(name.end - name.at);
    return known->name_bytes == bytes && !memcmp(known->name, name.at, bytes);
}

/* Records repeat the order of their features, so the one after the last is looked at first. */
static struct feature *find(struct walk *walk, struct part name) {
    uint32_t count = walk->features_count;
    for (uint32_t step = 0; step < count; step++) {
        uint32_t at = walk->last_feature + 1 + step;
        at = at < count ? at : at % count;
        if (is_name(&walk->features[at], name)) {
            walk->last_feature = at;
            return &walk->features[at];
        }
    }
    if (count == MOST_FEATURES || name.end - name.at > MOST_NAME_BYTES) {
        walk->too_many = 1;
        return NULL;
    }
    struct feature *fresh = &walk->features[count];
    memset(fresh, 0, sizeof *fresh);
    fresh->name_bytes = (uint32_t)(name.end - name.at);
    memcpy(fresh->name, name.at, fresh->name_bytes);
    fresh->least = UINT64_MAX;
    fresh->low = INT64_MAX;
    fresh->high = INT64_MIN;
    walk->last_feature = count;
    walk->features_count++;
    return fresh;
}

static void note(struct walk *walk, struct part name, const struct values *values, uint32_t also) {
    if (walk->dry)
        return;
    struct feature *known = find(walk, name);
    if (!known)
        return;
    uint32_t kinds = values->kind | also;
    if (known->kinds && values->kind != SEEN_EMPTY && !(known->kinds & values->kind) && (known->kinds & ~(SEEN_EMPTY | SEEN_LIST)) &&
        !known->first_other_kind)
        known->first_other_kind = walk->records + 1;
    known->kinds |= kinds;
    if (known->last_record != walk->records + 1)
        known->records++;
    known->last_record = walk->records + 1;
    known->least = values->count < known->least ? values->count : known->least;
    known->most = values->count > known->most ? values->count : known->most;
    if (values->kind == SEEN_INT && values->count) {
        known->low = values->low < known->low ? values->low : known->low;
        known->high = values->high > known->high ? values->high : known->high;
    }
    if (values->not_finite && !known->not_finite)
        known->first_not_finite = walk->records;
    known->not_finite += values->not_finite;
    if (values->outside && !known->outside)
        known->first_outside = walk->records;
    known->outside += values->outside;
    known->filled += values->filled;
    known->pictures += values->pictures;
    if (values->filled > values->pictures && !known->first_plain)
        known->first_plain = walk->records + 1;
}

static int read_feature_list(struct part list, struct walk *walk, struct part name) {
    uint32_t number, type;
    struct part content;
    uint64_t raw, steps = 0;
    struct values all = {.kind = SEEN_EMPTY, .classes = walk->classes};
    while (list.at < list.end) {
        if (!read_field(&list, &number, &type, &content, &raw) || type != 2 || number != 1)
            return 0;
        struct values values = {.kind = SEEN_EMPTY, .classes = walk->classes, .walk = walk, .name = name};
        if (!read_feature(content, &values))
            return 0;
        if (values.kind == SEEN_INT && values.count) {
            int first = all.kind != SEEN_INT;
            all.low = first || values.low < all.low ? values.low : all.low;
            all.high = first || values.high > all.high ? values.high : all.high;
        }
        all.kind = values.kind != SEEN_EMPTY ? values.kind : all.kind;
        all.not_finite += values.not_finite;
        all.outside += values.outside;
        all.filled += values.filled;
        all.pictures += values.pictures;
        steps++;
    }
    all.count = steps;
    note(walk, name, &all, SEEN_LIST);
    return 1;
}

/* Features or FeatureLists: a map, so entries of a name (1) and a value (2), in any order. */
static int read_map(struct part map, struct walk *walk, int of_lists) {
    uint32_t number, type;
    struct part entry, content;
    uint64_t raw;
    while (map.at < map.end) {
        struct part name = {map.at, map.at}, value = {map.at, map.at};
        if (!read_field(&map, &number, &type, &entry, &raw) || type != 2 || number != 1)
            return 0;
        while (entry.at < entry.end) {
            if (!read_field(&entry, &number, &type, &content, &raw) || type != 2 || number > 2)
                return 0;
            *(number == 1 ? &name : &value) = content;
        }
        if (of_lists) {
            if (!read_feature_list(value, walk, name))
                return 0;
            continue;
        }
        struct values values = {.kind = SEEN_EMPTY, .classes = walk->classes, .walk = walk, .name = name};
        if (!read_feature(value, &values))
            return 0;
        note(walk, name, &values, 0);
    }
    return 1;
}

static int read_once(const uint8_t *data, size_t count, struct walk *walk) {
    struct part record = {data, data + count}, content;
    uint32_t number, type, sequence = 0;
    uint64_t raw;
    while (record.at < record.end) {
        if (!read_field(&record, &number, &type, &content, &raw) || type != 2 || number > 2)
            return 0;
        sequence |= number == 2;
        if (!read_map(content, walk, number == 2))
            return 0;
    }
    return sequence ? 2 : 1;
}

/* Twice: a record that turns out to be neither leaves nothing behind. */
int read_example(const uint8_t *data, size_t count, struct walk *walk) {
    walk->dry = 1;
    int kind = read_once(data, count, walk);
    walk->dry = 0;
    return kind ? read_once(data, count, walk) : 0;
}
