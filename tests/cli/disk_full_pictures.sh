# SPDX-License-Identifier: MIT
# The tables fit and the larger pictures do not: gnuplot cuts them, and says
# nothing. The first is named, the others are counted, what fits is there.
need gnuplot
some_logs d 6
draw()
{
    tprof-analyze --tensor_dir d --no_html --plot_format "$1" --output_dir "$2"
}
for format in png svg; do
    must draw $format good > /dev/null
    # HDF5 writes up to 2 kB behind what it has at the end
    room=$(($(stat -c %s good/summary.h5) / 1024 + 4))
    find good -name "*.$format" -size +${room}k | sort > large
    [ -s large ] || echo "no picture is larger than summary.h5"
    # Through a pipe: a file would be cut as well.
    message=$(
        ulimit -f $room
        draw $format full 2>&1 > /dev/null
        echo " status $?"
    )
    others=$(($(wc -l < large) - 1))
    case $message in
    *"full/"*".$format: File too large; $others more figure"*) ;;
    *"full/"*".$format: File too large "* | *"full/"*".$format: File too large
"*) [ $others = 0 ] || echo "$others others are not counted" ;;
    *) echo "not told: $message" ;;
    esac
    echo "$format ${message##* }"
    named=${message#*full/}
    grep -qx "good/${named%%:*}" large || echo "not one of them: $named"
    (cd good && find . -type f | sort) > all
    (cd full && find . -type f | sort) > left
    sed 's/^good/./' large | sort | comm -23 all - | diff - left
    find full -type f ! -name summary.h5 ! -name report.txt |
        while read -r file; do
            cmp "$file" "good/${file#*/}"
        done
    grep -q 'File too large' full/report.txt || echo "not in the report"
    rm -r good full
done
