/* SPDX-License-Identifier: MIT */
/* What the words of a label mean, as tensor_saver and its readers use them. */
#include "data/label.h"

#include <criterion/criterion.h>

static struct tp_label label_of(const char *operation, const char *phase,
                                const char *name)
{
    struct tp_label label = TP_LABEL_NONE;
    label.operation = operation;
    label.phase = phase;
    label.tensor_name = name;
    tp_label_classify(&label);
    return label;
}

Test(label, roles_follow_from_words)
{
    static const struct {
        const char *operation, *phase, *name;
        enum tp_direction direction;
        unsigned roles;
        const char *true_name;
    } cases[] = {
        {"forward", "pre", "input", TP_FORWARD, TP_ROLE_ACTIVATION, "input"},
        {"forward", "post", "output", TP_FORWARD, TP_ROLE_ACTIVATION, "output"},
        {"forward", "pre", "weight", TP_FORWARD, TP_ROLE_WEIGHT, "weight"},
        {"forward", "pre", "bias", TP_FORWARD, TP_ROLE_BIAS, "bias"},
        {"forward", "post", "attention_weights", TP_FORWARD, TP_ROLE_ATTENTION,
         "attention_weights"},
        {"forward", "post", "attention_probs", TP_FORWARD, TP_ROLE_ATTENTION,
         "attention_probs"},
        {"forward", "pre", "query", TP_FORWARD, 0, "query"},
        {"backward", "pre", "input", TP_BACKWARD, TP_ROLE_GRAD_OUTPUT,
         "grad_output"},
        {"backward", "post", "output", TP_BACKWARD, TP_ROLE_GRAD_INPUT,
         "grad_input"},
        {"backward", "post", "input", TP_BACKWARD, 0, "input"},
        {"backward", "", "input", TP_BACKWARD, 0, "input"},
        {"backward", "pre", "output", TP_BACKWARD, 0, "output"},
        {"backward", "pre", "weight", TP_BACKWARD, TP_ROLE_WEIGHT,
         "weight (bwd)"},
        {"backward", "post", "grad_weight", TP_BACKWARD, TP_ROLE_WEIGHT,
         "grad_weight"},
        {"", "", "model.fc.bias", TP_DIRECTION_UNKNOWN, TP_ROLE_BIAS,
         "model.fc.bias"},
        {"Forward", "pre", "input", TP_DIRECTION_UNKNOWN, TP_ROLE_ACTIVATION,
         "input"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_label label =
            label_of(cases[i].operation, cases[i].phase, cases[i].name);
        cr_expect_eq(label.direction, cases[i].direction, "case %zu", i);
        cr_expect_eq(label.roles, cases[i].roles, "case %zu: %u", i,
                     label.roles);
        cr_expect_str_eq(tp_label_true_name(&label, "path"),
                         cases[i].true_name, "case %zu", i);
    }
}

/* A tensor without a name goes by its path, and by that is what it is. */
Test(label, a_path_stands_in_for_a_name)
{
    struct tp_label label = label_of("backward", "pre", "");
    cr_expect_eq(label.roles, 0);
    cr_expect_str_eq(tp_label_true_name(&label, "input"), "grad_output");
    cr_expect_str_eq(tp_label_true_name(&label, "weight"), "weight (bwd)");
    cr_expect_str_eq(tp_label_true_name(&label, "a.b"), "a.b");
    cr_expect_eq(tp_roles_of_name("layers.0.weight"), TP_ROLE_WEIGHT);
    cr_expect_eq(tp_roles_of_name("query"), 0);
    cr_expect_str_eq(tp_backward_name("output"), "grad_input");
    cr_expect_str_eq(tp_backward_name("weight"), "weight");
}

Test(label, directions_have_words)
{
    cr_expect_str_eq(tp_direction_word(TP_FORWARD), "forward");
    cr_expect_str_eq(tp_direction_word(TP_BACKWARD), "backward");
    cr_expect_str_eq(tp_direction_word(TP_DIRECTION_UNKNOWN), "");
}
