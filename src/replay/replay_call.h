/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_CALL_H
#define TP_REPLAY_REPLAY_CALL_H

#include "replay/array.h"

/*
 * A call that is executed again: its arguments by name, and the results that
 * are made. Kernels (op_x.c) take their arguments from here, and fail with
 * TP_E_UNSUPPORTED and a reason where they cannot know what the call did.
 */
struct tp_replay_call {
    const struct tp_dump_place *place;
    const struct tp_dump_call *call;
    const char *signature;    /* names of positional arguments, joined by ',',
                                 "=1" behind one its default where that is not
                                 None ("=nan": a number, or None). A last one
                                 with '*' takes all that are left           */
    struct tp_array *arrays;  /* [call->count]: of the items that are tensors
                                 and no results; else empty                  */
    struct tp_array *outputs; /* made by the kernel, in order               */
    size_t output_count, output_capacity;
    double unit; /* relative error of one rounding while it accumulates: that
                    of fp32, or of fp64 where an element is that wide      */
    double own;  /* the same of the coarsest floating tensor               */
    bool cast;   /* results are coarser than some of what goes in: the call,
                    as those under autocast, casts that first              */
    struct tp_replay_call *forward; /* of a backward call, whose arguments are
                                       gradients: that whose gradients it makes;
                                       NULL: a forward call                 */
    bool anew; /* a backward call takes the results of its forward call as
                  computed, not as dumped: if arguments are changed         */
    const char *override_name; /* an argument with another value, ...       */
    const struct tp_json *override_value; /* ... this one; NULL: none       */
    bool *lost; /* set where memory ended for what is only tried, and is none
                   then: whoever began the call fails for it; or NULL       */
};

/* For what is only tried: where memory ended, *replay->lost is set. Room for
 * count elements of size bytes, and one more, all 0: the caller's to free; or
 * NULL. Whether a status is TP_OK. */
void tp_replay_lost(const struct tp_replay_call *replay);
void *tp_replay_room(const struct tp_replay_call *replay, int64_t count,
                     size_t size);
bool tp_replay_did(const struct tp_replay_call *replay, enum tp_status status);

/* Reads the tensors that go into a call, which is zeroed but for place, call
 * and signature; of a backward call into its forward call, too, which is then
 * made from the dump. Fails as tp_array_read; cleared also then. */
enum tp_status tp_replay_call_load(struct tp_replay_call *replay,
                                   struct tp_error *err);

/* Releases tensors and results; or only results, to run again. */
void tp_replay_call_clear(struct tp_replay_call *replay);
void tp_replay_outputs_clear(struct tp_replay_call *replay);

/* --- arguments, by the names of the signature ----------------------------- */

/* The item; of a list its first one. NULL: not given, or not recorded. */
const struct tp_dump_item *tp_arg(const struct tp_replay_call *replay,
                                  const char *name);

/* Whether there was something in its place that msprobe does not record. */
bool tp_arg_is_hidden(const struct tp_replay_call *replay, const char *name);

/* TP_E_UNSUPPORTED: in the place of an argument that cannot be None, as its
 * default is a number, or of one in a list is something that msprobe does not
 * record. */
enum tp_status tp_args_recorded(const struct tp_replay_call *replay,
                                struct tp_error *err);

/* TP_E_UNSUPPORTED: a tensor of the call, by what the dump says, is larger than
 * any that is replayed. */
enum tp_status tp_args_fit(const struct tp_replay_call *replay,
                           struct tp_error *err);

/* The tensor; NULL: none was given. */
struct tp_array *tp_arg_array(const struct tp_replay_call *replay,
                              const char *name);

/* The tensor; TP_E_UNSUPPORTED without one. */
enum tp_status tp_arg_tensor(const struct tp_replay_call *replay,
                             const char *name, const struct tp_array **array,
                             struct tp_error *err);

/* A number; `absent` where there is none. */
double tp_arg_real(const struct tp_replay_call *replay, const char *name,
                   double absent);
int64_t tp_arg_integer(const struct tp_replay_call *replay, const char *name,
                       int64_t absent);

/* A text; `absent` where there is none. */
const char *tp_arg_text(const struct tp_replay_call *replay, const char *name,
                        const char *absent);

/* Numbers of a list, a size, a single number or all positions that are left;
 * at most TP_LIMIT_DIMS. Returns how many. */
int tp_arg_integers(const struct tp_replay_call *replay, const char *name,
                    int64_t *list);

/* Numbers of a list of any length, or the elements of a tensor of integers: at
 * most `room` of them. Returns how many there are. */
int64_t tp_arg_numbers(const struct tp_replay_call *replay, const char *name,
                       int64_t *list, int64_t room);

/* Whether item i of the call is an argument, or one in its list. */
bool tp_arg_is(const struct tp_replay_call *replay, size_t i, const char *name);

/* The tensors of a list, into `list` with room for call->count. */
size_t tp_arg_arrays(const struct tp_replay_call *replay, const char *name,
                     const struct tp_array **list);

/* An axis as an argument names it, from the end if negative, of `dims` axes.
 * TP_E_UNSUPPORTED when there is no such axis. */
enum tp_status tp_arg_axis(const struct tp_replay_call *replay,
                           const char *name, int64_t absent, int dims,
                           int *axis, struct tp_error *err);

/* TP_E_UNSUPPORTED: the shapes of the arguments do not fit. */
enum tp_status tp_replay_fail_shapes(struct tp_error *err);

/* TP_E_UNSUPPORTED: the arguments contradict the result that was dumped. */
enum tp_status tp_replay_fail_result(struct tp_error *err);

/* --- results -------------------------------------------------------------- */

/* The item of a result, -1 its number from the end of those made; NULL: the
 * dump has no such tensor. */
const struct tp_dump_item *tp_replay_result(const struct tp_replay_call *replay,
                                            size_t number);

/*
 * The next result, zero, with the dtype that was dumped. TP_E_UNSUPPORTED when
 * the dump has another shape there or none: then the arguments do not mean what
 * we believe.
 */
enum tp_status tp_replay_make(struct tp_replay_call *replay, int dims,
                              const int64_t *shape, struct tp_array **output,
                              struct tp_error *err);

/* The same with bounds. */
enum tp_status tp_replay_make_bounded(struct tp_replay_call *replay, int dims,
                                      const int64_t *shape,
                                      struct tp_array **output,
                                      struct tp_error *err);

/* The same of the shape that was dumped. */
enum tp_status tp_replay_make_like_dumped(struct tp_replay_call *replay,
                                          struct tp_array **output,
                                          struct tp_error *err);

/* The next result, of the shape of the last one: indices of its elements, of
 * which several may be right, so that it is not judged. Both may be elsewhere
 * afterwards. */
enum tp_status tp_replay_make_indices(struct tp_replay_call *replay,
                                      struct tp_array **elements,
                                      struct tp_array **indices,
                                      struct tp_error *err);

/* gamma_n = n u / (1 - n u) of the accumulation: what n roundings add up to at
 * most, relative to the sum of all magnitudes. */
double tp_replay_gamma(const struct tp_replay_call *replay, double n);

#endif
