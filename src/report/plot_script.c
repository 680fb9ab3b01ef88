/* SPDX-License-Identifier: MIT */
/*
 * A figure as a table of numbers and the gnuplot script that draws it. The
 * script sets variables for each panel and then includes the template of its
 * kind (plots/), so that the file needs nothing but its table. Panels stand in
 * one to three rows of nearly equal length, a shorter row with wider panels;
 * gnuplot's own multiplot layout has cells of one size. When all panels mean
 * the same by each colour, one legend in a strip of its own serves them and
 * covers no data; else each panel has its own. All texts pass plot_quote.
 * Linear in the numbers and texts written.
 */
#include "report/plot_script.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "figures/trace_colours.h"
#include "report/plot_axis.h"
#include "report/plot_quote.h"

enum {
    TITLE_MAX = 138,
    LABEL_MAX = 90,
    NAME_MAX = 44,
    TIC_NAME_MAX = 40,
    PALETTE_SIZE = 9,
    GREY = 7 /* among the colours of series */
};

/* Parts of the canvas, as shares of its height. */
static const double title_strip = 0.055, legend_strip = 0.05;

/* One panel's place on the canvas: left, bottom, width, height. */
struct place {
    double x, y, width, height;
};

/* How one panel is set into its figure. */
struct setting {
    size_t block; /* number of its first block in the table         */
    struct place place;
    bool own_key; /* the figure has no legend for all               */
    size_t key_rows; /* then: of the tallest legend of a panel       */
    bool neutral; /* its one curve must not look like one of those  */
};

/* One entry of a legend. */
struct entry {
    const char *colour; /* a gnuplot colour after lc */
    const char *name;
    unsigned order; /* among the colours of its kind */
};

/* The line types of plots/style.gp, and those of add_colours. */
static const char *const series_colours[TP_PANEL_COLOURS] = {
    "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",
    "10", "11", "12", "13", "14", "15", "16", "17", "18",
    "19", "20", "21", "22", "23", "24", "25", "26", "27",
    "28", "29", "30", "31", "32", "33", "34", "35", "36",
    "37", "38", "39", "40", "41", "42", "43", "44", "45",
    "46", "47", "48", "49", "50"};

static const struct entry band_entries[] = {
    {"rgb '#d6e6f4'", "1 % to 99 %", 0},
    {"rgb '#9ecae1'", "5 % to 95 %", 1},
    {"rgb '#4292c6'", "25 % to 75 %", 2},
    {"rgb '#08306b'", "median", 3},
};

/* As in plots/watch.gp. */
static const struct entry watch_entries[] = {
    {"rgb '#d6e6f4'", "normal", 0},
    {"rgb '#4292c6'", "baseline", 1},
    {"rgb '#222222'", "measured", 2},
    {"rgb '#d55e00'", "beyond the limit", 3},
};

/* As in plots/shares.gp. */
static const char *const share_colours[TP_PANEL_SERIES_MAX] = {
    "rgb '#d9d9d9'", "rgb '#d55e00'", "rgb '#f0b429'", "rgb '#9ecae1'",
    "rgb '#5e2a84'", "rgb '#000000'", "rgb '#d9d9d9'", "rgb '#d55e00'"};

/* A sentence that is too long loses its middle. */
static void quote(struct tp_text *out, const char *text, size_t limit)
{
    tp_plot_quote(out, text, limit, limit / 3);
}

/* --- the script ------------------------------------------------------- */

static void add_template(struct tp_text *out, const char *name)
{
    const struct tp_template *row = tp_templates;
    while (row->name && strcmp(row->name, name) != 0)
        row++;
    assert(row->name);
    tp_text_add(out, "%s", row->text);
}

/* The number of a series' colour. */
static unsigned colour_of(const struct tp_panel *panel, size_t s)
{
    unsigned colour = panel->series[s].colour;
    return colour >= 1 && colour <= TP_PANEL_COLOURS ? colour
                                                     : (unsigned)s + 1;
}

/* Whether a series has a number above the one in the column before it: a bar,
 * or a band, that can be seen. */
static bool has_width(const struct tp_panel *panel, size_t s, unsigned column)
{
    const struct tp_panel_series *series = &panel->series[s];
    const unsigned width = tp_panel_info(panel->kind)->columns;
    for (size_t r = 0; r < series->rows; r++) {
        const double *row = &series->values[r * width];
        if (row[column] > row[column - 1])
            return true;
    }
    return false;
}

