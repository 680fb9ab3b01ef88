/* SPDX-License-Identifier: MIT */
/*
 * What the scripts of a package tell of each other. A loss stands in one file,
 * the loop that calls it in another, and whether that one has autocast decides
 * what the loss costs. So each script notes a few words it has, and behind the
 * last one findings are lowered where the package as a whole shows that what
 * they warn of is not there. No word is evidence for a finding, and a word that
 * may stand for mixed precision, in whatever way, keeps it as it is.
 *
 * Alternative: to follow imports and calls from file to file, which needs all
 * trees at once. Cost: a look at each word of a script.
 */
#include "check/check_package.h"

#include <stdlib.h>
#include <string.h>

#include "check/check_tells.h"

/* What lowers the findings of a rule: by what the package tells, and the file
 * itself. */
static bool trains_in_fp32(unsigned package, unsigned file)
{
    (void)file;
    return package & TP_TELLS_BACKWARD && !(package & TP_TELLS_MIXED);
}

/* It loads weights and uses them, and has nothing that changes them. */
static bool only_infers(unsigned package, unsigned file)
{
    (void)file;
    return package & TP_TELLS_INFERS && package & TP_TELLS_LOADS &&
           !(package & TP_TELLS_TRAINS);
}

/* It has nothing by which anything is trained, not even a loss or a word. */
static bool trains_nowhere(unsigned package, unsigned file)
{
    (void)file;
    return !(package & (TP_TELLS_TRAINS | TP_TELLS_BACKWARD | TP_TELLS_LOSS));
}

/* Nor a network, which others may train. */
static bool has_no_network(unsigned package, unsigned file)
{
    return trains_nowhere(package, file) && !(package & TP_TELLS_MODULE);
}

/* Without a backward pass there is no gradient to clip. */
static bool has_no_backward(unsigned package, unsigned file)
{
    (void)file;
    return !(package & TP_TELLS_BACKWARD);
}

/* One script has autocast and asks for the name of this loss, but has no such
 * loss: it leaves autocast out then. */
static bool chooses_by_bce(unsigned package, unsigned file)
{
    (void)file;
    return package & TP_TELLS_ASKS_BCE;
}

/* Autocast runs softmax in fp32; a script that has it itself is judged by
 * that. */
static bool trains_under_autocast(unsigned package, unsigned file)
{
    return package & TP_TELLS_AUTOCAST && !(file & TP_TELLS_AUTOCAST);
}

static const struct {
    const char *rule;
    bool (*lowers)(unsigned package, unsigned file);
} evidence[] = {{"bce", trains_in_fp32},
                {"bce", only_infers},
                {"half_call", only_infers},
                {"to_half", only_infers},
                {"bce", chooses_by_bce},
                {"softmax_dtype", trains_under_autocast},
                {"default_dtype_half", trains_nowhere},
                {"softmax_before_cross_entropy", trains_nowhere},
                {"sigmoid_before_bce_with_logits", trains_nowhere},
                {"nll_without_log", trains_nowhere},
                {"bce", trains_nowhere},
                {"matmul_medium", trains_nowhere},
                {"log_softmax", has_no_network},
                {"log_sigmoid", has_no_network},
                {"exp_without_max", has_no_network},
                {"clip_after_step", has_no_backward}};

static void lower(struct tp_check_file *file, unsigned package)
{
    for (size_t i = 0; i < file->findings.count; i++) {
        struct tp_check_finding *at = &file->findings.at[i];
        for (size_t j = 0; j < sizeof evidence / sizeof *evidence; j++) {
            if (at->severity > TP_SEVERITY_LOW &&
                !strcmp(at->rule->id, evidence[j].rule) &&
                evidence[j].lowers(package, file->tells))
                at->severity = TP_SEVERITY_LOW;
        }
    }
}

bool tp_package_lower(struct tp_check_file *files, size_t file_count)
{
    size_t count = 0;
    for (size_t i = 0; i < file_count; i++)
        count = files[i].root >= count ? files[i].root + 1 : count;
    unsigned *packages = calloc(count + 1, sizeof *packages);
    if (!packages)
        return false;
    for (size_t i = 0; i < file_count; i++) {
        const struct tp_check_file *file = &files[i];
        unsigned tells = file->tells;
        if (!(tells & TP_TELLS_AUTOCAST) || tells & TP_TELLS_BCE)
            tells &= ~(unsigned)TP_TELLS_ASKS_BCE;
        packages[file->root] |= tells;
    }
    for (size_t i = 0; i < file_count; i++)
        lower(&files[i], packages[files[i].root]);
    free(packages);
    return true;
}
