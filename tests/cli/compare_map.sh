# SPDX-License-Identifier: MIT
# Names that differ: by a map, or without the numbers of calls; what is wrong
# with a map is named by its line, and one that is not there by its name.
dump=$srcdir/testdata/msprobe
cp -r "$dump/step0" a
chmod -R u+w a
json=a/proc4711/dump.json
sed -e 's/"Module\.blocks\.0\.linear/"Module.h.0.fc/' \
    -e 's/"Torch\.softmax\.0/"Torch.softmax.4/' "$json" > new
mv new "$json"
part()
{
    must tprof-analyze compare a "$dump/step0" --no_plots --mode statistics \
        --output_dir out "$@" > text
    grep '^Rows of A' text
}
part
part --fuzzy_match
cat > map << 'END'
# names of A and what they are in B
h.0.fc: blocks.0.linear
Torch.softmax.4: Torch.softmax.0
END
part --map map
grep -A 2 '^Only in' text
cat > layers << 'END' # as msprobe's layer mappings
Torch.softmax.4: Torch.softmax.0
TopLayer:
  h: blocks
'0':
  fc: linear
END
part --map layers
echo 'h.0.fc: x' >> map
tprof-analyze compare a "$dump/step0" --map map
echo "exit $?"
tprof-analyze compare a "$dump/step0" --map absent
echo "exit $?"
