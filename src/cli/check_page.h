/* SPDX-License-Identifier: MIT */
#ifndef TP_CLI_CHECK_PAGE_H
#define TP_CLI_CHECK_PAGE_H

#include "check/check.h"
#include "cli/options.h"

/* The page of `check`: findings by file, with their lines. */

/* Its name in the output directory. */
#define TP_CHECK_PAGE "check_report.html"

/* Writes it, all or nothing; `report` is the result as text. Fails as
 * tp_html_page_write and tp_staging_commit do. */
enum tp_status tp_check_page_write(const struct tp_options *options,
                                   const struct tp_check *check,
                                   const char *report, struct tp_error *err);

#endif