/* Whether a point of a watched series is beyond its limit. */
static bool has_alarm(const struct tp_panel *panel)
{
    const struct tp_panel_series *series = &panel->series[0];
    const unsigned width = tp_panel_info(panel->kind)->columns;
    for (size_t r = 0; r < series->rows; r++) {
        if (series->values[r * width + 5] > 0)
            return true;
    }
    return false;
}

/* Whether a series shows: stacked bars may all be of no length. */
static bool is_seen(const struct tp_panel *panel, size_t s)
{
    const bool stacked =
        panel->kind == TP_PANEL_SHARES || panel->kind == TP_PANEL_STACKS;
    return !stacked || has_width(panel, s, 2);
}

static size_t watch_legend(const struct tp_panel *panel, struct entry *entries)
{
    const bool seen[] = {has_width(panel, 0, 4), true, true, has_alarm(panel)};
    size_t count = 0;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
        if (seen[i])
            entries[count++] = watch_entries[i];
    }
    return count;
}

/* The legend of a panel, of what is drawn; 0 entries: it needs none. */
static size_t legend_of(const struct tp_panel *panel, struct entry *entries)
{
    size_t count = 0;
    if (panel->kind == TP_PANEL_BANDS) {
        memcpy(entries, band_entries, sizeof band_entries);
        return sizeof band_entries / sizeof *band_entries;
    }
    if (panel->kind == TP_PANEL_WATCH)
        return watch_legend(panel, entries);
    if (panel->kind == TP_PANEL_HEAT || panel->kind == TP_PANEL_CLOUD ||
        panel->series_count < 2)
        return 0;
    for (size_t s = 0; s < panel->series_count; s++) {
        if (!is_seen(panel, s))
            continue;
        const bool shares = panel->kind == TP_PANEL_SHARES;
        const unsigned order = shares ? (unsigned)s : colour_of(panel, s) - 1;
        entries[count++] = (struct entry){shares ? share_colours[order]
                                                 : series_colours[order],
                                          panel->series[s].name, order};
    }
    return count;
}

/* Whether both are numbered colours, or none is, in the wrong order. */
static bool is_later(const struct entry *a, const struct entry *b)
{
    return (a->colour[0] == 'r') == (b->colour[0] == 'r') &&
           a->order > b->order;
}

/* Puts a legend into the order of its colours. */
static void sort_entries(struct entry *entries, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct entry moved = entries[i];
        size_t k = i;
        for (; k > 0 && is_later(&entries[k - 1], &moved); k--)
            entries[k] = entries[k - 1];
        entries[k] = moved;
    }
}

/*
 * The one legend that serves all panels: their union, by colour. False when
 * two panels mean different things by one colour, and where none has anything
 * in common with the others: then each is read with its own.
 */
static bool shared_legend(const struct tp_figure *figure, struct entry *entries,
                          size_t *count)
{
    size_t with = 0, common = 0;
    *count = 0;
    for (size_t p = 0; p < figure->panel_count; p++) {
        struct entry other[TP_PANEL_SERIES_MAX];
        size_t n = legend_of(&figure->panels[p], other);
        with += n > 0;
        for (size_t i = 0; i < n; i++) {
            size_t k = 0;
            while (k < *count && strcmp(entries[k].colour, other[i].colour))
                k++;
            if (k < *count && strcmp(entries[k].name, other[i].name) != 0)
                return false;
            if (k == TP_PANEL_SERIES_MAX)
                return false;
            common += k < *count;
            if (k == *count)
                entries[(*count)++] = other[i];
        }
    }
    sort_entries(entries, *count);
    return with < 2 || common > 0;
}

/* Whether the legend says what the panel's one curve is. */
static bool is_in_legend(const struct tp_panel *panel,
                         const struct entry *entries, size_t count)
{
    const char *colour = series_colours[colour_of(panel, 0) - 1];
    const char *name = panel->series[0].name ? panel->series[0].name : "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(entries[i].colour, colour) == 0)
            return strcmp(entries[i].name, name) == 0;
    }
    return true; /* nothing else has this colour */
}

/* So many entries of a panel's legend stand side by side below it: a canvas is
 * 170 characters wide, and a sample with what gnuplot leaves free takes eleven.
 */
