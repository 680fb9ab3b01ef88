/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_CALLS_H
#define TP_CHECK_CHECK_CALLS_H

#include "check/check_roles.h"

/* What the functions of a script learn from each other: arguments from the
 * only call, results from what is returned. */

enum { TP_FUNCTION_ARGUMENTS = 8 }; /* further ones are unknown           */

struct tp_function {
    uint32_t node;  /* TP_PY_FUNCTION                                     */
    uint32_t calls; /* how many in the script, by its name                */
    uint32_t argument[TP_FUNCTION_ARGUMENTS]; /* tags, without self       */
    uint32_t result;                          /* tags                     */
    uint32_t autocast;                        /* of the call: its dtype   */
    bool is_under_autocast, is_under_no_grad; /* of the call              */
    bool returns;                             /* result is known          */
    bool takes_gradients; /* it calls backward() or zero_grad()           */
};

/* All-zero bytes are none. */
struct tp_functions {
    struct tp_names names; /* tags: number of the function, from 1; 0: two
                              functions have that name                    */
    struct tp_function *at;
    size_t count, capacity;
};

/* Finds the functions of a script. Fails with TP_E_MEMORY. Release with
 * tp_functions_clear, also after a failure. */
enum tp_status tp_functions_read(const struct tp_script *script,
                                 struct tp_functions *functions,
                                 struct tp_error *err);
void tp_functions_clear(struct tp_functions *functions); /* releases all  */

/* The function that a TP_PY_FUNCTION is, whatever its name; NULL: none. */
struct tp_function *tp_functions_at(const struct tp_functions *functions,
                                    uint32_t node);

/* The same, NULL when another has its name. */
struct tp_function *tp_functions_find(const struct tp_functions *functions,
                                      const struct tp_script *script,
                                      uint32_t node);

/* The function of the script that f() or self.f() calls; NULL: unknown. */
struct tp_function *tp_functions_called(const struct tp_functions *functions,
                                        const struct tp_script *script,
                                        const struct tp_call *call);

/* The parameter of a function behind another one, from 0: the first, without
 * self; 0: none. */
uint32_t tp_function_parameter(const struct tp_script *script,
                               uint32_t function, uint32_t before);

/* Number of an argument of a function by its name, or -1 beyond the first ones.
 */
int tp_function_argument(const struct tp_script *script, uint32_t function,
                         const char *name, size_t length);

#endif
