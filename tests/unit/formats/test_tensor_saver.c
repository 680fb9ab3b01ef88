/* SPDX-License-Identifier: MIT */
#include "formats/tensor_saver.h"
#include "tests/unit/support/testdata.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "formats/torch/torch_object.h"

static void expect_text(const char *path, const char *field, const char *is,
                        const char *should)
{
    cr_expect(strcmp(is, should) == 0, "%s: %s is \"%s\", not \"%s\"", path,
              field, is, should);
}

static void expect_number(const char *path, const char *field, int64_t is,
                          int64_t should)
{
    cr_expect(is == should, "%s: %s is %" PRId64 ", not %" PRId64, path, field,
              is, should);
}

static void expect_label(const char *path, const struct tp_label *is,
                         const struct tp_label *should)
{
    expect_text(path, "layer_type", is->layer_type, should->layer_type);
    expect_text(path, "operation", is->operation, should->operation);
    expect_text(path, "phase", is->phase, should->phase);
    expect_text(path, "component", is->component, should->component);
    expect_text(path, "quant_type", is->quant_type, should->quant_type);
    expect_text(path, "tensor_name", is->tensor_name, should->tensor_name);
    expect_text(path, "timestamp", is->timestamp, should->timestamp);
    expect_number(path, "layer_idx", is->layer_idx, should->layer_idx);
    expect_number(path, "rank", is->rank, should->rank);
    expect_number(path, "sample_idx", is->sample_idx, should->sample_idx);
    expect_number(path, "group_idx", is->group_idx, should->group_idx);
    expect_number(path, "iteration", is->iteration, should->iteration);
    expect_number(path, "counter", is->counter, should->counter);
    expect_number(path, "batch_size", is->batch_size, should->batch_size);
}

/* A path and what it says: texts in the order layer type, operation, phase,
 * component, quantisation type, tensor name, time stamp; numbers in the order
 * layer, rank, sample, group, iteration, counter. */
struct example {
    const char *path;
    const char *text[7];
    int64_t number[6];
};

static struct tp_label example_label(const struct example *example)
{
    const char *const *text = example->text;
    const int64_t *number = example->number;
    return (struct tp_label){
        .layer_type = text[0],
        .operation = text[1],
        .phase = text[2],
        .component = text[3],
        .quant_type = text[4],
        .tensor_name = text[5],
        .timestamp = text[6],
        .layer_idx = number[0],
        .rank = number[1],
        .sample_idx = number[2],
        .group_idx = number[3],
        .iteration = number[4],
        .counter = number[5],
        .batch_size = -1,
    };
}

static void expect_examples(const struct example *examples, size_t count)
{
    struct tp_arena arena = {0};
    for (size_t i = 0; i < count; i++) {
        struct tp_label label, should = example_label(&examples[i]);
        struct tp_error err = {0};
        cr_assert_eq(tp_label_from_name(examples[i].path, &arena, &label, &err),
                     TP_OK);
        expect_label(examples[i].path, &label, &should);
        tp_arena_reset(&arena);
    }
    tp_arena_clear(&arena);
}

#define EXPECT_EXAMPLES(array) \
    expect_examples(array, sizeof array / sizeof array[0])

