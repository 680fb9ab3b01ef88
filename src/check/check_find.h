/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_CHECK_FIND_H
#define TP_CHECK_CHECK_FIND_H

#include "check/check_file.h"
#include "check/check_settings.h"

/* Which files are checked, and what is asked of each. */

/* The settings of a project; those without one are the command line's. */
struct tp_check_project {
    const char *folder; /* absolute; NULL: none                           */
    struct tp_check_settings settings;
};

/* What is to be read. All-zero bytes are nothing. */
struct tp_check_list {
    struct tp_check_file *files; /* by path, owned                        */
    size_t count;
    struct tp_check_project **projects; /* of the files                   */
    size_t project_count, project_capacity;
    char **problems; /* what could not be searched; owned                 */
    size_t problem_count;
    size_t tests;          /* that were left out                          */
    struct tp_arena arena; /* of projects and their texts                 */
};

/*
 * Finds the files below some roots: those that are named, and in directories
 * all that tp_check_is_script knows but tests (tests/, test_*.py, *_test.py,
 * conftest.py; unless asked for) and what a project excludes. `given` is what
 * the command line asks for, before any project. Fails with TP_E_NOT_FOUND (a
 * root is not there), as tp_check_find_project does, TP_E_MEMORY. Release with
 * tp_check_list_clear, also after a failure.
 */
enum tp_status tp_check_find(const char *const *roots, size_t root_count,
                             const struct tp_check_settings *given,
                             struct tp_check_list *list, struct tp_error *err);

void tp_check_list_clear(struct tp_check_list *list); /* releases all     */

#endif
