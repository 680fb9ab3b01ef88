/* SPDX-License-Identifier: MIT */
/*
 * Which iterations are said to be incomplete: each way to miss a tensor, and
 * beside it what runs do on purpose, of which nothing may be said.
 */
#include "tensors/complete.h"

#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/run_maker.h"

/* What a rank saves in an iteration: two layers, forward and back. */
static const struct {
    int64_t layer;
    const char *operation, *name;
} saved[] = {{1, "forward", "input"},  {1, "forward", "weight"},
             {1, "forward", "output"}, {2, "forward", "input"},
             {2, "forward", "weight"}, {2, "forward", "output"},
             {2, "backward", "input"}, {2, "backward", "output"},
             {1, "backward", "input"}, {1, "backward", "output"}};

enum { SAVED = sizeof saved / sizeof *saved };

/* Whether tensor `which` of `saved` is there. */
typedef bool habit(int64_t rank, int64_t iteration, int which);

static void add_tensor(struct tp_run *run, int64_t rank, int64_t iteration,
                       int which)
{
    struct tp_row *row = add_row(run, "file.pt");
    row->label.rank = rank;
    row->label.iteration = iteration;
    row->label.layer_type = "linear";
    row->label.layer_idx = saved[which].layer;
    row->label.operation = saved[which].operation;
    row->label.tensor_name = saved[which].name;
    row->label.counter = iteration * SAVED + which;
}

static void make_run(struct tp_run *run, int64_t ranks, int64_t iterations,
                     habit *has)
{
    for (int64_t i = 0; i < iterations; i++)
        for (int64_t rank = 0; rank < ranks; rank++)
            for (int which = 0; which < SAVED; which++)
                if (has(rank, i, which))
                    add_tensor(run, rank, i, which);
}

/* The notes, with a '|' before each. */
static const char *notes_of(struct tp_run *run, char text[2048])
{
    struct tp_error err = {.code = TP_OK};
    size_t length = 0;
    cr_assert_eq(tp_complete_note(run, &err), TP_OK);
    text[0] = '\0';
    for (size_t i = 0; i < run->notes.count; i++) {
        const char *note = run->notes.texts[i];
        cr_assert_lt(length + strlen(note) + 2, 2048);
        text[length++] = '|';
        strcpy(text + length, note);
        length += strlen(note);
    }
    return text;
}

static void expect(int64_t ranks, int64_t iterations, habit *has,
                   const char *notes)
{
    char text[2048];
    struct tp_run run = {.rows = NULL};
    make_run(&run, ranks, iterations, has);
    cr_assert_str_eq(notes_of(&run, text), notes, "%s", text);
    tp_run_clear(&run);
}

#define ITS(which_, rank_, iteration_) \
    (which == (which_) && rank == (rank_) && iteration == (iteration_))

static bool always(int64_t rank, int64_t iteration, int which)
{
    return rank + iteration + which >= 0;
}

/* --- what is missed ------------------------------------------------------- */

static bool one_less(int64_t rank, int64_t iteration, int which)
{
    return !ITS(4, 1, 3);
}

static bool three_less(int64_t rank, int64_t iteration, int which)
{
    return !ITS(4, 1, 3) && !ITS(8, 1, 3) && !ITS(6, 1, 5);
}

Test(complete, between_iterations_that_have_it)
{
    expect(2, 8, always, "");
    expect(2, 8, one_less,
           "|rank 1 of hifp8: iteration 3 lacks 1 of 10 tensors that its other "
           "iterations have: linear L2 forward weight");
    expect(2, 20, three_less,
           "|rank 1 of hifp8: iteration 3 lacks 2 of 10 tensors that its other "
           "iterations have: linear L1 backward input, linear L2 forward "
           "weight; iteration 5 lacks some, too");
}

/* Weights are saved in every second iteration only. */
static bool seldom(int64_t rank, int64_t iteration, int which)
{
    return rank < 0 || strcmp(saved[which].name, "weight") ||
           iteration % 2 == 0;
}

