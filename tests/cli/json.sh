# SPDX-License-Identifier: MIT
# stdout is one JSON value and nothing else.
need jq
some_logs d 3
must tprof-analyze --tensor_dir d --output_dir out --format json > text
jq -e type text
jq -e '.findings | type' out/findings.json
jq -e '.schema_version | type' out/findings.json
# exponents of scales are numbers, also below 0: some are -13 in these logs
must tprof-analyze --tensor_dir "$logs" --no_plots --format json > all
jq -c '[.recommendations[] | .tensor_scale_min] | [min < -9, index(null)]' all
