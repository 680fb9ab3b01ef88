/* SPDX-License-Identifier: MIT */
/* Casts of a run: the plan, what is kept, groups, rule, figures. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "figures/figures.h"
#include "quant/quant_sweep.h"
#include "quant/quant_tables.h"
#include "report/tables.h"
#include "tensors/collect.h"
#include "tests/unit/support/quant_plan.h"
#include "tests/unit/support/stages.h"

/* --- the plan ------------------------------------------------------------- */

Test(quant_plan, lists_formats_once_and_in_order)
{
    struct tp_quant_plan plan = plan_of("e5m2,hif8,e5m2,mxfp4");
    cr_assert_eq(plan.scaled, 3);
    cr_assert_str_eq(plan.casts[0].format, "e5m2");
    cr_assert_str_eq(plan.casts[1].rounding, "ta");
    cr_assert_str_eq(plan.casts[2].rule, "floor");
    cr_assert_eq(tp_quant_plan_find(&plan, tp_number_by_id("mxfp4")), 2);
    cr_assert_eq(tp_quant_plan_find(&plan, tp_number_by_id("e4m3")),
                 plan.count);
    /* the block format has its own scales */
    cr_assert_eq(plan.count, 5);
}

/* Of those that only some tensors name, each names one. */
Test(quant_plan, tells_how_many_casts_are_tallied)
{
    static const struct {
        const char *formats;
        size_t tallies;
    } cases[] = {{"none", 0},
                 {"hif8,e4m3,nvfp4", 0},
                 {"mxfp4", 1},
                 {"named", 1},
                 {"e5m2,mxfp4,mxfp8_e4m3,named", 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct tp_quant_plan plan = plan_of(cases[i].formats);
        cr_assert_eq(tp_quant_plan_tallies(&plan), cases[i].tallies, "%s",
                     cases[i].formats);
    }
}

/* Largest values: 448 = 1.75 * 2^8, 57344 = 1.75 * 2^15, 65504; HiF8 has
 * three fraction bits below 16. */
Test(quant_plan, scales_to_the_last_full_binade)
{
    static const struct {
        const char *format;
        int exponent;
    } known[] = {{"hif8", 3}, {"e4m3", 7}, {"e5m2", 14}, {"fp16", 14}};
    for (size_t i = 0; i < 4; i++) {
        struct tp_quant_plan plan = plan_of(known[i].format);
        cr_assert_eq(plan.count, 2);
        cr_assert_eq(plan.casts[1].spec.scaled, TP_SCALED_AMAX);
        cr_assert_eq(plan.casts[1].spec.exponent, known[i].exponent, "%s",
                     known[i].format);
    }
}

Test(quant_plan, none_simulates_nothing)
{
    struct tp_quant_plan plan = plan_of("none");
    struct tp_quant_choice choice;
    cr_assert_eq(plan.count, 0);
    tp_quant_choose(&plan, TP_FLOAT32, NULL, &choice);
    cr_assert_eq(choice.count, 0);
}

Test(quant_plan, the_default_adds_what_a_file_names)
{
    struct tp_quant_plan plan = plan_of(NULL);
    struct tp_quant_choice with, without;
    const struct tp_number *fp4 = tp_number_by_id("mxfp4");
    tp_quant_choose(&plan, TP_BFLOAT16, fp4, &with);
    tp_quant_choose(&plan, TP_BFLOAT16, tp_number_by_id("hif8"), &without);
    cr_assert_eq(with.count, without.count + 1);
    bool found = false;
    for (size_t i = 0; i < with.count; i++)
        found |= with.specs[i].number == fp4;
    cr_assert(found);
    tp_quant_choose(&plan, TP_INT32, NULL, &with);
    cr_assert_eq(with.count, 0, "integers have no casts");
}

Test(quant_plan, unknown_words_are_usage_errors)
{
    static const struct {
        struct tp_quant_options options;
        const char *word;
    } mistakes[] = {
        {{.formats = "hif8,fp7"}, "\"fp7\""},
        {{.formats = "hif8,,e4m3"}, "empty name in \"hif8,,e4m3\""},
        {{.formats = "hif8,"}, "empty name"},
        {{.formats = ",hif8"}, "empty name"},
        {{.formats = ""}, "empty name"},
        {{.formats = "none,hif8"}, "\"none\" alone"},
        {{.formats = "hif8,none"}, "\"none\" alone"},
        {{.formats = "HIF8"}, "mxfp8_e4m3"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct tp_quant_plan plan;
        struct tp_error err = {.code = TP_OK};
        cr_assert_eq(tp_quant_plan_make(&mistakes[i].options, &plan, &err),
                     TP_E_USAGE);
        cr_assert_not_null(strstr(err.message, mistakes[i].word), "%s",
                           err.message);
    }
}

/* Every torch dtype is there once: float64 and complex128 are too wide for
 * the hybrid, and MX is not for the three complex dtypes. */
Test(quant_plan, notes_tell_integers_from_casts_that_do_not_apply)
{
    static const struct {
        const char *formats;
        enum tp_rounding rounding;
        const char *words;
    } runs[] = {
        {"hif8", TP_ROUND_HYBRID, "2 tensors have no rows for formats"},
        {"hif8", TP_ROUND_HYBRID, "(float64): hif8, rounding hybrid"},
        {"e5m2,mxfp4", TP_ROUND_DEFAULT, "3 tensors have no rows for formats"},
    };
    const char *srcdir = getenv("srcdir");
    char file[512];
    snprintf(file, sizeof file, "%s/testdata/torch/good-dtypes.zip.pt",
             srcdir ? srcdir : ".");
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const struct tp_quant_options asked = {.formats = runs[i].formats,
                                               .rounding = runs[i].rounding};
        const char *const roots[] = {file};
        struct tp_quant_plan plan;
        cr_assert_eq(tp_quant_plan_make(&asked, &plan, NULL), TP_OK);
        const struct tp_collect_options options = {
            .roots = roots, .root_count = 1, .quant = &plan};
        struct stages made = {.run = {.rows = NULL}};
        struct tp_pool *pool = NULL;
        cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
        cr_assert_eq(tp_collect(pool, &options, &made.run, NULL), TP_OK);
        size_t found = 0, integers = 0;
        for (size_t k = 0; k < made.run.notes.count; k++) {
            found += strstr(made.run.notes.texts[k], runs[i].words) != NULL;
            integers += strstr(made.run.notes.texts[k], "not floating-point") &&
                        !strstr(made.run.notes.texts[k], "(float") &&
                        !strstr(made.run.notes.texts[k], "(complex");
        }
        cr_assert_eq(found, 1, "%s", runs[i].words);
        cr_assert_eq(integers, 1);
        stages_clear(&made);
        tp_pool_free(pool);
    }
}

/* --- what is kept --------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state;
}

/* Casts are known by their own length, and not taken where they are cut off, or
 * say of themselves what they do not have. */
static void check_bytes(const uint8_t *packed)
{
    uint8_t copy[4096];
    size_t casts = 0;
    const size_t size = tp_quant_bytes(packed, sizeof copy, &casts);
    cr_assert(size > 0 && casts > 0);
    for (size_t room = 0; room < size; room++)
        cr_assert_eq(tp_quant_bytes(packed, room, &casts), 0);
    for (int bit = 0; bit < 32; bit++) {
        memcpy(copy, packed, size);
        copy[2 + bit / 8] ^= (uint8_t)(1 << bit % 8);
        /* that a sum is 0 takes no room */
        const bool takes = bit < 24 || bit >= 30;
        cr_expect(!takes || !tp_quant_bytes(copy, size, &casts), "%d", bit);
    }
}

Test(quant_pack, gives_back_every_bit)
{
    struct tp_quant_plan plan = plan_of("hif8,e4m3,mxfp8_e4m3,nvfp4");
    struct tp_quant_choice choice;
    struct tp_arena arena = {.blocks = NULL};
    uint64_t state = 7;
    for (int turn = 0; turn < 200; turn++) {
        tp_quant_choose(&plan, TP_FLOAT32, NULL, &choice);
        cr_assert_eq(choice.count, 6);
        for (size_t i = 0; i < choice.count; i++) {
            struct tp_quant_error *e = &choice.errors[i];
            e->values = next_random(&state);
            e->underflow = next_random(&state) >> (turn % 64);
            e->zero_blocks = turn % 3;
            e->sum_dd = (double)next_random(&state);
            e->max_abs_error = 1 / (double)(turn + 1);
            e->scale_least = (uint16_t)(next_random(&state) >> 55);
            e->tensor_scale = turn == 0 ? INT32_MIN : turn - 100;
            /* what a cast has of the one before, and what becomes 0 again */
            if (i && next_random(&state) % 2)
                e->values = e[-1].values;
            if (i && next_random(&state) % 2)
                *e = e[-1];
            e->sum_qq = next_random(&state) % 2 ? 0 : -0.0;
            e->sum_xq = next_random(&state) % 2 ? 0 : 0.5;
        }
        const uint8_t *at = tp_quant_pack(&choice, &arena);
        struct tp_row row = {.quant = at};
        cr_assert_not_null(at);
        struct tp_quant_error error;
        size_t cast, seen = 0;
        for (at = tp_quant_next(at, &cast, &error); at;
             at = tp_quant_next(at, &cast, &error), seen++) {
            cr_assert_eq(cast, choice.cast[seen]);
            cr_assert_arr_eq(&error, &choice.errors[seen], sizeof error);
        }
        cr_assert_eq(seen, choice.count);
        cr_assert(tp_quant_unpack(row.quant, choice.cast[3], &error));
        cr_assert_arr_eq(&error, &choice.errors[3], sizeof error);
        cr_assert_not(tp_quant_unpack(row.quant, 63, &error));
        check_bytes(row.quant);
    }
    tp_arena_clear(&arena);
}

/* --- a run by hand -------------------------------------------------------- */

/* A row of `n` ones and a half, cast for real; the histogram is theirs. */
static struct tp_row *add_values(struct tp_run *run, double *values, size_t n,
                                 int64_t layer)
{
    static uint64_t counts[16];
    static struct tp_quant_choice choice;
    static struct tp_summary summary;
    struct tp_code_list list = {
        .value = values, .count = counts, .length = n, .finite = n};
    struct tp_row *row = add_row(run, "a.pt");
    double quantile[TP_QUANTILES];
    for (size_t i = 0; i < n; i++)
        counts[i] = 1;
    memset(&summary, 0, sizeof summary);
    tp_code_list_summarize(&list, NULL, &summary, quantile);
    summary.counts.numel = summary.counts.values = n;
    set_summary(run, row, &summary);
    row->label.layer_idx = layer;
    row->label.operation = "forward";
    tp_quant_choose(&run->plan, TP_BFLOAT16, NULL, &choice);
    for (size_t i = 0; i < choice.count; i++)
        tp_quant_list(&choice.specs[i], TP_BFLOAT16, &list, &choice.errors[i]);
    row->quant = tp_quant_pack(&choice, &run->arena);
    return row;
}

static struct tp_table groups_table(const struct stages *made)
{
    struct tp_table worst, rows, groups, advice;
    tp_quant_tables_make(&made->quant, &worst, &rows, &groups, &advice);
    return groups;
}

/* As the table has them; those of BY_PLACE are made one by one. */
static struct tp_cast_group group_of(const struct stages *made,
                                     enum tp_quant_grouping grouping,
                                     int64_t layer, const char *format)
{
    const struct tp_table table = groups_table(made);
    const size_t cast =
        tp_quant_plan_find(&made->run.plan, tp_number_by_id(format));
    for (size_t i = 0; i < table.row_count; i++) {
        struct tp_cast_group group;
        table.make(table.rows, i, 1, &group);
        if (group.place.grouping == grouping &&
            group.place.layer_idx == layer && group.cast == cast)
            return group;
    }
    cr_assert(false, "no group of layer %" PRId64 " for %s", layer, format);
    abort();
}

/*
 * 1.125 is a value of HiF8 and of E4M3; in E5M2 it lies half way between 1
 * and 1.25 and goes to the even 1: an error of 1/8, 20 log10(9) dB. Three of
 * 3 are exact. 2^-24 is below half of HiF8's least value 2^-22.
 */
static void fill(struct stages *made)
{
    made->run.plan = plan_of("hif8,e4m3,e5m2,bf16");
    add_values(&made->run, (double[]){1.125}, 1, 1);
    add_values(&made->run, (double[]){3, 5, 6}, 3, 1);
    add_values(&made->run, (double[]){0x1p-24, 40}, 2, 2);
    cr_assert_eq(tp_quant_make(&made->run, &made->quant, NULL), TP_OK);
}

Test(quant_groups, pool_the_errors_of_their_tensors)
{
    struct stages made = {.run = {.rows = NULL}};
    fill(&made);
    const struct tp_cast_group e5m2 =
        group_of(&made, TP_QUANT_BY_PLACE, 1, "e5m2");
    cr_assert_eq(e5m2.tensors, 2);
    double signal = 1.125 * 1.125 + 9 + 25 + 36;
    cr_assert_float_eq(e5m2.metrics.sqnr_db, 10 * log10(signal * 64), 1e-12);
    cr_assert_float_eq(e5m2.sqnr_worst_db, 20 * log10(9), 1e-12);
    cr_assert_float_eq(e5m2.metrics.mse, 1.0 / 64 / 4, 1e-15);
    cr_assert_eq(group_of(&made, TP_QUANT_BY_PLACE, 1, "hif8").metrics.sqnr_db,
                 INFINITY);
    const struct tp_cast_group hif8 =
        group_of(&made, TP_QUANT_BY_LAYER, 2, "hif8");
    cr_assert_eq(hif8.metrics.underflow_ratio, 0.5);
    cr_assert_eq(hif8.regime[TP_HIF8_BELOW], 0.5);
    cr_assert_eq(hif8.regime[TP_HIF8_BITS2], 0.5, "40 lies in 2^4 .. 2^8");
    cr_assert_eq(group_of(&made, TP_QUANT_BY_NAME, -1, "bf16").tensors, 3);
    stages_clear(&made);
}

/* Five blocks: one of zeros, one with a NaN, one with an infinity, and two
 * of numbers. */
Test(quant_groups, count_blocks_without_a_scale)
{
    static float codes[5][32];
    for (int i = 0; i < 32; i++)
        codes[0][i] = codes[2][i] = codes[3][i] = codes[4][i] = (float)i + 1;
    codes[2][7] = NAN;
    codes[3][31] = -INFINITY;
    struct stages made = {.run = {.rows = NULL}};
    struct tp_row *row = add_values(&made.run, (double[]){1}, 1, 1);
    made.run.plan = plan_of("mxfp4");
    static struct tp_quant_choice choice;
    tp_quant_choose(&made.run.plan, TP_FLOAT32, NULL, &choice);
    const struct tp_quant_rows rows = {.dtype = TP_FLOAT32,
                                       .tensor_amax = 32,
                                       .codes = codes,
                                       .rows = 5,
                                       .row_length = 32};
    tp_quant_blocks(&choice.specs[0], &rows, &choice.errors[0]);
    row->quant = tp_quant_pack(&choice, &made.run.arena);
    cr_assert_eq(tp_quant_make(&made.run, &made.quant, NULL), TP_OK);
    struct tp_cast_group room[1];
    const struct tp_table all = groups_table(&made);
    const struct tp_table table = tp_table_window(&all, 0, 1, room);
    static const struct {
        const char *column;
        double count;
    } known[] = {{"nonfinite_blocks", 2}, {"zero_blocks", 1}};
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(
            tp_cell_number(&table, 0, tp_table_column(&table, known[i].column)),
            known[i].count, "%s", known[i].column);
    cr_assert_str_eq(
        tp_cell_text(&table, 0, tp_table_column(&table, "mx_nonfinite")),
        "block");
    stages_clear(&made);
}

Test(quant_groups, say_which_scales_tensors_got)
{
    struct stages made = {.run = {.rows = NULL}};
    fill(&made);
    size_t scaled = 0;
    for (size_t i = 0; i < made.quant.group_count; i++) {
        const struct tp_cast_group *group = &made.quant.groups[i];
        if (group->cast < made.run.plan.scaled ||
            strcmp(group->format, "hif8") ||
            group->place.grouping != TP_QUANT_BY_NAME)
            continue;
        /* largest 1.125, 6 and 40, brought to 8 .. 16 */
        cr_assert_eq(group->tensor_scale_min, -2);
        cr_assert_eq(group->tensor_scale_max, 3);
        cr_assert_str_eq(group->tensor_scale, "amax");
        scaled++;
    }
    cr_assert_eq(scaled, 1);
    stages_clear(&made);
}

/* BF16 is no gain for a BF16 tensor, but it is for the FP32 one beside it. */
Test(quant_groups, take_the_widest_dtype)
{
    struct stages made = {.run = {.rows = NULL}};
    made.run.plan = plan_of("bf16");
    for (int64_t i = 0; i < 3; i++)
        add_values(&made.run, (double[]){1.125}, 1, 1);
    made.run.rows[1].dtype = TP_FLOAT32;
    cr_assert_eq(tp_quant_make(&made.run, &made.quant, NULL), TP_OK);
    cr_assert_eq(made.quant.recommendation_count, 2);
    cr_assert_eq(made.quant.recommendations[0].dtype, TP_FLOAT32);
    cr_assert_str_eq(made.quant.recommendations[0].advice, "bf16");
    stages_clear(&made);
}

/* Rows of /quantization, whatever window they are made in. */
Test(quant_tables, make_the_same_rows_in_any_window)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_groups groups = {.rows = NULL};
    struct tp_findings findings = {.rows = NULL};
    struct tp_finding_bins bins = {.rows = NULL};
    struct tp_finding_series found = {.rows = NULL};
    struct tp_run_tables tables;
    fill(&made);
    made.run.rows[1].quant = NULL; /* as of an integer tensor */
    tp_quant_clear(&made.quant);
    made.run.plan = plan_of("hif8,e4m3,e5m2,bf16");
    cr_assert_eq(tp_quant_make(&made.run, &made.quant, NULL), TP_OK);
    const struct tp_results results = {
        &made.run,     &groups,         &made.quant, &made.pairs,
        &made.monitor, &made.incidents, &findings,   &bins,
        &found};
    tp_run_tables_make(&results, &tables);
    const struct tp_table *table = &tables.tables[TP_TABLE_QUANTIZATION];
    static const char *const formats[] = {"hif8", "e4m3", "e5m2", "bf16"};
    const struct tp_column *tensor = tp_table_column(table, "tensor");
    const struct tp_column *format = tp_table_column(table, "format");
    const struct tp_column *sqnr = tp_table_column(table, "sqnr_db");
    char *room = malloc(table->row_count * table->row_size);
    cr_assert_eq(table->row_count, 8);
    for (size_t first = 0; first < 8; first++) {
        for (size_t count = 1; first + count <= 8; count++) {
            struct tp_table rows = tp_table_window(table, first, count, room);
            for (size_t i = 0; i < count; i++) {
                size_t at = first + i;
                cr_assert_eq(tp_cell_number(&rows, i, tensor), at < 4 ? 0 : 2);
                cr_assert_str_eq(tp_cell_text(&rows, i, format),
                                 formats[at % 4]);
                if (at == 2)
                    cr_assert_float_eq(tp_cell_number(&rows, i, sqnr),
                                       20 * log10(9), 1e-12);
            }
        }
    }
    free(room);
    stages_clear(&made);
}

