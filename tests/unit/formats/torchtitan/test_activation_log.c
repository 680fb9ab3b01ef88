/* SPDX-License-Identifier: MIT */
#include "formats/torchtitan/activation_log.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* What was handed out: NAME offset phase dtype shape stats inputs producers
 * location, a line each. */
static enum tp_status see(void *context, const struct tp_activation *a,
                          struct tp_error *err)
{
    struct tp_text *text = context;
    (void)err;
    tp_text_add(text, "%s@%d %s %s", a->name, (int)a->offset,
                a->backward ? "backward" : "forward", a->dtype);
    for (int i = 0; i < a->ndim; i++)
        tp_text_add(text, " %d", (int)a->shape[i]);
    if (a->ndim < 0)
        tp_text_add(text, " no shape");
    for (int i = 0; i < TP_ACTIVATION_STATS; i++)
        if (a->has[i])
            tp_text_add(text, " %d:%g", i, a->stats[i]);
    tp_text_add(text, " %d <%s> <%s>\n", (int)a->inputs, a->producers,
                a->location);
    return TP_OK;
}

static enum tp_status read_bytes(const char *log, size_t length,
                                 struct tp_text *text, struct tp_error *err)
{
    struct tp_bytes bytes;
    const struct tp_activation_sink sink = {text, see};
    tp_bytes_view(log, length, &bytes);
    return tp_activation_log_read(&bytes, &sink, err);
}

static void expect(const char *log, enum tp_status status, const char *seen)
{
    struct tp_text text = {0};
    struct tp_error err = {0};
    cr_expect_eq(read_bytes(log, strlen(log), &text, &err), status, "%s: %s",
                 log, err.message);
    cr_expect_str_eq(tp_text_get(&text), seen);
    tp_text_clear(&text);
}

static const char two[] =
    "Total captured activations: 2\n"
    "Excluded ops dispatched: view\n"
    "====\n"
    "\n"
    "[a/op_0_mm]\n"
    "  Shape: torch.Size([4, 256]), Dtype: torch.bfloat16\n"
    "  L2 norm: 3.5e+01\n"
    "  Min: -inf\n"
    "  Max: 2.5e+00\n"
    "  Mean: nan\n"
    "  Output hash: 8.2e+02\n"
    "  Input hashes: 1.2e+02, 7.8e+03\n"
    "  Input producers: x/op_0_y; z; \n"
    "  Location: common/attention.py:534\n"
    "\n"
    "[b/op_1_sum]\n"
    "  Shape: torch.Size([]), Dtype: torch.int64\n"
    "  Max: 7\n"
    "  Input hashes: 1.2e+02, nan\n"
    "  Phase: backward\n";

Test(activation_log, what_it_says)
{
    expect(two, TP_OK,
           "a/op_0_mm@66 forward torch.bfloat16 4 256 0:2.5 1:-inf 2:nan 3:35 "
           "1 <x/op_0_y; z; > <common/attention.py:534>\n"
           "b/op_1_sum@315 backward torch.int64 0:7 2 <> <>\n");
    expect("Total captured activations: 0\n", TP_OK, "");
    expect("Total captured activations: 1\r\n[a]\r\n  Min: 1\r\n", TP_OK,
           "a@31 forward  no shape 1:1 0 <> <>\n");
}

Test(activation_log, what_is_no_number_is_not_said)
{
    expect("Total captured activations: 1\n[a]\n  Min: 1x\n  Max:\n"
           "  Shape: torch.Size([4, x]), Dtype: \n  Other: 3\n"
           "  Input hashes: 1, inf\n",
           TP_OK, "a@30 forward  no shape 0 <> <>\n");
    expect("Total captured activations: 1\n[a]\n"
           "  Shape: torch.Size([99999999999999999999]), Dtype: torch.int8\n"
           "  Input hashes: what\n",
           TP_OK, "a@30 forward torch.int8 no shape 0 <> <>\n");
}

Test(activation_log, other_files)
{
    expect("", TP_E_UNSUPPORTED, "");
    expect("Total captured activations: \n", TP_E_UNSUPPORTED, "");
    expect("Total captured activations: -1\n", TP_E_UNSUPPORTED, "");
    expect("{\"data\": 1}\n", TP_E_UNSUPPORTED, "");
}

/* What is whole comes, and no more; nothing but the last line's end may be
 * missing unseen. */
Test(activation_log, cut_anywhere)
{
    struct tp_text all = {0};
    cr_assert_eq(read_bytes(two, sizeof two - 1, &all, NULL), TP_OK);
    for (size_t length = 0; length < sizeof two - 1; length++) {
        struct tp_text text = {0};
        struct tp_error err = {0};
        char *part = malloc(length + 1); /* so that a sanitizer sees */
        memcpy(part, two, length);
        const enum tp_status status = read_bytes(part, length, &text, &err);
        if (length < strlen("Total captured activations: "))
            cr_expect_eq(status, TP_E_UNSUPPORTED, "%zu", length);
        else if (length < 315 || two[length - 1] != '\n')
            cr_expect_eq(status, TP_E_DAMAGED, "%zu", length);
        if (status == TP_E_DAMAGED) {
            cr_expect_eq(err.offset, (int64_t)length);
            cr_expect(length < 315 || *err.message);
            cr_expect_eq(strncmp(tp_text_get(&all), tp_text_get(&text),
                                 text.length),
                         0, "%zu", length);
        }
        free(part);
        tp_text_clear(&text);
    }
    tp_text_clear(&all);
}

/* Lines of any length take the same memory; what is behind is read. */
Test(activation_log, long_lines)
{
    enum { LONG = 1 << 20 };
    static const char head[] = "Total captured activations: 1\n[a]\n  Other: ",
                      tail[] = "\n  Max: 3\n";
    char *log = malloc(LONG + sizeof head + sizeof tail);
    memcpy(log, head, sizeof head);
    memset(log + sizeof head - 1, 'x', LONG);
    memcpy(log + sizeof head - 1 + LONG, tail, sizeof tail);
    expect(log, TP_OK, "a@30 forward  no shape 0:3 0 <> <>\n");
    free(log);
}

Test(activation_log, names)
{
    cr_expect_eq(tp_activation_log_rank("rank_0_activations.log"), 0);
    cr_expect_eq(tp_activation_log_rank("run3_rank_17_activations.log"), 17);
    cr_expect_eq(tp_activation_log_rank("rank__activations.log"), -1);
    cr_expect_eq(tp_activation_log_rank("rank_1_activations.txt"), -1);
    cr_expect_eq(tp_activation_log_rank("1_activations.log"), -1);
    cr_expect_eq(tp_activation_log_rank("_activations.log"), -1);
    cr_expect_eq(
        tp_activation_log_rank("rank_99999999999999999999_activations.log"),
        -1);
}
