/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "report/gnuplot_request.h"

static struct tp_gnuplot_job jobs[] = {
    {"heatmaps", "amax", ".amax.png.0a1b2c3d.17.tmp", false},
    {"statistics", "box-2_x", "box.svg", false}};

static struct tp_gnuplot_work asked_of(const char *folder)
{
    return (struct tp_gnuplot_work){.output_dir = folder,
                                    .jobs = jobs,
                                    .count = 2,
                                    .processes = 3,
                                    .patience_s = 5};
}

/* What comes of names, `count` figures of them, below draw. */
static enum tp_status taken(const char *names, uint32_t bytes, uint32_t count)
{
    const struct tp_gnuplot_request request = {bytes, count, 1, 1};
    struct tp_gnuplot_work work;
    struct tp_error err = {0};
    enum tp_status status =
        tp_gnuplot_take(&request, names, "draw", &work, &err);
    free(work.jobs);
    return status;
}

#define TAKEN(names, count) taken(names, sizeof(names), count)

Test(gnuplot_request, comes_back_as_it_was_asked)
{
    const struct tp_gnuplot_work asked = asked_of("./a b/.new.1.tmp");
    struct tp_gnuplot_work work;
    struct tp_gnuplot_request request;
    struct tp_text names = {0};
    cr_assert_eq(tp_gnuplot_ask(&asked, &request, &names, NULL), TP_OK);
    cr_assert(tp_gnuplot_may_read(&request));
    cr_assert_eq(
        tp_gnuplot_take(&request, tp_text_get(&names), "./a b", &work, NULL),
        TP_OK);
    cr_expect_eq(work.count, 2);
    cr_expect_eq(work.processes, 3);
    cr_expect_eq(work.patience_s, 5);
    cr_expect_str_eq(work.output_dir, asked.output_dir);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_str_eq(work.jobs[i].category, jobs[i].category);
        cr_expect_str_eq(work.jobs[i].id, jobs[i].id);
        cr_expect_str_eq(work.jobs[i].output, jobs[i].output);
    }
    free(work.jobs);
    tp_text_clear(&names);
}

Test(gnuplot_request, stays_in_the_output_directory)
{
    cr_expect_eq(TAKEN("draw/.new\0c\0i\0o", 1), TP_OK);
    cr_expect_eq(TAKEN("draw\0c\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/\0c\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/..\0c\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/a/b\0c\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("drawer/new\0c\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("/etc\0c\0i\0o", 1), TP_E_DAMAGED);
}

/* gnuplot reads `load '<ls'` and `set output '|ls'` as programs, and a quote
 * ends a name. */
Test(gnuplot_request, names_no_program)
{
    cr_expect_eq(TAKEN("draw/n\0c\0<ls\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0i\0|ls", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c'; system('ls'); '\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0i`ls`\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0..\0i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0../i\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0\0o", 1), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0i\0o\n", 1), TP_E_DAMAGED);
}

Test(gnuplot_request, has_as_many_names_as_it_says)
{
    cr_expect_eq(TAKEN("draw/n\0c\0i\0o", 2), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n\0c\0i\0o", 0), TP_E_DAMAGED);
    cr_expect_eq(TAKEN("draw/n", 0), TP_OK);
    cr_expect_eq(taken("", 0, 0), TP_E_DAMAGED);
    cr_expect_eq(taken("draw/n\0c\0i\0oXY", 14, 1), TP_OK, "the last ends it");
}

Test(gnuplot_request, has_its_limits)
{
    const struct tp_gnuplot_request usual = {100, 10, 4, 120},
                                    long_one = {TP_GNUPLOT_REQUEST_BYTES + 1,
                                                10, 4, 120},
                                    many = {100, TP_GNUPLOT_REQUEST_COUNT + 1,
                                            4, 120},
                                    patient = {100, 10, 4, UINT32_MAX};
    cr_expect(tp_gnuplot_may_read(&usual));
    cr_expect_not(tp_gnuplot_may_read(&long_one));
    cr_expect_not(tp_gnuplot_may_read(&many));
    cr_expect_not(tp_gnuplot_may_read(&patient));
}
