/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_STRICT_JSON_H
#define TP_TESTS_STRICT_JSON_H

#include <stddef.h>

/* What a text is by RFC 8259, to the letter; in strings UTF-8 is not looked
 * at, and below STRICT_JSON_DEEP nothing is JSON. */
enum strict_json {
    STRICT_JSON_BROKEN,
    STRICT_JSON_BEGUN, /* it ends too early                                */
    STRICT_JSON_WHOLE
};
enum { STRICT_JSON_DEEP = 2000 };

enum strict_json strict_json_of(const char *text, size_t size);

#endif