static size_t key_columns(const struct place *place,
                          const struct entry *entries, size_t count)
{
    size_t longest = 0;
    for (size_t i = 0; i < count; i++)
        longest = (size_t)fmax((double)longest,
                               (double)strlen(entries[i].name));
    longest = longest > NAME_MAX ? NAME_MAX : longest;
    const size_t columns = (size_t)(170 * place->width - 4) / (longest + 11);
    return columns > count ? count : columns || !count ? columns : 1;
}

static size_t key_rows(const struct tp_panel *panel, const struct place *place)
{
    struct entry entries[TP_PANEL_SERIES_MAX];
    const size_t count = legend_of(panel, entries);
    const size_t columns = key_columns(place, entries, count);
    return columns ? (count + columns - 1) / columns : 0;
}

/* A panel's own legend, below it; panels of a figure leave the same room. */
static void add_own_key(struct tp_text *out, const struct tp_panel *panel,
                        const struct setting *setting)
{
    struct entry entries[TP_PANEL_SERIES_MAX];
    const struct place *place = &setting->place;
    const size_t count = setting->own_key ? legend_of(panel, entries) : 0;
    if (setting->key_rows > 0)
        tp_text_add(out, "set bmargin %.3g\n",
                    4.5 + 1.3 * (double)setting->key_rows);
    if (count == 0)
        tp_text_add(out, "unset key\n");
    else
        tp_text_add(out,
                    "set key at screen %.4g, %.4g center bottom horizontal "
                    "reverse Left samplen 1.6 width 1 maxcols %zu maxrows "
                    "auto\n", place->x + place->width / 2, place->y + 0.008,
                    key_columns(place, entries, count));
}

/* The height of the strip, with room for two rows where one is not enough. */
static double strip_of(const struct entry *entries, size_t count)
{
    const struct place all = {0, 0, 1, 1};
    return legend_strip * (key_columns(&all, entries, count) < count ? 1.5 : 1);
}

/* Legend in a strip of its own, so that it never covers data. */
static void add_legend(struct tp_text *out, const struct entry *entries,
                       size_t count)
{
    tp_text_add(out,
                "\n# legend\n"
                "unset object\nunset label\nunset arrow\nunset title\n"
                "unset xlabel\nunset ylabel\nunset tics\nunset border\n"
                "unset grid\nunset colorbox\n"
                "set origin 0, 0\nset size 1, %.4g\n"
                "set margins 0, 0, 0, 0\n"
                "set key center center horizontal reverse Left "
                "samplen 1.6 width 2 maxrows 2\n"
                "plot [0:1] [0:1] ",
                strip_of(entries, count));
    for (size_t i = 0; i < count; i++) {
        tp_text_add(out, "%s2 with lines lc %s lw 7 title ",
                    i ? ", \\\n    " : "", entries[i].colour);
        quote(out, entries[i].name, NAME_MAX);
    }
    tp_text_add(out, "\n");
}

/* Rows of nearly equal length; a shorter row has wider panels. */
static struct place place_of(size_t index, size_t count, double bottom)
{
    size_t rows = count <= 2 ? 1 : count <= 6 ? 2 : 3, row = 0, first = 0;
    size_t in_row = (count + rows - 1) / rows;
    while (index >= first + in_row) {
        first += in_row;
        row++;
        in_row = (count - first + rows - row - 1) / (rows - row);
    }
    double height = (1 - title_strip - bottom) / (double)rows;
    double width = 1.0 / (double)in_row;
    return (struct place){
        .x = (double)(index - first) * width,
        .y = bottom + height * (double)(rows - 1 - row),
        .width = width,
        .height = height,
    };
}

static void add_axis(struct tp_text *out, char letter,
                     const struct tp_drawn_axis *drawn,
                     struct tp_tic_limits tics)
{
    const char *name = letter == 'X' ? "x" : letter == 'Y' ? "y" : "cb";
    tp_axis_function(drawn, letter, out);
    tp_text_add(out, "set %srange [%.9g:%.9g]\n", name, drawn->lo, drawn->hi);
    tp_text_add(out, "set %slabel ", name);
    quote(out, drawn->axis->label ? drawn->axis->label : "", LABEL_MAX);
    tp_text_add(out, "\nset %stics ", name);
    tp_axis_tics(drawn, tics, out);
    tp_text_add(out, "\n");
}

