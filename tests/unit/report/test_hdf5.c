/* SPDX-License-Identifier: MIT */
/* summary.h5 as the HDF5 library itself reads it back. */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/hdf5.h"

struct row {
    const char *name;
    int64_t layer;
    uint64_t count;
    double value;
};

static const struct tp_column columns[] = {
    {"name", "", TP_COLUMN_TEXT, offsetof(struct row, name), NULL},
    {"layer", "1", TP_COLUMN_INTEGER, offsetof(struct row, layer), NULL},
    {"count", "1", TP_COLUMN_COUNT, offsetof(struct row, count), NULL},
    {"value", "input", TP_COLUMN_REAL, offsetof(struct row, value), NULL},
};

static struct tp_table table_of(const struct row *rows, size_t count)
{
    return (struct tp_table){.name = "things",
                             .columns = columns,
                             .column_count = 4,
                             .rows = rows,
                             .row_count = count,
                             .row_size = sizeof *rows};
}

static const struct tp_hdf5_header header = {"1.2.3", "tprof-analyze x", 7,
                                             1234567890123, "Landlock"};
static char path[64];

static void make_path(void)
{
    strcpy(path, "/tmp/tp-hdf5-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
}

static void remove_path(void)
{
    unlink(path);
}

TestSuite(hdf5, .init = make_path, .fini = remove_path);

/* What a stranger's reader asks for: its own layout, converted. */
struct stored {
    char name[8];
    int64_t layer, count;
    double value;
};

static hid_t stored_type(void)
{
    hid_t text = H5Tcopy(H5T_C_S1), type;
    H5Tset_size(text, 8);
    H5Tset_strpad(text, H5T_STR_NULLPAD);
    H5Tset_cset(text, H5T_CSET_UTF8);
    type = H5Tcreate(H5T_COMPOUND, sizeof(struct stored));
    H5Tinsert(type, "name", offsetof(struct stored, name), text);
    H5Tinsert(type, "layer", offsetof(struct stored, layer), H5T_NATIVE_INT64);
    H5Tinsert(type, "count", offsetof(struct stored, count), H5T_NATIVE_INT64);
    H5Tinsert(type, "value", offsetof(struct stored, value), H5T_NATIVE_DOUBLE);
    H5Tclose(text);
    return type;
}

Test(hdf5, rows_read_back_as_they_were)
{
    enum { ROWS = 2500 }; /* more than two chunks */
    static struct row rows[ROWS];
    static char names[ROWS][8];
    static struct stored back[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        rows[i] = (struct row){names[i], (int64_t)i - 1, i * i,
                               i % 3 ? 1.0 / (double)i : NAN};
    }
    rows[5].name = "";
    rows[6].count = UINT64_MAX; /* stored as int64: the largest of those */
    struct tp_table table = table_of(rows, ROWS);
    cr_assert_eq(tp_hdf5_write(path, &header, &table, 1, NULL), TP_OK);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "things", H5P_DEFAULT);
    hid_t type = stored_type();
    cr_assert_geq(H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, back), 0);
    for (size_t i = 0; i < ROWS; i++) {
        cr_assert_eq(strncmp(back[i].name, rows[i].name, 8), 0);
        cr_assert_eq(back[i].layer, rows[i].layer);
        cr_assert_eq(back[i].count,
                     i == 6 ? INT64_MAX : (int64_t)rows[i].count);
        cr_assert(isnan(rows[i].value) ? isnan(back[i].value)
                                       : back[i].value == rows[i].value);
    }
    H5Tclose(type);
    H5Dclose(set);
    H5Fclose(file);
}

static void read_text(hid_t object, const char *name, char *value)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    cr_assert_geq(attribute, 0, "%s", name);
    hid_t type = H5Aget_type(attribute);
    size_t size = H5Tget_size(type);
    cr_assert_geq(H5Aread(attribute, type, value), 0);
    value[size] = '\0';
    H5Tclose(type);
    H5Aclose(attribute);
}

Test(hdf5, units_and_header_are_attributes)
{
    char text[64];
    int64_t number = 0;
    struct tp_table table = table_of(NULL, 0); /* no rows is a table, too */
    cr_assert_eq(tp_hdf5_write(path, &header, &table, 1, NULL), TP_OK);
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, "things", H5P_DEFAULT);
    read_text(set, "value.unit", text);
    cr_assert_str_eq(text, "input");
    read_text(file, "command_line", text);
    cr_assert_str_eq(text, "tprof-analyze x");
    read_text(file, "sandbox", text);
    cr_assert_str_eq(text, "Landlock");
    hid_t bytes = H5Aopen(file, "input_bytes", H5P_DEFAULT);
    cr_assert_geq(H5Aread(bytes, H5T_NATIVE_INT64, &number), 0);
    cr_assert_eq(number, 1234567890123);
    H5Aclose(bytes);
    H5Dclose(set);
    H5Fclose(file);
}

static char *contents(size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(1 << 20);
    *size = fread(data, 1, 1 << 20, file);
    fclose(file);
    return data;
}

Test(hdf5, equal_tables_give_equal_bytes)
{
    const struct row rows[] = {{"a", 1, 2, 3.5}, {"bcd", -1, 0, NAN}};
    struct tp_table table = table_of(rows, 2);
    size_t sizes[2];
    char *data[2];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tp_hdf5_write(path, &header, &table, 1, NULL), TP_OK);
        data[i] = contents(&sizes[i]);
        sleep(1); /* a time stamp would differ */
    }
    cr_assert_eq(sizes[0], sizes[1]);
    cr_assert_eq(memcmp(data[0], data[1], sizes[0]), 0);
    free(data[0]);
    free(data[1]);
}

/* As many rows as two chunks and a bit, copied when they are asked for. */
static void copy_rows(const void *rows, size_t first, size_t count, void *made)
{
    memcpy(made, (const struct row *)rows + first,
           count * sizeof(struct row));
}

Test(hdf5, rows_made_on_demand_give_the_same_bytes)
{
    enum { ROWS = 2500 };
    static struct row rows[ROWS];
    static char names[ROWS][8];
    for (size_t i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "%zu", i * i % 9973);
        rows[i] = (struct row){names[i], (int64_t)i, i, 1 / (double)(i + 1)};
    }
    struct tp_table table = table_of(rows, ROWS);
    size_t sizes[2];
    char *bytes[2];
    for (int turn = 0; turn < 2; turn++) {
        table.make = turn ? copy_rows : NULL;
        cr_assert_eq(tp_hdf5_write(path, &header, &table, 1, NULL), TP_OK);
        bytes[turn] = contents(&sizes[turn]);
    }
    cr_assert_eq(sizes[0], sizes[1]);
    cr_assert_arr_eq(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

Test(hdf5, a_long_command_line_is_kept)
{
    static char line[200000];
    memset(line, 'x', sizeof line - 1);
    struct tp_hdf5_header longer = header;
    longer.command_line = line;
    struct tp_table table = table_of(NULL, 0);
    cr_assert_eq(tp_hdf5_write(path, &longer, &table, 1, NULL), TP_OK);
}

Test(hdf5, a_folder_that_is_not_there_is_an_error)
{
    struct tp_error err = {.code = TP_OK};
    struct tp_table table = table_of(NULL, 0);
    cr_assert_eq(tp_hdf5_write("/nowhere/x.h5", &header, &table, 1, &err),
                 TP_E_IO);
    cr_assert_str_eq(err.file, "/nowhere/x.h5");
}
