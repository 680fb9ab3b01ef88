/* SPDX-License-Identifier: MIT */
#include "verdict/trace_step_parts.h"

#include <stddef.h>
#include <string.h>

#include "trace/trace_rows.h"

#define LOST(verdict) (UINT32_C(1) << TP_VERDICT_##verdict)
#define LOST_BY_HOST (LOST(LAUNCH_BOUND) | LOST(HOST_BOUND))
#define AT(member) offsetof(struct tp_step_row, member)

const struct tp_step_part tp_step_parts[TP_STEP_PARTS] = {
    {"kernels", AT(kernel_us), 0,
     "the GPU's own work grows: look for shapes that grow from step to step, "
     "and for clocks that fall (power, temperature)",
     "these steps compute more: look for batches of other shapes (bucket or "
     "pack them by length), and for evaluation or statistics in some steps",
     0},
    {"copies and memsets", AT(memcpy_us), AT(memset_us),
     "look at what is copied in each step, and at results that are kept and "
     "copied again",
     "look at what only these steps copy: checkpoints, logged tensors; save "
     "them asynchronously, from pinned memory",
     LOST(COPIES)},
    {"communication", AT(communication_us), 0,
     "compare the ranks: the others may wait for one that slows down",
     "another rank may be late in these steps: record all ranks",
     LOST(COMMUNICATION)},
    {"CUDA calls", AT(runtime_us), 0,
     "look for synchronisation (.item(), print) that waits for ever more "
     "work, and for memory that is taken from the driver",
     "look for what waits or takes memory in these steps only: logging with "
     ".item(), empty_cache(), new shapes",
     LOST_BY_HOST | LOST(SYNCHRONISATION) | LOST(ALLOCATION) | LOST(QUEUED)},
    {"the DataLoader", AT(dataloader_us), 0,
     NULL,
     "batches come unevenly: raise num_workers and prefetch_factor, and look "
     "for samples that take long to read",
     LOST(DATA_LOADING)},
    {"operators on the host", AT(cpu_exec_us), 0,
     "look for what the host keeps from step to step: losses summed without "
     ".item() or .detach(), lists of tensors, hooks added again",
     "look for what only these steps do on the host: logging, evaluation, "
     "code that is compiled for new shapes",
     LOST_BY_HOST | LOST(TINY_OPERATORS) | LOST(QUEUED)},
    {"the host with nothing recorded", AT(other_us), 0,
     "record with_stack=True; look for what Python keeps from step to step: "
     "lists, logs, metrics computed over all steps so far",
     "look for what only these steps do: checkpoints, logging, garbage "
     "collection (gc.freeze() after the first step)",
     LOST_BY_HOST | LOST(QUEUED)},
};

#undef AT
#undef LOST_BY_HOST
#undef LOST

static double value_at(const struct tp_step_row *row, size_t member)
{
    double value;
    memcpy(&value, (const char *)row + member, sizeof value);
    return value;
}

double tp_step_part_us(const struct tp_step_row *row,
                       const struct tp_step_part *part)
{
    return value_at(row, part->first) +
           (part->second ? value_at(row, part->second) : 0);
}
