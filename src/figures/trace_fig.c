/* SPDX-License-Identifier: MIT */
/*
 * What the builders of trace figures share. Of more traces than a panel can
 * name, evenly spaced ones with both ends are shown: of many ranks neither the
 * first nor the slowest alone tell how they spread. Stacked bars put the parts
 * of a row one after the other in a fixed order; a part that is zero in all
 * rows is left out, also of the legend, and the others keep their colours.
 * Long names of kernels lose type, name spaces and arguments and then their
 * middle, as kernels of one template differ at the end.
 * O(traces), and rows x parts^2 for a stack, of at most 24 rows and 8 parts.
 */
#include "figures/trace_fig.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"

void tp_trace_choose(const struct tp_trace_run *run,
                     bool (*has)(const struct tp_trace *trace), size_t limit,
                     struct tp_trace_choice *choice)
{
    size_t total = 0, seen = 0;
    choice->count = 0;
    if (limit > TP_TRACE_ROWS_MAX)
        limit = TP_TRACE_ROWS_MAX;
    for (size_t i = 0; i < run->trace_count; i++)
        total += !has || has(&run->traces[i]);
    for (size_t i = 0; i < run->trace_count; i++) {
        if (has && !has(&run->traces[i]))
            continue;
        /* The n-th shown is the one nearest to n equal steps. */
        size_t n = choice->count;
        size_t next = total <= limit ? seen
                      : limit < 2    ? 0
                                     : n * (total - 1) / (limit - 1);
        if (n < limit && seen == next)
            choice->traces[choice->count++] = i;
        seen++;
    }
}

static bool is_only_one_of_rank(const struct tp_trace_run *run, size_t trace)
{
    for (size_t i = 0; i < run->trace_count; i++) {
        if (i != trace && run->traces[i].rank == run->traces[trace].rank)
            return false;
    }
    return true;
}

const char *tp_trace_label(struct tp_fig *fig, const struct tp_trace_run *run,
                           size_t trace)
{
    const struct tp_trace *t = &run->traces[trace];
    if (t->rank >= 0 && is_only_one_of_rank(run, trace))
        return tp_fig_text(fig, "rank %lld", (long long)t->rank);
    if (t->worker[0] && t->span >= 0)
        return tp_fig_text(fig, "%s, %lld", t->worker, (long long)t->span);
    return tp_fig_text(fig, "%s", tp_file_base_name(t->path));
}

/* --- names -------------------------------------------------------------- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length of a qualifier at the start of a text: "at::", "(anonymous
 * namespace)::"; 0: there is none. */
static size_t qualifier(const char *text)
{
    static const char hidden[] = "(anonymous namespace)::";
    if (!strncmp(text, hidden, sizeof hidden - 1))
        return sizeof hidden - 1;
    size_t n = 0;
    while (is_word(text[n]))
        n++;
    return n > 0 && text[n] == ':' && text[n + 1] == ':' ? n + 2 : 0;
}

/* A name without what makes it long: type, name spaces, arguments. */
struct plain {
    char text[1024];
    size_t length;
};

static void make_plain(const char *name, struct plain *plain)
{
    const size_t length = strlen(name), room = sizeof plain->text - 1;
    const bool is_signature = length && name[length - 1] == ')';
    size_t depth = 0, n = 0;
    if (!strncmp(name, "void ", 5))
        name += 5;
    while (*name && n < room) {
        const size_t skipped = qualifier(name);
        name += skipped;
        if (skipped)
            continue;
        if (*name == '(' && depth == 0 && n > 0 && is_signature &&
            plain->text[n - 1] != ' ')
            break;
        depth += *name == '<';
        depth -= *name == '>' && depth > 0;
        /* a word is taken whole, so that its end begins no qualifier */
        do
            plain->text[n++] = *name++;
        while (n < room && is_word(plain->text[n - 1]) && is_word(*name));
    }
    while (n > 0 && plain->text[n - 1] == ' ')
        n--;
    plain->text[n] = '\0';
    plain->length = n;
}

