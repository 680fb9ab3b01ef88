# SPDX-License-Identifier: MIT
some_logs d 2
tprof-analyze --tensor_dir d --no_plots --quiet
