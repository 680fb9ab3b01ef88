# SPDX-License-Identifier: MIT
# A directory without traces: what was looked for, and nothing is left.
mkdir empty
echo '{"a": 1}' > empty/other.json
echo text > empty/readme.txt
tprof-analyze trace empty
status=$?
[ -e draw ] && echo "left an output directory"
exit $status
