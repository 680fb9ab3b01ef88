# SPDX-License-Identifier: MIT
tprof-analyze inspect nowhere.pt
