/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "replay/digest_set.h"

Test(digest_set, has_what_was_added)
{
    struct tp_digest_set set = {0};
    struct tp_error err = {0};
    cr_assert_not(tp_digest_set_has(&set, 7));
    for (uint64_t i = 1; i <= 1000; i++) {
        cr_assert_eq(tp_digest_set_add(&set, i << 32, &err), TP_OK);
        cr_assert_eq(tp_digest_set_add(&set, i << 32, &err), TP_OK);
    }
    cr_assert_eq(set.count, 1000);
    for (uint64_t i = 1; i <= 1000; i++) {
        cr_assert(tp_digest_set_has(&set, i << 32));
        cr_assert_not(tp_digest_set_has(&set, (i << 32) + 1));
    }
    cr_assert_eq(tp_digest_set_add(&set, 0, &err), TP_OK);
    cr_assert_not(tp_digest_set_has(&set, 0));
    tp_digest_set_clear(&set);
    cr_assert_not(tp_digest_set_has(&set, (uint64_t)1 << 32));
}
