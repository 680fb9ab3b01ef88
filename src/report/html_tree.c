/* SPDX-License-Identifier: MIT */
/*
 * Rows become nodes, each behind the one around it: /tree has them in that
 * order, and rows with a path are sorted by it, component by component, so that
 * places with a common beginning are neighbours. Weights are shares of the
 * whole; a node is shown where its weight counts or few stand before it, and
 * the rest of its siblings is one line with their sums. Lists in <details> read
 * and open without scripts; html/report_trees.js makes trees of them.
 *
 * Cost: n log n in the rows; what is written is bounded by the weights: at each
 * depth at most 1 / LEAST nodes count.
 */
#include "report/html_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "report/html_write.h"

enum {
    VALUES = 3,
    SIBLINGS = 40,    /* shown of a place at most                          */
    TREES = 16,       /* traces whose trees stand in a page                */
    NAME_SHOWN = 160, /* bytes; tables have the whole name                 */
    DEPTH = 40,       /* of paths: places have 32                          */
    PIECE = 512,      /* rows read at once                                 */
    ROOT = 0
};
#define LEAST 0.002 /* a node of less weight is folded ...               */
#define OPEN 0.15   /* ... and one of more is open from the beginning    */

struct node {
    size_t around; /* its place among the nodes, before this one        */
    const char *kind, *how, *name;
    size_t length; /* of the name                                       */
    const char *joint, *other; /* "now", what came instead of it; ""        */
    double value[VALUES], weight; /* of the root: 0, or its values count   */
};

/* What a tree says of each place. */
struct kind {
    const char *columns[VALUES];
    int digits[VALUES];
    size_t sign; /* this value is told with its sign                  */
};

static const struct kind places_kind = {
    {"events", "host ms", "device ms"}, {0, 3, 3}, VALUES};
static const struct kind changes_kind = {
    {"before ms", "after ms", "change ms"}, {3, 3, 3}, 2};

/* Where what lies between two places is. */
static const char between[] = "between operators, nothing recorded";

struct tree {
    const struct kind *kind;
    struct node *nodes; /* [0]: the root                               */
    size_t count, capacity;
    size_t *sorted, *first; /* children: sorted[first[i], first[i + 1])    */
    bool failed;
};

static size_t add_node(struct tree *tree, const struct node *node)
{
    if (!tree->failed && tp_grow(&tree->nodes, &tree->capacity, tree->count + 1,
                                 sizeof *tree->nodes, NULL) == TP_OK)
        tree->nodes[tree->count++] = *node;
    else
        tree->failed = true;
    return tree->failed ? ROOT : tree->count - 1;
}

static void start(struct tree *tree, const struct kind *kind)
{
    tree->kind = kind;
    tree->count = 0;
    add_node(tree,
             &(struct node){
                 .kind = "", .how = "", .name = "", .joint = "", .other = ""});
}

static void clear(struct tree *tree)
{
    free(tree->nodes);
    free(tree->sorted);
    free(tree->first);
    *tree = (struct tree){.count = 0};
}

/* --- order ------------------------------------------------------------------
 */

