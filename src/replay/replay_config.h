/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_REPLAY_CONFIG_H
#define TP_REPLAY_REPLAY_CONFIG_H

#include "base/memory.h"
#include "replay/replay_perturbed.h"

/*
 * What to replay, as msprobe's config.json and the command line tell it. Every
 * field is a text as a user would give it; NULL: not said.
 */
struct tp_replay_config {
    const char *pert_mode;    /* words of tp_perturb_words, or "all"        */
    const char *fuzz_stage;   /* "forward", "backward"                      */
    const char *fuzz_device;  /* "npu", "cpu"                               */
    const char *handler_type; /* "check", "fix"                             */
    const char *fuzz_level;   /* "L1"                                       */
    const char *level;        /* "L1", "mix"                                */
    const char *scope, *list; /* names, joined by ','                       */
    const char *steps, *ranks;
    bool preheat; /* if_preheat                                             */
    int64_t preheat_step, max_sample; /* 0: not said                        */
    enum tp_perturb_compat compat;    /* no file says it                    */
    struct tp_arena arena; /* owns what a file said                         */
};

/*
 * Reads {"task": "free_benchmark", "rank": [], "step": [], "free_benchmark":
 * {...}}; what it says and `config` already has stays as it was. Empty lists
 * say nothing. TP_E_USAGE names the member that cannot be; TP_E_MEMORY.
 */
enum tp_status tp_replay_config_parse(const char *text, size_t length,
                                      struct tp_replay_config *config,
                                      struct tp_error *err);

/* The same of a file: TP_E_IO, and TP_E_LIMIT beyond TP_LIMIT_MAP_BYTES. */
enum tp_status tp_replay_config_read(const char *path,
                                     struct tp_replay_config *config,
                                     struct tp_error *err);

/* What a config asks for. */
struct tp_replay_asked {
    struct tp_perturb_wish wish;
    bool fix;
    int64_t preheat_step, max_sample; /* 0: no preheat                      */
};

/*
 * What a config asks for: by default improve_precision of forward calls, 15
 * steps of preheat with 20 samples. TP_E_USAGE: a word that is none, or a
 * contradiction.
 */
enum tp_status tp_replay_config_check(const struct tp_replay_config *config,
                                      struct tp_replay_asked *asked,
                                      struct tp_error *err);

/* Releases the texts of a file; nothing is said afterwards. */
void tp_replay_config_clear(struct tp_replay_config *config);

/* Takes a text at its commas apart; blanks around names and empty names are
 * left out. Texts and list are the arena's. TP_E_MEMORY. */
enum tp_status tp_replay_names(const char *text, struct tp_arena *arena,
                               const char *const **names, size_t *count,
                               struct tp_error *err);

#endif
