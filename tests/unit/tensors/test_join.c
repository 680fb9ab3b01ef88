/* SPDX-License-Identifier: MIT */
/* Rows of one array are put in order where they are; what that gives is what
 * copying them gives, which their paths and files tell here. */
#include "tensors/join.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 3, ROWS = 7, ROOM = 10 };

/* The rows of the array: of which file, their numbers in it, and whether aside.
 * Files 2, 0, 1 as if a state each had been read, with two rows of a file that
 * another state has, too, and one place nobody took. */
static const struct {
    int file;
    const char *path;
    bool aside;
} loaded[ROOM] = {{2, "f", false},  {2, "g", true},  {2, "h", false},
                  {0, "a", true},   {0, "b", false}, {-1, "x", false},
                  {-1, "y", false}, {1, "c", false}, {1, "d", false},
                  {-1, "", false}};

static void add_file(struct tp_run *run, struct tp_records *records, int file)
{
    static const char *const names[FILES] = {"0.pt", "1.pt", "2.pt"};
    records->items[file].path = names[file];
    records->items[file].borrowed = records->items[file].done = true;
    run->files.files[file] =
        (struct tp_found){.path = strdup(names[file]), .size = 10};
    records->count = run->files.count = (size_t)file + 1;
}

static void join(size_t room, struct tp_run *run)
{
    struct tp_records records = {.arena = &run->arena};
    struct tp_row *rows = calloc(ROOM, sizeof *rows);
    records.items = calloc(FILES, sizeof *records.items);
    run->files.files = calloc(FILES, sizeof *run->files.files);
    cr_assert(rows && records.items && run->files.files);
    for (int i = 0; i < FILES; i++)
        add_file(run, &records, i);
    for (int i = 0; i < ROOM; i++) {
        rows[i] = (struct tp_row){.label = TP_LABEL_NONE,
                                  .path = loaded[i].path,
                                  .file = "",
                                  .shape = "[1]",
                                  .aside = loaded[i].aside,
                                  .place = (size_t)i};
        struct tp_record *record = &records.items[abs(loaded[i].file)];
        if (loaded[i].file < 0)
            continue;
        rows[i].file = record->path;
        record->rows = record->rows ? record->rows : &rows[i];
        record->row_count++;
    }
    records.all_rows = rows;
    records.all_row_count = room;
    cr_assert_eq(tp_records_join(&records, false, run, NULL), TP_OK);
    cr_expect((run->rows == rows) == (room == ROOM), "%zu", room);
    cr_expect_null(records.all_rows);
    tp_records_clear(&records);
}

static void check(size_t room)
{
    static const char *const paths[ROWS] = {"b", "c", "d", "f", "h", "a", "g"};
    static const size_t sources[ROWS] = {0, 1, 1, 2, 2, 0, 2};
    struct tp_run run = {.row_count = 0};
    join(room, &run);
    cr_expect_eq(run.row_count, 5);
    cr_expect_eq(run.aside_count, 2);
    for (size_t i = 0; i < ROWS; i++) {
        cr_expect_str_eq(run.rows[i].path, paths[i], "%zu: %s", i,
                         run.rows[i].path);
        cr_expect_eq(run.rows[i].source, sources[i], "%zu", i);
        cr_expect_eq(run.rows[i].aside, i >= 5, "%zu", i);
    }
    /* ordinals are by place, as these rows say nothing else */
    cr_expect_eq(run.rows[0].ordinal, 0);
    cr_expect_eq(run.rows[4].ordinal, 4);
    tp_run_clear(&run);
}

Test(join, orders_rows_where_they_are)
{
    check(ROOM);
}

Test(join, copies_rows_of_several_arrays)
{
    check(0);
    check(5); /* those of one file lie elsewhere */
}
