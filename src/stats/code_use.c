/* SPDX-License-Identifier: MIT */
/*
 * The codes of a tensor are counted as they come, in pieces that share a
 * scale. What a block holds is known when its last line was seen: blocks that
 * begin together are kept, a float each, until the next ones begin; those are
 * the blocks along one line, since lines come in order. To keep all blocks of
 * a tensor would need a sixteenth of its elements. Cost: a count, a look into
 * a table and a maximum for each element.
 */
#include "stats/code_use.h"

#include <math.h>
#include <stdlib.h>

#include "data/dtype_math.h"
#include "data/encode.h"

enum { MOST = 1 << 22, NOT_SEEN = -1 };

struct counter {
    const struct tp_scaled *scaled;
    struct tp_code_use *use;
    float table[TP_CODE_USE_CODES]; /* magnitudes                         */
    float max;         /* the largest magnitude                               */
    double scale_most; /* the largest scale of 8 bits; NaN: of more       */
    int axis;          /* lines of blocks begin when its block changes        */
    int64_t inner;     /* elements of one index of that axis                  */
    int64_t line;      /* of blocks                                           */
    int64_t base;      /* place of the first of them                          */
    float *most;       /* of each block, NOT_SEEN: none of it came            */
    double *scale;     /* of each block                                       */
    size_t room;
    size_t count; /* in use                                              */
    bool blocks;  /* are counted                                         */
    enum tp_status status; /* of that                                    */
    struct tp_error *err;
};

double tp_code_use_value(const struct tp_scaled *scaled, unsigned code)
{
    return scaled->number
               ? tp_number_decode(scaled->number,
                                  code & ((1u << scaled->number->bits) - 1))
           : scaled->packing == TP_PACKED_NOT
               ? tp_code_value(scaled->codes->dtype, code)
               : (double)((int64_t)code - scaled->bias);
}

/* ---- scales -----------------------------------------------------------------
 */

static void count_scale(struct counter *c, double scale)
{
    struct tp_code_use *use = c->use;
    int exponent;
    use->scales++;
    use->scale_nan += isnan(scale);
    use->scale_inf += isinf(scale) != 0;
    use->scale_zero += scale == 0;
    use->scale_negative += scale < 0;
    use->scale_saturated += scale == c->scale_most;
    if (!isfinite(scale) || scale <= 0)
        return;
    use->scale_powers += frexp(scale, &exponent) == 0.5;
    use->scale_min = fmin(use->scale_min, scale);
    use->scale_max = fmax(use->scale_max, scale);
}

/* ---- blocks -----------------------------------------------------------------
 */

static void end_blocks(struct counter *c)
{
    for (size_t i = 0; i < c->count; i++) {
        float most = c->most[i];
        if (most == NOT_SEEN)
            continue;
        if (c->scaled->scale.tensor)
            count_scale(c, c->scale[i]);
        c->use->blocks++;
        c->use->blocks_lost +=
            c->scaled->scale.tensor && !isfinite(c->scale[i]);
        c->use->blocks_lost +=
            c->scaled->scale.tensor && c->scale[i] == 0 && most > 0;
        c->use->blocks_at_max += most >= c->max;
        c->use->blocks_zero += most == 0;
        c->use->blocks_below_half += most > 0 && most < c->max / 2;
    }
    c->count = 0;
}

static bool make_room(struct counter *c, size_t need)
{
    size_t room = c->room;
    if (need > MOST)
        return false;
    c->status = tp_grow(&c->most, &room, need, sizeof *c->most, c->err);
    if (c->status == TP_OK)
        c->status =
            tp_grow(&c->scale, &c->room, need, sizeof *c->scale, c->err);
    if (c->status != TP_OK)
        return false;
    c->room = room < c->room ? room : c->room;
    while (c->count < need)
        c->most[c->count++] = NOT_SEEN;
    return true;
}

static void add_to_block(struct counter *c, const struct tp_scaled_piece *piece,
                         float most)
{
    const struct tp_scaled *s = c->scaled;
    int64_t index = piece->first / c->inner;
    int64_t outer = index / s->shape[c->axis];
    index %= s->shape[c->axis];
    int64_t across =
        s->scale.tensor ? s->scale.block[c->axis] : s->shape[c->axis];
    int64_t steps = (s->shape[c->axis] - 1) / across + 1;
    int64_t line = outer * steps + index / across;
    if (line != c->line) {
        end_blocks(c);
        c->line = line;
        c->base = piece->place;
    }
    size_t place = (size_t)(piece->place - c->base);
    c->blocks = piece->place >= c->base &&
                (place < c->count || make_room(c, place + 1));
    if (!c->blocks)
        return;
    c->scale[place] = piece->scale;
    c->most[place] = fmaxf(c->most[place], most);
}