/* --- the rule ------------------------------------------------------------- */

/* A hif8 row of layer 0 with this SQNR at this iteration. */
static void add_noisy(struct tp_run *run, double sqnr, int64_t iteration)
{
    static struct tp_quant_choice choice;
    struct tp_row *row = add_row(run, "a.pt");
    struct tp_summary *summary = calloc(1, sizeof *summary);
    set_summary(run, row, summary);
    free(summary);
    row->label.iteration = iteration;
    tp_quant_choose(&run->plan, TP_BFLOAT16, NULL, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        choice.errors[i].values = choice.errors[i].summed = 1;
        choice.errors[i].sum_xx = 1;
        choice.errors[i].sum_dd = pow(10, -sqnr / 10);
    }
    row->quant = tp_quant_pack(&choice, &run->arena);
}

/* The severity of the finding about a run of these; 0 when there is none. */
static int severity_of(const double *sqnr, size_t count)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_findings findings = {.rows = NULL};
    made.run.plan = plan_of("hif8");
    for (size_t i = 0; i < count; i++)
        add_noisy(&made.run, sqnr[i], (int64_t)i);
    cr_assert_eq(tp_quant_make(&made.run, &made.quant, NULL), TP_OK);
    stages_judge(&made, &findings);
    int level = 0;
    for (size_t i = 0; i < findings.count; i++) {
        if (strcmp(findings.rows[i].rule->id, "sqnr"))
            continue;
        cr_assert_eq(level, 0, "one finding per place");
        level = findings.rows[i].level;
        double least = INFINITY;
        for (size_t k = 0; k < count; k++)
            least = fmin(least, sqnr[k]);
        cr_assert_float_eq(findings.rows[i].value, least, 1e-9);
        cr_assert_not_null(strstr(findings.rows[i].evidence, "hif8"));
        cr_assert_null(strstr(findings.rows[i].suggestion, "use hif8:"), "%s",
                       findings.rows[i].suggestion);
    }
    tp_findings_clear(&findings);
    stages_clear(&made);
    return level;
}

