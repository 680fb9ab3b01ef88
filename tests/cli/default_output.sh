# SPDX-License-Identifier: MIT
# Results go to ./draw.
some_logs d 2
must tprof-analyze --tensor_dir d --no_plots > text
ls draw/summary.h5 draw/report.txt draw/findings.json
[ -s text ] || echo "no summary on stdout"
