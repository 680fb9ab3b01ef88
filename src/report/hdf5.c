/* SPDX-License-Identifier: MIT */
/*
 * Tables as HDF5 datasets of compound rows. Texts have the width of the longest
 * value of their column, found by a pass over the table before it is written:
 * variable-length texts would save it, but HDF5 stores them outside the chunks,
 * where they are not compressed. Rows are packed, written in chunks of 1 024
 * and deflated, numbers shuffled first; a table that makes its rows makes
 * them twice, so that memory is that of a chunk. Time stamps are left out:
 * equal tables give equal files. The file is written aside and renamed.
 */
#include "report/hdf5.h"

#include <errno.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/file.h"
#include "base/text.h"

/* Rows written at once: about half a megabyte of /tensors. */
enum { CHUNK_ROWS = 1024 };

/* Level 1 halves the time of the default 6 for 5 % more bytes. */
enum { DEFLATE_LEVEL = 1 };

/* Attributes of a dataset that stay in its header: a unit a column. Beyond
 * eight HDF5 would make each table a heap and a tree of its own for them. */
enum { COMPACT = 64 };

/* One dataset under construction. Identifiers below 0 are not open. */
struct writer {
    const struct tp_table *table;
    size_t *offsets; /* of each column in a packed row                   */
    size_t *widths;  /* bytes of each column                             */
    size_t row_size;
    char *buffer; /* packed rows of a chunk                           */
    void *room;   /* its rows, of a table that makes them             */
    struct tp_text shown; /* the last cell that was not plain            */
    hid_t type, space, properties, dataset;
};

/* The library does not pass on why the system refused, but leaves errno. */
static enum tp_status fail(struct tp_error *err, const char *format,
                           const char *what)
{
    char text[256];
    snprintf(text, sizeof text, format, what);
    return errno ? tp_fail_errno(err, "%s", text)
                 : tp_fail(err, TP_E_IO, -1, "%s", text);
}

/* Rows from `first` on, at most CHUNK_ROWS of them. */
static struct tp_table chunk_of(const struct writer *w, size_t first)
{
    size_t left = w->table->row_count - first;
    return tp_table_window(w->table, first,
                           left < CHUNK_ROWS ? left : CHUNK_ROWS, w->room);
}

/* A text as it is written: without what a terminal would obey, which is where
 * readers of tables print it. */
static const char *shown_cell(struct writer *w, const struct tp_table *chunk,
                              size_t row, const struct tp_column *column)
{
    const char *text = tp_cell_text(chunk, row, column);
    if (tp_text_is_plain(text))
        return text;
    w->shown.length = 0;
    tp_text_printable_lines(&w->shown, text);
    return w->shown.failed ? "" : tp_text_get(&w->shown);
}

/* Widens text columns to the values of a chunk. */
static void widen(struct writer *w, const struct tp_table *chunk)
{
    for (size_t i = 0; i < chunk->column_count; i++) {
        if (chunk->columns[i].type != TP_COLUMN_TEXT)
            continue;
        for (size_t row = 0; row < chunk->row_count; row++) {
            size_t length =
                strlen(shown_cell(w, chunk, row, &chunk->columns[i]));
            w->widths[i] = length > w->widths[i] ? length : w->widths[i];
        }
    }
}

/* Bytes of each column: of a text those of its longest value. */
static void measure_columns(struct writer *w)
{
    for (size_t i = 0; i < w->table->column_count; i++) /* 0 is no width */
        w->widths[i] =
            w->table->columns[i].type == TP_COLUMN_TEXT ? 1 : sizeof(double);
    for (size_t row = 0; row < w->table->row_count; row += CHUNK_ROWS) {
        const struct tp_table chunk = chunk_of(w, row);
        widen(w, &chunk);
    }
}

/* No more than a small table has: chunks are deflated whole. */
static size_t chunk_rows(const struct tp_table *table)
{
    const size_t rows = table->row_count;
    return rows < 1 ? 1 : rows < CHUNK_ROWS ? rows : CHUNK_ROWS;
}

