/* SPDX-License-Identifier: MIT */
/*
 * The modules of two runs as an indented tree, with a cell for arguments and
 * results of each pass that shows the worst of the branch. Names of calls are
 * sorted, so that each node is met once, and siblings are then put into the
 * order of the calls. Neighbours that are numbered and alike, in names and in
 * the decade of every error below them, are one row. Where the rows do not fit
 * errors count as alike by being there at all, then a branch shows only the
 * worst of its children and one row for the others, then the tree is less
 * deep: nothing is left out, it is only told more coarsely. An icicle would
 * show the same but has no place for names. Cost: a sort, and a walk over the
 * nodes for each attempt.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figures/compare_fig.h"

enum {
    ROWS = 28,     /* whose names a figure shows                             */
    DEEPEST = 8,   /* components of a path; the last is all that is left     */
    CHILDREN = 16, /* most of a node, where not all have a place           */
    CELLS = 4,     /* arguments and results, of each pass                    */
    LABEL = 40,    /* bytes of a name                                        */
    INDENT = 4     /* blanks of a level                                      */
};

struct cell {
    double error; /* the largest; NaN: not known                           */
    uint64_t matched, unequal;
};

/* Neighbours that are shown as one row. */
struct group {
    struct node *node; /* the one, or the worst of all in each cell */
    const struct node *first, *last;
    size_t count;
};

struct node {
    const char *name;
    size_t length;
    size_t first; /* call                                                 */
    bool own;     /* it is a call's own path                              */
    struct node *children, *next; /* in the order of calls                 */
    struct node *parent;
    size_t child_count;
    struct cell cells[CELLS]; /* of the whole branch                       */
    struct group *groups[2];  /* of the children; 1: alike is less strict  */
    size_t group_counts[2];
};

/* A row that is shown. */
struct row {
    const char *label;
    struct cell cells[CELLS];
};

/* How coarsely the tree is told. */
struct how {
    bool loose;
    size_t children; /* of a node                                          */
    int depth;
};

struct tree {
    struct tp_fig *fig;
    const struct tp_compare_figure_input *input;
    struct node *root;
    bool checksums; /* there are no errors: shares of rows                 */
    struct row rows[ROWS];
    size_t count; /* of rows, also of those without a place                */
};

/* --- cells ---------------------------------------------------------------- */

static void merge_cells(struct cell *into, const struct cell *from)
{
    for (int i = 0; i < CELLS; i++) {
        into[i].error = fmax(into[i].error, from[i].error);
        into[i].matched += from[i].matched;
        into[i].unequal += from[i].unequal;
    }
}

static void clear_cells(struct cell *cells)
{
    for (int i = 0; i < CELLS; i++)
        cells[i] = (struct cell){.error = NAN};
}

static double value_of(const struct tree *tree, const struct cell *cell)
{
    if (!tree->checksums)
        return cell->error;
    return cell->matched ? (double)cell->unequal / (double)cell->matched : NAN;
}

/* Cells of the same class are alike. */
static int class_of(const struct tree *tree, const struct cell *cell,
                    bool loose)
{
    const double value = value_of(tree, cell);
    if (isnan(value))
        return -2000;
    if (!(value > 0))
        return -1000;
    if (loose)
        return 0;
    return isinf(value) ? 1000 : (int)floor(log10(value));
}

/* --- building ------------------------------------------------------------- */

/* A call under the path of its module, or of itself. */
struct leaf {
    const char *path;
    size_t call;
};

/* The module; else type and name of the call, or its whole name where it is
 * none of msprobe's. */
static const char *path_of(struct tp_fig *fig,
                           const struct tp_compare_figure_input *input,
                           const struct tp_compare_call *call)
{
    const struct tp_dump_place *place =
        input->comparison->pairs[call->pair].a.place;
    if (*call->module)
        return call->module;
    if (!input->comparison->a.msprobe || !place->calls[call->order].known)
        return call->name;
    const char *dot = strchr(call->name, '.');
    const size_t length =
        dot ? (size_t)(dot - call->name) + 1 + strcspn(dot + 1, ".")
            : strlen(call->name);
    return tp_fig_text(fig, "%.*s", (int)length, call->name);
}

