/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_OPTIONS_H
#define TP_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "base/world.h"
#include "check/check_settings.h"
#include "cli/option_value.h"
#include "compare/compare_row.h"
#include "data/encode.h"
#include "dump/dump_integrity.h"
#include "replay/perturb.h"
#include "report/plot.h"
#include "scan/dim_rank.h"
#include "series/baseline_parts.h"
#include "stats/blocks.h"
#include "stats/quantize.h"
#include "tensors/pairs.h"

/*
 * The command line. Every option is one row of a table, from which parsing,
 * --help and the manual's check come. '-' and '_' in a name are the same.
 */

/* Which commands take an option. */
enum {
    TP_FOR_TENSORS = 1,
    TP_FOR_INSPECT = 2,
    TP_FOR_LIST = 4,
    TP_FOR_TRACE = 8,
    TP_FOR_DUMP = 16,
    TP_FOR_COMPARE = 32,
    TP_FOR_REPLAY = 64,
    TP_FOR_CHECK = 128,
    TP_FOR_MERGE = 256,
    TP_FOR_END = 512, /* twice the last one                                */
    TP_FOR_ALL = TP_FOR_END - 1
};

/* The rows, ended by one whose name is NULL; sorted by name. Two of one name
 * are for different commands. */
extern const struct tp_option tp_option_table[];

enum tp_device_choice { TP_ON_AUTO, TP_ON_CPU, TP_ON_CUDA };
enum tp_output_form { TP_FORM_TEXT, TP_FORM_JSON, TP_FORM_SARIF };

/* Where tensor_saver is told to save: the default of --tensor_dir. */
#define TP_INPUT_VARIABLE "TENSOR_SAVE_DIR"

enum { TP_OPTIONS_MOST = 128 }; /* rows of the table                       */

/* --threshold NAME=VALUE and the like, in order. */
struct tp_option_settings {
    const char **texts;
    size_t count, capacity;
};

/* The values. Texts are borrowed from argv or the environment; lists are
 * owned. */
struct tp_options {
    const char **inputs; /* --tensor_dir, --trace_dir and positionals, in order;
                            without any, what TP_INPUT_VARIABLE names     */
    size_t input_count, input_capacity;
    bool input_from_environment;
    struct tp_option_settings thresholds, peaks;
    const char *gpu;         /* NULL when not given                       */
    int group_by;            /* enum tp_group_by                          */
    uint64_t stack_depth;    /* frames                                    */
    const char *annotate;    /* a file or a folder; NULL when not given   */
    const char *output_json, *sort; /* of traces; NULL when not given     */
    uint64_t top;
    bool compare;
    const char *output_dir;
    const char *staging; /* no option: where the run writes until it ends,
                            report/staging.h                            */
    struct tp_gnuplot_starter *starter; /* no option: who starts gnuplot;
                            NULL: this process                          */
    const struct tp_world *world; /* no option: the processes that run this
                            together; NULL: this one alone               */
    enum tp_device_choice device;
    enum tp_output_form format;
    enum tp_plot_format plot_format;
    int fail_on; /* enum tp_severity; 0: nothing fails        */
    enum tp_scale_rule mx_scale;
    enum tp_nonfinite mx_nonfinite;
    int block_axis;              /* counted from the last                     */
    const char *backward_format; /* id                                     */
    const char *formats;         /* see struct tp_quant_options               */
    enum tp_rounding rounding;
    enum tp_dims_mode dims;
    enum tp_dim_reduce reduce_dtype;
    enum tp_pairs_which pairs;
    double min_sqnr;      /* dB                                        */
    double max_underflow; /* percent                                   */
    enum tp_baseline_method baseline;
    uint64_t warmup_steps, alert_window; /* iterations                     */
    double sigma;              /* spreads                                   */
    double wait;               /* seconds; 0: analyse what is there         */
    uint64_t jobs;             /* 0: as many as processors                    */
    uint64_t device_memory;    /* bytes; 0: half of what is free     */
    uint64_t memory_limit;     /* bytes; 0: three quarters of what is there */
    const char *steps, *ranks; /* lists of numbers; NULL: all             */
    bool recover;
    bool parts;
    const char *crc_from; /* a dump of msprobe; NULL: none                */
    const char *scripts;  /* a directory; NULL: none                       */
    const char *state;    /* a file; NULL: none                            */
    double state_every;   /* seconds                                       */
    enum tp_dump_verify verify;
    enum tp_compare_mode compare_mode;
    enum tp_compare_by match;
    enum tp_check_lang lang;
    enum tp_check_target target;
    bool include_tests;
    const char *select, *ignore; /* lists of rules about scripts; or NULL  */
    bool fuzzy_match, autodiff;
    const char *config; /* of msprobe; NULL: none                         */
    /* as msprobe's config.json has them; NULL: not given */
    const char *pert_mode, *fuzz_stage, *fuzz_device, *fuzz_level,
        *handler_type, *scope, *list;
    bool if_preheat;
    uint64_t preheat_step, max_sample; /* 0: not given                     */
    enum tp_perturb_compat compat;
    bool accuracy;
    const char *map; /* a file; NULL: names are the same                   */
    bool quiet, verbose, no_html, no_plots, no_sandbox;
    bool help, version, dump_options;
    bool given[TP_OPTIONS_MOST]; /* by row, on the command line            */
};

/*
 * Parses the arguments after the command name. `command` is TP_FOR_...; an
 * option the command does not take is refused. Fails with TP_E_USAGE and a
 * message that names the argument. Release with tp_options_clear, also after
 * a failure.
 */
enum tp_status tp_options_parse(int count, char **arguments, unsigned command,
                                struct tp_options *options,
                                struct tp_error *err);
void tp_options_clear(struct tp_options *options);

/* Whether the command line has the option of that name. */
bool tp_options_given(const struct tp_options *options, const char *name);

/* Sets options from lines as of tp_options_shape, which are cut and have to
 * stay. Fails where an option or a value is not known. */
enum tp_status tp_options_take(struct tp_options *options, unsigned command,
                               char *lines, struct tp_error *err);

/* Jobs to run: the option, or the number of processors. */
unsigned tp_options_jobs(const struct tp_options *options);

#endif