/* Every version of the saver, in the order they were written. */
Test(tensor_saver, name_of_every_version)
{
    static const struct example examples[] = {
        {"20250908_091054_0006_linear_L1_backward_mxfp4_input.pt",
         {"linear", "backward", "", "", "mxfp4", "input", "20250908_091054"},
         {1, -1, -1, -1, -1, 6}},
        {"logs/20250908_095220_0003_attention_L0_forward_pre_FA_hifp8_"
         "value.pt",
         {"attention", "forward", "pre", "FA", "hifp8", "value",
          "20250908_095220"},
         {0, -1, -1, -1, -1, 3}},
        {"20250908_091143_0544_linear_forward_post_linear_fp16_output.pt",
         {"linear", "forward", "post", "linear", "fp16", "output",
          "20250908_091143"},
         {-1, -1, -1, -1, -1, 544}},
        {"20250912_142030_0007_iter012_attention_L16_forward_post_FA_mxfp8_"
         "rank03_sample002_group001_attention_weights.pt",
         {"attention", "forward", "post", "FA", "mxfp8", "attention_weights",
          "20250912_142030"},
         {16, 3, 2, 1, 12, 7}},
        {"20250915_091300_12345_iter1000_linear_backward_pre_linear_bf16_"
         "rank07_group000_input.pt",
         {"linear", "backward", "pre", "linear", "bf16", "input",
          "20250915_091300"},
         {-1, 7, -1, 0, 1000, 12345}},
        {"20250923_100142_0020_iter000_linear_L2_forward_pre_linear_mxfp8_"
         "rank00_group000_weight.pkl",
         {"linear", "forward", "pre", "linear", "mxfp8", "weight",
          "20250923_100142"},
         {2, 0, -1, 0, 0, 20}},
        {"/data/hifp8/20250914_100000_0001_iter000_linear_L1_forward_pre_"
         "linear_hifp8_rank00_sample001_input.pt",
         {"linear", "forward", "pre", "linear", "hifp8", "input",
          "20250914_100000"},
         {1, 0, 1, -1, 0, 1}},
        {"20251223_180000_iter007_linear_L3_backward_post_linear_mxfp8e4m3_"
         "rank01_grad_input_A.pt",
         {"linear", "backward", "post", "linear", "mxfp8e4m3", "grad_input_A",
          "20251223_180000"},
         {3, 1, -1, -1, 7, -1}},
        {"20250909_120000_iter000_attention_L5_forward_hifp8_rank02_"
         "sample001_group000_query.pt",
         {"attention", "forward", "", "", "hifp8", "query", "20250909_120000"},
         {5, 2, 1, 0, 0, -1}},
        {"20250912_090000_8731_iter004_linear_L8_forward_post_linear_mxfp4_"
         "rank05_sample002_group002_grad_weight.pt",
         {"linear", "forward", "post", "linear", "mxfp4", "grad_weight",
          "20250912_090000"},
         {8, 5, 2, 2, 4, 8731}},
        {"20250914_190417_0000_iter005_L8_linear_backward_bf16_rank07_"
         "sample2_group001_output.pt",
         {"linear", "backward", "", "", "bf16", "output", "20250914_190417"},
         {8, 7, 2, 1, 5, 0}},
        {"20241201_143022_0001_iter000_linear_L0_forward_post_linear_bf16_"
         "rank0_sample0_output.pt",
         {"linear", "forward", "post", "linear", "bf16", "output",
          "20241201_143022"},
         {0, 0, 0, -1, 0, 1}},
        {"iter_12/decoder_attn_140234567890123.pt",
         {"", "", "", "", "", "decoder_attn", ""},
         {-1, -1, -1, -1, 12, -1}},
    };
    EXPECT_EXAMPLES(examples);
}

/* Dumps of msprobe: directories give step and rank, names all else. */
Test(tensor_saver, names_of_msprobe)
{
    static const struct example examples[] = {
        {"d/step3/rank2/dump_tensor_data/Functional.linear.4.forward.input.1"
         ".pt",
         {"linear", "forward", "pre", "Functional", "", "weight", ""},
         {-1, 2, -1, 4, 3, -1}},
        {"Functional.linear.4.backward.input.0.pt",
         {"linear", "backward", "pre", "Functional", "", "input", ""},
         {-1, -1, -1, 4, -1, -1}},
        {"Torch.cat.0.forward.input.0.11.pt",
         {"cat", "forward", "pre", "Torch", "", "input", ""},
         {-1, -1, -1, 0, -1, -1}},
        {"Torch.topk.0.forward.output.1.pt",
         {"topk", "forward", "post", "Torch", "", "output.1", ""},
         {-1, -1, -1, 0, -1, -1}},
        {"Tensor.softmax.2.forward.kwargs.mask.pt",
         {"softmax", "forward", "pre", "Tensor", "", "mask", ""},
         {-1, -1, -1, 2, -1, -1}},
        {"Module.gpt.blocks.7.fc.Linear.forward.0.parameters.weight.pt",
         {"gpt.blocks.fc", "forward", "pre", "Linear", "", "weight", ""},
         {7, -1, -1, 0, -1, -1}},
        {"Module.gpt.blocks.7.fc.Linear.parameters_grad.1.bias.pt",
         {"gpt.blocks.fc", "backward", "post", "Linear", "", "bias", ""},
         {7, -1, -1, 1, -1, -1}},
        {"step0/rank0/MyModule.0.forward.input.pt",
         {"MyModule", "forward", "pre", "MyModule", "", "input", ""},
         {-1, 0, -1, 0, 0, -1}},
        {"Tensor.permute.1.forward.pt",
         {"permute", "forward", "", "Tensor", "", "", ""},
         {-1, -1, -1, 1, -1, -1}},
        {"loss.0.debug.pt",
         {"", "", "", "", "", "loss", ""},
         {-1, -1, -1, 0, -1, -1}},
        /* a call of a type nobody knows, without a place: anybody's name */
        {"encoder.attention.0.forward.pt",
         {"", "", "", "", "", "encoder.attention.0.forward", ""},
         {-1, -1, -1, -1, -1, -1}},
    };
    EXPECT_EXAMPLES(examples);
}