/* Names of a tree begin at one place, so that blanks indent them; else they end
 * at the axis. */
static void add_indent(struct tp_text *out, const struct tp_axis *axis)
{
    size_t widest = 0;
    for (size_t i = 0; axis->tree && i < axis->tic_count; i++) {
        const size_t width = strlen(axis->tics[i].text);
        widest = width > widest ? width : widest;
    }
    widest = widest > TIC_NAME_MAX ? TIC_NAME_MAX : widest;
    if (axis->tree)
        tp_text_add(
            out, "set lmargin %zu\nset ytics left offset character -%zu, 0\n",
            widest + 3, widest + 1);
    else
        tp_text_add(out, "set lmargin -1\nset ytics right offset 0, 0\n");
}

static void add_marks(struct tp_text *out, const struct tp_panel *panel,
                      const struct tp_drawn_axis *x)
{
    for (size_t m = 0; m < panel->mark_count; m++) {
        double at = tp_axis_position(x, panel->marks[m].x);
        if (!(at >= x->lo && at <= x->hi))
            continue;
        tp_text_add(out,
                    "set arrow from %.9g, graph 0 to %.9g, graph 1 nohead "
                    "lc rgb '#777777' dt 3 lw 1.2\nset label ",
                    at, at);
        quote(out, panel->marks[m].text, NAME_MAX);
        tp_text_add(out,
                    " at %.9g, graph 0.985 right rotate by 90 "
                    "offset character 0.7, 0 font ',8' "
                    "textcolor rgb '#555555' front\n",
                    at);
    }
}

/* Whether a panel has cells with a colour of the scale: zeros of a magnitude
 * are white. */
static bool shows_colours(const struct tp_panel *panel)
{
    if (panel->palette != TP_PALETTE_MAGNITUDE)
        return true;
    for (size_t s = 0; s < panel->series_count; s++) {
        const struct tp_panel_series *series = &panel->series[s];
        for (size_t r = 0; r < series->rows; r++) {
            if (series->values[3 * r + 2] != 0)
                return true;
        }
    }
    return false;
}

/* Colours of heat maps and clouds: viridis, purple to orange (PuOr), and the
 * blues that stand for a device at work. */
static void add_palette(struct tp_text *out, const struct tp_panel *panel,
                        const struct tp_drawn_axis *x,
                        const struct tp_drawn_axis *y)
{
    static const char *const magnitude[PALETTE_SIZE] = {
        "#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c",
        "#28ae80", "#5ec962", "#addc30", "#fde725"};
    static const char *const deviation[PALETTE_SIZE] = {
        "#2d004b", "#5e3f93", "#9b8fc3", "#d3d2e7", "#f7f7f7",
        "#fdd5a0", "#ee9c3c", "#bf6109", "#7f3b08"};
    static const char *const busy[PALETTE_SIZE] = {
        "#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6",
        "#4292c6", "#2171b5", "#08519c", "#08306b"};
    const char *const *colours =
        panel->palette == TP_PALETTE_DEVIATION ? deviation
        : panel->palette == TP_PALETTE_BUSY    ? busy
                                               : magnitude;
    tp_text_add(out, "set palette defined (");
    for (int i = 0; i < PALETTE_SIZE; i++)
        tp_text_add(out, "%s%d '%s'", i ? ", " : "", i, colours[i]);
    tp_text_add(out, ")\n%sset colorbox\n", shows_colours(panel) ? "" : "un");
    tp_text_add(out, "wide = %.9g\nhigh = %.9g\n", panel->cell_width,
                panel->cell_height);
    /* half a pixel of overlap: no background shines through between cells */
    tp_text_add(out, "seam_x = %.9g\nseam_y = %.9g\n", (x->hi - x->lo) / 1000,
                fabs(y->hi - y->lo) / 700);
    tp_text_add(out, "white = %d\n", panel->palette == TP_PALETTE_MAGNITUDE);
}

/* Few points in the longest series: each deserves a dot. */
static bool few_points(const struct tp_panel *panel)
{
    size_t most = 0;
    for (size_t s = 0; s < panel->series_count; s++) {
        if (panel->series[s].rows > most)
            most = panel->series[s].rows;
    }
    return most <= 45;
}

