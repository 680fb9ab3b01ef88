/* SPDX-License-Identifier: MIT */
#include "trace/trace_tables.h"

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#define SKIPPED(member, unit) TP_COLUMN(struct tp_trace_skipped, member, unit)

static const struct tp_column skipped_columns[] = {
    SKIPPED(file, ""), SKIPPED(reason, ""), SKIPPED(offset, "byte")};

/* A joined row: that of the trace, then its number. */
static size_t joined_size(const struct tp_trace_list_info *info)
{
    return info->row_size + sizeof(int64_t);
}

static void make_joined(const void *rows, size_t first, size_t count,
                        void *made)
{
    const struct tp_trace_join *join = rows;
    const struct tp_trace_list_info *info = &tp_trace_lists[join->list];
    char *to = made;
    for (size_t i = 0; i < join->run->trace_count && count; i++) {
        const int64_t number = (int64_t)i;
        size_t there;
        const char *from =
            tp_trace_list_rows(&join->run->traces[i], join->list, &there);
        for (size_t j = first; j < there && count; j++, count--) {
            memcpy(to, from + j * info->row_size, info->row_size);
            memcpy(to + info->row_size, &number, sizeof number);
            to += joined_size(info);
        }
        first = first > there ? first - there : 0;
    }
}

static struct tp_table joined_table(struct tp_trace_join *join)
{
    const struct tp_trace_list_info *info = &tp_trace_lists[join->list];
    struct tp_table table = {info->name, info->columns,     info->column_count,
                             join,       0,                 joined_size(info),
                             make_joined};
    for (size_t i = 0; i < join->run->trace_count; i++) {
        size_t count;
        tp_trace_list_rows(&join->run->traces[i], join->list, &count);
        table.row_count += count;
    }
    return table;
}

void tp_trace_tables_make(const struct tp_trace_run *run,
                          struct tp_trace_tables *tables)
{
    for (enum tp_trace_list i = 0; i < TP_TRACE_JOINED; i++) {
        tables->joins[i] = (struct tp_trace_join){run, i};
        tables->tables[i] = joined_table(&tables->joins[i]);
    }
    tables->tables[TP_TRACE_SKIPPED] = (struct tp_table){
        .name = "skipped",
        .columns = skipped_columns,
        .column_count = COUNT_OF(skipped_columns),
        .rows = run->skipped.rows,
        .row_count = run->skipped.count,
        .row_size = sizeof *run->skipped.rows,
    };
}