Test(rule_sqnr, judges_against_the_limit_and_the_place)
{
    static const struct {
        double sqnr[6];
        int level;
    } runs[] = {
        {{31, 30, 31, 30, 31, 30}, 0},
        {{33, 33, 33, 33, 33, 21}, 0}, /* far below, but good enough */
        {{24, 23, 22, 21, 20, 19}, TP_SEVERITY_LOW},
        {{31, 30, 31, 30, 31, 19}, TP_SEVERITY_MEDIUM},
        {{19, 18, 19, 18, 19, 18}, TP_SEVERITY_LOW},
        {{19, 18, 19, 18, 19, 9}, TP_SEVERITY_MEDIUM}, /* lost anywhere */
        {{9, 9, 9, 9, 9, 9}, TP_SEVERITY_MEDIUM},
    };
    /* all 40 together have 22 dB */
    double one_bad[40] = {7};
    for (size_t i = 1; i < 40; i++)
        one_bad[i] = 31;
    cr_assert_eq(severity_of(one_bad, 40), TP_SEVERITY_MEDIUM);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int level = severity_of(runs[i].sqnr, 6);
        cr_assert_eq(level, runs[i].level, "run %zu: %d", i, level);
    }
}

/* --- figures -------------------------------------------------------------- */

static const struct tp_figure *figure_of(const struct tp_figure_set *set,
                                         const char *id)
{
    for (size_t i = 0; i < set->count; i++) {
        if (!strcmp(set->figures[i].id, id))
            return &set->figures[i];
    }
    cr_assert_fail("no figure %s", id);
    return NULL;
}

