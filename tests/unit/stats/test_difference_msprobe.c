/* SPDX-License-Identifier: MIT */
/*
 * The metrics of msprobe's compare. Wanted values are what mindstudio-probe
 * 26.2.0 with numpy 2.4 returned for the same arrays (ValidateTensor, then
 * compare_ops_apply), copied.
 */
#include "stats/difference_msprobe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE "unsupported"

enum { MOST = 5 };

struct example {
    enum tp_dtype x, y;
    double from[MOST], to[MOST];
    size_t n;
    const char *want[TP_MSPROBE_METRICS];
};

static const char *const words[] = {[TP_MSPROBE_NUMBER] = "a number",
                                    [TP_MSPROBE_UNSUPPORTED] = NONE,
                                    [TP_MSPROBE_SHAPES] = "shape unmatched",
                                    [TP_MSPROBE_APART] = "N/A",
                                    [TP_MSPROBE_NAN] = "Nan"};

static void encode(enum tp_dtype dtype, const double *values, size_t n,
                   unsigned char *codes)
{
    for (size_t i = 0; i < n; i++) {
        const float single = (float)values[i];
        const int64_t whole = dtype == TP_INT64 ? (int64_t)values[i] : 0;
        if (dtype == TP_FLOAT32)
            memcpy(codes + 4 * i, &single, 4);
        else if (dtype == TP_FLOAT64)
            memcpy(codes + 8 * i, &values[i], 8);
        else if (dtype == TP_INT64)
            memcpy(codes + 8 * i, &whole, 8);
        else /* binary16: the codes themselves */
            memcpy(codes + 2 * i, &(uint16_t){(uint16_t)values[i]}, 2);
    }
}

static void expect(const struct example *example, bool scalar)
{
    static struct tp_difference_cells cells;
    static const struct tp_difference empty;
    unsigned char x[8 * MOST], y[8 * MOST];
    struct tp_difference_plan plan;
    struct tp_difference sums = empty;
    struct tp_msprobe_value got[TP_MSPROBE_METRICS];
    encode(example->x, example->from, example->n, x);
    encode(example->y, example->to, example->n, y);
    const struct tp_difference_spans spans = {x, y, example->n, 0};
    tp_difference_plan_make(example->x, example->y, TP_ISA_UNKNOWN, &plan);
    tp_difference_add(&plan, &spans, &sums, &cells);
    tp_difference_msprobe(&plan, &sums, scalar, got);
    for (int i = 0; i < TP_MSPROBE_METRICS; i++) {
        char *end;
        const double want = strtod(example->want[i], &end);
        if (*end || !strcmp(example->want[i], "Nan")) {
            cr_expect(!strcmp(words[got[i].reason], example->want[i]), "%d: %s",
                      i, words[got[i].reason]);
        } else {
            cr_assert(got[i].reason == TP_MSPROBE_NUMBER, "%d: %s", i,
                      words[got[i].reason]);
            cr_expect(got[i].value == want ||
                          fabs(got[i].value - want) <= 1e-15 * want,
                      "%d: %.17g, want %.17g", i, got[i].value, want);
        }
    }
}