const char *tp_trace_short_name(struct tp_fig *fig, const char *name,
                                size_t most)
{
    const size_t tail = 2 * most / 5;
    struct plain plain;
    if (strlen(name) <= most)
        return name;
    make_plain(name, &plain);
    if (plain.length <= most)
        return tp_fig_text(fig, "%s", plain.text);
    return tp_fig_text(fig, "%.*s...%s", (int)(most - tail - 3), plain.text,
                       plain.text + plain.length - tail);
}

/* Of two names that are short alike the first: its begin, and what is there
 * where they part. */
static const char *parted_name(struct tp_fig *fig, const char *name,
                               const char *other, size_t most)
{
    const int head = (int)most / 3, rest = (int)most - head - 6;
    struct plain a, b;
    size_t at = 0;
    make_plain(name, &a);
    make_plain(other, &b);
    while (a.text[at] && a.text[at] == b.text[at])
        at++;
    while (at > 0 && is_word(a.text[at - 1])) /* from the word's begin */
        at--;
    if (!a.text[at] || at <= (size_t)head)
        return tp_trace_short_name(fig, name, most);
    return tp_fig_text(fig, "%.*s...%.*s%s", head, a.text, rest, a.text + at,
                       a.length > at + (size_t)rest ? "..." : "");
}

void tp_trace_short_names(struct tp_fig *fig, const char *const *names,
                          size_t count, size_t most, const char **made)
{
    const char **alike = tp_fig_alloc(fig, count + 1, sizeof *alike);
    for (size_t i = 0; i < count; i++)
        made[i] = tp_trace_short_name(fig, names[i], most);
    if (!alike)
        return;
    memcpy(alike, made, count * sizeof *alike);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count; k++) {
            if (strcmp(alike[k], alike[i]) || !strcmp(names[k], names[i]))
                continue;
            made[i] = parted_name(fig, names[i], names[k], most);
            break;
        }
    }
}

/* --- bars --------------------------------------------------------------- */

bool tp_trace_is_seen(double value, double most)
{
    static const double pixels = 300; /* of the longest, about */
    return value * pixels >= most;
}

static double part_of(const struct tp_stack *stack, size_t row, size_t part)
{
    double value = stack->values[row * stack->part_count + part];
    return value > 0 ? value : 0;
}

static bool is_used(const struct tp_stack *stack, size_t part)
{
    for (size_t r = 0; r < stack->row_count; r++) {
        if (part_of(stack, r, part) > 0)
            return true;
    }
    return false;
}

void tp_trace_stack(struct tp_fig *fig, const struct tp_stack *stack)
{
    size_t rows = stack->row_count, parts = stack->part_count, used = 0;
    struct tp_panel_series *series =
        tp_fig_alloc(fig, parts + 1, sizeof *series);
    for (size_t k = 0; k < parts && series; k++) {
        if (!is_used(stack, k)) /* nor named in the legend */
            continue;
        double *table = tp_fig_alloc(fig, 3 * rows + 1, sizeof *table);
        for (size_t r = 0; r < rows && table; r++) {
            double from = 0;
            for (size_t j = 0; j < k; j++)
                from += part_of(stack, r, j);
            table[3 * r] = (double)r;
            table[3 * r + 1] = from;
            table[3 * r + 2] = from + part_of(stack, r, k);
        }
        series[used++] = (struct tp_panel_series){
            .name = tp_trace_colour_of(stack->parts[k])->name,
            .values = table,
            .rows = table ? rows : 0,
            .colour = stack->parts[k]};
    }
    struct tp_panel panel = {
        .kind = TP_PANEL_STACKS,
        .title = stack->title,
        .x = {.label = stack->label,
              .limited = stack->most > 0,
              .max = stack->most},
        .y = tp_fig_named_rows(fig, stack->rows, rows),
        .series = series,
        .series_count = used,
    };
    if (rows > 0 && used > 0)
        tp_fig_add(fig, &panel);
}

struct tp_trace_amount tp_trace_amount_for(double peak)
{
    static const struct tp_trace_amount amounts[] = {
        {"memory [GiB]", 1 << 30},
        {"memory [MiB]", 1 << 20},
        {"memory [KiB]", 1 << 10},
        {"memory [B]", 1}};
    size_t i = 0;
    while (i + 1 < sizeof amounts / sizeof *amounts && peak < amounts[i].bytes)
        i++;
    return amounts[i];
}