Test(quant_figures, show_the_numbers_of_the_groups)
{
    struct stages made = {.run = {.rows = NULL}};
    struct tp_figure_set set;
    fill(&made);
    const struct tp_figure_input input = stages_input(&made);
    cr_assert_eq(tp_figures_build(&input, NULL, &set, NULL), TP_OK);
    for (size_t i = 0; i < set.count; i++)
        cr_assert_eq(tp_figure_check(&set.figures[i], NULL), TP_OK, "%s",
                     set.figures[i].id);
    const struct tp_figure *heat = figure_of(&set, "sqnr_by_layer");
    cr_assert_eq(heat->panel_count, 1);
    const struct tp_panel *panel = &heat->panels[0];
    bool seen = false;
    for (size_t i = 0; i < panel->series[0].rows; i++) {
        const double *cell = panel->series[0].values + 3 * i;
        const char *format = panel->y.tics[(size_t)cell[1]].text;
        if (cell[0] != 1 || strcmp(format, "e5m2"))
            continue;
        seen = true;
        cr_assert_float_eq(
            cell[2],
            group_of(&made, TP_QUANT_BY_LAYER, 1, "e5m2").metrics.sqnr_db,
            1e-12);
    }
    cr_assert(seen);
    const struct tp_figure *loss = figure_of(&set, "loss_by_format");
    cr_assert_eq(loss->panel_count, 2);
    cr_assert_str_eq(loss->panels[0].series[0].name, "hif8");
    /* one of the six elements of the input underflows in HiF8 */
    cr_assert_float_eq(loss->panels[0].series[0].values[1], 100.0 / 6, 1e-9);
    cr_assert_eq(figure_of(&set, "recommendation_map")->panel_count, 1);
    cr_assert_eq(figure_of(&set, "scale_sweep")->panel_count, 0);
    tp_figure_set_clear(&set);
    stages_clear(&made);
}

