/* SPDX-License-Identifier: MIT */
#ifndef TP_INCIDENTS_EXPLAIN_H
#define TP_INCIDENTS_EXPLAIN_H

#include "incidents/alarm.h"

struct tp_row;

/* Marks the rows that incidents explain, all->explained. TP_E_MEMORY only. */
enum tp_status tp_incidents_explain(struct tp_incidents *all,
                                    struct tp_error *err);

/* Whether a row is a consequence of an incident (its origin included), and
 * so says nothing about the tensor itself. */
bool tp_row_explained(const struct tp_incidents *all, const struct tp_row *row);

#endif