static enum tp_status lay_out(struct writer *w, struct tp_error *err)
{
    const size_t count = w->table->column_count, rows = chunk_rows(w->table);
    w->offsets = calloc(count, sizeof *w->offsets);
    w->widths = calloc(count, sizeof *w->widths);
    if (w->table->make)
        w->room = calloc(rows, w->table->row_size);
    if (!w->offsets || !w->widths || (w->table->make && !w->room))
        return tp_fail_memory(err);
    measure_columns(w);
    for (size_t i = 0; i < count; i++) {
        w->offsets[i] = w->row_size;
        w->row_size += w->widths[i];
    }
    w->buffer = malloc(rows * w->row_size);
    return w->buffer ? TP_OK : tp_fail_memory(err);
}

static hid_t text_type(size_t width)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, width) < 0 ||
                      H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        type = -1;
    }
    return type;
}

/* Counts are stored as int64, as the contract says of integers. */
static bool insert_column(const struct writer *w, size_t i)
{
    const struct tp_column *column = &w->table->columns[i];
    if (column->type == TP_COLUMN_REAL)
        return H5Tinsert(w->type, column->name, w->offsets[i],
                         H5T_IEEE_F64LE) >= 0;
    if (column->type != TP_COLUMN_TEXT)
        return H5Tinsert(w->type, column->name, w->offsets[i], H5T_STD_I64LE) >=
               0;
    hid_t type = text_type(w->widths[i]);
    bool done =
        type >= 0 && H5Tinsert(w->type, column->name, w->offsets[i], type) >= 0;
    if (type >= 0)
        H5Tclose(type);
    return done;
}

static bool make_type(struct writer *w)
{
    w->type = H5Tcreate(H5T_COMPOUND, w->row_size);
    bool done = w->type >= 0;
    for (size_t i = 0; done && i < w->table->column_count; i++)
        done = insert_column(w, i);
    return done;
}

/*
 * A table "a/b" needs the group a. Made here, because a group that HDF5 makes
 * on the way carries the time.
 */
static bool make_group(hid_t file, const char *table)
{
    char group[64];
    size_t length = strcspn(table, "/");
    if (!table[length])
        return true;
    if (length >= sizeof group)
        return false;
    memcpy(group, table, length);
    group[length] = '\0';
    if (H5Lexists(file, group, H5P_DEFAULT) > 0)
        return true;
    hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_obj_track_times(creation, 0);
    hid_t made = H5Gcreate2(file, group, H5P_DEFAULT, creation, H5P_DEFAULT);
    H5Pclose(creation);
    return made >= 0 && H5Gclose(made) >= 0;
}

/* Equal texts are found only where they are whole: shuffled, tables of traces
 * take twice the bytes, and a fifth more instructions of the whole run. */
static bool is_mostly_text(const struct writer *w)
{
    size_t text = 0;
    for (size_t i = 0; i < w->table->column_count; i++)
        text += w->table->columns[i].type == TP_COLUMN_TEXT ? w->widths[i] : 0;
    return 2 * text > w->row_size;
}

/* Not as H5Pset_deflate does: it lets the library store rows as they are where
 * memory ends, so that equal tables give unlike files. */
static bool add_filter(const struct writer *w, H5Z_filter_t filter,
                       const unsigned *level)
{
    return H5Pset_filter(w->properties, filter, H5Z_FLAG_MANDATORY,
                         level != NULL, level) >= 0;
}

/* Time stamps are left out, so that equal tables give equal files. */
static bool make_dataset(struct writer *w, hid_t file)
{
    hsize_t rows = w->table->row_count, unlimited = H5S_UNLIMITED;
    hsize_t chunk = chunk_rows(w->table);
    w->space = H5Screate_simple(1, &rows, &unlimited);
    w->properties = H5Pcreate(H5P_DATASET_CREATE);
    if (w->space < 0 || w->properties < 0 ||
        H5Pset_chunk(w->properties, 1, &chunk) < 0 ||
        (!is_mostly_text(w) && !add_filter(w, H5Z_FILTER_SHUFFLE, NULL)) ||
        !add_filter(w, H5Z_FILTER_DEFLATE, &(unsigned){DEFLATE_LEVEL}) ||
        H5Pset_attr_phase_change(w->properties, COMPACT, COMPACT) < 0 ||
        H5Pset_fill_time(w->properties, H5D_FILL_TIME_NEVER) < 0 ||
        H5Pset_obj_track_times(w->properties, 0) < 0 ||
        !make_group(file, w->table->name))
        return false;
    w->dataset = H5Dcreate2(file, w->table->name, w->type, w->space,
                            H5P_DEFAULT, w->properties, H5P_DEFAULT);
    return w->dataset >= 0;
}

