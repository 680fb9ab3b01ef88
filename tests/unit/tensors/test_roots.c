/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "tensors/roots.h"
#include "tests/unit/support/testdata.h"

Test(roots, are_those_that_were_named)
{
    static const char *const roots[] = {"a", "b/c"};
    cr_expect(tp_roots_have(roots, 2, "b/c"));
    cr_expect_not(tp_roots_have(roots, 2, "b"));
    cr_expect_not(tp_roots_have(roots, 0, "a"));
}

Test(roots, give_files_in_order_and_patterns_of_them)
{
    char root[3000];
    struct tp_found_list files = {0};
    struct tp_error err = {0};
    const char *const roots[] = {root};
    testdata_path("checkpoints", root, sizeof root);
    cr_assert_eq(tp_roots_find(roots, 1, &files, &err), TP_OK);
    size_t patterns = 0;
    for (size_t i = 0; i < files.count; i++) {
        cr_expect(i == 0 || strcmp(files.files[i - 1].path,
                                   files.files[i].path) < 0);
        patterns += strchr(files.files[i].path, '*') != NULL;
    }
    cr_expect_gt(patterns, 0, "shards without an index");
    cr_expect_gt(files.count, patterns);
    tp_found_clear(&files);
}

Test(roots, that_are_not_there_fail)
{
    static const char *const roots[] = {"/nowhere/at/all"};
    struct tp_found_list files = {0};
    cr_expect_eq(tp_roots_find(roots, 1, &files, NULL), TP_E_NOT_FOUND);
    tp_found_clear(&files);
}
