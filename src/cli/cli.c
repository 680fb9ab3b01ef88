/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/text_wrap.h"
#include "cuda/device.h"
#include "data/number.h"
#include "scan/scan.h"

volatile sig_atomic_t tp_interrupted;

static void on_signal(int number)
{
    tp_interrupted = number;
}

void tp_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART | SA_RESETHAND; /* twice: at once */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL); /* unless under nohup */
    /* a reader that has seen enough is no reason to die half-written, and a
     * limit to the size of files is a write that fails */
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

void tp_print_error(const struct tp_error *err)
{
    struct tp_text text = {0};
    tp_text_printable(&text, err->file);
    fprintf(stderr, "tprof-analyze: %s%s%s\n", tp_text_get(&text),
            err->file[0] ? ": " : "", err->message);
    tp_text_clear(&text);
}

void tp_print_warning(const struct tp_options *options, const char *format, ...)
{
    if (options->quiet)
        return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "tprof-analyze: warning: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
}

static bool print(const struct tp_text *text)
{
    if (text->failed) {
        struct tp_error err = {0};
        tp_fail_memory(&err);
        tp_print_error(&err);
        return false;
    }
    errno = 0;
    if (fwrite(tp_text_get(text), 1, text->length, stdout) == text->length &&
        fflush(stdout) == 0)
        return true;
    if (errno != EPIPE)
        fprintf(stderr, "tprof-analyze: cannot write to stdout: %s\n",
                strerror(errno));
    return false;
}

bool tp_print(struct tp_text *text)
{
    bool printed = print(text);
    tp_text_clear(text);
    return printed;
}

void tp_text_link(struct tp_text *text, const char *path, const char *words)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "abcdefghijklmnopqrstuvwxyz0123456789-._~/";
    tp_text_add(text, "\x1b]8;;file://");
    for (const char *c = path; *c; c++) {
        if (strchr(plain, *c))
            tp_text_bytes(text, c, 1);
        else
            tp_text_add(text, "%%%02X", (unsigned char)*c);
    }
    tp_text_add(text, "\x1b\\");
    tp_text_printable(text, words);
    tp_text_add(text, "\x1b]8;;\x1b\\");
}

bool tp_wants_color(void)
{
    const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(none && *none) &&
           !(terminal && strcmp(terminal, "dumb") == 0);
}

size_t tp_stdout_columns(void)
{
    struct winsize size = {.ws_col = 0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return TP_TEXT_COLUMNS;
}

enum tp_status tp_check_options(const struct tp_options *options,
                                const char *what, struct tp_error *err)
{
    const char *backward = options->backward_format;
    bool is_directory = !strcmp(what, "DIR");
    if (options->input_count == 0)
        return tp_fail(err, TP_E_USAGE, -1, "nothing to read: %s%s%s",
                       is_directory ? "use --tensor_dir " : "name a ", what,
                       is_directory ? ", or set " TP_INPUT_VARIABLE : "");
    if (backward && !tp_number_by_id(backward))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--backward_format: no number format \"%s\"; "
                       "'tprof-analyze list dtypes' shows them",
                       backward);
    return TP_OK;
}

enum tp_status tp_check_pair(const struct tp_options *options,
                             struct tp_error *err)
{
    return options->input_count == 2
               ? TP_OK
               : tp_fail(err, TP_E_USAGE, -1,
                         "compare takes two paths, A and B; %zu were given",
                         options->input_count);
}

enum tp_status tp_parse_places(const char *steps, const char *ranks,
                               struct tp_number_set *of_steps,
                               struct tp_number_set *of_ranks,
                               struct tp_error *err)
{
    enum tp_status status =
        steps ? tp_number_set_parse(of_steps, steps, err) : TP_OK;
    return status == TP_OK && ranks ? tp_number_set_parse(of_ranks, ranks, err)
                                    : status;
}

const struct tp_number *tp_backward_format(const struct tp_options *options)
{
    return options->backward_format ? tp_number_by_id(options->backward_format)
                                    : NULL;
}

enum tp_status tp_open_device(const struct tp_options *options,
                              unsigned workers,
                              const struct tp_quant_plan *plan,
                              struct tp_device_session **device,
                              struct tp_error *err)
{
    char reason[TP_DEVICE_REASON_MAX] = "";
    bool named = options->device == TP_ON_CUDA;
    bool automatic = TP_DEVICE_AUTO && options->device == TP_ON_AUTO;
    *device = NULL;
    if (!named && !automatic)
        return TP_OK;
    struct tp_device_options how = tp_scan_device_options(workers);
    how.memory = options->device_memory;
    how.tallies = plan ? tp_quant_plan_tallies(plan) : 0;
    *device = tp_device_open(&how, reason);
    /* LIMIT, not UNSUPPORTED: that would blame the input */
    return *device || !named
               ? TP_OK
               : tp_fail(err, TP_E_LIMIT, -1, "--device cuda: %s", reason);
}

void tp_close_device(const struct tp_options *options,
                     struct tp_device_session *device)
{
    if (device && *tp_device_failure(device))
        tp_print_warning(options,
                         "the device failed (%s); the CPU did the rest",
                         tp_device_failure(device));
    tp_device_close(device);
}

int tp_exit_of(enum tp_status status)
{
    switch (status) {
    case TP_OK:
        return TP_EXIT_OK;
    case TP_E_USAGE:
        return TP_EXIT_USAGE;
    case TP_E_NOT_FOUND:
    case TP_E_DAMAGED:
    case TP_E_CHANGED:
    case TP_E_UNSUPPORTED:
        return TP_EXIT_DAMAGED;
    case TP_E_IO:
    case TP_E_LIMIT:
    case TP_E_MEMORY:
    case TP_E_INTERRUPTED:
        break;
    }
    return TP_EXIT_FAILED;
}

void tp_progress_start(struct tp_progress *progress, const char *noun,
                       const struct tp_options *options)
{
    *progress = (struct tp_progress){.enabled = !options->quiet &&
                                                isatty(STDERR_FILENO),
                                     .noun = noun,
                                     .started = tp_now()};
}

void tp_progress_update(void *context, uint64_t done, uint64_t all,
                        uint64_t bytes_done, uint64_t bytes_all)
{
    enum { WAIT = 1 };               /* seconds before the first line  */
    static const double every = 0.2; /* seconds between updates    */
    struct tp_progress *progress = context;
    if (!progress->enabled)
        return;
    double time = tp_now();
    if (time - progress->started < WAIT || time - progress->updated < every)
        return;
    double seconds = time - progress->started;
    fprintf(stderr,
            "\r%" PRIu64 " of %" PRIu64 " %s, %.2f of %.2f GB, %.2f GB/s ",
            done, all, progress->noun, (double)bytes_done * 1e-9,
            (double)bytes_all * 1e-9, (double)bytes_done * 1e-9 / seconds);
    progress->updated = time;
    progress->shown = true;
}

void tp_progress_end(struct tp_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r%60s\r", "");
}