static bool seldom_less(int64_t rank, int64_t iteration, int which)
{
    return seldom(rank, iteration, which) && !ITS(1, 0, 6);
}

Test(complete, a_tensor_has_its_own_step)
{
    expect(1, 20, seldom, "");
    expect(1, 20, seldom_less,
           "|rank 0 of hifp8: iteration 6 lacks 1 of 10 tensors that its other "
           "iterations have: linear L1 forward weight");
}

static bool of_four(int64_t rank, int64_t iteration, int which)
{
    return !ITS(3, 2, 0);
}

Test(complete, what_the_other_ranks_have)
{
    expect(4, 1, always, "");
    expect(4, 1, of_four,
           "|rank 2 of hifp8: iteration 0, the last one, lacks 1 of 10 tensors "
           "that other ranks have: linear L2 forward input");
    expect(2, 1, of_four, "");
}

/* Two ranks, of which one ends too early in the last iteration. */
static bool one_stopped(int64_t rank, int64_t iteration, int which)
{
    return rank == 0 || iteration < 7 || which < 4;
}

/* All end there, within the forward pass. */
static bool all_stopped(int64_t rank, int64_t iteration, int which)
{
    return one_stopped(1 + rank, iteration, which);
}

Test(complete, the_last_iteration_is_cut)
{
    expect(2, 8, one_stopped,
           "|rank 1 of hifp8: iteration 7, the last one, lacks 6 of 10 tensors "
           "that its other iterations have: linear L1 backward input, linear "
           "L1 backward output, linear L2 backward input, ...");
    expect(1, 8, all_stopped,
           "|rank 0 of hifp8: iteration 7, the last one, lacks 6 of 10 tensors "
           "that its other iterations have: linear L1 backward input, linear "
           "L1 backward output, linear L2 backward input, ...");
}

/* --- what runs do on purpose ---------------------------------------------- */

/* The first iteration has no gradients, the last one weights alone. */
static bool other_ends(int64_t rank, int64_t iteration, int which)
{
    if (iteration == 0)
        return !strcmp(saved[which].operation, "forward");
    return rank < 0 || iteration < 9 || !strcmp(saved[which].name, "weight");
}

/* The last iteration is an evaluation. */
static bool evaluates(int64_t rank, int64_t iteration, int which)
{
    return rank < 0 || iteration < 9 ||
           !strcmp(saved[which].operation, "forward");
}

/* Weights in the first and in the last iteration. */
static bool weights_at_ends(int64_t rank, int64_t iteration, int which)
{
    return rank < 0 || iteration == 0 || iteration == 9 ||
           strcmp(saved[which].name, "weight");
}

/* All of it once, at a checkpoint, in the last iteration but one. */
static bool all_once(int64_t rank, int64_t iteration, int which)
{
    return rank < 0 || iteration == 8 || which < 4;
}

Test(complete, first_and_last_iterations_may_differ)
{
    for (int64_t ranks = 1; ranks <= 4; ranks++) {
        expect(ranks, 10, other_ends, "");
        expect(ranks, 10, evaluates, "");
        expect(ranks, 10, weights_at_ends, "");
        expect(ranks, 10, all_once, "");
    }
}

/* An expert that some tokens go to, and some iterations have none. */
static bool routed(int64_t rank, int64_t iteration, int which)
{
    uint64_t noise = (uint64_t)(iteration * 4 + rank + 1) * 0x9e3779b97f4a7c15u;
    return saved[which].layer == 1 || noise >> 60 < 11;
}

/* Ranks hold different layers; the first saves inputs for all. */
static bool pipeline(int64_t rank, int64_t iteration, int which)
{
    return iteration < 0 || (saved[which].layer == 1) == (rank < 5);
}

/* Every second rank saves weights. */
static bool every_second(int64_t rank, int64_t iteration, int which)
{
    return iteration < 0 || rank % 2 == 0 ||
           strcmp(saved[which].name, "weight");
}

static bool first_rank(int64_t rank, int64_t iteration, int which)
{
    return iteration < 0 || rank == 0 || strcmp(saved[which].name, "input");
}

