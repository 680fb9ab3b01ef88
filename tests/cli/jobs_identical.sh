# SPDX-License-Identifier: MIT
# Tables, scripts and reports do not depend on the number of jobs.
need h5dump
for jobs in 1 4; do
    must mkdir $jobs
    (cd $jobs && must tprof-analyze --tensor_dir "$logs" --output_dir draw \
        --jobs $jobs --no_plots > /dev/null) || exit
done
(cd 1 && find . -type f | sort) > list
[ -s list ] || echo "nothing written"
while read -r file; do
    case $file in
    *.h5) continue ;;
    esac
    cmp "1/$file" "4/$file"
done < list
for jobs in 1 4; do
    h5dump -n 1 $jobs/draw/summary.h5 | awk '$1 == "dataset" { print $2 }' \
        > $jobs.names
    while read -r table; do
        # The attributes of the file hold the command line, these do not.
        h5dump -d "$table" $jobs/draw/summary.h5 | tail -n +2
    done < $jobs.names > $jobs.dump
done
cmp 1.dump 4.dump
grep -c '^/tensors' 1.names
