/* SPDX-License-Identifier: MIT */
#include "base/isa.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TP_ISA_COUNT] = {
    [TP_ISA_UNKNOWN] = "unknown",
    [TP_ISA_PORTABLE] = "portable",
    [TP_ISA_AVX2] = "avx2",
    [TP_ISA_AVX512] = "avx512",
};

static bool has(enum tp_isa isa)
{
#if defined(__x86_64__)
    if (isa == TP_ISA_AVX512)
        return __builtin_cpu_supports("avx512f") &&
               __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("popcnt");
    if (isa == TP_ISA_AVX2)
        return __builtin_cpu_supports("avx2") &&
               __builtin_cpu_supports("popcnt");
#endif
    return isa == TP_ISA_PORTABLE;
}

enum tp_isa tp_isa_best(void)
{
    const char *wanted = getenv("TPROF_ISA");
    enum tp_isa best = TP_ISA_PORTABLE;
    for (int i = TP_ISA_PORTABLE; i < TP_ISA_COUNT; i++) {
        const enum tp_isa isa = (enum tp_isa)i;
        if (!has(isa))
            continue;
        if (wanted && strcmp(wanted, names[isa]) == 0)
            return isa;
        best = isa;
    }
    return best;
}

const char *tp_isa_name(enum tp_isa isa)
{
    return names[isa];
}
