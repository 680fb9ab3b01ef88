/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_OPERATORS_H
#define TP_REPLAY_OPERATORS_H

#include "replay/replay_call.h"

/*
 * The operators that are replayed. A kernel computes in fp64 from the values
 * that were dumped, in a fixed order, and gives with each result the bound of
 * what rounding to the accumulating dtype explains: the first-order running
 * error bound (Higham, Accuracy and Stability of Numerical Algorithms, 3.1 and
 * 3.3). The rounding of the result itself is added by who judges.
 */

/* What happens to one element. `x`: its operands; `*terms` gets the magnitudes
 * that are rounded on the way, each as often as it is. */
typedef double tp_point_fn(const double *x, double *terms);

/*
 * How the element changes with operand `i`, a partial derivative. `y` is the
 * element as the forward call gave it, which operators that keep their result
 * start from. terms[0] gets the magnitudes that are rounded on the way as
 * above, terms[1] those that are rounded to the tensors' dtype.
 */
typedef double tp_slope_fn(const double *x, double y, int i, double *terms);

struct tp_operator;
struct tp_backward;

/* Makes the results of a call. */
typedef enum tp_status tp_kernel_fn(struct tp_replay_call *replay,
                                    const struct tp_operator *row,
                                    struct tp_error *err);

/* Makes the gradients of a call's arguments: backward.h. */
typedef enum tp_status tp_backward_fn(struct tp_backward *backward,
                                      const struct tp_operator *row,
                                      struct tp_error *err);

struct tp_operator {
    const char *names;     /* of the API, joined by ' '; "add" is also add_,
                              __add__ and __iadd__                          */
    const char *signature; /* of its positional arguments                   */
    tp_kernel_fn *run;     /* NULL: its results are random or, without a
                              signature, memory that nobody has set         */
    tp_point_fn *point; /* of tp_run_point: with so many first arguments    */
    int operands;
    const char *parameters; /* arguments that no operator makes: weights    */
    tp_backward_fn *back;   /* NULL: its gradients are not replayed          */
    tp_slope_fn *slope;     /* of tp_back_point                             */
};

/* The rows, ended by one without names. */
extern const struct tp_operator tp_operators[];

/* The row of an API's name; NULL: it has none. */
const struct tp_operator *tp_operator_of(struct tp_msprobe_part name);

/* Whether the function of torch of this name takes its arguments in the order
 * of torch.nn.functional, which the rows have. */
bool tp_operator_is_ordered(struct tp_msprobe_part name);

/* What only tensor_saver saves (saved_calls.h), ended by one without names. */
extern const struct tp_operator tp_saved_operators[];

/* The row of a call that tensor_saver saved: one of these, or of the others. */
const struct tp_operator *tp_saved_operator_of(struct tp_msprobe_part name);

/* --- the kernels ---------------------------------------------------------- */

#define TP_KERNEL(name)                                \
    enum tp_status name(struct tp_replay_call *replay, \
                        const struct tp_operator *row, struct tp_error *err)

#define TP_BACKWARD(name)                             \
    enum tp_status name(struct tp_backward *backward, \
                        const struct tp_operator *row, struct tp_error *err)

/* Elementwise, with broadcasting. Operands are the first arguments of the
 * signature, tensors or numbers. */
TP_KERNEL(tp_run_point);
TP_KERNEL(tp_run_divide);
TP_KERNEL(tp_run_gelu);
TP_KERNEL(tp_run_invert);
TP_KERNEL(tp_run_prelu);
TP_KERNEL(tp_run_nan_to_num);
TP_BACKWARD(tp_back_prelu);
TP_BACKWARD(tp_back_nan_to_num);
TP_BACKWARD(tp_back_point);
TP_BACKWARD(tp_back_divide);
TP_BACKWARD(tp_back_gelu);

/* Products: x W^T + b; of vectors, matrices and stacks of these as
 * torch.matmul; by an equation; beta C + alpha A B. */
TP_KERNEL(tp_run_linear);
TP_KERNEL(tp_run_bilinear);
TP_KERNEL(tp_run_matmul);
TP_KERNEL(tp_run_reversed_matmul);
TP_KERNEL(tp_run_outer);
TP_KERNEL(tp_run_einsum);
TP_KERNEL(tp_run_addmm);
TP_KERNEL(tp_run_baddbmm);
TP_KERNEL(tp_run_addbmm);
TP_KERNEL(tp_run_addmv);
TP_KERNEL(tp_run_addr);
TP_BACKWARD(tp_back_linear);
TP_BACKWARD(tp_back_matmul);
TP_BACKWARD(tp_back_reversed_matmul);
TP_BACKWARD(tp_back_outer);
TP_BACKWARD(tp_back_view);
TP_BACKWARD(tp_back_einsum);
TP_BACKWARD(tp_back_bilinear);
TP_BACKWARD(tp_back_addmm);
TP_BACKWARD(tp_back_baddbmm);
TP_BACKWARD(tp_back_addbmm);
TP_BACKWARD(tp_back_addmv);
TP_BACKWARD(tp_back_addr);

/* The logarithm of softmax along an axis, into an output with bounds. */
void tp_log_softmax(const struct tp_array *input, int axis, double unit,
                    struct tp_array *output);

/* Adds a vector to each row of an output. */
void tp_add_bias(const struct tp_replay_call *replay,
                 const struct tp_array *bias, struct tp_array *output);

/* The equation of torch.matmul for two tensors of so many axes. */
const char *tp_matmul_equation(int left, int right);

/* Normalisation over the last axes, the channels of a group, or all but the
 * channel. */
