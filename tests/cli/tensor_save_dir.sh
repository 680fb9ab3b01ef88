# SPDX-License-Identifier: MIT
# Where tensor_saver saves is where tensors are looked for; what is given on
# the command line wins, and a bad directory is said to come from there.
some_logs here 2
some_logs other 3
run()
{
    tprof-analyze --no_plots "$@" 2>&1 | grep -E '^tprof-analyze:|files read \('
}
export TENSOR_SAVE_DIR=here
run
run --tensor_dir other
run other
TENSOR_SAVE_DIR='' run
TENSOR_SAVE_DIR=nowhere run
TENSOR_SAVE_DIR=here/nowhere run other
mkdir empty
TENSOR_SAVE_DIR=empty run
tprof-analyze trace 2>&1
