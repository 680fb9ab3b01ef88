/* SPDX-License-Identifier: MIT */
/*
 * Operands are contracted (contract.h) one after the other from the left, as
 * torch does; what is between two of them keeps the labels that the result or
 * a later operand has. Another order, which a planner may choose, rounds other
 * sums: the bound has the roundings of this one. The gradient of an operand is
 * the sum of the products of the result's gradient with all others, with the
 * labels of the operand: an equation again.
 */
#include "replay/einsum.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "replay/contract.h"

static enum tp_status fail_equation(struct tp_error *err)
{
    return tp_fail(err, TP_E_UNSUPPORTED, -1,
                   "its equation does not fit its tensors");
}

/* --- equations ------------------------------------------------------------ */

/* The label of a letter; -1: it is none. */
static int label_of(char letter)
{
    return letter >= 'A' && letter <= 'Z'   ? letter - 'A'
           : letter >= 'a' && letter <= 'z' ? letter - 'a' + 26
                                            : -1;
}

static bool add_label(struct tp_einsum_labels *labels, int label)
{
    if (label < 0 || labels->count == TP_LIMIT_DIMS)
        return false;
    labels->label[labels->count++] = (unsigned char)label;
    return true;
}

/* Reads one term, up to ',' or '-' or the end. `rest`: how many axes "..."
 * stands for. NULL: it is no term. */
static const char *read_term(const char *at, int rest,
                             struct tp_einsum_labels *labels)
{
    labels->count = 0;
    for (; *at && *at != ',' && *at != '-'; at++) {
        if (isspace((unsigned char)*at))
            continue;
        if (!strncmp(at, "...", 3)) {
            for (int i = rest; i-- > 0;)
                if (!add_label(labels, 52 + i))
                    return NULL;
            at += 2;
            rest = 0;
        } else if (!add_label(labels, label_of(*at))) {
            return NULL;
        }
    }
    return at;
}

/* Letters of a term. */
static int letters_in(const char *at)
{
    int count = 0;
    for (; *at && *at != ',' && *at != '-'; at++)
        count += label_of(*at) >= 0;
    return count;
}

/* Whether a term has "...". */
static bool has_rest(const char *at)
{
    for (; *at && *at != ',' && *at != '-'; at++)
        if (*at == '.')
            return true;
    return false;
}

static bool set_lengths(struct tp_einsum *e, int which)
{
    const struct tp_array *array = e->arrays[which];
    const struct tp_einsum_labels *labels = &e->operands[which];
    if (labels->count != array->dims)
        return false;
    for (int i = 0; i < labels->count; i++) {
        int64_t *length = &e->lengths[labels->label[i]];
        if (*length != array->shape[i] && *length > 1 && array->shape[i] != 1)
            return false;
        if (*length < 0 || *length == 1)
            *length = array->shape[i];
        else if (*length == 0 && array->shape[i] > 1)
            return false;
    }
    return true;
}

/* Labels that occur once, axes of "..." first. */
static bool set_implicit(struct tp_einsum *e)
{
    int seen[TP_EINSUM_LABELS] = {0};
    for (int k = 0; k < e->count; k++)
        for (int i = 0; i < e->operands[k].count; i++)
            seen[e->operands[k].label[i]]++;
    e->output.count = 0;
    for (int i = TP_EINSUM_LABELS; i-- > 52;)
        if (seen[i] && !add_label(&e->output, i))
            return false;
    for (int i = 0; i < 52; i++)
        if (seen[i] == 1 && !add_label(&e->output, i))
            return false;
    return true;
}

/* Each label of the result is one of an operand, and there once. */
static bool has_output(const struct tp_einsum *e)
{
    bool seen[TP_EINSUM_LABELS] = {false};
    for (int i = 0; i < e->output.count; i++) {
        const int label = e->output.label[i];
        if (e->lengths[label] < 0 || seen[label])
            return false;
        seen[label] = true;
    }
    return true;
}