Test(complete, ranks_and_routes_may_differ)
{
    expect(1, 60, routed, "");
    expect(2, 60, routed, "");
    expect(6, 4, pipeline, "");
    expect(6, 1, pipeline, "");
    expect(4, 6, first_rank, "");
    expect(4, 6, every_second, "");
    expect(7, 1, every_second, "");
}

/* --- tensors that share their labels -------------------------------------- */

/* Linears of a layer are told by nothing but their number; `less` of one, or of
 * all, in iteration 3. */
static void make_shared(struct tp_run *run, bool one)
{
    for (int64_t i = 0; i < 8; i++)
        for (int which = 0; which < SAVED; which++)
            for (int copy = 0; copy < 4; copy++)
                if (i != 3 || copy < 3 || (one && which != 2))
                    add_tensor(run, 0, i, which);
}

Test(complete, tensors_of_one_label_are_told_by_number)
{
    char text[2048];
    struct tp_run run = {.rows = NULL};
    make_shared(&run, true);
    cr_assert_str_eq(
        notes_of(&run, text),
        "|rank 0 of hifp8: iteration 3 lacks 1 of 40 tensors that its other "
        "iterations have: linear L1 forward output (3 of 4)",
        "%s", text);
    tp_run_clear(&run);
    /* fewer micro-batches in one iteration */
    make_shared(&run, false);
    cr_assert_str_eq(notes_of(&run, text), "", "%s", text);
    tp_run_clear(&run);
}

/* Samples are moments of their own; a run may have fewer in an iteration. */
Test(complete, samples)
{
    char text[2048];
    for (int less = 0; less < 2; less++) {
        struct tp_run run = {.rows = NULL};
        for (int64_t i = 0; i < 4; i++)
            for (int64_t sample = 0; sample < (i == 2 ? 1 : 3); sample++)
                for (int which = 0; which < SAVED; which++) {
                    if (less && i == 1 && sample == 1 && which == 5)
                        continue;
                    add_tensor(&run, 0, i, which);
                    run.rows[run.row_count - 1].label.sample_idx = sample;
                }
        cr_assert_str_eq(
            notes_of(&run, text),
            less ? "|rank 0 of hifp8: iteration 1, sample 1 lacks 1 of 10 "
                   "tensors that its other iterations have: linear L2 forward "
                   "output"
                 : "",
            "%s", text);
        tp_run_clear(&run);
    }
}

/* Weights are saved once an iteration, and not with a sample. */
Test(complete, some_have_samples)
{
    char text[2048];
    struct tp_run run = {.rows = NULL};
    for (int64_t i = 0; i < 8; i++)
        for (int64_t sample = -1; sample < 9; sample++)
            for (int which = 0; which < SAVED; which++) {
                if ((sample < 0) == !strcmp(saved[which].name, "weight")) {
                    add_tensor(&run, 0, i, which);
                    run.rows[run.row_count - 1].label.sample_idx = sample;
                }
            }
    cr_assert_str_eq(notes_of(&run, text), "", "%s", text);
    tp_run_clear(&run);
}

/* Nor does it say anything of what has no iteration, or of nothing. */
Test(complete, no_iterations)
{
    char text[2048];
    struct tp_run run = {.rows = NULL};
    cr_assert_str_eq(notes_of(&run, text), "");
    for (int which = 0; which < SAVED; which++)
        add_tensor(&run, which % 3, -1, which);
    cr_assert_str_eq(notes_of(&run, text), "");
    tp_run_clear(&run);
}

/* --- long runs ------------------------------------------------------------ */

enum { LONG = 40000 };

/* All but the last tensor are saved in the first half only. */
static bool half(int64_t rank, int64_t iteration, int which)
{
    return rank < 0 || which == SAVED - 1 || iteration < LONG / 2;
}

/* Of each of them, each iteration of the second half is asked for: were all
 * that it has looked through each time, this took 40 seconds. */
Test(complete, of_many_iterations)
{
    limit_cpu(10);
    expect(1, LONG, half, "");
}
