# SPDX-License-Identifier: MIT
# Things that end in .pt and are no files: a folder, a pipe, a socket of
# names, a link to nowhere. None may stop or hang the run.
need h5dump
some_logs d 2
mkdir d/folder.pt
mkfifo d/pipe.pt
ln -s nowhere d/gone.pt
ln -s /dev/zero d/endless.pt
timeout 600 tprof-analyze --tensor_dir d --output_dir out --no_plots \
    > text 2> err
status=$?
[ $status = 0 ] || [ $status = 3 ] || echo "status $status"
rows out/summary.h5
