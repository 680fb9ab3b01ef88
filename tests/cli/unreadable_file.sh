# SPDX-License-Identifier: MIT
# Somebody else's file is named, the rest is analysed.
need h5dump
some_logs d 3
chmod 755 d
chmod 644 d/*
set -- d/*
chmod 000 "$1"
mkdir -m 777 out
cp "$TPROF" program # where anybody may run it
chmod 755 program
run=
if [ "$(id -u)" = 0 ]; then
    need setpriv
    run="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $run test -r "$2" || skip "no other user can read this folder"
fi
$run ./program --tensor_dir d --output_dir out --no_plots > text 2> err
echo $?
grep -q "$(basename "$1")" out/report.txt || echo "not named"
rows out/summary.h5
