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
set border 3 lc rgb '#555555'
set tics nomirror out scale 0.6 textcolor rgb '#222222'
set grid back lc rgb '#e4e4e4' lw 0.8 lt 1
set samples 2
# later curves are thinner, so that equal ones show beneath each other
fat(i) = series > 1 ? 1.2 + 1.8 * (series - i) / series : 1.8