TP_KERNEL(tp_run_layer_norm);
TP_KERNEL(tp_run_rms_norm);
TP_KERNEL(tp_run_group_norm);
TP_KERNEL(tp_run_batch_norm);
TP_KERNEL(tp_run_instance_norm);
TP_KERNEL(tp_run_npu_rms_norm);
TP_KERNEL(tp_run_normalize);
TP_KERNEL(tp_run_cosine);
TP_BACKWARD(tp_back_normalize);
TP_BACKWARD(tp_back_cosine);
TP_BACKWARD(tp_back_layer_norm);
TP_BACKWARD(tp_back_rms_norm);
TP_BACKWARD(tp_back_group_norm);
TP_BACKWARD(tp_back_batch_norm);
TP_BACKWARD(tp_back_npu_rms_norm);

/* Softmax, its logarithm, and losses; pair_loss is the mean, the sum or all of
 * a function of two tensors. */
TP_KERNEL(tp_run_softmax);
TP_KERNEL(tp_run_softmin);
TP_KERNEL(tp_run_log_softmax);
TP_KERNEL(tp_run_cross_entropy);
TP_KERNEL(tp_run_nll);
TP_BACKWARD(tp_back_softmax);
TP_BACKWARD(tp_back_log_softmax);
TP_BACKWARD(tp_back_classes);
TP_BACKWARD(tp_back_pair_loss);
TP_KERNEL(tp_run_pair_loss);

/* Reductions over axes: sum is also the mean, variance its root, and extreme
 * the one that row->point leaves, arg its place. Gradients that follow dumped
 * indices are indexed. */
TP_KERNEL(tp_run_sum);
TP_KERNEL(tp_run_norm);
TP_KERNEL(tp_run_norms);
TP_KERNEL(tp_run_variance);
TP_KERNEL(tp_run_cumsum);
TP_KERNEL(tp_run_logsumexp);
TP_KERNEL(tp_run_extreme);
TP_KERNEL(tp_run_arg);
TP_KERNEL(tp_run_prod);
TP_KERNEL(tp_run_cumprod);
TP_BACKWARD(tp_back_sum);
TP_BACKWARD(tp_back_norm);
TP_BACKWARD(tp_back_variance);
TP_BACKWARD(tp_back_cumsum);
TP_BACKWARD(tp_back_logsumexp);
TP_BACKWARD(tp_back_extreme);
TP_BACKWARD(tp_back_indexed);
TP_BACKWARD(tp_back_prod);
TP_BACKWARD(tp_back_cumprod);

/* The name that the order of a norm has: p, or ord in torch.linalg. */
const char *tp_norm_order_name(const struct tp_operator *row);

/* How many a variance takes off the count: a number, or unbiased as a bool,
 * which may stand where the axes are not said. */
double tp_variance_correction(const struct tp_replay_call *replay);

/* Movement: same is the input in its order with another shape or dtype; split
 * gives one result after the other along an axis. */
TP_KERNEL(tp_run_same);
TP_BACKWARD(tp_back_same);
TP_BACKWARD(tp_back_convert);
TP_BACKWARD(tp_back_move);
TP_BACKWARD(tp_back_embedding);
TP_KERNEL(tp_run_transpose);
TP_KERNEL(tp_run_permute);
TP_KERNEL(tp_run_movedim);
TP_KERNEL(tp_run_expand);
TP_KERNEL(tp_run_repeat);
TP_KERNEL(tp_run_cat);
TP_KERNEL(tp_run_stack);
TP_KERNEL(tp_run_split);
TP_KERNEL(tp_run_constant);
TP_KERNEL(tp_run_one_hot);
TP_KERNEL(tp_run_arange);

/* Values by index, or some of them. */
TP_KERNEL(tp_run_embedding);
TP_KERNEL(tp_run_gather);
TP_KERNEL(tp_run_index_select);
TP_KERNEL(tp_run_narrow);
TP_KERNEL(tp_run_triangle);
TP_KERNEL(tp_run_masked_select);
TP_KERNEL(tp_run_masked_scatter);
TP_BACKWARD(tp_back_dropout);

/* Elements by their rank along an axis. */
TP_KERNEL(tp_run_topk);
TP_KERNEL(tp_run_kthvalue);
TP_KERNEL(tp_run_median);
TP_KERNEL(tp_run_argsort);
TP_KERNEL(tp_run_running);

/* Elements to places by index, and results whose axes each take the indices of
 * a list. */
TP_KERNEL(tp_run_scatter);
TP_BACKWARD(tp_back_scatter);
TP_KERNEL(tp_run_pad);
TP_KERNEL(tp_run_flip);
TP_KERNEL(tp_run_roll);
TP_KERNEL(tp_run_interleave);
TP_BACKWARD(tp_back_interleave);

/* scaled_dot_product_attention, and fused operators of torch_npu. */
TP_KERNEL(tp_run_attention);
TP_KERNEL(tp_run_core_attention);
TP_KERNEL(tp_run_npu_attention);
TP_KERNEL(tp_run_rotary);
TP_KERNEL(tp_run_swiglu);
TP_KERNEL(tp_run_glu);
TP_BACKWARD(tp_back_glu);
TP_KERNEL(tp_run_scaled_softmax);
TP_KERNEL(tp_run_grouped);
TP_BACKWARD(tp_back_attention);
TP_BACKWARD(tp_back_npu_attention);
TP_BACKWARD(tp_back_rotary);
TP_BACKWARD(tp_back_swiglu);
TP_BACKWARD(tp_back_scaled_softmax);
TP_BACKWARD(tp_back_grouped);

/* Windows over the last one to three axes. */
TP_KERNEL(tp_run_conv);
TP_BACKWARD(tp_back_conv);
TP_KERNEL(tp_run_pool);
TP_BACKWARD(tp_back_pool);
TP_KERNEL(tp_run_interpolate);
TP_BACKWARD(tp_back_interpolate);

#endif
