/* SPDX-License-Identifier: MIT */
#include "cuda/session.h"

#include "cuda/device.h"

struct tp_device_session *tp_device_open(
    const struct tp_device_options *options, char *reason)
{
    (void)options;
    tp_device_count(reason);
    return NULL;
}

void tp_device_close(struct tp_device_session *session)
{
    (void)session;
}

unsigned tp_device_lanes(const struct tp_device_session *session)
{
    (void)session;
    return 0;
}

const char *tp_device_failure(const struct tp_device_session *session)
{
    (void)session;
    return "";
}

bool tp_device_begin(const struct tp_device_lane *lane)
{
    (void)lane;
    return false;
}

void *tp_device_stage(const struct tp_device_lane *lane)
{
    (void)lane;
    return NULL;
}

bool tp_device_send(const struct tp_device_lane *lane, size_t bytes)
{
    (void)lane, (void)bytes;
    return false;
}

bool tp_device_gather(const struct tp_device_lane *lane,
                      const struct tp_device_view *view, uint64_t first,
                      uint64_t n)
{
    (void)lane, (void)view, (void)first, (void)n;
    return false;
}

bool tp_device_codes(const struct tp_device_lane *lane,
                     const struct tp_span *span)
{
    (void)lane, (void)span;
    return false;
}

bool tp_device_values(const struct tp_device_lane *lane,
                      const struct tp_span *span, const struct tp_judge *judge,
                      unsigned wanted)
{
    (void)lane, (void)span, (void)judge, (void)wanted;
    return false;
}

bool tp_device_float_bins_room(const struct tp_device_lane *lane)
{
    (void)lane;
    return false;
}

bool tp_device_float_bins(const struct tp_device_lane *lane,
                          const struct tp_span *span)
{
    (void)lane, (void)span;
    return false;
}

bool tp_device_select(const struct tp_device_lane *lane,
                      const struct tp_span *span,
                      const struct tp_select *select)
{
    (void)lane, (void)span, (void)select;
    return false;
}

bool tp_device_blocks(const struct tp_device_lane *lane,
                      const struct tp_block_plan *plan,
                      const struct tp_block_rows *rows)
{
    (void)lane, (void)plan, (void)rows;
    return false;
}

bool tp_device_tallies(const struct tp_device_lane *lane, size_t count)
{
    (void)lane, (void)count;
    return false;
}

bool tp_device_tally(const struct tp_device_lane *lane, size_t tally,
                     const struct tp_tally_plan *plan,
                     const struct tp_block_rows *rows)
{
    (void)lane, (void)tally, (void)plan, (void)rows;
    return false;
}

bool tp_device_float_tallies(const struct tp_device_lane *lane, size_t count)
{
    (void)lane, (void)count;
    return false;
}

bool tp_device_float_tally(const struct tp_device_lane *lane, size_t tally,
                           const struct tp_tally_plan *plan,
                           const struct tp_block_rows *rows)
{
    (void)lane, (void)tally, (void)plan, (void)rows;
    return false;
}

bool tp_device_dims(const struct tp_device_lane *lane,
                    const struct tp_device_matrix *dims)
{
    (void)lane, (void)dims;
    return false;
}

bool tp_device_dims_fit(const struct tp_device_lane *lane,
                        const struct tp_device_matrix *dims, size_t stage_rows)
{
    (void)lane, (void)dims, (void)stage_rows;
    return false;
}

void *tp_device_batch(const struct tp_device_lane *lane)
{
    (void)lane;
    return NULL;
}

bool tp_device_lists(const struct tp_device_lane *lane,
                     struct tp_device_list *lists, size_t count)
{
    (void)lane, (void)lists, (void)count;
    return false;
}

bool tp_device_end(const struct tp_device_lane *lane)
{
    (void)lane;
    return false;
}

void tp_device_take(const struct tp_device_lane *lane,
                    const struct tp_device_results *results)
{
    (void)lane, (void)results;
}

void tp_device_take_tally(const struct tp_device_lane *lane, size_t tally,
                          struct tp_tally *into)
{
    (void)lane, (void)tally, (void)into;
}

void tp_device_take_float_tally(const struct tp_device_lane *lane, size_t tally,
                                struct tp_float_tally_total *into)
{
    (void)lane, (void)tally, (void)into;
}

void tp_device_take_dims(const struct tp_device_lane *lane,
                         struct tp_dim_cells *columns,
                         const struct tp_dim_cell **rows)
{
    (void)lane, (void)columns, (void)rows;
}