/*
 * Values evenly spread over -1 .. 1. The distribution functions of a uniform
 * and of a normal distribution of the same mean and std are furthest apart
 * where their densities cross: 0.0572.
 */
Test(quant_figures, distance_of_a_uniform_distribution_from_normal)
{
    enum { VALUES = 2000 };
    static double values[VALUES];
    static uint64_t counts[VALUES];
    static struct tp_summary summary;
    struct tp_code_list list = {
        .value = values, .count = counts, .length = VALUES, .finite = VALUES};
    double quantile[TP_QUANTILES];
    for (int i = 0; i < VALUES; i++) {
        values[i] = (2 * i + 1.0) / VALUES - 1;
        counts[i] = 1;
    }
    tp_code_list_summarize(&list, NULL, &summary, quantile);
    summary.counts.numel = summary.counts.values = VALUES;
    struct stages made = {.run = {.rows = NULL}};
    struct tp_figure_set set;
    set_summary(&made.run, add_row(&made.run, "a.pt"), &summary);
    const struct tp_figure_input input = stages_input(&made);
    cr_assert_eq(tp_figures_build(&input, NULL, &set, NULL), TP_OK);
    const struct tp_figure *figure = figure_of(&set, "fp8_normality");
    cr_assert_eq(figure->panel_count, 1);
    const char *stated = strstr(figure->panels[0].title, "D = ");
    cr_assert_not_null(stated);
    cr_assert_float_eq(atof(stated + 4), 0.0572, 0.001);
    tp_figure_set_clear(&set);
    stages_clear(&made);
}

