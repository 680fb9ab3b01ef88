/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_JSON_H
#define TP_TESTS_JSON_H

#include <stddef.h>

/*
 * JSON for tests: just enough to read the expectations that Python wrote.
 * Aborts the program on text that is no JSON.
 */
struct json {
    enum {
        JSON_NULL,
        JSON_BOOL,
        JSON_NUMBER,
        JSON_STRING,
        JSON_ARRAY,
        JSON_OBJECT
    } kind;
    double number;      /* NUMBER; BOOL: 0 or 1                            */
    char *text;         /* STRING, and a NUMBER as it is written           */
    char *key;          /* of a member of an object                        */
    struct json *first; /* ARRAY, OBJECT                                   */
    struct json *next;  /* in the array or object it belongs to            */
};

/* Reads a file; NULL when it cannot be opened. Free with json_free. */
struct json *json_read(const char *path);
void json_free(struct json *json);

/* Member of an object, item of an array; NULL when there is none. */
const struct json *json_get(const struct json *object, const char *key);
const struct json *json_at(const struct json *array, size_t index);
size_t json_count(const struct json *json);

#endif
