# SPDX-License-Identifier: MIT
# A disk that is full, of several sizes: whatever is there is whole.
need gnuplot unshare
unshare -rm mount -t tmpfs -o size=300k tmpfs . 2> /dev/null ||
    skip "no file system may be mounted here"
some_logs d 6
mkdir disk
# Tells what is under a final name, and whole, of what fits so many KB.
export on_disk='
    mount -t tmpfs -o size=$0k tmpfs disk
    tprof-analyze --tensor_dir d --output_dir disk/out 2>&1 > /dev/null
    echo "$0: $?"
    find disk -name ".*" -type f
    find disk -name "*.png" | while read -r file; do
        [ "$(tail -c 8 "$file" | head -c 4)" = IEND ] || echo "cut: $file"
    done
    find disk -size 0 -type f'
must tprof-analyze --tensor_dir d --output_dir good > /dev/null
# the bytes in it: how many blocks they take is up to the file system
size=$(($(find good -type f -exec cat {} + | wc -c) / 1024))
for part in 1 3 5 7 9; do
    unshare -rm bash -c "$on_disk" $((part * size / 10)) > text
    # The pictures and the reports after them may each meet the end of the disk.
    sed -E 's/^[0-9]*:/exit/; s/: No space left on device.*/: full/
        s|^tprof-analyze: .*disk/out/.*: full$|told: full|
        s|^tprof-analyze: warning: .* not drawn again .*|told: full|
        ' text | uniq
done
