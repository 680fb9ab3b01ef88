/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a run that still writes its tensors. The files under the inputs
 * are counted every few seconds; the run is taken to be done when there are at
 * least ten that hold tensors by their name, about one iteration, and neither
 * their number nor their size has changed for a whole interval.
 *
 * inotify would tell each file as it is closed, but not on the network file
 * systems that clusters write to, and needs a watch for each directory. A walk
 * costs a stat for each file.
 */
#include "cli/wait.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "cli/cli.h"
#include "formats/reader.h"

/* A run with so many files has saved something worth a look. */
enum { LEAST_FILES = 10 };

/* Seconds between two counts; a tenth of the time there is, if that is less. */
static const double interval_most = 5;

/* What was there at one time. */
struct census {
    uint64_t files, bytes;
};

static enum tp_status take_census(const struct tp_options *options,
                                  struct census *census, struct tp_error *err)
{
    struct tp_found_list list = {0};
    enum tp_status status = TP_OK;
    *census = (struct census){0};
    for (size_t i = 0; i < options->input_count && status != TP_E_MEMORY; i++)
        status = tp_file_find(options->inputs[i], &list, err);
    if (status != TP_E_MEMORY)
        status = tp_found_sort(&list, err);
    for (size_t i = 0; i < list.count && status == TP_OK; i++) {
        if (!tp_format_has_suffix(list.files[i].path))
            continue;
        census->files++;
        census->bytes += list.files[i].size;
    }
    tp_found_clear(&list);
    return status;
}

static void rest(double seconds)
{
    const struct timespec time = {(time_t)seconds,
                                  (long)(fmod(seconds, 1) * 1e9)};
    nanosleep(&time, NULL); /* a signal ends it, too */
}

static void show(struct tp_progress *progress, const struct census *census,
                 double waited, double most)
{
    if (!progress->enabled)
        return;
    fprintf(stderr, "\rwaiting for the run: %" PRIu64 " files, %.0f of %.0f s ",
            census->files, waited, most);
    progress->shown = true;
}

/* Rests until `until`, in short pieces; false: interrupted. */
static bool rest_until(double until, const struct tp_options *options,
                       const struct census *census,
                       struct tp_progress *progress)
{
    static const double piece = 0.1; /* seconds; what a signal may wait */
    double left;
    while ((left = until - tp_now()) > 0 && !tp_interrupted) {
        show(progress, census, tp_now() - progress->started, options->wait);
        rest(fmin(left, piece));
    }
    return !tp_interrupted;
}

static void say_over(const struct census *census, double seconds,
                     struct tp_text *over)
{
    tp_text_add(over, "after --wait %g there %s %" PRIu64 " file%s of tensors",
                seconds, census->files == 1 ? "is" : "are", census->files,
                census->files == 1 ? "" : "s");
    if (census->files < LEAST_FILES)
        tp_text_add(over, ", fewer than the %d waited for", LEAST_FILES);
    else
        tp_text_add(over, ", which may not be all: they were still changing");
}

enum tp_status tp_wait_for_run(const struct tp_options *options,
                               struct tp_text *over, struct tp_error *err)
{
    struct tp_progress progress;
    struct census last, census;
    if (!(options->wait > 0))
        return TP_OK;
    tp_progress_start(&progress, "files", options);
    const double end = progress.started + options->wait;
    const double interval = fmin(interval_most, options->wait / 10);
    bool quiet = false;
    enum tp_status status = take_census(options, &census, err);
    while (status == TP_OK && !quiet && tp_now() < end) {
        double next = tp_now() + interval;
        if (!rest_until(fmin(next, end), options, &census, &progress))
            status = tp_fail(err, TP_E_INTERRUPTED, -1, "interrupted");
        last = census;
        if (status == TP_OK)
            status = take_census(options, &census, err);
        quiet = next <= end && census.files >= LEAST_FILES &&
                census.files == last.files && census.bytes == last.bytes;
    }
    tp_progress_end(&progress);
    if (status == TP_OK && !quiet)
        say_over(&census, options->wait, over);
    return status;
}
