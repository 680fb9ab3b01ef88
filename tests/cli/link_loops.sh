# SPDX-License-Identifier: MIT
# Links to folders above and to each other; every file counts once.
need h5dump
some_logs d/sub 3
ln -s .. d/sub/up
ln -s ../../d d/sub/again
ln -s there d/here
ln -s here d/there
timeout 600 tprof-analyze --tensor_dir d --output_dir out --no_plots \
    > text 2> err
status=$?
[ $status = 0 ] || [ $status = 3 ] || echo "status $status"
rows out/summary.h5
