/* SPDX-License-Identifier: MIT */
#ifndef TP_JSON_JSON_PYTHON_H
#define TP_JSON_JSON_PYTHON_H

#include "base/text.h"
#include "formats/json/json_value.h"

/*
 * Appends a value as Python's repr() writes what json.load() makes of it: None,
 * True, 0.1, nan, 'text', [1, 2], {'a': 1}. Tools in Python that put values
 * into tables or take sums of them have these texts.
 */
void tp_json_python(const struct tp_json *value, struct tp_text *text);

/* The parts: a float with the fewest digits that give it back; a string with
 * quotes and escapes. */
void tp_python_float(double value, struct tp_text *text);
void tp_python_string(const char *value, struct tp_text *text);

#endif