enum tp_status tp_einsum_init(struct tp_einsum *einsum, const char *equation,
                              const struct tp_array *const *arrays,
                              size_t count, struct tp_error *err)
{
    const char *at = equation;
    int rest = 0;
    memset(einsum, 0, sizeof *einsum);
    if (count < 1 || count > TP_EINSUM_OPERANDS)
        return fail_equation(err);
    for (int i = 0; i < TP_EINSUM_LABELS; i++)
        einsum->lengths[i] = -1;
    einsum->count = (int)count;
    for (int i = 0; i < einsum->count; i++) {
        const int more = arrays[i]->dims - letters_in(at);
        const int own = has_rest(at) && more > 0 ? more : 0;
        einsum->arrays[i] = arrays[i];
        at = read_term(at, own, &einsum->operands[i]);
        if (!at || !set_lengths(einsum, i) ||
            *at != (i + 1 < einsum->count ? ','
                    : *at == '-'          ? '-'
                                          : 0))
            return fail_equation(err);
        at += i + 1 < einsum->count;
        rest = own > rest ? own : rest;
    }
    const bool fits =
        *at ? at[1] == '>' && (at = read_term(at + 2, rest, &einsum->output)) &&
                  !*at
            : set_implicit(einsum);
    return fits && has_output(einsum) ? TP_OK : fail_equation(err);
}

int tp_einsum_shape(const struct tp_einsum *einsum, int64_t *shape)
{
    for (int i = 0; i < einsum->output.count; i++)
        shape[i] = einsum->lengths[einsum->output.label[i]];
    return einsum->output.count;
}

/* --- contracting ---------------------------------------------------------- */

/* A tensor and what its axes are. */
struct side {
    const struct tp_array *array;
    const struct tp_einsum_labels *labels;
};

/* Steps of a label in a tensor, those of a diagonal added; 0: it repeats. */
static int64_t step_of(struct side side, int label)
{
    int64_t strides[TP_LIMIT_DIMS], step = 0;
    tp_array_strides(side.array, strides);
    for (int i = 0; i < side.labels->count; i++)
        if (side.labels->label[i] == label && side.array->shape[i] != 1)
            step += strides[i];
    return step;
}

static bool has_label(const struct tp_einsum_labels *labels, int label)
{
    return memchr(labels->label, label, (size_t)labels->count) != NULL;
}

/* The order of the axes is that of the output, then of the left and the right
 * side: so what lies in order is found to. */
static enum tp_status add_axes(struct tp_contraction *c,
                               const struct side sides[3],
                               const int64_t *lengths, struct tp_error *err)
{
    bool seen[TP_EINSUM_LABELS] = {false};
    enum tp_status status = TP_OK;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < sides[k].labels->count && status == TP_OK; i++) {
            const int label = sides[k].labels->label[i];
            if (seen[label])
                continue;
            seen[label] = true;
            struct tp_contract_axis axis = {
                lengths[label], step_of(sides[1], label),
                step_of(sides[2], label), step_of(sides[0], label), false};
            axis.kept = axis.output != 0 ||
                        (axis.length == 1 && has_label(sides[0].labels, label));
            status = tp_contract_add(c, axis, err);
        }
    return status;
}

static enum tp_status contraction_of(const struct tp_einsum *e,
                                     const struct side sides[3],
                                     struct tp_array *output,
                                     struct tp_contraction *c,
                                     struct tp_error *err)
{
    *c = (struct tp_contraction){.left = sides[1].array,
                                 .right = sides[2].array,
                                 .output = output,
                                 .unit = e->unit};
    return add_axes(c, sides, e->lengths, err);
}

static enum tp_status contract(const struct tp_einsum *e, struct side left,
                               struct side right, struct side output,
                               struct tp_array *result, struct tp_error *err)
{
    struct tp_contraction c;
    const struct side sides[3] = {output, left, right};
    enum tp_status status = tp_array_bounds(result, err);
    if (status == TP_OK)
        status = contraction_of(e, sides, result, &c, err);
    return status == TP_OK ? tp_contract(&c, err) : status;
}

