#!/bin/sh
# SPDX-License-Identifier: MIT
# No library of ours keeps a variable that can change: everything that lives
# is owned by a caller, so all code may run in any thread. Constant tables
# with pointers are fine (.data.rel.ro). Needs builddir.

cd "$builddir" || exit 99
command -v objdump > /dev/null || { echo "skipped: no objdump"; exit 77; }
if objdump -t libtp_base.a | grep -q '__asan_\|__sanitizer_\|__tsan_'; then
    echo "skipped: sanitizers add variables of their own"
    exit 77
fi
# What nvcc makes registers its kernels in variables. What guards the variables
# of a library of others, which are the process's, is one for the process.
objdump -t libtp_*.a | awk '
    /file format/ { member = $1; sub(/:$/, "", member) }
    member ~ /^(device|session[a-z_]*|kernel_[a-z0-9]+)\.o$/ { next }
    / O \./ { objects++ }
    member ~ /-blas\.o$/ && $NF == "in_use" { next }
    / O \.(data|bss|tdata|tbss)[ \t]/ || / O \*COM\*/ {
        print member ": " $NF " can change"
        bad++
    }
    END {
        printf "%d variables and tables, %d that can change\n", objects, bad
        exit bad > 0 || objects == 0
    }'
