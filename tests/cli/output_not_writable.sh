# SPDX-License-Identifier: MIT
# Also as root, who may write everywhere: through another user.
some_logs d 2
chmod 755 d
chmod 644 d/*
mkdir closed
chmod 555 closed
cp "$TPROF" program # where anybody may run it
chmod 755 program
run=
if [ "$(id -u)" = 0 ]; then
    need setpriv
    run="setpriv --reuid=65534 --regid=65534 --clear-groups"
    $run test -r d || skip "no other user can read this folder"
fi
$run ./program --tensor_dir d --output_dir closed --no_plots > out 2> err
echo "$? $(grep -c closed err) $(ls closed)"