/* Tensors of HiF8, collected. */
static void collect_hifp8(const struct tp_quant_plan *plan,
                          struct tp_pool *pool, struct stages *made)
{
    const char *srcdir = getenv("srcdir");
    char folder[512];
    snprintf(folder, sizeof folder, "%s/testdata/logs/hifp8",
             srcdir ? srcdir : ".");
    const char *const roots[] = {folder};
    const struct tp_collect_options options = {
        .roots = roots, .root_count = 1, .quant = plan};
    cr_assert_eq(tp_collect(pool, &options, &made->run, NULL), TP_OK, "%s",
                 folder);
    cr_assert_eq(tp_quant_make(&made->run, &made->quant, NULL), TP_OK);
}

/* What cannot be read a second time is told, not left out. */
Test(quant_sweep, tells_of_a_tensor_that_it_cannot_read)
{
    struct tp_quant_plan plan = plan_of(NULL);
    struct stages made = {.run = {.rows = NULL}};
    struct tp_pool *pool = NULL;
    struct rlimit usual, none = {.rlim_cur = 0};
    cr_assert_eq(tp_pool_new(1, &pool, NULL), TP_OK);
    collect_hifp8(&plan, pool, &made);
    const size_t before = made.run.notes.count;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none.rlim_max = usual.rlim_max;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0); /* no file opens */
    cr_expect_eq(tp_quant_sweeps_make(&made.quant, &made.run, pool, NULL),
                 TP_OK);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
    cr_expect_eq(made.quant.sweep_count, 0);
    cr_assert_gt(made.run.notes.count, before);
    cr_expect_not_null(strstr(made.run.notes.texts[before],
                              ".pt: what other scales would do to it is not "
                              "known: cannot open"));
    stages_clear(&made);
    tp_pool_free(pool);
}

