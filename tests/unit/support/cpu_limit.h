/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_CPU_LIMIT_H
#define TP_TESTS_CPU_LIMIT_H

#include <criterion/criterion.h>
#include <sys/resource.h>

/* Ends the test when it has computed for so many seconds: for what would take
 * far longer by a worse method. The .timeout of a test counts what other
 * programs compute, too; against hangs there is tests/guard.sh. */
static inline void limit_cpu(unsigned seconds)
{
    const struct rlimit limit = {seconds, seconds};
    cr_assert_eq(setrlimit(RLIMIT_CPU, &limit), 0);
}

#endif
