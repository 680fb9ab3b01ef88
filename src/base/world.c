/* SPDX-License-Identifier: MIT */
#include "base/world.h"

enum tp_status tp_world_tell(const struct tp_world *world, const void *bytes,
                             size_t size, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    for (unsigned i = 1; i < world->size && status == TP_OK; i++)
        status = world->send(world->context, i, bytes, size, err);
    return status;
}
