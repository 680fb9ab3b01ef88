# SPDX-License-Identifier: MIT
# What fails in an MPI job is said once, and leaves nothing.
mpi_program
mkdir in
some_logs in 3
try()
{
    ranks 3 "$@" > text 2> err
    echo "exit $?"
    grep tprof-analyze: err
    [ -e draw ] && echo "draw is there"
}
try trace --compare in in --output_dir draw
try dump in --output_dir draw
try --tensor_dir in --no_such_option
try --tensor_dir nowhere --output_dir draw
mkdir empty
try --tensor_dir empty --output_dir draw
must ranks 3 --version > text
grep -c 'tprof-analyze' text