static void pack_cell(struct writer *w, const struct tp_table *chunk,
                      size_t row, size_t i, char *to)
{
    const struct tp_column *column = &chunk->columns[i];
    const char *from =
        (const char *)chunk->rows + row * chunk->row_size + column->offset;
    if (column->type == TP_COLUMN_TEXT) {
        const char *text = shown_cell(w, chunk, row, column);
        size_t length = strlen(text);
        memcpy(to, text, length);
        memset(to + length, 0, w->widths[i] - length);
        return;
    }
    memcpy(to, from, sizeof(uint64_t));
    if (column->type == TP_COLUMN_COUNT && (signed char)to[7] < 0) {
        const int64_t most = INT64_MAX; /* stride 0 can claim this many */
        memcpy(to, &most, sizeof most);
    }
}

static bool write_rows(struct writer *w, size_t first)
{
    struct tp_table chunk = chunk_of(w, first);
    size_t count = chunk.row_count;
    for (size_t row = 0; row < count; row++) {
        for (size_t i = 0; i < chunk.column_count; i++)
            pack_cell(w, &chunk, row, i,
                      w->buffer + row * w->row_size + w->offsets[i]);
    }
    hsize_t start = first, length = count;
    hid_t memory = H5Screate_simple(1, &length, NULL);
    bool done = memory >= 0 &&
                H5Sselect_hyperslab(w->space, H5S_SELECT_SET, &start, NULL,
                                    &length, NULL) >= 0 &&
                H5Dwrite(w->dataset, w->type, memory, w->space, H5P_DEFAULT,
                         w->buffer) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    return done;
}

static size_t text_length(const char *value)
{
    const size_t length = strlen(value);
    return length ? length : 1;
}

static bool put_text(hid_t object, hid_t scalar, hid_t type, const char *name,
                     const char *value)
{
    hid_t attribute =
        H5Acreate2(object, name, type, scalar, H5P_DEFAULT, H5P_DEFAULT);
    bool done = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    return done;
}

static bool add_text_attribute(hid_t object, const char *name,
                               const char *value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t type = text_type(text_length(value));
    bool done = put_text(object, space, type, name, value);
    H5Tclose(type);
    H5Sclose(space);
    return done;
}

static bool add_integer_attribute(hid_t object, const char *name,
                                  uint64_t value)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t attribute = H5Acreate2(object, name, H5T_STD_I64LE, space,
                                 H5P_DEFAULT, H5P_DEFAULT);
    bool done =
        attribute >= 0 && H5Awrite(attribute, H5T_NATIVE_UINT64, &value) >= 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    H5Sclose(space);
    return done;
}

/* Units of one length are of one type: to make it costs as much as to write
 * them. */
static bool add_units(const struct writer *w)
{
    enum { MOST = 16 };
    char name[128];
    hid_t scalar = H5Screate(H5S_SCALAR), types[MOST] = {0};
    bool done = scalar >= 0;
    for (size_t i = 0; done && i < w->table->column_count; i++) {
        const char *unit = w->table->columns[i].unit;
        const size_t length = text_length(unit);
        hid_t own = 0, *type = length < MOST ? &types[length] : &own;
        snprintf(name, sizeof name, "%s.unit", w->table->columns[i].name);
        if (*type == 0)
            *type = text_type(length);
        done = put_text(w->dataset, scalar, *type, name, unit);
        if (own > 0)
            H5Tclose(own);
    }
    for (int i = 0; i < MOST; i++)
        if (types[i] > 0)
            H5Tclose(types[i]);
    if (scalar >= 0)
        H5Sclose(scalar);
    return done;
}

