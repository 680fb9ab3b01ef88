# SPDX-License-Identifier: MIT
tprof-analyze --tensor_dir nowhere --output_dir out 2> err
echo $?
grep -c nowhere err
ls
