/* SPDX-License-Identifier: MIT */
#include "scan/scan_codes.h"

#include "cuda/session.h"

static void take_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, void *part, void *scratch)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    (void)state, (void)part;
    if (pass->size == pass->parts)
        tp_codes_count8(scratch, span.codes, span.n);
    else
        tp_codes_count16(scratch, span.codes, span.n);
}

static void flush(void *state, void *scratch)
{
    const struct tp_code_sum *sum = state;
    if (sum->totals)
        tp_codes_flush(scratch, sum->totals);
}

static bool can(const void *state, const struct tp_device_lane *lane)
{
    const struct tp_code_sum *sum = state;
    (void)lane;
    return sum->totals != NULL;
}

static bool send_piece(const struct tp_pass *pass, const struct tp_piece *piece,
                       const void *state, const struct tp_device_lane *lane)
{
    const struct tp_span span = tp_piece_span(pass, piece);
    (void)state;
    return tp_device_codes(lane, &span);
}

static void take_device(void *state, void *part,
                        const struct tp_device_lane *lane)
{
    const struct tp_code_sum *sum = state;
    const struct tp_device_results results = {.totals = sum->totals};
    (void)part;
    tp_device_take(lane, &results);
}

static const struct tp_sink_device device = {can, send_piece, take_device};

const struct tp_sink tp_sink_codes = {.scratch_size =
                                          sizeof(struct tp_code_tables),
                                      .piece = take_piece,
                                      .flush = flush,
                                      .device = &device};