struct sibling {
    size_t node, around;
    double weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct sibling *x = a, *y = b;
    if (x->around != y->around)
        return x->around < y->around ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Children of each node, heaviest first. */
static void sort_children(struct tree *tree)
{
    struct sibling *siblings = calloc(tree->count + 1, sizeof *siblings);
    tree->sorted = calloc(tree->count + 1, sizeof *tree->sorted);
    tree->first = calloc(tree->count + 2, sizeof *tree->first);
    tree->failed |= !siblings || !tree->sorted || !tree->first;
    if (tree->failed) {
        free(siblings);
        return;
    }
    const size_t count = tree->count - 1;
    for (size_t i = 0; i < count; i++)
        siblings[i] = (struct sibling){i + 1, tree->nodes[i + 1].around,
                                       tree->nodes[i + 1].weight};
    if (count > 1)
        qsort(siblings, count, sizeof *siblings, by_weight);
    for (size_t i = 0, node = 0; node <= tree->count; node++) {
        while (i < count && siblings[i].around < node)
            i++;
        tree->first[node] = i;
    }
    for (size_t i = 0; i < count; i++)
        tree->sorted[i] = siblings[i].node;
    free(siblings);
}

/* --- markup ------------------------------------------------------------------
 */

static void add_values(struct tp_text *html, const struct kind *kind,
                       const double *values)
{
    for (size_t i = 0; i < VALUES; i++) {
        tp_text_add(html, "<span data-of=\"%s\">", kind->columns[i]);
        if (isfinite(values[i]) && i == kind->sign)
            tp_text_add(html, "%+.*f", kind->digits[i], values[i]);
        else if (isfinite(values[i]))
            tp_text_add(html, "%.*f", kind->digits[i], values[i]);
        tp_text_add(html, "</span>");
    }
}

static void add_name(struct tp_text *html, const char *name, size_t length)
{
    struct tp_text whole = {0}, cut = {0};
    tp_text_bytes(&whole, name, length);
    tp_text_printable_cut(&cut, tp_text_get(&whole), NAME_SHOWN);
    tp_html_text(html, tp_text_get(&cut));
    html->failed |= whole.failed || cut.failed;
    tp_text_clear(&whole);
    tp_text_clear(&cut);
}

static void add_line(struct tp_text *html, const struct tree *tree,
                     const struct node *node)
{
    tp_text_add(html, "<span><i>");
    tp_html_text(html, node->kind);
    tp_text_add(html, "%s", *node->how ? ", " : "");
    tp_html_text(html, node->how);
    tp_text_add(html, "</i> ");
    add_name(html, node->name, node->length);
    if (*node->joint) {
        tp_text_add(html, " <b>%s</b> ", node->joint);
        add_name(html, node->other, strlen(node->other));
    }
    tp_text_add(html, "</span>");
    add_values(html, tree->kind, node->value);
}

/* What stands for the children from `next` on. */
static void add_rest(struct tp_text *html, const struct tree *tree, size_t next,
                     size_t end)
{
    double sums[VALUES] = {0};
    for (size_t i = next; i < end; i++)
        for (size_t v = 0; v < VALUES; v++) {
            const double value = tree->nodes[tree->sorted[i]].value[v];
            sums[v] += isfinite(value) ? value : 0;
        }
    tp_text_add(html, "<li><div><span><i>%zu more</i></span>", end - next);
    add_values(html, tree->kind, sums);
    tp_text_add(html, "</div></li>\n");
}

static void add_children(struct tp_text *html, const struct tree *tree,
                         size_t around);

static void add_item(struct tp_text *html, const struct tree *tree, size_t at)
{
    const struct node *node = &tree->nodes[at];
    const int share = (int)(100 * node->weight + 0.5);
    const bool leaf = tree->first[at] == tree->first[at + 1];
    const char *name = leaf ? "div" : "summary";
    tp_text_add(html, "<li>%s<%s data-share=\"%d\">",
                leaf                   ? ""
                : node->weight >= OPEN ? "<details open>"
                                       : "<details>",
                name, share);
    add_line(html, tree, node);
    tp_text_add(html, "</%s>\n", name);
    if (!leaf) {
        add_children(html, tree, at);
        tp_text_add(html, "</details>");
    }
    tp_text_add(html, "</li>\n");
}

static void add_children(struct tp_text *html, const struct tree *tree,
                         size_t around)
{
    const size_t first = tree->first[around], end = tree->first[around + 1];
    size_t next = first;
    tp_text_add(html, "<ul>\n");
    for (; next < end; next++) {
        const bool rest = tree->nodes[tree->sorted[next]].weight < LEAST ||
                          next - first >= SIBLINGS;
        if (rest && end - next > 1)
            break;
        add_item(html, tree, tree->sorted[next]);
    }
    if (next < end)
        add_rest(html, tree, next, end);
    tp_text_add(html, "</ul>\n");
}

static void add_whole(struct tp_text *html, const struct tree *tree)
{
    tp_text_add(html, "<div class=\"head\"><span>all of it</span>");
    add_values(html, tree->kind, tree->nodes[ROOT].value);
    tp_text_add(html, "</div>\n");
}

static void add_tree(struct tp_text *html, struct tree *tree)
{
    sort_children(tree);
    if (tree->failed) {
        html->failed = true;
        return;
    }
    tp_text_add(html, "<div class=\"tree\"><div class=\"head\"><span>place"
                      "</span>");
    for (size_t i = 0; i < VALUES; i++)
        tp_text_add(html, "<span>%s</span>", tree->kind->columns[i]);
    tp_text_add(html, "</div>\n");
    if (tree->nodes[ROOT].weight > 0)
        add_whole(html, tree);
    add_children(html, tree, ROOT);
    tp_text_add(html, "</div>\n");
}

/* --- places of traces
 * --------------------------------------------------------- */

/* Columns of /tree. */
enum place_column { TRACE, AROUND, KIND, NAME, COUNT, HOST, DEVICE, COLUMNS };
static const char *const place_columns[COLUMNS] = {
    "trace", "around", "kind", "name", "count", "host_us", "device_us"};

static double integer_of(const struct tp_table *table, size_t row,
                         const struct tp_column *column)
{
    int64_t value;
    memcpy(&value,
           (const char *)table->rows + row * table->row_size + column->offset,
           sizeof value);
    return (double)value;
}

static void add_place(struct tree *tree, const struct tp_table *table,
                      size_t row, const struct tp_column *const *columns)
{
    const char *name = tp_cell_text(table, row, columns[NAME]);
    const struct node node = {
        .around = (size_t)(integer_of(table, row, columns[AROUND]) + 1),
        .kind = tp_cell_text(table, row, columns[KIND]),
        .how = "",
        .name = name,
        .length = strlen(name),
        .joint = "",
        .other = "",
        .value = {integer_of(table, row, columns[COUNT]),
                  tp_cell_number(table, row, columns[HOST]) / 1e3,
                  tp_cell_number(table, row, columns[DEVICE]) / 1e3}};
    add_node(tree, &node);
}

/* The larger of the shares of the host's and the device's time. */
static void weigh_places(struct tree *tree)
{
    double host = 0, device = 0;
    for (size_t i = 1; i < tree->count; i++) {
        const struct node *node = &tree->nodes[i];
        if (node->around == ROOT) {
            host += isfinite(node->value[1]) ? node->value[1] : 0;
            device += node->value[2];
        }
    }
    for (size_t i = 1; i < tree->count; i++) {
        struct node *node = &tree->nodes[i];
        const double of_device = device > 0 ? node->value[2] / device : 0;
        const double of_host = host > 0 ? node->value[1] / host : 0;
        node->weight = of_host > of_device ? of_host : of_device;
    }
}

/* `heading`: of several traces. */
static void end_places(struct tp_text *html, struct tree *tree, int64_t trace,
                       bool heading)
{
    if (tree->count > 1 && trace < TREES) {
        weigh_places(tree);
        if (heading)
            tp_text_add(html,
                        "<details%s><summary data-trace=\"%" PRId64
                        "\">Row %" PRId64 " of /ranks</summary>\n<div>",
                        trace == 0 ? " open" : "", trace, trace);
        add_tree(html, tree);
        tp_text_add(html, "%s", heading ? "</div></details>\n" : "");
    }
    html->failed |= tree->failed;
    clear(tree);
}

static int64_t trace_of(const struct tp_table *table, size_t row, void *room,
                        const struct tp_column *column)
{
    const struct tp_table one = tp_table_window(table, row, 1, room);
    return (int64_t)integer_of(&one, 0, column);
}

/* The trees of all traces, whose rows come one after the other. */
static void add_places(struct tp_text *html, const struct tp_table *table,
                       const struct tp_column *const *columns, void *room)
{
    const int64_t last =
        trace_of(table, table->row_count - 1, room, columns[TRACE]);
    struct tree tree = {0};
    int64_t trace = -1;
    for (size_t first = 0; first < table->row_count; first += PIECE) {
        const size_t left = table->row_count - first;
        const struct tp_table window =
            tp_table_window(table, first, left < PIECE ? left : PIECE, room);
        for (size_t i = 0; i < window.row_count; i++) {
            const int64_t of = (int64_t)integer_of(&window, i, columns[TRACE]);
            if (of != trace) {
                end_places(html, &tree, trace, last > 0);
                start(&tree, &places_kind);
                trace = of;
            }
            add_place(&tree, &window, i, columns);
        }
    }
    end_places(html, &tree, trace, last > 0);
    if (last >= TREES)
        tp_text_add(html, "<p>The first %d of %" PRId64 " traces.</p>\n", TREES,
                    last + 1);
}

/* --- changes of a comparison
 * ---------------------------------------------------- */

/* Columns of /compare/why. */
enum change_column { PATH, WHAT, HOW, BASE, TEST, BEFORE, AFTER, CHANGES };
static const char *const change_columns[CHANGES] = {
    "path", "kind", "change", "base_name", "test_name", "base_us", "test_us"};

/* A row, which is a leaf below the places of its path. */
struct change {
    const char *path;
    bool gap; /* between two places, not in one: path is the first          */
    struct node leaf;
};

/* The bytes of the first component of a path; *next: the others, NULL: none. */
static size_t component_of(const char *path, const char **next)
{
    const char *end = strstr(path, " > ");
    *next = end ? end + 3 : NULL;
    return end ? (size_t)(end - path) : strlen(path);
}

/* By component, so that what has a common beginning comes together. */
static int compare_paths(const char *a, const char *b)
{
    while (a && b) {
        const char *next_a, *next_b;
        const size_t m = component_of(a, &next_a), n = component_of(b, &next_b);
        const int order = memcmp(a, b, m < n ? m : n);
        if (order || m != n)
            return order ? order : m < n ? -1 : 1;
        a = next_a;
        b = next_b;
    }
    return a ? 1 : b ? -1 : 0;
}

static int by_path(const void *left, const void *right)
{
    const struct change *a = left, *b = right;
    if (a->gap != b->gap)
        return a->gap - b->gap;
    const int order = a->gap ? 0 : compare_paths(a->path, b->path);
    return order ? order : a->leaf.around < b->leaf.around ? -1 : 1;
}

static struct change change_of(const struct tp_table *table, size_t row,
                               const struct tp_column *const *columns)
{
    const char *base = tp_cell_text(table, row, columns[BASE]);
    const char *test = tp_cell_text(table, row, columns[TEST]);
    const double before = tp_cell_number(table, row, columns[BEFORE]) / 1e3;
    const double after = tp_cell_number(table, row, columns[AFTER]) / 1e3;
    struct change change = {.path = tp_cell_text(table, row, columns[PATH])};
    struct node *leaf = &change.leaf;
    leaf->kind = tp_cell_text(table, row, columns[WHAT]);
    leaf->how = tp_cell_text(table, row, columns[HOW]);
    leaf->around = row; /* until it has a place                             */
    leaf->value[0] = before;
    leaf->value[1] = after;
    leaf->value[2] = after - before;
    change.gap = strcmp(leaf->kind, "gap") == 0;
    leaf->name = *base ? base : test;
    leaf->other = *base && *test && strcmp(base, test) ? test : "";
    leaf->joint = *leaf->other ? "now" : "";
    if (change.gap) {
        leaf->other = leaf->name;
        leaf->name = change.path;
        leaf->joint = "until";
    } else if (!*leaf->name) {
        leaf->name = "itself";
    }
    leaf->length = strlen(leaf->name);
    return change;
}

/* A place below another, without values yet. */
static size_t add_around(struct tree *tree, size_t around, const char *kind,
                         const char *name, size_t length)
{
    return add_node(tree, &(struct node){.around = around,
                                         .kind = kind,
                                         .how = "",
                                         .name = name,
                                         .length = length,
                                         .joint = "",
                                         .other = ""});
}

/* Places that were open and those of a path: as far as they are the same they
 * stay, the others are made. */
struct open {
    const char *at[DEPTH];
    size_t length[DEPTH], node[DEPTH], depth;
};

static size_t open_path(struct tree *tree, struct open *open, const char *path)
{
    size_t depth = 0, place = ROOT;
    bool same = true;
    while (path && *path && depth < DEPTH) {
        const char *next;
        const size_t length =
            depth + 1 < DEPTH ? component_of(path, &next) : strlen(path);
        same = same && depth < open->depth && open->length[depth] == length &&
               memcmp(open->at[depth], path, length) == 0;
        if (!same) {
            open->node[depth] = add_around(tree, place, "", path, length);
            open->at[depth] = path;
            open->length[depth] = length;
        }
        place = open->node[depth++];
        path = depth < DEPTH ? next : NULL;
    }
    open->depth = depth;
    return place;
}

/* What the leaves took goes to all that is around them; weights are shares of
 * all changes, and a little of the time, so that what did not change is shown
 * where there is little else. */
static void sum_changes(struct tree *tree)
{
    for (size_t i = tree->count; i-- > 1;) {
        struct node *node = &tree->nodes[i],
                    *around = &tree->nodes[node->around];
        for (size_t v = 0; v < VALUES; v++)
            around->value[v] += node->value[v];
        around->weight += node->weight;
    }
    const double all = tree->count ? tree->nodes[ROOT].weight : 0;
    for (size_t i = 0; i < tree->count && all > 0; i++)
        tree->nodes[i].weight /= all;
}

static void grow_changes(struct tree *tree, struct change *changes,
                         size_t count)
{
    struct open open = {.depth = 0};
    size_t gaps = ROOT;
    if (count > 1)
        qsort(changes, count, sizeof *changes, by_path);
    start(tree, &changes_kind);
    for (size_t i = 0; i < count; i++) {
        struct node *leaf = &changes[i].leaf;
        if (changes[i].gap && gaps == ROOT)
            gaps = add_around(tree, ROOT, "", between, strlen(between));
        leaf->around =
            changes[i].gap ? gaps : open_path(tree, &open, changes[i].path);
        leaf->weight =
            fabs(leaf->value[2]) + 0.01 * (leaf->value[0] + leaf->value[1]);
        add_node(tree, leaf);
    }
    sum_changes(tree);
}

static void add_changes(struct tp_text *html, const struct tp_table *table,
                        const struct tp_column *const *columns, void *room)
{
    struct tree tree = {0};
    struct change *changes = calloc(table->row_count, sizeof *changes);
    for (size_t i = 0; i < table->row_count && changes; i++) {
        const struct tp_table one = tp_table_window(table, i, 1, room);
        changes[i] = change_of(&one, 0, columns);
        changes[i].leaf.around = i;
    }
    if (changes) {
        grow_changes(&tree, changes, table->row_count);
        add_tree(html, &tree);
    }
    html->failed |= !changes || tree.failed;
    free(changes);
    clear(&tree);
}

/* --- the tables
 * --------------------------------------------------------------- */

static const struct shape {
    const char *table, *title, *words;
    const char *const *names;
    size_t count;
    void (*add)(struct tp_text *html, const struct tp_table *table,
                const struct tp_column *const *columns, void *room);
} shapes[] = {
    {"tree", "Places: operators and kernels",
     "Modules, ranges and operators as they are inside each other, with the "
     "device work that each starts; times include what is inside. A bar is "
     "the share of all host or of all device time, whichever is larger. ",
     place_columns, COLUMNS, add_places},
    {"compare/why", "Places: what the change is made of",
     "Each moment of a step is in one line, so that the changes add up to "
     "that of the step. A bar is the share of all changes. ",
     change_columns, CHANGES, add_changes},
};

static const struct shape *shape_of(const struct tp_table *table)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t has = 0;
        while (has < shapes[i].count &&
               tp_table_column(table, shapes[i].names[has]))
            has++;
        if (strcmp(shapes[i].table, table->name) == 0 && has == shapes[i].count)
            return &shapes[i];
    }
    return NULL;
}

bool tp_html_is_tree(const struct tp_table *table)
{
    return shape_of(table) != NULL;
}

enum tp_status tp_html_tree_add(struct tp_text *html,
                                const struct tp_table *table, const char *full,
                                struct tp_error *err)
{
    const struct shape *shape = shape_of(table);
    const struct tp_column *columns[COLUMNS];
    void *room = table->make ? calloc(PIECE, table->row_size) : NULL;
    const bool good = room || !table->make;
    for (size_t i = 0; i < shape->count; i++)
        columns[i] = tp_table_column(table, shape->names[i]);
    if (good && table->row_count) {
        tp_text_add(html,
                    "<section><h2 id=\"places\">%s</h2>\n<p class=\"soft\">%s"
                    "What is small is one line; %s has all, in /%s.</p>\n",
                    shape->title, shape->words, full, shape->table);
        shape->add(html, table, columns, room);
        tp_text_add(html, "</section>\n");
    }
    free(room);
    return good && !html->failed ? TP_OK : tp_fail_memory(err);
}