/* False: what closing wrote did not reach the file. */
static bool writer_clear(struct writer *w)
{
    bool closed = w->dataset < 0 || H5Dclose(w->dataset) >= 0;
    if (w->properties >= 0)
        H5Pclose(w->properties);
    if (w->space >= 0)
        H5Sclose(w->space);
    if (w->type >= 0)
        H5Tclose(w->type);
    free(w->offsets);
    free(w->widths);
    free(w->buffer);
    free(w->room);
    tp_text_clear(&w->shown);
    return closed;
}

static enum tp_status write_table(hid_t file, const struct tp_table *table,
                                  struct tp_error *err)
{
    struct writer w = {.table = table,
                       .type = -1,
                       .space = -1,
                       .properties = -1,
                       .dataset = -1};
    enum tp_status status = lay_out(&w, err);
    if (status == TP_OK) {
        bool done = make_type(&w) && make_dataset(&w, file) && add_units(&w);
        for (size_t row = 0; done && row < table->row_count; row += CHUNK_ROWS)
            done = write_rows(&w, row);
        if (!done)
            status = fail(err, "cannot write table /%s", table->name);
        else if (w.shown.failed)
            status = tp_fail_memory(err);
    }
    if (!writer_clear(&w) && status == TP_OK)
        status = fail(err, "cannot write table /%s", table->name);
    return status;
}

static bool write_header(hid_t file, const struct tp_hdf5_header *header)
{
    return add_integer_attribute(file, "schema_version", TP_SCHEMA_VERSION) &&
           add_text_attribute(file, "tool_version", header->tool_version) &&
           add_text_attribute(file, "command_line", header->command_line) &&
           add_integer_attribute(file, "input_files", header->input_files) &&
           add_integer_attribute(file, "input_bytes", header->input_bytes) &&
           (!header->sandbox ||
            add_text_attribute(file, "sandbox", header->sandbox));
}

/* Everything up to the rename. */
static enum tp_status write_file(const char *aside,
                                 const struct tp_hdf5_header *header,
                                 const struct tp_table *tables, size_t count,
                                 struct tp_error *err)
{
    /* long attributes (a command line) need the dense storage of 1.8 */
    errno = 0;
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    hid_t creation = H5Pcreate(H5P_FILE_CREATE);
    H5Pset_obj_track_times(creation, 0); /* of the root group */
    hid_t file = H5Fcreate(aside, H5F_ACC_TRUNC, creation, access);
    H5Pclose(creation);
    H5Pclose(access);
    if (file < 0)
        return fail(err, "cannot create %s", aside);
    enum tp_status status = TP_OK;
    if (!write_header(file, header))
        status = fail(err, "cannot write %s", "the attributes");
    for (size_t i = 0; i < count && status == TP_OK; i++)
        status = write_table(file, &tables[i], err);
    if (H5Fclose(file) < 0 && status == TP_OK)
        status = fail(err, "cannot write %s", "the end of the file");
    return status;
}

struct work {
    const char *aside;
    const struct tp_hdf5_header *header;
    const struct tp_table *tables;
    size_t count;
};

static enum tp_status write_apart(void *context, struct tp_error *err)
{
    const struct work *work = context;
    /* Its exit handler closes files once more, and crashes on one that could
     * not be written (seen with 1.10.8 on a full disk). */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* the library prints otherwise */
    return write_file(work->aside, work->header, work->tables, work->count,
                      err);
}

enum tp_status tp_hdf5_write(const char *path,
                             const struct tp_hdf5_header *header,
                             const struct tp_table *tables, size_t count,
                             struct tp_error *err)
{
    char *aside = tp_file_aside(path);
    if (!aside)
        return tp_fail_memory(err);
    struct work work = {aside, header, tables, count};
    enum tp_status status = /* the library may end the process */
        tp_apart(write_apart, &work,
                 "cannot write the tables: the HDF5 library", err);
    if (status == TP_OK)
        status = tp_file_commit(aside, path, err);
    else
        unlink(aside);
    tp_error_in_file(err, path);
    free(aside);
    return status;
}
