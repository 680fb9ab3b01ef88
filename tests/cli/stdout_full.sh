# SPDX-License-Identifier: MIT
# A full disk behind stdout is not success.
[ -c /dev/full ] || skip "no /dev/full"
tprof-analyze --help > /dev/full
echo "help $?"
tprof-analyze list formats > /dev/full
echo "list $?"
