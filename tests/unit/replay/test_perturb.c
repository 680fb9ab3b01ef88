/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "replay/perturb.h"

/* A call of up to four arguments. */
struct made {
    struct tp_dump_item items[4];
    struct tp_array arrays[4];
    struct tp_dump_place place;
    struct tp_dump_call call;
    struct tp_replay_call replay;
};

/* Adds a positional argument: a tensor of a shape, with values. */
static void add(struct made *made, const char *argument, enum tp_dtype dtype,
                int dims, const int64_t *shape, const double *values)
{
    struct tp_error err = {0};
    const size_t i = made->call.count++;
    made->items[i] = (struct tp_dump_item){.kind = TP_DUMP_TENSOR,
                                           .place = TP_MSPROBE_INPUT,
                                           .argument = argument,
                                           .element = dtype};
    made->arrays[i].dtype = dtype;
    cr_assert_eq(tp_array_make(&made->arrays[i], dims, shape, &err), TP_OK);
    memcpy(made->arrays[i].value, values,
           (size_t)made->arrays[i].count * sizeof *values);
}

/* The call as the module takes it; points into `made`. */
static struct tp_replay_call *replay_of(struct made *made)
{
    made->place.items = made->items;
    made->replay = (struct tp_replay_call){.place = &made->place,
                                           .call = &made->call,
                                           .signature = "input,other",
                                           .arrays = made->arrays};
    return &made->replay;
}

static void clear(struct made *made)
{
    for (size_t i = 0; i < made->call.count; i++)
        tp_array_clear(&made->arrays[i]);
}

static struct tp_perturbation begin(struct made *made,
                                    enum tp_perturb_mode mode)
{
    struct tp_perturbation change;
    struct tp_error err = {0};
    cr_assert_eq(tp_perturb_begin(replay_of(made), mode, TP_COMPAT_MSPROBE,
                                  &change, &err),
                 TP_OK);
    return change;
}

/* Expected values: torch 2.15, where(abs(x) > eps**0.5, x + full_like(x, eps),
 * x).to(dtype), and where(abs(x) > smallest_normal, x.view(int) ^ 1, x). */
Test(perturb, adds_what_torch_adds)
{
    static const struct {
        enum tp_dtype dtype;
        double x[4], noise[4], bit[4];
    } cases[] = {
        {TP_BFLOAT16,
         {0, 0x1.26p-7, -0x1.68p-7, 0x1.48p-6},
         {0, 0x1.26p-7, -0x1.64p-7, 0x1.4ap-6},
         {0, 0x1.24p-7, -0x1.6ap-7, 0x1.4ap-6}},
        {TP_FLOAT16,
         {1, -3, 0x1.a38p-14, 0x1.064p-9},
         {1, -3, 0x1.a38p-14, 0x1.068p-9},
         {0x1.004p0, -0x1.804p1, 0x1.a3cp-14, 0x1.06p-9}},
        {TP_FLOAT32,
         {0x1.26e978p-7, -0x1.6872bp-7, 1, 0x1.0624dep-9},
         {0x1.26e98ep-7, -0x1.68729ap-7, 1, 0x1.062534p-9},
         {0x1.26e97ap-7, -0x1.6872b2p-7, 0x1.000002p0, 0x1.0624dcp-9}},
        {TP_FLOAT64,
         {0x1.47ae147ae147bp-6, 1, -3, 0x1.a36e2eb1c432dp-14},
         {0x1.47ae147ae1498p-6, 1, -3, 0x1.a36e2eb1c6000p-14},
         {0x1.47ae147ae147ap-6, 0x1.0000000000001p0, -0x1.8000000000001p1,
          0x1.a36e2eb1c432cp-14}},
    };
    const int64_t shape[] = {4};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int mode = TP_PERTURB_ADD; mode <= TP_PERTURB_BIT; mode++) {
            struct made made = {.call = {.count = 0}};
            add(&made, "0", cases[i].dtype, 1, shape, cases[i].x);
            struct tp_perturbation change =
                begin(&made, (enum tp_perturb_mode)mode);
            cr_assert_eq(change.outcome, TP_PERTURB_APPLIED);
            cr_expect_arr_eq(made.arrays[0].value,
                             mode == TP_PERTURB_ADD ? cases[i].noise
                                                    : cases[i].bit,
                             sizeof cases[i].x);
            tp_perturb_end(&change);
            cr_expect_arr_eq(made.arrays[0].value, cases[i].x,
                             sizeof cases[i].x);
            clear(&made);
        }
}

