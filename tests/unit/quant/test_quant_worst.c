/* SPDX-License-Identifier: MIT */
/* The worst cast of each cell of a map: against a look at all of them. */
#include "quant/quant_worst.h"

#include <inttypes.h>
#include <stdio.h>

#include "quant/quant_groups.h"
#include "tests/unit/support/quant_plan.h"
#include "tests/unit/support/run_maker.h"

/* A row whose casts lose `error` of a signal of 1; 0: they lose nothing. */
static struct tp_row *add_casts(struct tp_run *run, double error)
{
    static struct tp_quant_choice choice;
    struct tp_row *row = add_row(run, "a.pt");
    tp_quant_choose(&run->plan, TP_BFLOAT16, NULL, &choice);
    for (size_t i = 0; i < choice.count; i++) {
        choice.errors[i] = (struct tp_quant_error){.values = 1, .summed = 1};
        choice.errors[i].sum_xx = 1;
        choice.errors[i].sum_dd = error * (double)(i + 1);
    }
    row->quant = tp_quant_pack(&choice, &run->arena);
    return row;
}

/* The least of a cell, by a look at all casts; NaN: there are none. */
static double least_of(const struct tp_run *run,
                       const struct tp_quant_cell *cell, bool target,
                       uint64_t *casts)
{
    double least = NAN;
    *casts = 0;
    for (size_t i = 0; i < run->row_count; i++) {
        const struct tp_row *row = &run->rows[i];
        struct tp_quant_error error;
        size_t cast;
        if (row->label.layer_idx != cell->layer_idx ||
            row->label.iteration != cell->iteration ||
            (target && strcmp(tp_row_target_word(row), cell->format)))
            continue;
        for (const uint8_t *at = tp_quant_next(row->quant, &cast, &error); at;
             at = tp_quant_next(at, &cast, &error)) {
            struct tp_quant_metrics metrics;
            tp_quant_metrics_of(&error, &metrics);
            if (cast < run->plan.scaled &&
                !strcmp(run->plan.casts[cast].format, cell->format)) {
                least = fmin(least, metrics.sqnr_db);
                ++*casts;
            }
        }
    }
    return least;
}

Test(quant_worst, is_the_least_of_all_casts)
{
    struct tp_run run = {.plan = plan_of("hif8,e4m3,e5m2")};
    struct tp_quant_worst worst = {.cells = NULL};
    struct tp_arena arena = {0};
    for (int64_t i = 0; i < 4000; i++) {
        struct tp_row *row =
            add_casts(&run, i % 11 ? 1.0 / (double)(1 + i * 7 % 997) : 0);
        row->label.layer_idx = i % 5 - 1;
        row->label.iteration = i % 7;
        if (i % 3 == 0)
            row->target = tp_number_by_id("e4m3");
    }
    cr_assert_eq(tp_quant_worst_make(&run, &arena, &worst, NULL), TP_OK);
    cr_assert_eq(worst.count, 5 * 7 * 3);
    for (size_t i = 0; i < worst.count; i++) {
        const struct tp_quant_cell *cell = &worst.cells[i];
        uint64_t casts, its;
        cr_assert_str_eq(cell->by, "layer_idx");
        cr_assert_eq(cell->sqnr_db, least_of(&run, cell, false, &casts));
        cr_assert_eq(cell->casts, casts);
        const double target = least_of(&run, cell, true, &its);
        cr_assert(its ? cell->target_sqnr_db == target
                      : isnan(cell->target_sqnr_db));
    }
    tp_quant_worst_clear(&worst);
    tp_arena_clear(&arena);
    tp_run_clear(&run);
}

/* 60 000 casts of six cells: as much room as six casts take. */
Test(quant_worst, takes_the_room_of_cells)
{
    struct tp_run run = {.plan = plan_of("hif8,e4m3")};
    struct tp_quant_worst worst = {.cells = NULL};
    struct tp_arena arena = {0};
    for (int64_t i = 0; i < 30000; i++)
        add_casts(&run, 1.0 / (double)(i + 1))->label.layer_idx = i % 3;
    cr_assert_eq(tp_quant_worst_make(&run, &arena, &worst, NULL), TP_OK);
    cr_assert_eq(worst.count, 6);
    cr_assert_eq(worst.cells[0].casts, 10000);
    cr_assert_eq(worst.cells[0].sqnr_db, 0, "the first tensor");
    cr_assert_leq(worst.capacity, 2048);
    tp_quant_worst_clear(&worst);
    tp_arena_clear(&arena);
    tp_run_clear(&run);
}

/* A map has no room for 70 layers times 70 tensors, and none for 70 modules:
 * layers are left out and modules named by what they are in. */
Test(quant_worst, has_what_a_map_has_room_for)
{
    static char names[4900][32];
    struct tp_run run = {.plan = plan_of("hif8")};
    struct tp_quant_worst worst = {.cells = NULL};
    struct tp_arena arena = {0};
    for (int i = 0; i < 4900; i++) {
        struct tp_row *row = add_casts(&run, 1.0 / (i + 1));
        snprintf(names[i], sizeof names[i], "net.m%d.t%d", i % 2, i % 70);
        row->label.layer_idx = i / 70;
        row->label.module = names[i];
        row->label.tensor_name = names[i] + strlen("net.m0.");
    }
    cr_assert_eq(tp_quant_worst_make(&run, &arena, &worst, NULL), TP_OK);
    cr_assert_eq(worst.count, 70);
    for (size_t i = 0; i < worst.count; i++) {
        cr_assert_str_eq(worst.cells[i].by, "module");
        cr_assert_str_eq(worst.cells[i].module, i < 35 ? "net.m0" : "net.m1");
        cr_assert_eq(worst.cells[i].casts, 70);
    }
    tp_quant_worst_clear(&worst);
    tp_arena_clear(&arena);
    tp_run_clear(&run);
}
