/* SPDX-License-Identifier: MIT */
/*
 * One count for the tallies of all MX formats: of the codes by the exponent of
 * their block's largest magnitude, and of the blocks by that magnitude. Each
 * pair that occurs is then looked at once per format, as tally.c looks at codes
 * outside of a block's limits.
 *
 * Alternative: a tally for each format (tally.c), which costs next to nothing
 * for a format with a wide range, where hardly a code is outside, but some
 * nanoseconds for each of the most codes that 4 and 6 bits cannot hold.
 *
 * Cost: half a nanosecond a code; at the end some ten thousand pairs a format.
 */
#include "stats/joint_tally.h"

#include <string.h>

#include "stats/blocks_plan.h"
#include "stats/magnitudes.h"
#include "stats/tally_math.h"

bool tp_joint_tally_applies(const struct tp_quant_spec *spec,
                            enum tp_dtype dtype)
{
    const bool fnuz =
        dtype == TP_FLOAT8_E4M3FNUZ || dtype == TP_FLOAT8_E5M2FNUZ;
    return tp_tally_applies(spec, dtype) && !fnuz &&
           dtype != TP_FLOAT8_E8M0FNU &&
           (spec->rule == TP_SCALE_FLOOR || spec->rule == TP_SCALE_CEIL);
}

/* --- counting ------------------------------------------------------------- */

static unsigned key_of(const struct tp_block_plan *plan, unsigned largest)
{
    int field = (int)((largest + plan->carry) >> plan->fraction_bits);
    if (plan->fraction_bits == 10 && largest < 0x400)
        field = tp_binary16_exponent(largest, plan->carry);
    return (unsigned)(field + TP_JOINT_BELOW);
}

/* The counts that the codes of a block are added to; NULL: they are not. */
static inline uint32_t *find_counts(const struct tp_block_plan *plan,
                                    unsigned largest,
                                    struct tp_joint_tally *joint)
{
    if (largest >= plan->infinity)
        return NULL;
    joint->blocks[largest]++;
    if (largest == 0)
        return NULL;
    const unsigned key = key_of(plan, largest);
    joint->used[key] = true;
    joint->largest[key] = (uint16_t)largest;
    return joint->count[key];
}

/* The largest magnitude, as 16 bits, of n codes, at most 32. */
static unsigned largest_of(const struct tp_block_plan *plan,
                           const unsigned char *codes, size_t n)
{
    union {
        uint16_t half[32];
        uint8_t byte[32];
    } block = {{0}};
    memcpy(&block, codes, n * (size_t)plan->code_size);
    return plan->code_size == 2
               ? tp_largest_magnitude(block.half, 32)
               : plan->widened[tp_largest_byte(block.byte)] & 0x7fffu;
}

/* Counts what the last block of a row, or one of bytes, has. */
static void add_block(const struct tp_block_plan *plan,
                      const unsigned char *codes, size_t n,
                      struct tp_joint_tally *joint)
{
    uint32_t *count = find_counts(plan, largest_of(plan, codes, n), joint);
    for (size_t i = 0; i < n && count; i++) {
        uint16_t code = codes[i];
        if (plan->code_size == 2)
            memcpy(&code, codes + 2 * i, sizeof code);
        count[code]++;
    }
}

/* The whole blocks of a row of codes of 16 bits; returns how many codes. */
static size_t add_halves(const struct tp_block_plan *plan,
                         const uint16_t *codes, size_t length,
                         struct tp_joint_tally *joint)
{
    size_t i = 0;
    for (; i + 32 <= length; i += 32) {
        uint32_t *count =
            find_counts(plan, tp_largest_magnitude(codes + i, 32), joint);
        for (size_t j = i; j < i + 32 && count; j += 4) {
            uint64_t four; /* one load */
            memcpy(&four, codes + j, sizeof four);
            count[four & 0xffff]++;
            count[four >> 16 & 0xffff]++;
            count[four >> 32 & 0xffff]++;
            count[four >> 48]++;
        }
    }
    return i;
}

/* The same of bytes. */
static size_t add_bytes(const struct tp_block_plan *plan, const uint8_t *codes,
                        size_t length, struct tp_joint_tally *joint)
{
    size_t i = 0;
    for (; i + 32 <= length; i += 32) {
        uint32_t *count = find_counts(
            plan, plan->widened[tp_largest_byte(codes + i)] & 0x7fffu, joint);
        for (size_t j = i; j < i + 32 && count; j += 8) {
            uint64_t eight;
            memcpy(&eight, codes + j, sizeof eight);
            for (int k = 0; k < 8; k++, eight >>= 8)
                count[eight & 0xff]++;
        }
    }
    return i;
}

void tp_joint_tally_rows(const struct tp_joint_plans *plans,
                         const struct tp_block_rows *rows,
                         struct tp_joint_tally *joint)
{
    const struct tp_block_plan *plan = &plans->plan[0]->blocks;
    const size_t size = (size_t)plan->code_size, length = rows->row_length;
    const unsigned char *at = rows->codes;
    for (size_t row = 0; row < rows->rows; row++, at += length * size) {
        const size_t done =
            size == 2 ? add_halves(plan, (const uint16_t *)(const void *)at,
                                   length, joint)
                      : add_bytes(plan, at, length, joint);
        if (done < length)
            add_block(plan, at + done * size, length - done, joint);
    }
}