enum tp_status tp_einsum_contraction(const struct tp_einsum *einsum,
                                     struct tp_array *output,
                                     struct tp_contraction *contraction,
                                     struct tp_error *err)
{
    const struct side sides[3] = {{output, &einsum->output},
                                  {einsum->arrays[0], &einsum->operands[0]},
                                  {einsum->arrays[1], &einsum->operands[1]}};
    return contraction_of(einsum, sides, output, contraction, err);
}

/* Labels of two sides that the result or an operand from `next` on has. */
static void set_between(const struct tp_einsum *e, const struct side *sides,
                        int next, struct tp_einsum_labels *between)
{
    between->count = 0;
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < sides[k].labels->count; i++) {
            const int label = sides[k].labels->label[i];
            bool used = has_label(&e->output, label);
            for (int j = next; j < e->count; j++)
                used |= has_label(&e->operands[j], label);
            if (used && !has_label(between, label) &&
                between->count < TP_LIMIT_DIMS)
                between->label[between->count++] = (unsigned char)label;
        }
}

/* The lengths of both sides together; what one has repeats. */
static enum tp_status make_between(const struct tp_einsum *e,
                                   const struct tp_einsum_labels *labels,
                                   const struct side *sides,
                                   struct tp_array *array, struct tp_error *err)
{
    int64_t shape[TP_LIMIT_DIMS];
    for (int i = 0; i < labels->count; i++) {
        const int label = labels->label[i];
        shape[i] = step_of(sides[0], label) || step_of(sides[1], label)
                       ? e->lengths[label]
                       : 1;
    }
    return tp_array_make(array, labels->count, shape, err);
}

/* All but the last two: what they come to is `between`. */
static enum tp_status fold(const struct tp_einsum *e, int next,
                           struct side *sides, struct tp_array *between,
                           struct tp_einsum_labels *labels,
                           struct tp_error *err)
{
    struct tp_array made = {.dims = 0};
    struct tp_einsum_labels own;
    set_between(e, sides, next, &own);
    enum tp_status status = make_between(e, &own, sides, &made, err);
    if (status == TP_OK)
        status = contract(e, sides[0], sides[1], (struct side){&made, &own},
                          &made, err);
    for (int64_t i = 0; status == TP_OK && i < made.count; i++)
        made.bound[i] += e->own * fabs(made.value[i]);
    tp_array_clear(between);
    *between = made;
    *labels = own;
    return status;
}

enum tp_status tp_einsum_run(const struct tp_einsum *einsum,
                             struct tp_array *output, struct tp_error *err)
{
    static const struct tp_einsum_labels none = {0};
    double one = 1;
    const struct tp_array single = {.count = 1, .value = &one};
    struct tp_array between = {.dims = 0};
    struct tp_einsum_labels labels = {0};
    struct side sides[2] = {{einsum->arrays[0], &einsum->operands[0]},
                            {&single, &none}};
    enum tp_status status = TP_OK;
    for (int i = 1; i < einsum->count && status == TP_OK; i++) {
        sides[1] = (struct side){einsum->arrays[i], &einsum->operands[i]};
        if (i + 1 == einsum->count)
            break;
        status = fold(einsum, i + 1, sides, &between, &labels, err);
        sides[0] = (struct side){&between, &labels};
    }
    if (status == TP_OK)
        status = contract(einsum, sides[0], sides[1],
                          (struct side){output, &einsum->output}, output, err);
    tp_array_clear(&between);
    return status;
}

struct tp_einsum tp_einsum_turned(const struct tp_einsum *einsum,
                                  const struct tp_array *gradient, int which)
{
    struct tp_einsum turned = *einsum;
    turned.arrays[which] = gradient;
    turned.operands[which] = einsum->output;
    turned.output = einsum->operands[which];
    return turned;
}

enum tp_status tp_einsum_gradient(const struct tp_einsum *einsum,
                                  const struct tp_array *gradient, int which,
                                  struct tp_array *output, struct tp_error *err)
{
    const struct tp_einsum turned = tp_einsum_turned(einsum, gradient, which);
    return tp_einsum_run(&turned, output, err);
}