/* The largest iterations, and one that is no int64_t, which is unknown but no
 * part of the layer type. */
Test(tensor_saver, iterations_of_many_digits)
{
#define NAMED(iteration)                   \
    "20250915_091300_12345_iter" iteration \
    "_linear_backward_pre_linear_bf16_rank07_group000_input.pt"
#define LABELS                                                  \
    {                                                           \
        "linear", "backward", "pre", "linear", "bf16", "input", \
            "20250915_091300"                                   \
    }
    static const struct example examples[] = {
        {NAMED("999999999999999999"),
         LABELS,
         {-1, 7, -1, 0, 999999999999999999, 12345}},
        {NAMED("9223372036854775806"),
         LABELS,
         {-1, 7, -1, 0, INT64_MAX - 1, 12345}},
        {NAMED("9223372036854775807"),
         LABELS,
         {-1, 7, -1, 0, INT64_MAX, 12345}},
        {NAMED("9223372036854775808"), LABELS, {-1, 7, -1, 0, -1, 12345}},
        {NAMED("0000000000000000000000000000012"),
         LABELS,
         {-1, 7, -1, 0, 12, 12345}},
        {"20250915_091300_99999999999999999999_iter007_linear_backward_pre_"
         "linear_bf16_rank07_group000_input.pt",
         LABELS,
         {-1, 7, -1, 0, 7, -1}},
    };
    EXPECT_EXAMPLES(examples);
}

