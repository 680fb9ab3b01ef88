/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_ISA_H
#define TP_BASE_ISA_H

/*
 * Loops that exist once for each instruction set. All give equal results, so
 * that which one runs is a matter of speed alone. Who makes a plan or a
 * context asks once and keeps the answer there; nothing is cached behind it.
 */
enum tp_isa {
    TP_ISA_UNKNOWN, /* not asked yet: zeroed structs                       */
    TP_ISA_PORTABLE,
    TP_ISA_AVX2,
    TP_ISA_AVX512, /* F, BW, VL and DQ                                    */
    TP_ISA_COUNT
};

/* Attributes of functions for the sets beyond the compiler's own. */
#if defined(__x86_64__)
#define TP_TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,popcnt")))
#define TP_TARGET_AVX2 __attribute__((target("avx2,popcnt")))
#endif

/* The initializer of a table of functions by enum tp_isa; on processors of
 * another kind the names of the last two are not looked at. */
#if defined(__x86_64__)
#define TP_ISA_TABLE(portable, avx2, avx512)                    \
    {                                                           \
        [TP_ISA_PORTABLE] = (portable), [TP_ISA_AVX2] = (avx2), \
        [TP_ISA_AVX512] = (avx512)                              \
    }
#else
#define TP_ISA_TABLE(portable, avx2, avx512) \
    {                                        \
        [TP_ISA_PORTABLE] = (portable)       \
    }
#endif

/* The best set of the processor, or the one named by the environment variable
 * TPROF_ISA ("portable", "avx2", "avx512"), if the processor has it. Never
 * TP_ISA_UNKNOWN. Reads the environment; threads may, while none writes it. */
enum tp_isa tp_isa_best(void);

/* The set itself, or tp_isa_best() where it is unknown. */
static inline enum tp_isa tp_isa_known(enum tp_isa isa)
{
    return isa == TP_ISA_UNKNOWN ? tp_isa_best() : isa;
}

/* "portable", "avx2", "avx512"; "unknown". */
const char *tp_isa_name(enum tp_isa isa);

#endif