/* Components one by one: a dot is less than all else. */
static int compare_leaves(const void *left, const void *right)
{
    const struct leaf *a = left, *b = right;
    const char *x = a->path, *y = b->path;
    while (*x && *x == *y) {
        x++;
        y++;
    }
    const int of_x = *x == '.' ? 1 : *x ? 1 + (unsigned char)*x : 0;
    const int of_y = *y == '.' ? 1 : *y ? 1 + (unsigned char)*y : 0;
    if (of_x != of_y)
        return of_x < of_y ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* The child of this name, which can only be the one made last. */
static struct node *child_of(struct tree *tree, struct node *parent,
                             const char *name, size_t length)
{
    struct node *last = parent->children;
    if (last && last->length == length && !memcmp(last->name, name, length))
        return last;
    struct node *made = tp_fig_alloc(tree->fig, 1, sizeof *made);
    if (!made)
        return NULL;
    *made = (struct node){.name = name,
                          .length = length,
                          .first = SIZE_MAX,
                          .next = parent->children,
                          .parent = parent};
    clear_cells(made->cells);
    parent->children = made;
    parent->child_count++;
    return made;
}

static void add_call(struct tree *tree, const struct leaf *leaf)
{
    const struct tp_compare_call *call = &tree->input->calls->rows[leaf->call];
    const int pass = tp_compare_fig_is_backward(tree->input, call) ? 2 : 0;
    struct cell cells[CELLS];
    struct node *node = tree->root;
    const char *at = leaf->path;
    clear_cells(cells);
    cells[pass] =
        (struct cell){call->error_in, call->arguments, call->arguments_unequal};
    cells[pass + 1] =
        (struct cell){call->error_out, call->matched - call->arguments,
                      call->results_unequal};
    for (int depth = 1; node && *at; depth++) {
        const size_t length = depth < DEEPEST ? strcspn(at, ".") : strlen(at);
        node = child_of(tree, node, at, length);
        at += length + (at[length] == '.');
    }
    if (node)
        node->own = true;
    for (; node; node = node->parent) {
        merge_cells(node->cells, cells);
        node->first = leaf->call < node->first ? leaf->call : node->first;
    }
}

static int compare_first(const void *left, const void *right)
{
    const struct node *a = *(struct node *const *)left;
    const struct node *b = *(struct node *const *)right;
    return a->first < b->first ? -1 : a->first > b->first;
}

static bool is_number(const struct node *node)
{
    for (size_t i = 0; i < node->length; i++)
        if (node->name[i] < '0' || node->name[i] > '9')
            return false;
    return node->length > 0;
}

/* Whether two branches look the same, but for their own names. */
static bool are_alike(const struct tree *tree, const struct node *a,
                      const struct node *b, bool loose)
{
    if (a->child_count != b->child_count || a->own != b->own)
        return false;
    for (int i = 0; i < CELLS; i++)
        if (class_of(tree, &a->cells[i], loose) !=
            class_of(tree, &b->cells[i], loose))
            return false;
    const struct node *x = a->children, *y = b->children;
    for (; x && y; x = x->next, y = y->next)
        if (x->length != y->length || memcmp(x->name, y->name, x->length) ||
            !are_alike(tree, x, y, loose))
            return false;
    return true;
}

/* A branch of its own. */
static struct node *copy_of(struct tree *tree, const struct node *node)
{
    struct node *copy = tp_fig_alloc(tree->fig, 1, sizeof *copy);
    struct node **end = copy ? &copy->children : NULL;
    if (!copy)
        return NULL;
    *copy = *node;
    for (const struct node *child = node->children; child;
         child = child->next) {
        *end = copy_of(tree, child);
        if (!*end)
            return NULL;
        end = &(*end)->next;
    }
    *end = NULL;
    copy->next = NULL;
    return copy;
}

/* Adds one that is alike, cell by cell. */
static void merge_branch(struct node *into, const struct node *from)
{
    struct node *x = into->children;
    const struct node *y = from->children;
    merge_cells(into->cells, from->cells);
    for (; x && y; x = x->next, y = y->next)
        merge_branch(x, y);
}

/* Groups the children of a node. */
static void make_groups(struct tree *tree, struct node *node, bool loose)
{
    struct group *groups =
        tp_fig_alloc(tree->fig, node->child_count + 1, sizeof *groups);
    size_t count = 0;
    for (struct node *child = node->children; groups && child;
         child = child->next) {
        struct group *last = count ? &groups[count - 1] : NULL;
        if (!last || !is_number(child) || !is_number(last->first) ||
            !are_alike(tree, last->first, child, loose)) {
            groups[count++] = (struct group){child, child, child, 1};
            continue;
        }
        if (last->count == 1)
            last->node = copy_of(tree, last->first);
        if (!last->node)
            return;
        merge_branch(last->node, child);
        last->last = child;
        last->count++;
    }
    node->groups[loose] = groups;
    node->group_counts[loose] = groups ? count : 0;
    for (size_t i = 0; groups && i < count; i++)
        make_groups(tree, groups[i].node, loose);
}

/* Puts the children of all nodes below one into the order of calls. */
static void sort_children(struct tree *tree, struct node *node)
{
    struct node **nodes =
        tp_fig_alloc(tree->fig, node->child_count + 1, sizeof(struct node *));
    size_t count = 0;
    if (!nodes)
        return;
    for (struct node *child = node->children; child; child = child->next)
        nodes[count++] = child;
    if (count)
        qsort(nodes, count, sizeof *nodes, compare_first);
    for (size_t i = 0; i < count; i++) {
        nodes[i]->next = i + 1 < count ? nodes[i + 1] : NULL;
        sort_children(tree, nodes[i]);
    }
    node->children = count ? nodes[0] : NULL;
}

static void build(struct tree *tree)
{
    const struct tp_compare_calls *calls = tree->input->calls;
    struct leaf *leaves =
        tp_fig_alloc(tree->fig, calls->count + 1, sizeof *leaves);
    size_t count = 0;
    tree->root = tp_fig_alloc(tree->fig, 1, sizeof *tree->root);
    if (tree->fig->failed)
        return;
    clear_cells(tree->root->cells);
    for (size_t i = 0; i < calls->count; i++)
        if (tp_compare_is_judged(calls->rows[i].name) && calls->rows[i].matched)
            leaves[count++] = (struct leaf){
                path_of(tree->fig, tree->input, &calls->rows[i]), i};
    if (count)
        qsort(leaves, count, sizeof *leaves, compare_leaves);
    for (size_t i = 0; i < count && !tree->fig->failed; i++)
        add_call(tree, &leaves[i]);
    sort_children(tree, tree->root);
    make_groups(tree, tree->root, false);
    make_groups(tree, tree->root, true);
}

/* --- showing -------------------------------------------------------------- */

static double worst_of(const struct tree *tree, const struct group *group)
{
    double worst = -1;
    for (int i = 0; i < CELLS; i++)
        worst = fmax(worst, value_of(tree, &group->node->cells[i]));
    return worst;
}

/* The worst `most` groups of a node, worst first; earlier ones before others
 * that are as bad. */
static void find_worst(const struct tree *tree, const struct group *groups,
                       size_t count, size_t most, size_t *found)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double own = worst_of(tree, &groups[i]);
        size_t at = kept < most ? kept++ : most;
        for (; at > 0 && worst_of(tree, &groups[found[at - 1]]) < own; at--)
            if (at < most)
                found[at] = found[at - 1];
        if (at < most)
            found[at] = i;
    }
}

