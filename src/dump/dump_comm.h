/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_COMM_H
#define TP_DUMP_DUMP_COMM_H

#include "dump/dump_call.h"

/*
 * Which calls of torch.distributed are one communication: the n-th call of a
 * collective in a group on each of its ranks; the n-th send from one rank to
 * another, and the n-th recv there. Of batch_isend_irecv each operation of its
 * list is one, as if it were called by itself.
 */

/* A rank's part in a communication. */
struct tp_dump_part {
    size_t place, call;
    size_t p2p;   /* from 1, of the call's list; 0: the call itself         */
    size_t event; /* parts with the same number are one communication      */
    size_t ranks; /* that take part; 0: all there are                      */
    bool gives;   /* what it has before the call may reach the others      */
};

/* The communications of one step. */
struct tp_dump_comm {
    struct tp_dump_part *parts; /* by place, then call                     */
    size_t count, capacity;
    size_t event_count;
    size_t ranks; /* of the step, as far as the largest tells             */
};

/*
 * Lists those of places [first, end) of a dump, which are one step's, each
 * another rank. Calls whose peers cannot be told are events of their own.
 * Release with tp_dump_comm_clear, also after a failure: TP_E_MEMORY.
 */
enum tp_status tp_dump_comm_match(const struct tp_dump *dump, size_t first,
                                  size_t end, struct tp_dump_comm *comm,
                                  struct tp_error *err);

/* Releases the list. */
void tp_dump_comm_clear(struct tp_dump_comm *comm);

/* Whether all ranks that take part in what a part is of are in the dump. */
bool tp_dump_comm_is_whole(const struct tp_dump_comm *comm,
                           const struct tp_dump_part *part);

/* Whether a tensor may have come by an operation of a list: that receives one
 * of its shape and dtype, and what was sent has the same NaN or Inf. */
bool tp_dump_comm_brings(const struct tp_dump_comm *comm,
                         const struct tp_dump *dump,
                         const struct tp_dump_part *part,
                         const struct tp_dump_item *item);

/* Which operation of a call's list an item of the place belongs to, as an
 * argument or as a result, from 1; 0: to none. */
size_t tp_dump_comm_p2p(const struct tp_dump_place *place, size_t call,
                        size_t item);

/* The part that a call is, or (p2p > 0) an operation of its list; NULL: it is
 * no communication. */
const struct tp_dump_part *tp_dump_comm_part(const struct tp_dump_comm *comm,
                                             size_t place, size_t call,
                                             size_t p2p);

#endif
