/* SPDX-License-Identifier: MIT */
#include "cuda/session.h"

#include <stdio.h>

#include "cuda/device.h"

struct tp_device_session *
tp_device_open(const struct tp_device_options *options, char *reason)
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

void *tp_device_buffer(struct tp_device_session *session, unsigned lane)
{
    (void)session, (void)lane;
    return NULL;
}

bool tp_device_begin(struct tp_device_session *session, unsigned lane,
                     size_t bytes)
{
    (void)session, (void)lane, (void)bytes;
    return false;
}

bool tp_device_codes(struct tp_device_session *session, unsigned lane,
                     const struct tp_span *span)
{
    (void)session, (void)lane, (void)span;
    return false;
}

bool tp_device_values(struct tp_device_session *session, unsigned lane,
                      const struct tp_span *span, const struct tp_judge *judge,
                      bool bins)
{
    (void)session, (void)lane, (void)span, (void)judge, (void)bins;
    return false;
}

bool tp_device_blocks(struct tp_device_session *session, unsigned lane,
                      const struct tp_block_plan *plan, const void *codes,
                      const uint64_t shape[3])
{
    (void)session, (void)lane, (void)plan, (void)codes, (void)shape;
    return false;
}

bool tp_device_end(struct tp_device_session *session, unsigned lane)
{
    (void)session, (void)lane;
    return false;
}

void tp_device_take(const struct tp_device_session *session, unsigned lane,
                    const struct tp_device_results *results)
{
    (void)session, (void)lane, (void)results;
}
