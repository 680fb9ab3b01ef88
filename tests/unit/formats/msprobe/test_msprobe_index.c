/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "tests/unit/support/cpu_limit.h"
#include "tests/unit/support/testdata.h"

/* Our own dump: orders as dump.json has them, layers by construct.json. */
Test(msprobe_index, order_and_layer_of_files)
{
    struct tp_msprobe_index index = {.arena = {0}};
    struct tp_error err = {0};
    char path[512];
    testdata_path("msprobe/step0/proc4711", path, sizeof path);
    cr_assert_eq(tp_msprobe_index_read(path, &index, &err), TP_OK, "%s",
                 err.message);
    int64_t norm = tp_msprobe_index_order(
        &index, "Functional.layer_norm.0.forward.output.0.pt");
    int64_t fill = tp_msprobe_index_order(
        &index, "Tensor.masked_fill.0.forward.output.0.pt");
    int64_t log =
        tp_msprobe_index_order(&index, "Torch.log.0.forward.output.0.pt");
    cr_expect(0 <= norm && norm < fill && fill < log);
    cr_expect_eq(tp_msprobe_index_order(&index, "none.pt"), -1);
    cr_expect_eq(tp_msprobe_index_layer(
                     &index, "Functional.linear.0.forward.input.1.pt"),
                 0);
    cr_expect_eq(
        tp_msprobe_index_layer(&index, "Torch.log.0.forward.output.0.pt"), -1);
    tp_msprobe_index_clear(&index);
}

static void write_file(const char *directory, const char *name,
                       const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void remove_file(const char *directory, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    unlink(path);
}

/* Long chains are followed once, and circles end. */
Test(msprobe_index, chains_and_circles)
{
    limit_cpu(20);
    enum { CALLS = 20000 };
    char folder[] = "/tmp/tp-index.XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char *text = malloc(CALLS * 128 + 256), *at = text;
    cr_assert_not_null(text);
    at += sprintf(at, "{\"Torch.a.0.forward\": "
                      "\"Module.l.7.x.X.forward.0\"");
    for (int i = 1; i < CALLS; i++)
        at += sprintf(at, ", \"Torch.a.%d.forward\": \"Torch.a.%d.forward\"", i,
                      i - 1);
    for (int i = 0; i < CALLS; i++)
        at += sprintf(at, ", \"Torch.c.%d.forward\": \"Torch.c.%d.forward\"", i,
                      (i + 1) % CALLS);
    sprintf(at, "}");
    write_file(folder, "construct.json", text);
    write_file(folder, "dump.json", "{\"data\": {}}");
    struct tp_msprobe_index index = {.arena = {0}};
    struct tp_error err = {0};
    cr_assert_eq(tp_msprobe_index_read(folder, &index, &err), TP_OK, "%s",
                 err.message);
    cr_expect_eq(
        tp_msprobe_index_layer(&index, "Torch.a.19999.forward.input.0.pt"), 7);
    cr_expect_eq(tp_msprobe_index_layer(&index, "Torch.c.5.forward.input.0.pt"),
                 -1);
    tp_msprobe_index_clear(&index);
    free(text);
    remove_file(folder, "construct.json");
    remove_file(folder, "dump.json");
    rmdir(folder);
}