static void add_variables(struct tp_text *out, const struct tp_panel *panel,
                          const struct setting *setting, double left)
{
    tp_text_add(out, "block = %zu\nseries = %zu\npoints = %d\ndiagonal = %d\n",
                setting->block, panel->series_count, few_points(panel),
                panel->diagonal);
    tp_text_add(out, "thick = %.9g\nleft = %.9g\n",
                0.72 / (double)panel->series_count, left);
    tp_text_add(out, "array name[%zu]\n", panel->series_count);
    for (size_t s = 0; s < panel->series_count; s++) {
        tp_text_add(out, "name[%zu] = ", s + 1);
        const char *title = panel->series[s].name;
        /* without one there is no entry */
        quote(out, title && is_seen(panel, s) ? title : "", NAME_MAX);
        tp_text_add(out, "\n");
    }
    tp_text_add(out, "array hue[%zu]\n", panel->series_count);
    for (size_t s = 0; s < panel->series_count; s++)
        tp_text_add(out, "hue[%zu] = %u\n", s + 1,
                    setting->neutral ? GREY : colour_of(panel, s));
    if (panel->kind == TP_PANEL_POINTS)
        tp_text_add(out, "bounds = %zu\n", panel->bounds);
}

/* Bars grow from zero, or from the low end of a log axis. */
static double bar_start(const struct tp_drawn_axis *x)
{
    bool linear = x->axis->scale == TP_SCALE_LINEAR;
    if (x->has_zero)
        return x->zero;
    return linear && x->lo <= 0 && x->hi >= 0 ? 0 : x->lo;
}

/* Room for tics: names take a line each, numbers may be wide. */
static struct tp_tic_limits tics_beside(const struct tp_axis *axis,
                                        const struct place *place)
{
    /* a canvas is 170 characters wide; a third of a panel is for names, and a
     * little more where it is wide */
    const double part = place->width < 0.5 ? 1. / 3 : 2. / 5;
    double width = axis->tics ? 170 * place->width * part : 28;
    return (struct tp_tic_limits){
        .count =
            (size_t)(axis->tics ? 30 * place->height : 1 + 9 * place->height),
        .text = (size_t)fmin(width, TIC_NAME_MAX)};
}

/* Characters of a panel's title: it stands over the middle of the axes, which
 * names of tics push to the right, more than numbers do. */
static size_t title_room(const struct tp_axis *y, const struct place *place)
{
    const size_t all = (size_t)(TITLE_MAX * place->width);
    const size_t most = tics_beside(y, place).text;
    size_t widest = 5;
    for (size_t i = 0; y->tics && i < y->tic_count; i++) {
        const size_t width = strlen(y->tics[i].text);
        widest = width > widest ? width : widest;
    }
    widest = widest > most ? most : widest;
    /* the axes beside wide names are as wide as the title may be */
    const size_t lost = widest - 5 + (widest > 28 ? 3 : 0);
    return all > lost ? all - lost : 1;
}

/* What a title says behind its colon are numbers: names before it are cut. */
static void quote_title(struct tp_text *out, const char *title, size_t limit)
{
    size_t tail = limit / 3;
    for (const char *at = title; (at = strstr(at, ": ")); at++)
        if (strlen(at) <= 2 * limit / 3) {
            tail = strlen(at) > tail ? strlen(at) : tail;
            break;
        }
    tp_plot_quote(out, title, limit, tail);
}

static struct tp_tic_limits tics_below(const struct place *place)
{
    return (struct tp_tic_limits){.count = (size_t)(2 + 12 * place->width),
                                  .text = 28};
}

/* Long tics push the label of a colour scale outwards; in characters. */
static double colour_label_shift(const struct tp_drawn_axis *z)
{
    double widest = z->axis->scale == TP_SCALE_LINEAR ? 5 : 4;
    if (z->axis->scale == TP_SCALE_LOG2 && (z->lo <= -10 || z->hi >= 100))
        widest = 5;
    return 0.8 * (widest - 2);
}