/* x[0] and x[-1]; x[0][0] and x[-1][-1], which here are rows of two. */
Test(perturb, swaps_the_ends)
{
    static const double x[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const double vector[] = {7, 1, 2, 3, 4, 5, 6, 0};
    static const double blocks[] = {6, 7, 2, 3, 4, 5, 0, 1};
    static const double row[] = {7, 1, 2, 3, 4, 5, 6, 0};
    const int64_t shapes[][3] = {{8, 0, 0}, {2, 2, 2}, {1, 8, 0}};
    const double *const wanted[] = {vector, blocks, row};
    const int dims[] = {1, 3, 2};
    for (int i = 0; i < 3; i++) {
        struct made made = {.call = {.count = 0}};
        add(&made, "0", TP_FLOAT32, dims[i], shapes[i], x);
        struct tp_perturbation change = begin(&made, TP_PERTURB_CHANGE);
        cr_assert_eq(change.outcome, TP_PERTURB_APPLIED);
        cr_expect_arr_eq(made.arrays[0].value, wanted[i], sizeof x);
        tp_perturb_end(&change);
        clear(&made);
    }
}

Test(perturb, says_why_it_changes_nothing)
{
    static const double small[] = {1e-9, -1e-10}, nan[] = {NAN, 1e-10};
    const int64_t one[] = {1, 1}, two[] = {2};
    struct made made = {.call = {.count = 0}};
    add(&made, "0", TP_FLOAT32, 1, two, small);
    struct tp_perturbation change = begin(&made, TP_PERTURB_ADD);
    cr_expect_eq(change.outcome, TP_PERTURB_CANCELLED);
    cr_expect_str_eq(change.reason, "all its values are below eps");
    tp_perturb_end(&change);
    /* NaN is not below eps */
    made.arrays[0].value[0] = nan[0];
    change = begin(&made, TP_PERTURB_ADD);
    cr_expect_eq(change.outcome, TP_PERTURB_APPLIED);
    tp_perturb_end(&change);
    change = begin(&made, TP_PERTURB_IMPROVE);
    cr_expect_eq(change.outcome, TP_PERTURB_SKIPPED);
    clear(&made);
    struct made single = {.call = {.count = 0}};
    add(&single, "0", TP_FLOAT16, 2, one, small);
    change = begin(&single, TP_PERTURB_CHANGE);
    cr_expect_eq(change.outcome, TP_PERTURB_CANCELLED);
    change = begin(&single, TP_PERTURB_IMPROVE);
    cr_expect_eq(change.outcome, TP_PERTURB_APPLIED);
    clear(&single);
}

/* Indices are passed over; of a list, what cannot be changed is; keywords are
 * never changed. */
Test(perturb, takes_the_first_tensor_that_floats)
{
    static const double x[] = {1, 2}, zero[] = {0, 0};
    const int64_t shape[] = {2};
    struct made made = {.call = {.count = 0}};
    add(&made, "0", TP_INT64, 1, shape, x);
    add(&made, "1.0", TP_FLOAT32, 1, shape, zero);
    add(&made, "1.1", TP_FLOAT32, 1, shape, x);
    add(&made, "2", TP_FLOAT32, 1, shape, x);
    struct tp_perturbation change = begin(&made, TP_PERTURB_BIT);
    cr_expect_eq(change.outcome, TP_PERTURB_APPLIED);
    cr_expect_eq(change.count, 1);
    cr_expect_eq(change.changed[0].array, &made.arrays[2]);
    tp_perturb_end(&change);
    for (size_t i = 1; i < made.call.count; i++)
        made.items[i].place = TP_MSPROBE_KWARGS;
    change = begin(&made, TP_PERTURB_BIT);
    cr_expect_eq(change.outcome, TP_PERTURB_NO_INPUT);
    clear(&made);
}

/* Our own rules: all that floats, by a step at least, keywords, too. Steps:
 * torch 2.15, nextafter(abs(x), inf) - abs(x). */
Test(perturb, moves_everything_by_a_step)
{
    static const double x[] = {1, -3, 0, INFINITY, 0x1p-3};
    static const double half[] = {1 + 0x1p-10, -3 + 0x1p-9, 0, INFINITY,
                                  0x1p-3 + 0x1p-13};
    static const double single[] = {1 + 0x1p-23, -3 + 0x1p-22, 0, INFINITY,
                                    0x1p-3 + 0x1p-26};
    const int64_t shape[] = {5};
    struct made made = {.call = {.count = 0}};
    struct tp_perturbation change;
    struct tp_error err = {0};
    add(&made, "0", TP_INT64, 1, shape, x);
    add(&made, "1", TP_FLOAT16, 1, shape, x);
    add(&made, "weight", TP_FLOAT32, 1, shape, x);
    made.items[2].place = TP_MSPROBE_KWARGS;
    cr_assert_eq(tp_perturb_begin(replay_of(&made), TP_PERTURB_ADD,
                                  TP_COMPAT_NONE, &change, &err),
                 TP_OK);
    cr_expect_eq(change.outcome, TP_PERTURB_APPLIED);
    cr_expect_eq(change.count, 2);
    cr_expect_arr_eq(made.arrays[0].value, x, sizeof x);
    cr_expect_arr_eq(made.arrays[1].value, half, sizeof x);
    cr_expect_arr_eq(made.arrays[2].value, single, sizeof x);
    /* that of fp16: sqrt(2^-20 + 2^-18 + 2^-26) / sqrt(1 + 9 + 2^-6) */
    cr_expect_float_eq(change.relative, 0.0006910724, 1e-9);
    tp_perturb_end(&change);
    cr_expect_arr_eq(made.arrays[1].value, x, sizeof x);
    cr_assert_eq(tp_perturb_begin(replay_of(&made), TP_PERTURB_BIT,
                                  TP_COMPAT_NONE, &change, &err),
                 TP_OK);
    cr_expect_eq(made.arrays[1].value[0], 1 + 0x1p-10);
    cr_expect_eq(made.arrays[1].value[3], INFINITY);
    tp_perturb_end(&change);
    clear(&made);
}

/* Of one item only: which operand a result hangs on. */
Test(perturb, turns_the_bits_of_one_tensor)
{
    static const double x[] = {1, 2};
    const int64_t shape[] = {2};
    struct made made = {.call = {.count = 0}};
    struct tp_perturbation change;
    struct tp_error err = {0};
    add(&made, "0", TP_BFLOAT16, 1, shape, x);
    add(&made, "1", TP_BFLOAT16, 1, shape, x);
    cr_assert_eq(tp_perturb_bits(replay_of(&made), 1, &change, &err), TP_OK);
    cr_expect_eq(change.count, 1);
    cr_expect_eq(made.arrays[0].value[0], 1);
    cr_expect_eq(made.arrays[1].value[0], 1 + 0x1p-7);
    cr_expect_float_eq(change.relative, 0x1p-7, 1e-12);
    tp_perturb_end(&change);
    clear(&made);
}
