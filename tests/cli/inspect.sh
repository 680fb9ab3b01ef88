# SPDX-License-Identifier: MIT
# One report per tensor; no files.
some_logs d 2
set -- d/*
must tprof-analyze inspect "$@" > text
grep -c "$(basename "$1")" text | sed 's/[1-9].*/named/'
ls