static bool is_among(const size_t *found, size_t most, size_t which)
{
    for (size_t i = 0; i < most; i++)
        if (found[i] == which)
            return true;
    return false;
}

static void add_row(struct tree *tree, const struct cell *cells, int depth,
                    const char *name)
{
    if (tree->count < ROWS) {
        struct row *row = &tree->rows[tree->count];
        row->label = tp_fig_text(tree->fig, "%*s%s", INDENT * depth, "", name);
        memcpy(row->cells, cells, sizeof row->cells);
    }
    tree->count++;
}

/* Goes down where nothing branches; the name of all of that, which is in one
 * text: the call that made the one made the other. */
static const struct node *joined(struct tree *tree, const struct node *node,
                                 const char **name)
{
    const char *at = node->name;
    while (!node->own && node->child_count == 1)
        node = node->children; /* its name follows in the same path */
    *name = tp_fig_text(tree->fig, "%.*s",
                        (int)(node->name + node->length - at < LABEL
                                  ? node->name + node->length - at
                                  : LABEL),
                        at);
    return node;
}

static void show(struct tree *tree, const struct node *node, int depth,
                 const struct how *how);

static void show_group(struct tree *tree, const struct group *group, int depth,
                       const struct how *how)
{
    const char *name = "";
    const struct node *node = group->node;
    if (group->count == 1)
        node = joined(tree, group->node, &name);
    else
        name = tp_fig_text(tree->fig, "%.*s to %.*s (%zu alike)",
                           (int)group->first->length, group->first->name,
                           (int)group->last->length, group->last->name,
                           group->count);
    if (depth + 1 >= how->depth && node->child_count)
        name = tp_fig_text(tree->fig, "%s ...", name);
    add_row(tree, group->node->cells, depth, name);
    if (depth + 1 < how->depth)
        show(tree, node, depth + 1, how);
}

