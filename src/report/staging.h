/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_STAGING_H
#define TP_REPORT_STAGING_H

#include <stdbool.h>

#include "base/error.h"
#include "base/text.h"

/*
 * What a run writes, made in a hidden folder of the output directory and moved
 * into place at its end, all of it or nothing. Names are relative to the output
 * directory; a list of names has a NUL behind each.
 */

/* Makes the hidden folder of this process, *staging; to be released with
 * free(), also after a failure. tp_file_remove_tree removes it. */
enum tp_status tp_staging_open(const char *output_dir, char **staging,
                               struct tp_error *err);

/* Whether one of these files is in the output directory. */
bool tp_staging_replaces(const char *output_dir, const struct tp_text *names);

/*
 * Moves everything into place and removes, of `names`, what is not among the
 * new files. `last` is the first to go and the last to come: where it is, all
 * others are of the same run. After a failure what was there before is there
 * again and the hidden folder gone; if even that failed, the message says where
 * it lies.
 */
enum tp_status tp_staging_commit(const char *output_dir, const char *staging,
                                 const struct tp_text *names, const char *last,
                                 struct tp_error *err);

/*
 * Does the rest of what runs that were killed amid tp_staging_commit in this
 * output directory had to do. What cannot be done is left for another time,
 * with an error; TP_E_MEMORY.
 */
enum tp_status tp_staging_recover(const char *output_dir, struct tp_error *err);

/* Takes the hidden folder out of the paths of a message. */
void tp_staging_hide(const char *staging, char *message);

#endif
