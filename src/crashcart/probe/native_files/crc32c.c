/* CRC32C with the processor's own instruction where it has one (three streams at once, to hide its latency), otherwise by tables. */
#include "files.h"

#include <string.h>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HARDWARE __attribute__((target("sse4.2")))
#define STEP8(crc, word) ((uint32_t)_mm_crc32_u64((crc), (word)))
#define STEP1(crc, byte) (_mm_crc32_u8((crc), (byte)))
#elif defined(__aarch64__) && defined(__linux__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define HARDWARE __attribute__((target("+crc")))
#define STEP8(crc, word) (__crc32cd((crc), (word)))
#define STEP1(crc, byte) (__crc32cb((crc), (byte)))
#endif

#define POLYNOMIAL 0x82f63b78u
/* Bytes of one of the three streams; a short form serves what is left. Both are multiples of 8. */
enum { LONG_BYTES = 4096, SHORT_BYTES = 256 };

static uint32_t by_byte[8][256];
static uint32_t past_long[4][256], past_short[4][256];
static int hardware;

static uint64_t word_at(const uint8_t *data) {
    uint64_t word;
    memcpy(&word, data, 8);
    return word;
}

static uint32_t with_tables(uint32_t crc, const uint8_t *data, size_t count) {
    for (; count >= 8; count -= 8, data += 8) {
        uint64_t word = word_at(data) ^ crc;
        crc = by_byte[7][word & 255] ^ by_byte[6][word >> 8 & 255] ^ by_byte[5][word >> 16 & 255] ^
              by_byte[4][word >> 24 & 255] ^ by_byte[3][word >> 32 & 255] ^ by_byte[2][word >> 40 & 255] ^
              by_byte[1][word >> 48 & 255] ^ by_byte[0][word >> 56];
    }
    while (count--)
        crc = by_byte[0][(crc ^ *data++) & 255] ^ crc >> 8;
    return crc;
}

/* The checksum as it would be after so many more zero bytes: linear, so four bytes are looked up one by one. */
static uint32_t past(uint32_t table[4][256], uint32_t crc) {
    return table[0][crc & 255] ^ table[1][crc >> 8 & 255] ^ table[2][crc >> 16 & 255] ^ table[3][crc >> 24];
}

#ifdef HARDWARE
#define THREE_STREAMS(BYTES, TABLE)                                                  \
    for (; count >= 3 * (BYTES); count -= 3 * (BYTES), data += 3 * (BYTES)) {        \
        uint32_t second = 0, third = 0;                                              \
        for (size_t at = 0; at < (BYTES); at += 8) {                                 \
            crc = STEP8(crc, word_at(data + at));                                    \
            second = STEP8(second, word_at(data + (BYTES) + at));                    \
            third = STEP8(third, word_at(data + 2 * (BYTES) + at));                  \
        }                                                                            \
        crc = past(TABLE, past(TABLE, crc) ^ second) ^ third;                        \
    }

HARDWARE static uint32_t with_hardware(uint32_t crc, const uint8_t *data, size_t count) {
    THREE_STREAMS((size_t)LONG_BYTES, past_long)
    THREE_STREAMS((size_t)SHORT_BYTES, past_short)
    for (; count >= 8; count -= 8, data += 8)
        crc = STEP8(crc, word_at(data));
    while (count--)
        crc = STEP1(crc, *data++);
    return crc;
}
#else
static uint32_t with_hardware(uint32_t crc, const uint8_t *data, size_t count) { return with_tables(crc, data, count); }
#endif

static void prepare_past(uint32_t table[4][256], size_t zeros) {
    uint32_t basis[32];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = 1u << bit;
        for (size_t left = zeros; left--;)
            crc = by_byte[0][crc & 255] ^ crc >> 8;
        basis[bit] = crc;
    }
    for (int place = 0; place < 4; place++)
        for (int value = 0; value < 256; value++) {
            uint32_t sum = 0;
            for (int bit = 0; bit < 8; bit++)
                if (value >> bit & 1)
                    sum ^= basis[8 * place + bit];
            table[place][value] = sum;
        }
}

__attribute__((constructor)) static void prepare(void) {
    for (int value = 0; value < 256; value++) {
        uint32_t crc = (uint32_t)value;
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ POLYNOMIAL : crc >> 1;
        by_byte[0][value] = crc;
    }
    for (int place = 1; place < 8; place++)
        for (int value = 0; value < 256; value++)
            by_byte[place][value] = by_byte[0][by_byte[place - 1][value] & 255] ^ by_byte[place - 1][value] >> 8;
    prepare_past(past_long, LONG_BYTES);
    prepare_past(past_short, SHORT_BYTES);
#if defined(__x86_64__)
    __builtin_cpu_init();
    hardware = __builtin_cpu_supports("sse4.2");
#elif defined(__aarch64__) && defined(__linux__)
    hardware = (getauxval(AT_HWCAP) & 1 << 7) != 0; /* HWCAP_CRC32 */
#endif
}

PUBLIC uint32_t crashcart_crc32c(uint32_t crc, const uint8_t *data, size_t count) {
    crc = ~crc;
    return ~(hardware ? with_hardware(crc, data, count) : with_tables(crc, data, count));
}

/* For tests: the form without the processor's instruction. */
PUBLIC uint32_t crashcart_crc32c_tables(uint32_t crc, const uint8_t *data, size_t count) {
    return ~with_tables(~crc, data, count);
}
