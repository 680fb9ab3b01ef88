/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_HEAD_H
#define TP_TRACE_TRACE_HEAD_H

#include <stdbool.h>
#include <stddef.h>

/* Where in a JSON file the array of events begins. */

enum tp_trace_root {
    TP_TRACE_ROOT_UNKNOWN, /* more text is needed to tell              */
    TP_TRACE_ROOT_LIST,    /* the file is the array                    */
    TP_TRACE_ROOT_OBJECT,  /* the array is the value of "traceEvents"  */
    TP_TRACE_ROOT_OTHER,   /* an object that ends without traceEvents  */
    TP_TRACE_ROOT_NONE     /* neither object nor list: not a JSON file */
};

struct tp_trace_head {
    enum tp_trace_root root;
    size_t start; /* of the root: its bracket         */
    size_t key;   /* of an object: the quote of "traceEvents" */
    size_t array; /* the '[' of the array             */
};

/*
 * Looks at the first `length` bytes of a file. With `all` there are no more:
 * then a key "traceEvents" is taken wherever it is, should the text before it
 * be too damaged to tell.
 */
struct tp_trace_head tp_trace_find_array(const char *text, size_t length,
                                         bool all);

#endif
