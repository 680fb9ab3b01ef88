# SPDX-License-Identifier: MIT
# With --state only what is new or changed is read, and the results are those of
# a run that reads all.
need h5dump
for type in bf16 hifp8 mxfp8; do
    mkdir -p d/$type more/$type
    find "$logs/$type" -name '*.pt' | LC_ALL=C sort > names
    while read -r file; do cp "$file" more/$type/; done < <(head -n 30 names)
    while read -r file; do cp "$file" d/$type/; done < <(head -n 20 names)
done
cp "$srcdir"/testdata/torch/bad-*.pt d/

# analyse FOLDER OPTION...: prints what was known and what was read.
analyse()
{
    local folder=$1
    shift
    tprof-analyze --tensor_dir d --no_plots --output_dir draw "$@" > text
    echo "exit $?"
    sed -n '/^State$/,/^$/p' text | tail -n +2
    mv draw "$folder"
}
analyse all
analyse first --state s
same all first
analyse second --state s
same all second

# others can look into it: an array for each member, of as many files
h5dump -d files -y -w 0 s > look && h5dump -H -d files s |
    sed -n 's/.*H5T_ARRAY { \[\(.*\)\] .* } "row_count";/\1 files in it/p'

# the content is not looked at: no byte of a tensor is read
cp -Rp d kept
find d -type f > names
while read -r file; do
    head -c "$(stat -c %s "$file")" /dev/zero > empty
    touch -r "$file" empty
    cp -p empty "$file"
done < names
analyse blind --state s
same all blind
rm -r d
cp -Rp kept d

# new files, one that has changed, and one that is gone
mapfile -t names < <(ls more/bf16)
cp -n more/mxfp8/* d/mxfp8/
cp more/bf16/"${names[0]}" d/bf16/"${names[3]}"
rm d/bf16/"${names[5]}"
analyse new
analyse later --state s
same new later
analyse again --state s
same new again