/* Words that look like other words. */
Test(tensor_saver, ambiguous_names)
{
    static const struct example examples[] = {
        {"20250923_100142_0001_iter000_feed_forward_L1_forward_pre_linear_"
         "bf16_rank00_input.pt",
         {"feed_forward", "forward", "pre", "linear", "bf16", "input",
          "20250923_100142"},
         {1, 0, -1, -1, 0, 1}},
        {"20250923_100142_0001_iter000_linear_L1_forward_pre_feed_forward_"
         "bf16_rank00_input.pt",
         {"linear", "forward", "pre", "feed_forward", "bf16", "input",
          "20250923_100142"},
         {1, 0, -1, -1, 0, 1}},
        {"20250923_100142_0001_linear_L1_forward_bf16_backward_copy.pt",
         {"linear", "forward", "", "", "bf16", "backward_copy",
          "20250923_100142"},
         {1, -1, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_bf16_mxfp8_rank00_x.pt",
         {"linear", "forward", "pre", "bf16", "mxfp8", "x", "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_bf16_mxfp8_x.pt",
         {"linear", "forward", "pre", "bf16", "mxfp8", "x", "20250923_100142"},
         {1, -1, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_linear_fp8_e4m3_rank01_"
         "input_A.pt",
         {"linear", "forward", "pre", "linear", "fp8_e4m3", "input_A",
          "20250923_100142"},
         {1, 1, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_fp4_e2m1_input_B.pt",
         {"linear", "forward", "", "", "fp4_e2m1", "input_B",
          "20250923_100142"},
         {1, -1, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_linear_int4_rank00_w.pt",
         {"linear", "forward", "pre", "linear", "int4", "w", "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_linear_rank00_w.pt",
         {"linear", "forward", "pre", "linear", "", "w", "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_unknown_unknown_bf16_rank00_"
         "w.pt",
         {"linear", "forward", "", "", "bf16", "w", "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_linear_bf16_rank00_w.pt",
         {"linear", "forward", "", "linear", "bf16", "w", "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_attention_L3_self_forward_pre_FA_bf16_q.pt",
         {"attention_self", "forward", "pre", "FA", "bf16", "q",
          "20250923_100142"},
         {3, -1, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_linear_bf16_rank00_"
         "group000_.pt",
         {"linear", "forward", "pre", "linear", "bf16", "", "20250923_100142"},
         {1, 0, -1, 0, -1, 1}},
        {"20250923_100142_0001_linear_L1_forward_pre_linear_bf16_rank00_"
         "rank01_w.pt",
         {"linear", "forward", "pre", "linear", "bf16", "rank01_w",
          "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"20250923_100142_0001_linear_L99999999999999999999_forward_bf16_"
         "w.pt",
         {"linear_L99999999999999999999", "forward", "", "", "bf16", "w",
          "20250923_100142"},
         {-1, -1, -1, -1, -1, 1}},
    };
    EXPECT_EXAMPLES(examples);
}

/* Names that follow no convention, or another tool's. */
Test(tensor_saver, other_names)
{
    static const struct example examples[] = {
        {"single_value_bf16.pt",
         {"", "", "", "", "bf16", "single_value_bf16", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"special_values_hifp8.pt",
         {"", "", "", "", "hifp8", "special_values_hifp8", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"a/b/large_tensor_mxfp8.pt",
         {"", "", "", "", "mxfp8", "large_tensor_mxfp8", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"model.pth",
         {"", "", "", "", "", "model", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"feed_forward_weight.pt",
         {"", "", "", "", "", "feed_forward_weight", ""},
         {-1, -1, -1, -1, -1, -1}},
        {".pt", {"", "", "", "", "", ".pt", ""}, {-1, -1, -1, -1, -1, -1}},
        {"", {"", "", "", "", "", "", ""}, {-1, -1, -1, -1, -1, -1}},
        {"wq-rank3.L7.bin",
         {"", "", "", "", "", "wq-rank3.L7", ""},
         {7, 3, -1, -1, -1, -1}},
        {"mxfp4/rank_2/iter_0005/w.pt",
         {"", "", "", "", "mxfp4", "w", ""},
         {-1, 2, -1, -1, 5, -1}},
        {"step2/rank/w.pt",
         {"", "", "", "", "", "w", ""},
         {-1, 0, -1, -1, 2, -1}},
        {"rank_3/rank/w.pt",
         {"", "", "", "", "", "w", ""},
         {-1, 3, -1, -1, -1, -1}},
        {"ranks/frank/rank.pt",
         {"", "", "", "", "", "rank", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"bf16/mxfp8/logs/w.pt",
         {"", "", "", "", "mxfp8", "w", ""},
         {-1, -1, -1, -1, -1, -1}},
        {"hifp8/20250923_100142_0001_linear_L1_forward_pre_linear_bf16_w.pt",
         {"linear", "forward", "pre", "linear", "bf16", "w", "20250923_100142"},
         {1, -1, -1, -1, -1, 1}},
        {"hifp8/20250923_100142_0001_linear_L1_forward_pre_linear_rank00_"
         "w.pt",
         {"linear", "forward", "pre", "linear", "hifp8", "w",
          "20250923_100142"},
         {1, 0, -1, -1, -1, 1}},
        {"tensor_dumps/rank_3/decoder.4.mlp_fc1_activation_iter_000012.pt",
         {"decoder.mlp_fc1", "forward", "", "", "", "activation", ""},
         {4, 3, -1, -1, 12, -1}},
        {"rank_0/qkv_gradient_iter_000001.pt",
         {"qkv", "backward", "", "", "", "gradient", ""},
         {-1, 0, -1, -1, 1, -1}},
        {"module.decoder.layers.11.linear_fc2.bwd_dy.step20.rank004.pt",
         {"module.decoder.layers.linear_fc2", "backward", "", "", "", "bwd_dy",
          ""},
         {11, 4, -1, -1, 20, -1}},
        {"3.fwd_x.step1.rank000.pt",
         {"", "forward", "", "", "", "fwd_x", ""},
         {3, 0, -1, -1, 1, -1}},
    };
    EXPECT_EXAMPLES(examples);
}

/* Longer than any file system allows, and full of separators. */
Test(tensor_saver, hostile_names)
{
    static const char *const pieces[] = {
        "_",   "forward_", "rank1_",
        "L1_", "bf16_",    ".",
        "/",   "x",        "20250923_100142_0001_iter000_"};
    enum { SIZE = 4096 };
    char path[SIZE + 64];
    struct tp_arena arena = {0};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t n = strlen(pieces[i]), length = 0;
        for (; length + n < SIZE; length += n)
            memcpy(path + length, pieces[i], n);
        path[length] = '\0';
        struct tp_label label;
        struct tp_error err = {0};
        cr_assert_eq(tp_label_from_name(path, &arena, &label, &err), TP_OK);
        cr_expect_leq(strlen(label.tensor_name), length);
    }
    tp_arena_clear(&arena);
}

/* Writes the name that the saver would give a tensor with this label. */
static void saver_name(const struct tp_label *label, char *name, size_t size)
{
    char layer[32] = "", sample[32] = "";
    if (label->layer_idx >= 0)
        snprintf(layer, sizeof layer, "_L%" PRId64, label->layer_idx);
    if (label->sample_idx >= 0)
        snprintf(sample, sizeof sample, "_sample%03" PRId64, label->sample_idx);
    snprintf(name, size,
             "%s/%s_%04" PRId64 "_iter%03" PRId64
             "_%s%s_%s_%s_%s_%s_rank%02" PRId64 "%s_group%03" PRId64 "_%s.pt",
             label->quant_type, label->timestamp, label->counter,
             label->iteration, label->layer_type, layer, label->operation,
             label->phase, label->component, label->quant_type, label->rank,
             sample, label->group_idx, label->tensor_name);
}

static bool one_of(const char *text, const char *const *words)
{
    while (*words && strcmp(*words, text) != 0)
        words++;
    return *words != NULL;
}

/* The label makes the name again, of the saver's own vocabulary: then no
 * field can be wrong. */
static void expect_round_trip(const char *path, struct tp_arena *arena)
{
    static const char *const types[] = {"attention", "linear", NULL};
    static const char *const names[] = {
        "query",  "key",    "value", "input", "attention_weights",
        "output", "weight", NULL};
    struct tp_label label;
    struct tp_error err = {0};
    cr_assert_eq(tp_label_from_name(path, arena, &label, &err), TP_OK);
    char again[512];
    saver_name(&label, again, sizeof again);
    cr_expect_str_eq(again, path);
    cr_expect(one_of(label.layer_type, types), "%s", path);
    cr_expect(one_of(label.tensor_name, names), "%s", path);
}

/* Checks the paths a command prints, from `logs/` on; how many. */
static size_t check_names(const char *command)
{
    FILE *list = popen(command, "r");
    cr_assert(list);
    struct tp_arena arena = {0};
    size_t count = 0;
    char line[1024];
    while (fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        const char *path = strstr(line, "logs/");
        if (!path || !strstr(path, ".pt"))
            continue;
        expect_round_trip(path + strlen("logs/"), &arena);
        tp_arena_reset(&arena);
        count++;
    }
    cr_expect_eq(pclose(list), 0);
    tp_arena_clear(&arena);
    return count;
}

/* All names of a training run of our own. */
Test(tensor_saver, names_of_our_training_run)
{
    char path[4096], command[5000];
    testdata_path("logs", path, sizeof path);
    snprintf(command, sizeof command, "find '%s' -type f", path);
    cr_expect_eq(check_names(command), 1080);
}

/* All names of a real training run. */
Test(tensor_saver, names_of_a_training_run)
{
    char path[4096], command[5000];
    shared_path("dumps/tensor_saver/training_run.tar.gz", path, sizeof path);
    if (access(path, R_OK) != 0)
        cr_skip_test("%s is not there", path);
    snprintf(command, sizeof command, "tar -tzf '%s'", path);
    cr_expect_eq(check_names(command), 11600);
}

/* Payloads written by CPython's pickle module, numpy 1.24 among the values. */

static const char full_payload[] =
    "\200\002}q\000(X\006\000\000\000tensorq\001NX\010\000\000\000metad"
    "ataq\002}q\003(X\012\000\000\000layer_typeq\004X\006\000\000\000li"
    "nearq\005X\011\000\000\000operationq\006X\010\000\000\000backwardq"
    "\007X\012\000\000\000quant_typeq\010X\005\000\000\000mxfp8q\011X"
    "\013\000\000\000tensor_nameq\012X\007\000\000\000input_Aq\013X\011"
    "\000\000\000layer_idxq\014K\003X\005\000\000\000phaseq\015X\004"
    "\000\000\000postq\016X\011\000\000\000componentq\017h\005X\004\000"
    "\000\000rankq\020K\001X\012\000\000\000sample_idxq\021K\002X\011"
    "\000\000\000iterationq\022K(X\011\000\000\000group_idxq\023K\005X"
    "\012\000\000\000batch_sizeq\024K\010X\011\000\000\000save_timeq"
    "\025X\023\000\000\0002025-09-08 09:10:54q\026X\007\000\000\000coun"
    "terq\027K\011X\011\000\000\000timestampq\030X\001\000\000\000xq"
    "\031uu.";

static const char odd_payload[] =
    "\200\004\225;\001\000\000\000\000\000\000}\224\214\010metadata\224"
    "}\224(\214\012layer_type\224N\214\011operation\224K\007\214\012qua"
    "nt_type\224\214\004bf16\224\214\013tensor_name\224C\003raw\224\214"
    "\011layer_idx\224N\214\005phase\224\214\007unknown\224\214\011comp"
    "onent\224h\013\214\004rank\224\214\025numpy.core.multiarray\224"
    "\214\006scalar\224\223\224\214\005numpy\224\214\005dtype\224\223"
    "\224\214\002i8\224\211\210\207\224R\224(K\003\214\001<\224NNNJ\377"
    "\377\377\377J\377\377\377\377K\000t\224bC\010\003\000\000\000\000"
    "\000\000\000\224\206\224R\224\214\012sample_idx\224\214\0040012"
    "\224\214\011iteration\224J\374\377\377\377\214\011group_idx\224"
    "\210\214\012batch_size\224G@\004\000\000\000\000\000\000us.";

static const char huge_payload[] =
    "\200\002}q\000X\010\000\000\000metadataq\001}q\002(X\004\000\000"
    "\000rankq\003\212\015\000\000\000@\352\355tF\320\234,\237\014X\011"
    "\000\000\000iterationq\004\212\010\000\000\212]xEc\001X\011\000"
    "\000\000layer_idxq\005X\002\000\000\000x1q\006X\012\000\000\000sam"
    "ple_idxq\007X\000\000\000\000q\010X\013\000\000\000tensor_nameq"
    "\011X\377\000\000\000nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "nnnnnnnnnnnnq\012X\012\000\000\000layer_typeq\013X\000\001\000\000"
    "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
    "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
    "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
    "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttq\014us.";

static const char none_payload[] =
    "\200\002}q\000(X\016\000\000\000high_precisionq\001K\001X\011\000"
    "\000\000quantizedq\002K\002u.";

static const char bare_payload[] = "\200\002]q\000(K\001K\002e.";

static const char text_payload[] =
    "\200\002}q\000X\010\000\000\000metadataq\001X\012\000\000\000layer"
    "_typeq\002s.";

/* The label, and returned the epoch. */
static int64_t metadata_of(const char *payload, size_t size,
                           struct tp_arena *arena, struct tp_label *label)
{
    struct tp_bytes bytes;
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    uint64_t position = 0;
    tp_bytes_view(payload, size, &bytes);
    cr_assert_eq(tp_pickle_read(&bytes, &position, size, &pickle, &err), TP_OK,
                 "%s", err.message);
    struct tp_metadata asked[TP_METADATA_MAX];
    size_t count = tp_label_ask(asked);
    cr_assert_eq(tp_torch_metadata(&pickle, asked, count, arena, &err), TP_OK);
    tp_label_from_metadata(asked, count, label);
    int64_t epoch = tp_label_epoch(asked, count);
    tp_pickle_clear(&pickle);
    return epoch;
}

#define METADATA_OF(payload, arena, label) \
    metadata_of(payload, sizeof payload - 1, arena, label)

Test(tensor_saver, metadata_complete)
{
    struct tp_arena arena = {0};
    struct tp_label label, should = {
                               .layer_type = "linear",
                               .layer_idx = 3,
                               .operation = "backward",
                               .phase = "post",
                               .component = "linear",
                               .quant_type = "mxfp8",
                               .tensor_name = "input_A",
                               .rank = 1,
                               .sample_idx = 2,
                               .group_idx = 5,
                               .iteration = 40,
                               .counter = -1,
                               .timestamp = "",
                               .batch_size = 8,
                           };
    METADATA_OF(full_payload, &arena, &label);
    expect_label("full", &label, &should);
    tp_arena_clear(&arena);
}

/* None, numpy integers, digits, wrong types, negative and huge numbers. */
Test(tensor_saver, metadata_of_odd_types)
{
    struct tp_arena arena = {0};
    struct tp_label label, should = TP_LABEL_NONE;
    METADATA_OF(odd_payload, &arena, &label);
    should.quant_type = "bf16";
    should.rank = 3;
    should.sample_idx = 12;
    expect_label("odd", &label, &should);

    METADATA_OF(huge_payload, &arena, &label);
    should = (struct tp_label)TP_LABEL_NONE;
    should.iteration = 100000000000000000;
    cr_expect_eq(strlen(label.tensor_name), 255);
    should.tensor_name = label.tensor_name;
    expect_label("huge", &label, &should);
    tp_arena_clear(&arena);
}

Test(tensor_saver, payloads_without_metadata)
{
    struct tp_arena arena = {0};
    struct tp_label label, should = TP_LABEL_NONE;
    METADATA_OF(none_payload, &arena, &label);
    expect_label("none", &label, &should);
    METADATA_OF(bare_payload, &arena, &label);
    expect_label("bare", &label, &should);
    METADATA_OF(text_payload, &arena, &label);
    expect_label("text", &label, &should);
    tp_arena_clear(&arena);
}

/* {NAME: 500, "epoch": 3}, as pickle.dumps(..., 2) has it but for memos. */
static int64_t step_of(const char *name, int64_t *epoch)
{
    char payload[128];
    size_t length = strlen(name), at = 0;
    memcpy(payload, "\x80\x02}(X\0\0\0\0", 9);
    payload[5] = (char)length;
    at = 9;
    memcpy(payload + at, name, length);
    at += length;
    memcpy(payload + at, "M\xf4\x01X\x05\0\0\0epochK\x03u.", 17);
    at += 17;
    struct tp_arena arena = {0};
    struct tp_label label;
    *epoch = metadata_of(payload, at, &arena, &label);
    tp_arena_clear(&arena);
    return label.iteration;
}

Test(tensor_saver, a_checkpoint_knows_its_step)
{
    static const char *const names[] = {"step", "iteration", "iter_num",
                                        "global_step", "global_steps"};
    int64_t epoch;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cr_expect(step_of(names[i], &epoch) == 500, "%s", names[i]);
        cr_expect(epoch == 3);
    }
    cr_expect(step_of("steps_per_epoch", &epoch) == -1);
}

static const char *complete(struct tp_label *label, const char *path,
                            struct tp_arena *arena)
{
    const char *conflict = NULL;
    struct tp_error err = {0};
    bool labelled;
    cr_assert_eq(
        tp_label_complete(label, path, arena, &conflict, &labelled, &err),
        TP_OK);
    cr_assert(conflict);
    return conflict;
}

/* The name fills what the metadata leaves open, and nothing else. */
Test(tensor_saver, name_completes_metadata)
{
    struct tp_arena arena = {0};
    struct tp_label label;
    METADATA_OF(full_payload, &arena, &label);
    struct tp_label should = label;
    should.counter = 17;
    should.timestamp = "20250923_100142";
    const char *conflict =
        complete(&label,
                 "20250923_100142_0017_iter040_"
                 "linear_backward_post_linear_mxfp8_rank01_group005_input_A.pt",
                 &arena);
    cr_expect_str_eq(conflict, "");
    expect_label("agreeing", &label, &should);

    METADATA_OF(odd_payload, &arena, &label);
    conflict = complete(&label, "hifp8/rank_5/free_words_mxfp4.pt", &arena);
    cr_expect_str_eq(conflict, "", "a free name is no claim");
    cr_expect_str_eq(label.quant_type, "bf16");
    cr_expect_str_eq(label.tensor_name, "free_words_mxfp4");
    cr_expect_eq(label.rank, 3);
    tp_arena_clear(&arena);
}

Test(tensor_saver, disagreement_is_one_sentence)
{
    struct tp_arena arena = {0};
    struct tp_label label;
    METADATA_OF(full_payload, &arena, &label);
    struct tp_label should = label;
    should.counter = 1;
    should.timestamp = "20250923_100142";
    const char *conflict =
        complete(&label,
                 "20250923_100142_0001_iter041_"
                 "linear_L3_forward_post_linear_mxfp8_rank01_input\tA.pt",
                 &arena);
    expect_label("disagreeing", &label, &should);
    cr_expect_str_eq(
        conflict,
        "operation is backward in the metadata, forward in the file name; "
        "tensor_name is input_A in the metadata, input\\x09A in the file "
        "name; iteration is 40 in the metadata, 41 in the file name");
    tp_arena_clear(&arena);
}