static void show(struct tree *tree, const struct node *node, int depth,
                 const struct how *how)
{
    const struct group *groups = node->groups[how->loose];
    const size_t count = node->group_counts[how->loose];
    const bool all = count <= how->children;
    const size_t most = how->children - 1; /* and a row for the others */
    size_t found[CHILDREN] = {0}, left = 0;
    struct cell rest[CELLS];
    clear_cells(rest);
    if (!all)
        find_worst(tree, groups, count, most, found);
    for (size_t i = 0; i < count && tree->count <= ROWS; i++) {
        if (all || is_among(found, most, i)) {
            show_group(tree, &groups[i], depth, how);
            continue;
        }
        left += groups[i].count;
        merge_cells(rest, groups[i].node->cells);
    }
    if (left)
        add_row(tree, rest, depth, tp_fig_text(tree->fig, "%zu others", left));
}

/* Shows as much as has a place. */
static void choose(struct tree *tree)
{
    static const size_t children[] = {SIZE_MAX, CHILDREN, 12, 8, 6, 5, 4, 3, 2};
    for (int depth = DEEPEST; depth > 0; depth--)
        for (size_t i = 0; i < sizeof children / sizeof *children; i++)
            for (int loose = 0; loose < 2; loose++) {
                const struct how how = {loose, children[i], depth};
                tree->count = 0;
                show(tree, tree->root, 0, &how);
                if (tree->count <= ROWS)
                    return;
            }
}

/* --- the panel ------------------------------------------------------------ */

static void draw(struct tree *tree)
{
    static const struct tp_tic columns[] = {{0, "forward, arguments"},
                                            {1, "forward, results"},
                                            {2, "backward, arguments"},
                                            {3, "backward, results"}};
    struct tp_fig *fig = tree->fig;
    const double infinite = tp_compare_fig_infinite(tree->input->calls);
    const char **names = tp_fig_alloc(fig, ROWS, sizeof *names);
    double *values = tp_fig_alloc(fig, CELLS * ROWS, sizeof *values);
    bool seen = false;
    if (fig->failed)
        return;
    for (size_t i = 0; i < tree->count; i++) {
        names[i] = tree->rows[i].label;
        for (int k = 0; k < CELLS; k++) {
            const double value = value_of(tree, &tree->rows[i].cells[k]);
            values[CELLS * i + k] = isinf(value) ? infinite : value;
            seen = seen || isinf(value);
        }
    }
    struct tp_matrix matrix = {.x = {.label = "pass, place [name]",
                                     .tics = columns,
                                     .tic_count = CELLS},
                               .y = tp_fig_named_rows(fig, names, tree->count),
                               .columns = CELLS,
                               .rows = tree->count,
                               .values = values};
    matrix.y.tree = true;
    struct tp_axis colour = {.label = "largest relative error [1, log10]",
                             .scale = TP_SCALE_LOG10};
    if (tree->checksums)
        colour = (struct tp_axis){.label = "rows with another checksum [share]",
                                  .limited = true,
                                  .max = 1};
    tp_fig_matrix(
        fig,
        tp_fig_text(fig,
                    "the worst of each branch; white: equal, grey: nothing "
                    "compared%s",
                    seen ? ", top of the scale: infinite" : ""),
        &matrix, colour, TP_PALETTE_MAGNITUDE);
}

void tp_compare_fig_tree(struct tp_fig *fig,
                         const struct tp_compare_figure_input *input)
{
    struct tree tree = {.fig = fig,
                        .input = input,
                        .checksums = input->comparison->mode == TP_COMPARE_MD5};
    build(&tree);
    if (fig->failed)
        return;
    choose(&tree);
    if (tree.count && tree.count <= ROWS)
        draw(&tree);
}
