/* SPDX-License-Identifier: MIT */
/*
 * What the words of a label mean. tensor_saver calls a pass "forward" or
 * "backward" and a tensor by the argument it was, so what a tensor is follows
 * from words that stand apart: in a backward file `input`, saved before the
 * operation ("pre"), is the gradient of its output, and `output`, saved after
 * it ("post"), the gradient of its input. What words mean is decided in this
 * file alone: all else asks for direction and roles, set once when a label is
 * complete. A tensor without a name keeps those; where it is shown by its path
 * instead, the path is read as a name there. Readers of files of other tools,
 * whose names tell the pass in other ways, put it into these words first. The
 * alternative, an enum in place of the words, would lose those that mean
 * nothing to us but are shown in tables. Costs a few comparisons of short
 * texts for each tensor.
 */
#include "data/label.h"

#include <stdbool.h>
#include <string.h>

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

/* Whether a tensor is the argument, or an item of it: "input", "input.1". */
static bool is_argument(const char *name, const char *argument)
{
    size_t length = strlen(argument);
    return strncmp(name, argument, length) == 0 &&
           (name[length] == '\0' || name[length] == '.');
}

unsigned tp_roles_of_name(const char *name)
{
    unsigned roles = 0;
    if (is(name, "attention_weights") || is(name, "attention_probs"))
        return TP_ROLE_ATTENTION; /* nothing an optimiser updates */
    if (strstr(name, "weight"))
        roles |= TP_ROLE_WEIGHT;
    if (strstr(name, "bias"))
        roles |= TP_ROLE_BIAS;
    return roles;
}

/*
 * Operations that write -inf where a softmax is to give nothing, and those that
 * read it; a layer type names the operation in dumps of single calls. What lies
 * between them cannot be told by its name.
 */
static bool is_masked(const struct tp_label *label)
{
    static const char *const writers[] = {
        "masked_fill", "masked_fill_", "where", "full", "full_like",
        "fill_",       "triu",         "triu_", "tril", "tril_"};
    static const char *const readers[] = {"softmax", "log_softmax", "triu",
                                          "triu_", "tril", "tril_"};
    bool before = is(label->phase, "pre"), after = is(label->phase, "post");
    if (strstr(label->tensor_name, "mask"))
        return true;
    for (size_t i = 0; after && i < sizeof writers / sizeof *writers; i++)
        if (is(label->layer_type, writers[i]))
            return true;
    for (size_t i = 0; before && i < sizeof readers / sizeof *readers; i++)
        if (is(label->layer_type, readers[i]))
            return true;
    return false;
}

const char *tp_direction_word(enum tp_direction direction)
{
    static const char *const words[] = {[TP_DIRECTION_UNKNOWN] = "",
                                        [TP_FORWARD] = "forward",
                                        [TP_BACKWARD] = "backward"};
    return words[direction];
}

static enum tp_direction direction_of(const char *operation)
{
    enum tp_direction direction = TP_BACKWARD;
    while (direction > TP_DIRECTION_UNKNOWN &&
           !is(operation, tp_direction_word(direction)))
        direction--;
    return direction;
}

void tp_label_classify(struct tp_label *label)
{
    const char *name = label->tensor_name;
    bool input = is_argument(name, "input"),
         output = is_argument(name, "output");
    label->direction = direction_of(label->operation);
    bool back = label->direction == TP_BACKWARD;
    label->roles = tp_roles_of_name(name);
    if (back && input && is(label->phase, "pre"))
        label->roles |= TP_ROLE_GRAD_OUTPUT;
    if (back && output && is(label->phase, "post"))
        label->roles |= TP_ROLE_GRAD_INPUT;
    if (!back && (input || output))
        label->roles |= TP_ROLE_ACTIVATION;
    if (!back && is_masked(label))
        label->roles |= TP_ROLE_MASKED;
}

const char *tp_backward_name(const char *name)
{
    return is(name, "input")    ? "grad_output"
           : is(name, "output") ? "grad_input"
                                : name;
}

const char *tp_label_true_name(const struct tp_label *label, const char *path)
{
    struct tp_label named = *label;
    if (!*named.tensor_name) {
        named.tensor_name = path;
        tp_label_classify(&named);
    }
    const char *name = named.tensor_name;
    if (named.roles & (TP_ROLE_GRAD_OUTPUT | TP_ROLE_GRAD_INPUT))
        return tp_backward_name(name);
    return named.direction == TP_BACKWARD && is(name, "weight")
               ? "weight (bwd)"
               : name;
}