static void add_panel(struct tp_text *out, const struct tp_panel *panel,
                      const struct setting *setting)
{
    struct place place = setting->place;
    struct tp_drawn_axis x, y, z;
    bool coloured =
        panel->kind == TP_PANEL_HEAT || panel->kind == TP_PANEL_CLOUD;
    tp_text_add(out, "\nunset object\nunset label\nunset arrow\n"
                     "unset colorbox\nset grid\nset rmargin -1\nset title ");
    quote_title(out, panel->title, title_room(&panel->y, &place));
    tp_text_add(out, " font ',11'\nset origin %.4g, %.4g\n", place.x, place.y);
    tp_text_add(out, "set size %.4g, %.4g\n", place.width, place.height);
    tp_axis_resolve(panel, TP_AXIS_X, &x);
    tp_axis_resolve(panel, TP_AXIS_Y, &y);
    add_axis(out, 'X', &x, tics_below(&place));
    add_axis(out, 'Y', &y, tics_beside(&panel->y, &place));
    add_indent(out, &panel->y);
    if (coloured) {
        tp_axis_resolve(panel, TP_AXIS_Z, &z);
        add_axis(out, 'Z', &z, tics_beside(&panel->z, &place));
        /* room for the scale, whose width follows the panel's, also where
         * there is none: panels of a figure are of one size */
        tp_text_add(out,
                    "set cblabel offset %.3g, 0\n"
                    "set rmargin at screen %.4g\n",
                    colour_label_shift(&z),
                    place.x + 0.94 * place.width - 0.076);
        add_palette(out, panel, &x, &y);
    }
    add_own_key(out, panel, setting);
    add_marks(out, panel, &x);
    add_variables(out, panel, setting, bar_start(&x));
    add_template(out, tp_panel_info(panel->kind)->name);
}

/* The line types of colours that mean something: those of series that the
 * style has are without. */
static void add_colours(struct tp_text *out, const struct tp_figure *figure)
{
    bool used[TP_PANEL_COLOURS + 1] = {false};
    for (size_t p = 0; p < figure->panel_count; p++) {
        for (size_t s = 0; s < figure->panels[p].series_count; s++)
            used[colour_of(&figure->panels[p], s)] = true;
    }
    for (unsigned colour = 1; colour <= TP_PANEL_COLOURS; colour++) {
        const char *rgb = tp_trace_rgb(colour);
        if (used[colour] && rgb)
            tp_text_add(out, "set linetype %u lc rgb '%s' lw 1.8\n", colour,
                        rgb);
    }
}

static void add_head(struct tp_text *out, const struct tp_figure *figure,
                     const char *format)
{
    tp_text_add(out, "# Draws %s.%s from %s.tsv; run gnuplot in this folder.\n",
                figure->id, format, figure->id);
    tp_text_add(out, "data = '%s.tsv'\n", figure->id);
    tp_text_add(out, "if (!exists('format')) format = '%s'\n", format);
    tp_text_add(out, "if (!exists('output')) output = '%s.%s'\n\n", figure->id,
                format);
    add_template(out, "style");
    add_colours(out, figure);
    tp_text_add(out, "set output output\nset multiplot title ");
    quote(out, figure->caption, TP_FIGURE_TEXT_MAX);
    tp_text_add(out, " font ',13'");
}

void tp_plot_script(const struct tp_figure *figure, const char *format,
                    struct tp_text *out)
{
    struct entry entries[TP_PANEL_SERIES_MAX];
    size_t count, block = 0;
    bool shared = shared_legend(figure, entries, &count);
    double bottom = shared && count ? strip_of(entries, count) : 0;
    size_t rows = 0;
    for (size_t p = 0; p < figure->panel_count && !shared; p++) {
        const struct place place = place_of(p, figure->panel_count, bottom);
        const size_t own = key_rows(&figure->panels[p], &place);
        rows = own > rows ? own : rows;
    }
    add_head(out, figure, format);
    tp_text_add(out, "\n");
    for (size_t p = 0; p < figure->panel_count; p++) {
        const struct tp_panel *panel = &figure->panels[p];
        struct setting setting = {
            .block = block,
            .place = place_of(p, figure->panel_count, bottom),
            .own_key = !shared,
            .key_rows = rows,
            .neutral = panel->series_count == 1 && count > 0 &&
                       !is_in_legend(panel, entries, count),
        };
        add_panel(out, panel, &setting);
        block += panel->series_count;
    }
    if (shared && count)
        add_legend(out, entries, count);
    tp_text_add(out, "\nunset multiplot\nunset output\n");
}
