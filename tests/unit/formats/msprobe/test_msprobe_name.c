/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_name.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

/* A name as one line: kind, type, path, class, number, direction, place,
 * argument, call. */
static const char *line_of(const char *text, char *line, size_t size)
{
    static const char *const kinds[] = {"api", "module", "variable"};
    static const char *const places[] = {"call", "input", "output", "kwargs",
                                         "parameters"};
    struct tp_msprobe_name name;
    if (!tp_msprobe_name_parse(text, strlen(text), &name))
        return "none";
    snprintf(line, size, "%s|%.*s|%.*s|%.*s|%d|%s|%s|%.*s|%.*s|%s",
             kinds[name.kind], (int)name.type.length, name.type.at,
             (int)name.path.length, name.path.at, (int)name.class_name.length,
             name.class_name.at, (int)name.number,
             tp_direction_word(name.direction), places[name.place],
             (int)name.argument.length, name.argument.at, (int)name.call.length,
             name.call.at, name.gradient ? "gradient" : "");
    return line;
}

/* The names of the seed's page on dumps, of msprobe's own dumps, and of its
 * older generations. */
Test(msprobe_name, every_form)
{
    static const char *const names[][2] = {
        {"Functional.linear.0.forward",
         "api|Functional|linear||0|forward|call||Functional.linear.0.forward|"},
        {"Tensor.permute.1.forward",
         "api|Tensor|permute||1|forward|call||Tensor.permute.1.forward|"},
        {"MyModule.0.forward.input",
         "api|MyModule|MyModule||0|forward|input||MyModule.0.forward|"},
        {"Fcuntion.linear.5.backward.output",
         "api|Fcuntion|linear||5|backward|output||Fcuntion.linear.5.backward|"},
        {"Torch.cat.0.forward.input.0.1",
         "api|Torch|cat||0|forward|input|0.1|Torch.cat.0.forward|"},
        {"Tensor.__getitem__.12.forward.kwargs.dim",
         "api|Tensor|__getitem__||12|forward|kwargs|dim|"
         "Tensor.__getitem__.12.forward|"},
        {"Distributed.all_reduce.3.forward.output.0",
         "api|Distributed|all_reduce||3|forward|output|0|"
         "Distributed.all_reduce.3.forward|"},
        {"Module.gpt.blocks.0.ln1.LayerNorm.forward.0.parameters.weight",
         "module|Module|gpt.blocks.0.ln1|LayerNorm|0|forward|parameters|"
         "weight|Module.gpt.blocks.0.ln1.LayerNorm.forward.0|"},
        {"Module.gpt.blocks.0.ln1.LayerNorm.parameters_grad.0.weight",
         "module|Module|gpt.blocks.0.ln1|LayerNorm|0|backward|parameters|"
         "weight|Module.gpt.blocks.0.ln1.LayerNorm.parameters_grad.0|gradient"},
        {"Module.fc.Linear.parameters_grad",
         "module|Module|fc|Linear|-1|backward|call||"
         "Module.fc.Linear.parameters_grad|gradient"},
        {"Module.forward.Net.backward.2.output.0",
         "module|Module|forward|Net|2|backward|output|0|"
         "Module.forward.Net.backward.2|"},
        {"Cell.network.fc.Dense.forward.0.input.0",
         "module|Cell|network.fc|Dense|0|forward|input|0|"
         "Cell.network.fc.Dense.forward.0|"},
        {"loss.0.debug", "variable||loss||0||call||loss.0.debug|"},
        {"x_grad.3.debug.1", "variable||x_grad||3||output|1|x_grad.3.debug|"},
        {"Functional_linear_5_forward_input.0",
         "api|Functional|linear||5|forward|input|0|"
         "Functional_linear_5_forward|"},
        {"Tensor___add___0_backward_output.1.2",
         "api|Tensor|__add__||0|backward|output|1.2|"
         "Tensor___add___0_backward|"},
    };
    char line[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_str_eq(line_of(names[i][0], line, sizeof line), names[i][1],
                         "%s: %s", names[i][0], line);
}

Test(msprobe_name, names_of_others_are_none)
{
    static const char *const names[] = {
        "",
        ".",
        "forward",
        "0.forward",
        "linear.forward.input",
        "Functional.linear.x.forward",
        "Functional.linear.0.forward.weights.0",
        "20250908_091054_0006_linear_L1_backward_mxfp4_input",
        "model.layers.0.weight",
        "linear_L1_forward_pre_linear_0_forward_x",
    };
    char line[256];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_str_eq(line_of(names[i], line, sizeof line), "none", "%s",
                         names[i]);
}

static int64_t layer_of(const char *text)
{
    struct tp_msprobe_name name;
    return tp_msprobe_name_parse(text, strlen(text), &name)
               ? tp_msprobe_layer(&name)
               : -2;
}

Test(msprobe_name, layers_are_the_first_number_of_a_path)
{
    cr_expect_eq(layer_of("Module.gpt.blocks.11.fc.Linear.forward.3"), 11);
    cr_expect_eq(layer_of("Module.layers.2.experts.5.w1.Linear.backward.0"), 2);
    cr_expect_eq(layer_of("Module.head.Linear.forward.7"), -1);
    cr_expect_eq(layer_of("Functional.linear.7.forward"), -1);
}

static const char *argument_of(const char *text)
{
    struct tp_msprobe_name name;
    cr_assert(tp_msprobe_name_parse(text, strlen(text), &name));
    const char *argument = tp_msprobe_argument_name(&name);
    return argument ? argument : "";
}

Test(msprobe_name, arguments_have_the_names_of_their_signature)
{
    cr_expect_str_eq(argument_of("Functional.linear.0.forward.input.1"),
                     "weight");
    cr_expect_str_eq(argument_of("Functional.layer_norm.0.forward.input.3"),
                     "bias");
    cr_expect_str_eq(argument_of("Functional.layer_norm.0.forward.input.1"),
                     "");
    cr_expect_str_eq(argument_of("Functional.linear.0.forward.input.9"), "");
    cr_expect_str_eq(argument_of("Functional.linear.0.backward.input.0"), "");
    cr_expect_str_eq(argument_of("Functional.linear.0.forward.output.1"), "");
    cr_expect_str_eq(argument_of("Torch.matmul.0.forward.input.1"), "");
}
