/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_APART_H
#define TP_BASE_APART_H

#include "base/error.h"

/*
 * Does work in a child process, for libraries that end the process where memory
 * fails, by exit() or a crash: what is lost then is the child. Of what it does
 * only files stay; this process waits for it. What it returns, with its error,
 * is returned; where it did not come to that, TP_E_MEMORY: "WHO gave up
 * (signal 11), most likely out of memory". Without a child where there can be
 * none, or a sanitizer is in the program. Any thread; of the child's none but
 * that which does the work.
 */
enum tp_status tp_apart(enum tp_status (*work)(void *context,
                                               struct tp_error *err),
                        void *context, const char *who, struct tp_error *err);

#endif
