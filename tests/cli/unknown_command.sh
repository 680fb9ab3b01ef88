# SPDX-License-Identifier: MIT
# A word that is neither a command nor a directory.
tprof-analyze frobnicate 2> err
status=$?
case $status in 2 | 3 | 4) echo refused ;; *) echo $status ;; esac
grep -o frobnicate err | head -n 1
