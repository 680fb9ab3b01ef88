# SPDX-License-Identifier: MIT
# A device that was asked for and is absent ends the run with its reason; auto
# and cpu do not ask. One that is there gives the same results.
cp "$srcdir/testdata/dims/bbox_pred.pt" .
tprof-analyze inspect bbox_pred.pt --device auto --format json > auto
echo "auto: $?"
tprof-analyze inspect bbox_pred.pt --device cpu --format json > cpu
echo "cpu: $?"
cmp auto cpu
if tprof-analyze list devices | grep -q '^  cuda:0 '; then
    tprof-analyze inspect bbox_pred.pt --device cuda --device-memory 64M \
        --format json > cuda
    echo "cuda: $?"
    cmp cuda cpu
else
    tprof-analyze inspect bbox_pred.pt --device cuda > out 2> err
    [ "$?,$(grep -c -e '--device cuda: .' err)" = 4,1 ] && echo "cuda: 0"
    [ ! -s out ] || echo "printed on stdout"
    tprof-analyze --tensor_dir . --device cuda --no_plots > out 2> err
    [ "$?,$(grep -c -e '--device cuda: .' err)" = 4,1 ] || cat err
    [ ! -e draw ] || echo "made draw"
fi
