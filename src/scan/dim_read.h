/* SPDX-License-Identifier: MIT */
#ifndef TP_SCAN_DIM_READ_H
#define TP_SCAN_DIM_READ_H

#include "scan/dim_slab.h"

/* Where the values of slabs come from, and how they are added to cells. */
struct tp_dim_source {
    const struct tp_pass *pass;
    const struct tp_slab_plan *plan;
    const unsigned char *codes; /* all of the walk, one slab; NULL: read    */
    int64_t scale;              /* of the cells                            */
    bool finite;                /* there is no NaN and no infinity         */
};

/* Reads slab `number` into its cells, which are laid out. */
enum tp_status tp_dim_read(const struct tp_dim_source *source, size_t number,
                           struct tp_slab *slab, struct tp_reader *reader,
                           struct tp_error *err);

#endif
