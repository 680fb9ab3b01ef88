/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_JSON_LINES_H
#define TP_CHECK_JSON_LINES_H

#include "formats/json/json_value.h"

/* Where in a JSON text the strings of its tree stand. */

/* A text that was parsed, and how far the strings were followed. Set text and
 * length; line is 1 at first. */
struct tp_json_lines {
    const char *text; /* borrowed                                         */
    size_t length, at;
    uint32_t line; /* that `at` is on                                     */
    size_t start;  /* byte of the last string                             */
};

/* The line of the next string, a key or a value, in the order of the text. */
uint32_t tp_json_lines_next(struct tp_json_lines *lines);

/* Passes over the strings of a value, which are the next ones. */
void tp_json_lines_skip(struct tp_json_lines *lines,
                        const struct tp_json *value);

#endif
