/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/isa.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(isa, the_best_unless_another_is_asked_for)
{
    unsetenv("TPROF_ISA");
    const enum tp_isa best = tp_isa_best();
    cr_assert(best >= TP_ISA_PORTABLE && best < TP_ISA_COUNT);
    for (int i = TP_ISA_PORTABLE; i < TP_ISA_COUNT; i++) {
        const enum tp_isa isa = (enum tp_isa)i;
        setenv("TPROF_ISA", tp_isa_name(isa), 1);
        cr_expect_eq(tp_isa_best(), isa <= best ? isa : best);
    }
    setenv("TPROF_ISA", "another", 1);
    cr_expect_eq(tp_isa_best(), best);
}

Test(isa, what_is_known_is_not_asked)
{
    setenv("TPROF_ISA", "portable", 1);
    cr_expect_eq(tp_isa_known(TP_ISA_AVX2), TP_ISA_AVX2);
    cr_expect_eq(tp_isa_known(TP_ISA_UNKNOWN), TP_ISA_PORTABLE);
    cr_expect_str_eq(tp_isa_name(TP_ISA_UNKNOWN), "unknown");
    cr_expect_str_eq(tp_isa_name(TP_ISA_AVX512), "avx512");
}
