/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_WORK_H
#define TP_TRACE_TRACE_WORK_H

#include "trace/trace.h"
#include "trace/trace_flops.h"

/* Which operator the device events of a trace belong to, as a roofline sees
 * it. */

struct tp_trace_work {
    const struct tp_trace *trace;
    uint32_t *inputs; /* [events.count] text of events.inputs; 0: none     */
    /* [texts.count] of names that were asked for: whether there is a model */
    const struct tp_work_model **models;
    bool *asked;
    bool *direct;     /* [events.count] of operators: starts kernels itself*/
};

/* Reads which operators have inputs. TP_E_MEMORY; clear also after that. */
enum tp_status tp_trace_work_init(struct tp_trace_work *work,
                                  const struct tp_trace *trace,
                                  struct tp_error *err);
void tp_trace_work_clear(struct tp_trace_work *work);

/* The operator whose work a device event is: the outermost around its call
 * that counts as a whole or is one of torch that starts kernels itself, else
 * the innermost; TP_NO_EVENT without. */
uint32_t tp_trace_work_owner(struct tp_trace_work *work, uint32_t event);

/* trace->fusions and trace->optimizers; `owners` are those of the device
 * events. trace_fusions.c */
enum tp_status tp_trace_fusions(struct tp_trace *trace,
                                struct tp_trace_work *work,
                                const uint32_t *owners, struct tp_error *err);

/* What an operator was given. */
void tp_trace_work_args(const struct tp_trace_work *work, uint32_t op,
                        struct tp_op_args *args);

/* What an operator has to do that was given this. */
struct tp_work tp_trace_work_of(struct tp_trace_work *work, uint32_t op,
                                const struct tp_op_args *args);

#endif
