/* SPDX-License-Identifier: MIT */
#ifndef TP_DUMP_DUMP_ANOMALY_H
#define TP_DUMP_DUMP_ANOMALY_H

#include "data/table.h"
#include "dump/dump.h"

/*
 * Where NaN and Inf come from: of every call that has some, in which of its
 * items, and which call they came from.
 */

/* A call with NaN or Inf, or whose norm grew. Texts are never NULL. */
struct tp_dump_anomaly {
    int64_t step, rank, order; /* order: of the call in its place          */
    const char *api_name;
    const char *level; /* critical: outputs only; high: inputs and outputs, or
                          the norm grew 100-fold; medium: inputs only      */
    const char *scene; /* the same in words                                */
    const char *value; /* which item holds what                            */
    int64_t first;     /* 1: an origin                                     */
    int64_t mask;      /* 1: only infinities that are meant, as in masks   */
    const char *stack; /* the line of the program; "": not known           */
    size_t origin;     /* of the origins; TP_NO_ORIGIN: of none            */
};

enum tp_origin_kind {
    TP_ORIGIN_CALL,    /* a call made it from what is finite               */
    TP_ORIGIN_MASKED,  /* a call made NaN of the infinities of a mask      */
    TP_ORIGIN_GIVEN,   /* an input has it that no call gave                */
    TP_ORIGIN_RECEIVED /* it came from a rank that is not in the dump      */
};

#define TP_NO_ORIGIN ((size_t)-1)

/* Where some NaN or Inf began. */
struct tp_dump_origin {
    enum tp_origin_kind kind;
    size_t place, call; /* in the dump                                     */
    size_t item;        /* of the place: the first that holds it           */
    unsigned health;    /* TP_HEALTH_*                                     */
    size_t followers;   /* other calls that have it from here              */
    size_t follower_place, follower; /* the first of them                  */
    size_t same; /* the origin that this one turned out to be part of;
                    TP_NO_ORIGIN: it stands for itself                     */
    bool silent; /* inputs without statistics: it may come from these      */
};

/* All-zero bytes are none. */
struct tp_dump_anomalies {
    struct tp_dump_anomaly *rows; /* by step, rank, order                  */
    size_t count, capacity;
    struct tp_dump_origin *origins;
    size_t origin_count, origin_capacity;
    size_t masks; /* calls with a mask's infinities only                 */
    size_t grown; /* calls whose norm grew                               */
    const char *first_grown; /* name of the first of them; NULL: none      */
    size_t tensors; /* that may hold NaN or Inf                            */
    size_t unknown; /* of these without statistics                         */
    struct tp_arena arena; /* owns the texts                               */
};

/*
 * Traces a dump (which outlives the result). Release with
 * tp_dump_anomalies_clear, also after a failure: TP_E_MEMORY only.
 */
enum tp_status tp_dump_anomalies_find(const struct tp_dump *dump,
                                      struct tp_dump_anomalies *anomalies,
                                      struct tp_error *err);

/* Releases everything. */
void tp_dump_anomalies_clear(struct tp_dump_anomalies *anomalies);

/* The origin that one stands for in the end. */
size_t tp_dump_origin_of(const struct tp_dump_anomalies *anomalies,
                         size_t origin);

/* The table `overflow`. */
void tp_dump_anomalies_table(const struct tp_dump_anomalies *anomalies,
                             struct tp_table *table);

#endif