/* Without a scale, a sweep must find what the run found. */
Test(quant_sweep, passes_through_the_stored_scale)
{
    struct tp_quant_plan plan = plan_of(NULL);
    struct stages made = {.run = {.rows = NULL}};
    struct tp_pool *pool = NULL;
    cr_assert_eq(tp_pool_new(2, &pool, NULL), TP_OK);
    collect_hifp8(&plan, pool, &made);
    cr_assert_eq(tp_quant_sweeps_make(&made.quant, &made.run, pool, NULL),
                 TP_OK);
    cr_assert_eq(made.quant.sweep_count, TP_QUANT_SWEEPS);
    size_t compared = 0;
    for (size_t i = 0; i < made.quant.sweep_count; i++) {
        const struct tp_quant_sweep *sweep = &made.quant.sweeps[i];
        size_t stored = (size_t)-sweep->first; /* the exponent 0 */
        for (int f = 0; f < 3; f++) {
            size_t cast = tp_quant_plan_find(
                &plan, tp_number_by_id(tp_quant_sweep_formats[f]));
            struct tp_quant_error error;
            struct tp_quant_metrics metrics;
            cr_assert(
                tp_quant_unpack(made.run.rows[sweep->row].quant, cast, &error));
            tp_quant_metrics_of(&error, &metrics);
            if (stored >= sweep->count)
                continue;
            if (error.nonfinite_out) {
                cr_assert(isnan(sweep->sqnr[f][stored]));
                continue;
            }
            cr_assert_eq(sweep->sqnr[f][stored], metrics.sqnr_db);
            compared++;
        }
    }
    cr_assert_gt(compared, 0);
    stages_clear(&made);
    tp_pool_free(pool);
}

/* Windows of any length give the same groups, also over the border of those
 * that are kept. */
Test(quant_groups, are_made_in_any_pieces)
{
    struct stages made = {.run = {.rows = NULL}};
    fill(&made);
    const struct tp_table table = groups_table(&made);
    struct tp_cast_group *all = calloc(table.row_count, sizeof *all);
    struct tp_cast_group *some = calloc(table.row_count, sizeof *some);
    const size_t own = tp_quant_place_groups(&made.quant);
    cr_assert_lt(0, own);
    cr_assert_lt(own, table.row_count);
    table.make(table.rows, 0, table.row_count, all);
    for (size_t first = 0; first < table.row_count; first++) {
        const size_t count = table.row_count - first;
        table.make(table.rows, first, count, some);
        for (size_t i = 0; i < count; i++) {
            const struct tp_cast_group *a = &all[first + i], *b = &some[i];
            cr_assert(tp_quant_same_place(&a->place, &b->place));
            cr_assert_eq(a->cast, b->cast);
            cr_assert_eq(a->tensors, b->tensors);
            cr_assert_eq(a->metrics.sqnr_db, b->metrics.sqnr_db);
        }
    }
    free(all);
    free(some);
    stages_clear(&made);
}
