/* SPDX-License-Identifier: MIT */
#include "dump/dump_anomaly.h"

#include <stdlib.h>
#include <string.h>

void tp_dump_anomalies_clear(struct tp_dump_anomalies *anomalies)
{
    free(anomalies->rows);
    free(anomalies->origins);
    tp_arena_clear(&anomalies->arena);
    memset(anomalies, 0, sizeof *anomalies);
}

/* The columns of overflow.csv. */
static const struct tp_column columns[] = {
    TP_COLUMN(struct tp_dump_anomaly, step, "1"),
    TP_COLUMN(struct tp_dump_anomaly, rank, "1"),
    TP_COLUMN(struct tp_dump_anomaly, order, "1"),
    TP_COLUMN(struct tp_dump_anomaly, api_name, ""),
    TP_COLUMN(struct tp_dump_anomaly, level, ""),
    TP_COLUMN(struct tp_dump_anomaly, scene, ""),
    TP_COLUMN(struct tp_dump_anomaly, value, ""),
    TP_COLUMN(struct tp_dump_anomaly, first, "1"),
    TP_COLUMN(struct tp_dump_anomaly, mask, "1"),
    TP_COLUMN(struct tp_dump_anomaly, stack, ""),
};

void tp_dump_anomalies_table(const struct tp_dump_anomalies *anomalies,
                             struct tp_table *table)
{
    *table =
        TP_TABLE_OF("overflow", columns, anomalies->rows, anomalies->count);
}
