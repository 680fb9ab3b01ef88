# SPDX-License-Identifier: MIT
tprof-analyze --no_such_option
