# SPDX-License-Identifier: MIT
tprof-analyze --version
