# SPDX-License-Identifier: MIT
# gnuplot -c dtypes.gp COLUMNS FIGURE: shares of the speed of counting, a group
# of bars for each dtype; COLUMNS has a line of names, and a line a dtype.
if (ARG2[strlen(ARG2) - 3:] eq ".svg") {
    set terminal svg size 800, 380 font "Sans,12" background "white"
} else {
    set terminal pngcairo size 800, 380 font "Sans,10"
}
set output ARG2
set style data histograms
set style histogram clustered gap 1
set style fill solid noborder
set boxwidth 0.9
set grid ytics lc rgb "#dddddd"
set border 3
set tics nomirror out
set xtics noenhanced
set key outside right top Left reverse noenhanced
set ylabel "speed; reading and counting codes is 1"
set yrange [0:*]
plot for [i = 2:5] ARG1 using i:xtic(1) title columnheader(i) \
    lc rgb word("#0072b2 #009e73 #d55e00 #999999", i - 1)
