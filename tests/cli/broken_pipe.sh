# SPDX-License-Identifier: MIT
# `| head` must not draw complaints.
tprof-analyze list | head -n 1 > /dev/null
tprof-analyze --help | true
