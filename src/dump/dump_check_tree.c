/* SPDX-License-Identifier: MIT */
/*
 * construct.json as a tree: from each node up until the top, or a node that was
 * seen before. One that was seen on the same way closes a circle. Each node is
 * passed once, and found by bisection: n log n.
 */
#include <stdlib.h>
#include <string.h>

#include "dump/dump_checks.h"

static enum tp_status add_circle(const struct tp_dump_checker *checker,
                                 const struct tp_dump_place *place,
                                 const struct tp_dump_node *node,
                                 struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status =
        tp_dump_finding_add(checker->findings, TP_CHECK_TREE,
                            TP_SEVERITY_MEDIUM, place, &finding, err);
    if (status != TP_OK)
        return status;
    finding->name = tp_dump_finding_text(checker->findings, "%s", node->name);
    finding->expected = "a module above it";
    finding->found = "itself";
    finding->evidence = tp_dump_finding_text(
        checker->findings,
        "In construct.json, the parents of %s lead back to it, by %s.",
        node->name, node->parent);
    finding->suggestion =
        "No program writes that: the file was changed. Copy it again.";
    return TP_OK;
}

static enum tp_status add_no_parent(const struct tp_dump_checker *checker,
                                    const struct tp_dump_place *place,
                                    const struct tp_dump_node *node,
                                    struct tp_error *err)
{
    struct tp_dump_finding *finding;
    enum tp_status status =
        tp_dump_finding_add(checker->findings, TP_CHECK_TREE, TP_SEVERITY_LOW,
                            place, &finding, err);
    if (status != TP_OK)
        return status;
    finding->name = tp_dump_finding_text(checker->findings, "%s", node->name);
    finding->expected =
        tp_dump_finding_text(checker->findings, "%s", node->parent);
    finding->found = "no such node";
    finding->evidence = tp_dump_finding_text(
        checker->findings,
        "construct.json names %s as its parent, and has no such node.",
        node->parent);
    finding->suggestion = "The module was not dumped, or the file is cut.";
    return TP_OK;
}

/* Walks over the nodes of a place. */
struct walk {
    const struct tp_dump_checker *checker;
    const struct tp_dump_place *place;
    size_t *seen; /* [node_count]: by which way; 0: not yet                */
};

/* Names that stand for no module (mix of msprobe 8.3). */
static bool is_stand_in(const char *parent)
{
    return !strcmp(parent, "optimizer") || !strcmp(parent, "clip_grad");
}

static enum tp_status walk_up(struct walk *walk, size_t way,
                              struct tp_error *err)
{
    const struct tp_dump_place *place = walk->place;
    const struct tp_dump_node *node = &place->nodes[way - 1], *next;
    for (;; node = next) {
        size_t *seen = &walk->seen[node - place->nodes];
        if (*seen == way)
            return add_circle(walk->checker, place, node, err);
        if (*seen)
            return TP_OK;
        *seen = way;
        if (!*node->parent)
            return TP_OK;
        next = tp_dump_node_of(place, node->parent);
        if (!next)
            return is_stand_in(node->parent)
                       ? TP_OK
                       : add_no_parent(walk->checker, place, node, err);
    }
}

enum tp_status tp_dump_check_tree(const struct tp_dump_checker *checker,
                                  const struct tp_dump_place *place,
                                  struct tp_error *err)
{
    struct walk walk = {checker, place, NULL};
    enum tp_status status = TP_OK;
    if (place->node_count == 0)
        return TP_OK;
    walk.seen = calloc(place->node_count, sizeof *walk.seen);
    if (!walk.seen)
        return tp_fail_memory(err);
    for (size_t i = 0; i < place->node_count && status == TP_OK; i++)
        status = walk_up(&walk, i + 1, err);
    free(walk.seen);
    return status;
}
