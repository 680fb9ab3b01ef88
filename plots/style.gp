# Canvas and colours of every figure. `format` is png, svg or pdf; the series
# colours are those of Okabe and Ito, which colour-blind readers tell apart.
if (format eq 'svg') \
    set terminal svg size 1200,800 font 'sans,12' noenhanced \
        background '#ffffff'
if (format eq 'pdf') \
    set terminal pdfcairo size 12in,8in font 'sans,10' noenhanced
if (format eq 'png' && strstrt(GPVAL_TERMINALS, 'pngcairo')) \
    set terminal pngcairo size 1200,800 font 'sans,10' noenhanced
if (format eq 'png' && !strstrt(GPVAL_TERMINALS, 'pngcairo')) \
    set terminal png truecolor size 1200,800 noenhanced
set linetype 1 lc rgb '#0072b2' lw 1.8
set linetype 2 lc rgb '#d55e00' lw 1.8
set linetype 3 lc rgb '#009e73' lw 1.8
set linetype 4 lc rgb '#cc79a7' lw 1.8
set linetype 5 lc rgb '#e69f00' lw 1.8
set linetype 6 lc rgb '#56b4e9' lw 1.8
set linetype 7 lc rgb '#7f7f7f' lw 1.8
set linetype 8 lc rgb '#000000' lw 1.8
# what parts of traces mean: enum tp_trace_colour
set linetype 9 lc rgb '#0072b2' lw 1.8
set linetype 10 lc rgb '#56b4e9' lw 1.8
set linetype 11 lc rgb '#cc79a7' lw 1.8
set linetype 12 lc rgb '#d55e00' lw 1.8
set linetype 13 lc rgb '#d9d9d9' lw 1.8
set linetype 14 lc rgb '#a6cee3' lw 1.8
set linetype 15 lc rgb '#000000' lw 1.8
set linetype 16 lc rgb '#6a3d9a' lw 1.8
set linetype 17 lc rgb '#8c510a' lw 1.8
set linetype 18 lc rgb '#e69f00' lw 1.8
set linetype 19 lc rgb '#a50f15' lw 1.8
set linetype 20 lc rgb '#f0e442' lw 1.8
set linetype 21 lc rgb '#009e73' lw 1.8
set linetype 22 lc rgb '#7f7f7f' lw 1.8
set linetype 23 lc rgb '#404040' lw 1.8
set linetype 24 lc rgb '#542788' lw 1.8
set linetype 25 lc rgb '#b2abd2' lw 1.8
set linetype 26 lc rgb '#1f5d3b' lw 1.8
set linetype 27 lc rgb '#c51b7d' lw 1.8
set linetype 28 lc rgb '#b2182b' lw 1.8
set linetype 29 lc rgb '#4d9221' lw 1.8
set linetype 30 lc rgb '#41b6c4' lw 1.8
set linetype 31 lc rgb '#fc8d59' lw 1.8
set linetype 32 lc rgb '#7a0177' lw 1.8
set linetype 33 lc rgb '#c7e9b4' lw 1.8
set linetype 34 lc rgb '#fdd0a2' lw 1.8
set linetype 35 lc rgb '#969696' lw 1.8
set linetype 36 lc rgb '#525252' lw 1.8
set linetype 37 lc rgb '#fdae61' lw 1.8
set linetype 38 lc rgb '#1b7837' lw 1.8
set linetype 39 lc rgb '#762a83' lw 1.8
set linetype 40 lc rgb '#bf812d' lw 1.8
set linetype 41 lc rgb '#35978f' lw 1.8
set linetype 42 lc rgb '#de77ae' lw 1.8
set linetype 43 lc rgb '#878787' lw 1.8
set linetype 44 lc rgb '#525252' lw 1.8
set linetype 45 lc rgb '#bdbdbd' lw 1.8
set border 3 lc rgb '#555555'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid back lc rgb '#e4e4e4' lw 0.8 lt 1
set samples 2
# later curves are thinner, so that equal ones show beneath each other
fat(i) = series > 1 ? 1.2 + 1.8 * (series - i) / series : 1.8
