# SPDX-License-Identifier: MIT
# No file may grow over a few KB: every write beyond fails with EFBIG, as a
# full disk does with ENOSPC. Nothing half-written may carry a final name.
some_logs d 6
must tprof-analyze --tensor_dir d --output_dir good --no_plots > /dev/null
for blocks in 0 1 2 4; do
    # The message goes through a pipe: a file would be cut as well.
    message=$(
        ulimit -f $blocks
        tprof-analyze --tensor_dir d --output_dir "full$blocks" --no_plots \
            2>&1 > /dev/null
        echo "status $?"
    )
    echo "$blocks: ${message##*status }"
    [ "${#message}" -gt 30 ] || echo "no message"
    # The summary is there all the same.
    (
        ulimit -f $blocks
        tprof-analyze --tensor_dir d --output_dir "full$blocks" --no_plots \
            2> /dev/null
    ) | grep -c '^Findings'
    find "full$blocks" -type f 2> /dev/null | while read -r file; do
        cmp -s "$file" "good/${file#*/}" || echo "half-written: $file"
    done
done