static void expect_all(const struct example *examples, size_t count,
                       bool scalar)
{
    for (size_t i = 0; i < count; i++)
        expect(&examples[i], scalar);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

Test(difference_msprobe, arrays)
{
    static const struct example examples[] = {
        {TP_FLOAT32,
         TP_FLOAT32,
         {1, 2, 3, 4, -5},
         {1.0004, 2.006, 3.1, 4, -5},
         5,
         {"0.999926", "0.100180543958398", "0.099999904633", "0.032258033752",
          "0.6", "0.8"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {1, 1, 1, 1},
         {1, 1, 1, 1.01},
         4,
         {"0.999991", "0.009999990463256836", "0.009999990463",
          "0.009900980629", "0.75", "0.75"}},
        {TP_INT64,
         TP_INT64,
         {1, 2, 300},
         {1, 3, 0},
         3,
         {"0.00737844292", "300.00166666203705", "300", "1.3510798882111488e18",
          "0.333333333333", "0.333333333333"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {1, 0},
         {0, 1},
         2,
         {"0", "1.4142135623730951", "1", "8388608", "0", "0"}},
    };
    expect_all(examples, COUNT(examples), false);
}

Test(difference_msprobe, zeros_take_the_epsilon)
{
    static const struct example examples[] = {
        {TP_FLOAT32,
         TP_FLOAT32,
         {0, 0, 1e-3},
         {0, 1e-3, 0},
         3,
         {"0", "0.0014142136295446348", "0.001000000047", "8388.6083984375",
          "0.333333333333", "0.333333333333"}},
        {TP_FLOAT64,
         TP_FLOAT64,
         {0, 0, 1e-3},
         {0, 1e-3, 0},
         3,
         {"0", "0.001414213562373095", "0.001", "4503599627370.496",
          "0.333333333333", "0.333333333333"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {0, 0},
         {0, 0},
         2,
         {"1", "0", "0", "0", "1", "1"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {0, 0},
         {1, 0},
         2,
         {"Nan", "1", "1", "1", "0.5", "0.5"}},
        {TP_FLOAT64,
         TP_FLOAT64,
         {1e-17, 0},
         {1e-17, 1e-17},
         2,
         {"1", "1e-17", "0", "1", "0.5", "0.5"}},
    };
    expect_all(examples, COUNT(examples), false);
}

Test(difference_msprobe, infinities_at_equal_places_are_zeros)
{
    static const struct example examples[] = {
        {TP_FLOAT32,
         TP_FLOAT32,
         {NAN, INFINITY, -INFINITY, 2, 3},
         {NAN, INFINITY, INFINITY, 2, 3.5},
         5,
         {"0.997630328423", "0.5", "0.5", "0.142857149243", "0.8", "0.8"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {NAN, INFINITY, 1},
         {NAN, 1, 1},
         3,
         {"N/A", "N/A", "N/A", "N/A", "N/A", "N/A"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY, 1},
         {NAN, 1},
         2,
         {"N/A", "N/A", "N/A", "N/A", "N/A", "N/A"}},
    };
    expect_all(examples, COUNT(examples), false);
}

Test(difference_msprobe, of_no_axes_there_are_two_metrics)
{
    static const struct example examples[] = {
        {TP_FLOAT32,
         TP_FLOAT32,
         {1.1},
         {1},
         1,
         {NONE, NONE, "0.100000023842", "0.100000023842", NONE, NONE}},
        /* 1.1 and 0.00731 in binary16 */
        {TP_FLOAT16,
         TP_FLOAT16,
         {0x3c66},
         {0x1f7c},
         1,
         {NONE, NONE, "1.0927734375", "149.446762084961", NONE, NONE}},
        {TP_FLOAT16,
         TP_FLOAT32,
         {0x3c66},
         {0.3},
         1,
         {NONE, NONE, "0.799609363079", "2.66536450386", NONE, NONE}},
        {TP_INT64, TP_INT64, {7}, {5}, 1, {NONE, NONE, "2", "0.4", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {0},
         {0},
         1,
         {NONE, NONE, "0", "0", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {NAN},
         {1},
         1,
         {NONE, NONE, "Nan", "Nan", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY},
         {1},
         1,
         {NONE, NONE, "inf", "inf", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {1},
         {INFINITY},
         1,
         {NONE, NONE, "inf", "Nan", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY},
         {INFINITY},
         1,
         {NONE, NONE, "Nan", "Nan", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY},
         {-INFINITY},
         1,
         {NONE, NONE, "inf", "Nan", NONE, NONE}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {0},
         {0},
         0,
         {NONE, NONE, NONE, NONE, NONE, NONE}},
    };
    expect_all(examples, COUNT(examples), true);
}

Test(difference_msprobe, one_element_of_an_axis_has_no_cosine)
{
    static const struct example examples[] = {
        {TP_FLOAT32,
         TP_FLOAT32,
         {1},
         {1.1},
         1,
         {NONE, "0.10000002384185791", "0.100000023842", "0.09090910852", "0",
          "0"}},
        /* 1 and 1.1 in binary16 */
        {TP_FLOAT16,
         TP_FLOAT16,
         {0x3c00},
         {0x3c66},
         1,
         {NONE, "0.099609375", "0.099609375", "0.090586148202", "0", "0"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY},
         {-INFINITY},
         1,
         {NONE, "0", "0", "0", "1", "1"}},
        {TP_FLOAT32,
         TP_FLOAT32,
         {INFINITY},
         {1},
         1,
         {"N/A", "N/A", "N/A", "N/A", "N/A", "N/A"}},
    };
    expect_all(examples, COUNT(examples), false);
}
