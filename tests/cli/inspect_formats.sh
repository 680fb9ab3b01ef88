# SPDX-License-Identifier: MIT
# Files that are not torch.save: rows, what is named and not read, statuses.
formats=$srcdir/testdata/formats
rows()
{
    tprof-analyze inspect "$formats/$1" > out 2> err
    echo "$1: $? $(grep -c '^  tensor ' out)"
    sed 's|.*/testdata/formats/||' err
}
rows good-fortran.npy
rows good-bf16.npy
rows good-two.npy
rows good-deflated.npz
rows bad-crc.npz
rows good-export.pt2
rows bad-package.pt
rows good-packed.pt.gz
rows bad-cut.pt.gz
rows bad-held.pt
rows bad-system.pt
rows bad-bomb.npz
rows unsupported-object.npy
# nothing readable, in a directory too, is no success
mkdir none
echo text > none/notes.txt
tprof-analyze inspect none > out 2> err
echo "$? $(wc -l < out) $(cat err)"
# a directory of them is analysed as any other
mkdir some
cp "$formats"/good-*.np[yz] "$formats"/good-*.pt2 "$formats"/good-*.gz some
must tprof-analyze some --no_plots --output_dir draw > report.txt
grep -c 'assumed in 1 file' report.txt
