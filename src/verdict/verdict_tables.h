/* SPDX-License-Identifier: MIT */
#ifndef TP_VERDICT_VERDICT_TABLES_H
#define TP_VERDICT_VERDICT_TABLES_H

#include "data/table.h"
#include "verdict/judged.h"

/* The tables of trace.h5 about what was judged. */
enum tp_judged_table {
    TP_JUDGED_RANKS, TP_JUDGED_VERDICTS, TP_JUDGED_FINDINGS,
    TP_JUDGED_OF_ONE, /* so many of a run of one trace */
    TP_JUDGED_COLLECTIVES = TP_JUDGED_OF_ONE, TP_JUDGED_COLLECTIVE_SIZES,
    TP_JUDGED_STRAGGLING, TP_JUDGED_TABLES
};

/* Sets up every table as it is now; borrows `judged`. */
void tp_judged_tables_make(const struct tp_trace_judged *judged,
                           struct tp_table tables[TP_JUDGED_TABLES]);

#endif