/* ---- codes ------------------------------------------------------------------
 */

static void add_piece(void *context, const struct tp_scaled_piece *piece)
{
    struct counter *c = context;
    struct tp_code_use *use = c->use;
    float most = 0;
    use->elements += piece->count;
    if (use->codes) {
        for (size_t i = 0; i < piece->count; i++) {
            const unsigned code = piece->codes[i] & (TP_CODE_USE_CODES - 1);
            const float magnitude = c->table[code];
            use->code[code]++;
            most = magnitude > most ? magnitude : most;
        }
    } else {
        for (size_t i = 0; i < piece->count; i++) {
            const float magnitude = (float)fabs(
                tp_code_use_value(c->scaled, piece->codes[i]) - piece->zero);
            use->at_max += magnitude >= c->max;
            use->zero += magnitude == 0;
            most = magnitude > most ? magnitude : most;
        }
    }
    if (c->blocks)
        add_to_block(c, piece, most);
}

/* Codes that a format has; 0: more than are counted. */
static unsigned codes_of(const struct tp_scaled *s)
{
    if (s->number)
        return 1u << s->number->bits;
    if (s->packing != TP_PACKED_NOT)
        return 1u << s->bits;
    return tp_dtype_info(s->codes->dtype)->size == 1 ? TP_CODE_USE_CODES : 0;
}

/* Magnitudes of codes, and the largest; of integers the smaller end, which
 * both signs have. */
static void make_table(struct counter *c)
{
    const struct tp_scaled *s = c->scaled;
    float least = 0;
    for (unsigned i = 0; i < c->use->codes; i++) {
        const float value = (float)tp_code_use_value(s, i);
        c->table[i] = isfinite(value) ? fabsf(value) : 0;
        c->max = isfinite(value) ? fmaxf(c->max, value) : c->max;
        least = isfinite(value) ? fminf(least, value) : least;
    }
    if (!c->use->codes)
        c->max = 0x1p31f;
    if (!s->number && -least > 0 && c->max > 0)
        c->max = fminf(c->max, -least);
}

/* Of blocks that lie across several axes, the first of these. */
static void find_lines(struct counter *c)
{
    const struct tp_scaled *s = c->scaled;
    while (c->axis + 2 < s->ndim && s->scale.tensor &&
           (s->shape[c->axis] == 1 || s->scale.block[c->axis] == 1))
        c->axis++;
    c->inner = 1;
    for (int i = c->axis + 1; i < s->ndim; i++)
        c->inner *= s->shape[i];
}

static void finish(struct counter *c)
{
    struct tp_code_use *use = c->use;
    const struct tp_tensor *scale = c->scaled->scale.tensor;
    if (c->blocks)
        end_blocks(c);
    else
        use->blocks = use->blocks_at_max = use->blocks_below_half =
            use->blocks_zero = use->blocks_lost = 0;
    if (scale && (uint64_t)scale->numel > use->scales)
        use->unused = (uint64_t)scale->numel - use->scales;
    for (unsigned i = 0; i < use->codes; i++) {
        use->codes_used += use->code[i] > 0;
        use->at_max += c->table[i] >= c->max ? use->code[i] : 0;
        use->zero += tp_code_use_value(c->scaled, i) == 0 ? use->code[i] : 0;
    }
    if (use->scale_max < use->scale_min)
        use->scale_min = use->scale_max = NAN;
}

enum tp_status tp_code_use_count(const struct tp_scaled *scaled,
                                 struct tp_code_use *use, struct tp_error *err)
{
    const struct tp_block_scale *scale = &scaled->scale;
    *use = (struct tp_code_use){.codes = codes_of(scaled),
                                .scale_min = INFINITY,
                                .scale_max = -INFINITY};
    struct counter c = {.scaled = scaled,
                        .use = use,
                        .line = -1,
                        .blocks = true,
                        .scale_most = NAN,
                        .err = err};
    int64_t n = (int64_t)(scaled->base.size / sizeof(float));
    enum tp_dtype dtype = scale->dtype;
    if (scale->tensor && dtype == TP_DTYPE_COUNT)
        dtype = scale->tensor->dtype;
    if (scale->tensor && dtype == TP_FLOAT8_E4M3FN)
        c.scale_most = 448;
    if (scale->tensor && dtype == TP_FLOAT8_E8M0FNU)
        c.scale_most = 0x1p127;
    make_table(&c);
    if (n > 0)
        find_lines(&c);
    enum tp_status status =
        n > 0 ? tp_scaled_walk(scaled, 0, n, add_piece, &c, err) : TP_OK;
    finish(&c);
    free(c.most);
    free(c.scale);
    return status == TP_OK ? c.status : status;
}
