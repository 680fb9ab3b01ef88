# SPDX-License-Identifier: MIT
# What processes of an MPI job were reading when all of it was killed is said by
# the next run with its output directory, of this program as well.
some_logs d 2
mkdir t out
make_trace t/a.json
# a path of each thread, with NULs behind it
slot()
{
    printf '%s' "$1"
    head -c $((4096 - ${#1})) /dev/zero
}
for command in "tensors d" "trace t"; do
    { slot d/first.pt; slot ""; } > out/.reading-0
    slot d/second.pt > out/.reading-2
    # shellcheck disable=SC2086
    tprof-analyze $command --no_plots --output_dir out 2>&1 > text
    find out -name '.*'
    # shellcheck disable=SC2086
    tprof-analyze $command --no_plots --output_dir out 2>&1 > text
done