static void add_special(const struct tp_joint_plans *plans,
                        const unsigned char *codes, size_t n,
                        struct tp_tally *tallies)
{
    const struct tp_block_plan *plan = &plans->plan[0]->blocks;
    if (largest_of(plan, codes, n) < plan->infinity)
        return;
    for (size_t i = 0; i < plans->count; i++)
        tp_tally_rows(plans->plan[i], codes, 1, n, &tallies[i]);
}

void tp_joint_tally_special(const struct tp_joint_plans *plans,
                            const struct tp_block_rows *rows,
                            struct tp_tally *tallies)
{
    const size_t size = (size_t)plans->plan[0]->blocks.code_size;
    const size_t length = rows->row_length;
    const unsigned char *at = rows->codes;
    for (size_t row = 0; row < rows->rows; row++, at += length * size)
        for (size_t i = 0; i < length; i += 32)
            add_special(plans, at + i * size, length - i < 32 ? length - i : 32,
                        tallies);
}

/* --- what becomes of them ------------------------------------------------- */

static void add_blocks(const struct tp_block_plan *plan,
                       const struct tp_joint_tally *joint,
                       struct tp_quant_error *counts)
{
    struct tp_quant_error sums = {.blocks = joint->blocks[0],
                                  .zero_blocks = joint->blocks[0]};
    for (unsigned largest = 1; largest < TP_TALLY_CODES; largest++) {
        const uint32_t blocks = joint->blocks[largest];
        if (blocks == 0)
            continue;
        const int slot = tp_mx_slot(plan, largest);
        const uint16_t least = (uint16_t)(256 - slot);
        const uint16_t most = (uint16_t)(slot + 1);
        sums.blocks += blocks;
        if (largest > plan->limits[slot].finite)
            sums.saturated_blocks += blocks;
        sums.scale_least = least > sums.scale_least ? least : sums.scale_least;
        sums.scale_largest =
            most > sums.scale_largest ? most : sums.scale_largest;
    }
    tp_quant_merge(counts, &sums, 1);
}

/* A code of 16 bits in blocks of some key, and how often it is there. */
struct entry {
    uint32_t code, count;
};

/* Codes of one key, few at a time. */
struct entries {
    unsigned largest; /* of a block of the key */
    size_t n;
    struct entry entry[1024];
};

static void add_entries(const struct tp_tally_plan *plan,
                        const struct entries *entries, struct tp_tally *tally)
{
    const int slot = tp_mx_slot(&plan->blocks, entries->largest);
    const struct tp_block_limits *limits = &plan->blocks.limits[slot];
    for (size_t i = 0; i < entries->n; i++) {
        const struct entry *entry = &entries->entry[i];
        const unsigned magnitude = entry->code & 0x7fff;
        unsigned class = TP_TALLY_SATURATED;
        if (magnitude > limits->finite)
            *(entry->code == magnitude ? &tally->counts.upper_overflow
                                       : &tally->counts.lower_overflow) +=
                entry->count;
        else if (magnitude > 0 && magnitude <= limits->fewer)
            class = tp_small_class(plan, slot, magnitude);
        else
            continue;
        tally->count[class][magnitude] += entry->count;
        tally->used[class][magnitude / TP_TALLY_LINE] = 1;
    }
}

static void send(const struct tp_joint_plans *plans, struct entries *entries,
                 struct tp_tally *tallies)
{
    for (size_t i = 0; i < plans->count; i++)
        add_entries(plans->plan[i], entries, &tallies[i]);
    entries->n = 0;
}

/* Takes the codes of a key, and empties them. */
static void flush_key(const struct tp_joint_plans *plans, uint32_t *count,
                      struct entries *entries, struct tp_tally *tallies)
{
    const struct tp_block_plan *plan = &plans->plan[0]->blocks;
    const bool bytes = plan->code_size == 1;
    const uint32_t codes = bytes ? 256 : TP_JOINT_CODES;
    for (uint32_t code = 0; code < codes; code++) {
        if (count[code] == 0)
            continue;
        entries->entry[entries->n++] =
            (struct entry){bytes ? plan->widened[code] : code, count[code]};
        if (entries->n == sizeof entries->entry / sizeof *entries->entry)
            send(plans, entries, tallies);
    }
    send(plans, entries, tallies);
    memset(count, 0, codes * sizeof *count);
}

void tp_joint_tally_flush(const struct tp_joint_plans *plans,
                          struct tp_joint_tally *joint,
                          struct tp_tally *tallies)
{
    struct entries entries = {.n = 0};
    for (size_t i = 0; i < plans->count; i++)
        add_blocks(&plans->plan[i]->blocks, joint, &tallies[i].counts);
    memset(joint->blocks, 0, sizeof joint->blocks);
    for (int key = 0; key < TP_JOINT_KEYS; key++) {
        if (!joint->used[key])
            continue;
        entries.largest = joint->largest[key];
        flush_key(plans, joint->count[key], &entries, tallies);
        joint->used[key] = false;
        joint->largest[key] = 0;
    }
}
