/* SPDX-License-Identifier: MIT */
#include "report/gnuplot_request.h"

#include <stdlib.h>
#include <string.h>

/* In gnuplot's commands a name stands between quotes; one that begins with '<'
 * or '|' would be a program. */
static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static void add_name(struct tp_text *names, const char *name)
{
    tp_text_bytes(names, name, strlen(name) + 1);
}

enum tp_status tp_gnuplot_ask(const struct tp_gnuplot_work *work,
                              struct tp_gnuplot_request *request,
                              struct tp_text *names, struct tp_error *err)
{
    add_name(names, work->output_dir);
    for (size_t i = 0; i < work->count; i++) {
        add_name(names, work->jobs[i].category);
        add_name(names, work->jobs[i].id);
        add_name(names, work->jobs[i].output);
    }
    if (names->failed)
        return tp_fail_memory(err);
    if (names->length > TP_GNUPLOT_REQUEST_BYTES ||
        work->count > TP_GNUPLOT_REQUEST_COUNT)
        return tp_fail(err, TP_E_LIMIT, -1, "%zu figures are too many",
                       work->count);
    *request = (struct tp_gnuplot_request){(uint32_t)names->length,
                                           (uint32_t)work->count,
                                           work->processes, work->patience_s};
    return TP_OK;
}

bool tp_gnuplot_may_read(const struct tp_gnuplot_request *request)
{
    return request->bytes <= TP_GNUPLOT_REQUEST_BYTES &&
           request->count <= TP_GNUPLOT_REQUEST_COUNT &&
           request->patience_s <= TP_GNUPLOT_REQUEST_PATIENCE;
}

static bool is_plain(const char *name)
{
    return *name && strspn(name, allowed) == strlen(name) &&
           strspn(name, ".") != strlen(name);
}

/* Names one after the other. */
struct names {
    const char *at, *end;
};

/* The next one; NULL: there is none. */
static const char *next_of(struct names *names)
{
    const char *name = names->at;
    if (names->at >= names->end)
        return NULL;
    names->at += strlen(name) + 1;
    return name;
}

static bool is_inside(const char *folder, const char *output_dir)
{
    const size_t length = strlen(output_dir);
    return strncmp(folder, output_dir, length) == 0 && folder[length] == '/' &&
           is_plain(folder + length + 1);
}

static enum tp_status damaged(const char *what, struct tp_error *err)
{
    return tp_fail(err, TP_E_DAMAGED, -1, "a request to start gnuplot: %s",
                   what);
}

enum tp_status tp_gnuplot_take(const struct tp_gnuplot_request *request,
                               const char *names, const char *output_dir,
                               struct tp_gnuplot_work *work,
                               struct tp_error *err)
{
    struct names left = {names, names + request->bytes};
    *work = (struct tp_gnuplot_work){.processes = request->processes,
                                     .patience_s = request->patience_s};
    work->output_dir = next_of(&left);
    if (!work->output_dir || !is_inside(work->output_dir, output_dir))
        return damaged("not a folder of the output directory", err);
    work->jobs = calloc((size_t)request->count + 1, sizeof *work->jobs);
    if (!work->jobs)
        return tp_fail_memory(err);
    for (uint32_t i = 0; i < request->count; i++) {
        const char *words[3];
        for (int k = 0; k < 3; k++) {
            words[k] = next_of(&left);
            if (!words[k] || !is_plain(words[k]))
                return damaged("not a name", err);
        }
        work->jobs[work->count++] =
            (struct tp_gnuplot_job){words[0], words[1], words[2], false};
    }
    return next_of(&left) ? damaged("more names than figures", err) : TP_OK;
}
