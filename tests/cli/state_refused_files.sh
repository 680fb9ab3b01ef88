# SPDX-License-Identifier: MIT
# What the system refused is no knowledge: the next run with the state reads it
# again, though neither its size nor its time has changed, and damaged files
# stay known.
need h5dump
some_logs d 3
must cp "$srcdir/testdata/torch/bad-class.pt" d/
must cp d/"$(ls d | sed -n 2p)" d/nameless
mkdir t
make_trace t/a.json
make_trace t/b.json 3000
chmod -R a+rX d t
cp "$TPROF" program # where anybody may run it
chmod 755 program
mkdir -m 777 work
run=
if [ "$(id -u)" = 0 ]; then
    need setpriv
    run="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $run test -r t/a.json || skip "no other user can read this folder"
fi
# analyse COMMAND FOLDER STATE: what was known, and what was read
analyse()
{
    $run ./program "$1" "$2" --no_plots --output_dir work/out --jobs 1 \
        --state "work/$3" > text 2> err
    echo "$1: exit $?"
    sed -n 's/^  work.*: \([0-9]* file.* known, [0-9]* read\).*/\1/p' text
}
first=$(ls d | sed -n 2p)
chmod 000 "d/$first" d/nameless t/b.json
analyse tensors d s
analyse tensors d s
chmod 644 "d/$first" d/nameless
analyse tensors d s
analyse tensors d s
rows work/out/summary.h5
analyse trace t traces
chmod 644 t/b.json
analyse trace t traces
analyse trace t traces
