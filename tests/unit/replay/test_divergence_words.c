/* SPDX-License-Identifier: MIT */
/* The conclusion: what is named first, and what it is named beside. */
#include "replay/divergence_words.h"

#include <criterion/criterion.h>

static struct tp_divergence_row row(const char *name,
                                    enum tp_divergence_verdict verdict,
                                    const char *evidence)
{
    return (struct tp_divergence_row){.layer = -1,
                                      .api_name = name,
                                      .dtype = "",
                                      .verdict = verdict,
                                      .evidence = evidence};
}

/* Of four calls, the second of which is given other data and the last adds
 * error; `first` and `added` say what is known of that. */
static void expect_sentence(size_t first, size_t added, const char *sentence)
{
    struct tp_divergence_row rows[] = {
        row("Torch.relu.0.forward", TP_DIVERGENCE_EQUAL, ""),
        row("Torch.exp.0.forward", TP_DIVERGENCE_DATA, "argument 0 differs"),
        row("Torch.exp.1.forward", TP_DIVERGENCE_INHERITED, ""),
        row("Torch.sum.0.forward", TP_DIVERGENCE_ADDED_A, "A: result 0 is 2")};
    rows[3].layer = 7;
    struct tp_divergence divergence = {.rows = rows,
                                       .count = 4,
                                       .first = first,
                                       .added = added,
                                       .low = SIZE_MAX};
    const char *made = tp_divergence_sentence(&divergence);
    cr_assert_not_null(made);
    cr_expect_str_eq(made, sentence);
    tp_arena_clear(&divergence.arena);
}

Test(divergence_words, error_that_is_added_behind_the_first_divergence)
{
    expect_sentence(1, 3,
                    "First divergence: Torch.exp.0.forward was given other "
                    "data: argument 0 differs. The call before it is equal to "
                    "the last bit. First error added: Torch.sum.0.forward "
                    "(layer 7) of run A adds error of its own: A: result 0 is "
                    "2.");
}

Test(divergence_words, error_that_is_the_first_divergence_is_named_once)
{
    expect_sentence(3, 3,
                    "First divergence: Torch.sum.0.forward (layer 7) of run A "
                    "adds error of its own: A: result 0 is 2. All calls before "
                    "it are equal within rounding.");
}

Test(divergence_words, no_error_is_added)
{
    expect_sentence(1, SIZE_MAX,
                    "First divergence: Torch.exp.0.forward was given other "
                    "data: argument 0 differs. The call before it is equal to "
                    "the last bit.");
}
