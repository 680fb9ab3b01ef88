/* SPDX-License-Identifier: MIT */
/*
 * Labels of a dump. Two sources speak: the dict "metadata" of the payload and
 * the name of the file, and of the name what follows from a convention weighs
 * more than what a word or a directory hints at. Fields are filled in that
 * order, and where the first two disagree the metadata holds and a sentence
 * says so: files are renamed, payloads are not. The format only answers
 * questions by name, in plain values, so that one written by another tool
 * needs no code here. The fields stand in one table, so that one loop serves
 * them all. Cost: some comparisons of short texts for each file.
 */
#include "formats/tensor_saver.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "formats/file_name.h"

/* SGLang's name of a tensor; that of a gradient begins with "grad__". */
#define TENSOR_NAME "meta.name"

/* The fields of a label, so that one loop serves them all. */
static const struct field {
    const char *name;
    const char *dumper; /* what the dumper of SGLang calls it; or NULL */
    bool is_text;
    bool only_name; /* never taken from metadata */
    size_t offset;
} fields[] = {
    {"layer_type", NULL, true, false, offsetof(struct tp_label, layer_type)},
    {"layer_idx", "meta.layer_id", false, false,
     offsetof(struct tp_label, layer_idx)},
    {"operation", NULL, true, false, offsetof(struct tp_label, operation)},
    {"phase", NULL, true, false, offsetof(struct tp_label, phase)},
    {"component", NULL, true, false, offsetof(struct tp_label, component)},
    {"quant_type", NULL, true, false, offsetof(struct tp_label, quant_type)},
    {"tensor_name", TENSOR_NAME, true, false,
     offsetof(struct tp_label, tensor_name)},
    {"rank", "meta.rank", false, false, offsetof(struct tp_label, rank)},
    {"sample_idx", NULL, false, false, offsetof(struct tp_label, sample_idx)},
    {"group_idx", NULL, false, false, offsetof(struct tp_label, group_idx)},
    {"iteration", "meta.step", false, false,
     offsetof(struct tp_label, iteration)},
    {"counter", "meta.dump_index", false, true,
     offsetof(struct tp_label, counter)},
    {"timestamp", NULL, true, true, offsetof(struct tp_label, timestamp)},
    {"batch_size", NULL, false, false, offsetof(struct tp_label, batch_size)},
};

enum { FIELD_COUNT = sizeof fields / sizeof fields[0] };

/* What a checkpoint calls its step, the surest name first; an epoch stands for
 * it where neither payload nor name say one. */
static const char *const steps[] = {"global_step", "global_steps", "iteration",
                                    "iter_num",    "step",         "epoch"};

enum { STEP_COUNT = sizeof steps / sizeof steps[0], EPOCH = STEP_COUNT - 1 };

static const char **text_field(struct tp_label *label, size_t i)
{
    return (const char **)(void *)((char *)label + fields[i].offset);
}

static int64_t *number_field(struct tp_label *label, size_t i)
{
    return (int64_t *)(void *)((char *)label + fields[i].offset);
}

static bool is_absent(struct tp_label *label, size_t i)
{
    return fields[i].is_text ? !**text_field(label, i)
                             : *number_field(label, i) < 0;
}

static bool is_equal(struct tp_label *a, struct tp_label *b, size_t i)
{
    return fields[i].is_text ? strcmp(*text_field(a, i), *text_field(b, i)) == 0
                             : *number_field(a, i) == *number_field(b, i);
}

/* Fills what is absent in `label`. */
static void fill(struct tp_label *label, struct tp_label *from)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!is_absent(label, i))
            continue;
        if (fields[i].is_text)
            *text_field(label, i) = *text_field(from, i);
        else
            *number_field(label, i) = *number_field(from, i);
    }
}

static void add_value(struct tp_text *text, struct tp_label *label, size_t i)
{
    if (fields[i].is_text)
        tp_text_printable(text, *text_field(label, i));
    else
        tp_text_add(text, "%lld", (long long)*number_field(label, i));
}

/* The sentence about a disagreement; "" when there is none. */
static const char *word_conflict(struct tp_label *metadata,
                                 struct tp_label *name, struct tp_arena *arena)
{
    struct tp_text text = {0};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (is_absent(metadata, i) || is_absent(name, i) ||
            is_equal(metadata, name, i))
            continue;
        tp_text_add(&text, "%s%s is ", text.length ? "; " : "", fields[i].name);
        add_value(&text, metadata, i);
        tp_text_add(&text, " in the metadata, ");
        add_value(&text, name, i);
        tp_text_add(&text, " in the file name");
    }
    const char *sentence =
        text.length || text.failed
            ? tp_arena_text(arena, tp_text_get(&text), text.length)
            : "";
    if (text.failed)
        sentence = NULL;
    tp_text_clear(&text);
    return sentence;
}

/* "unknown" is the saver's default where its caller did not say. */
static void drop_unknown(struct tp_label *label)
{
    if (strcmp(label->phase, "unknown") == 0)
        label->phase = "";
    if (strcmp(label->component, "unknown") == 0)
        label->component = "";
}

enum tp_status tp_label_from_name(const char *path, struct tp_arena *arena,
                                  struct tp_label *label, struct tp_error *err)
{
    struct tp_file_name name;
    enum tp_status status = tp_file_name_parse(path, arena, &name, err);
    if (status != TP_OK)
        return status;
    drop_unknown(&name.claims);
    *label = name.claims;
    fill(label, &name.hints);
    if (label->iteration < 0)
        label->iteration = name.epoch;
    tp_label_classify(label);
    return TP_OK;
}

enum tp_status tp_label_complete(struct tp_label *label, const char *path,
                                 struct tp_arena *arena, const char **conflict,
                                 bool *labelled, struct tp_error *err)
{
    struct tp_file_name name;
    enum tp_status status = tp_file_name_parse(path, arena, &name, err);
    if (status != TP_OK)
        return status;
    drop_unknown(&name.claims);
    *conflict = word_conflict(label, &name.claims, arena);
    if (!*conflict) {
        *conflict = "";
        return tp_fail_memory(err);
    }
    fill(label, &name.claims);
    *labelled = *label->tensor_name || *label->layer_type || *label->operation;
    fill(label, &name.hints);
    if (label->iteration < 0)
        label->iteration = name.epoch;
    tp_label_classify(label);
    return TP_OK;
}

size_t tp_label_ask(struct tp_metadata metadata[TP_METADATA_MAX])
{
    size_t count = 0;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!fields[i].only_name)
            metadata[count++] =
                (struct tp_metadata){.name = fields[i].name, .number = -1};
        if (fields[i].dumper)
            metadata[count++] =
                (struct tp_metadata){.name = fields[i].dumper, .number = -1};
    }
    for (size_t i = 0; i < STEP_COUNT; i++)
        metadata[count++] =
            (struct tp_metadata){.name = steps[i], .top = true, .number = -1};
    return count;
}

/* Sets field `i` to what was answered, if it was. */
static void answer_field(struct tp_label *label, size_t i,
                         const struct tp_metadata *answer)
{
    if (!fields[i].is_text)
        *number_field(label, i) =
            answer->text ? tp_digits_value(answer->text, answer->length)
                         : answer->number;
    else if (answer->text)
        *text_field(label, i) = answer->text;
}

/* Whether an answer is about field `i`; metadata come before a dumper's. */
static bool is_about(struct tp_label *label, size_t i,
                     const struct tp_metadata *answer)
{
    if (answer->top)
        return false;
    if (strcmp(fields[i].name, answer->name) == 0)
        return true;
    return fields[i].dumper && strcmp(fields[i].dumper, answer->name) == 0 &&
           is_absent(label, i);
}

/* What the payload itself has of a name; -1: no number. */
static int64_t number_on_top(const struct tp_metadata *metadata, size_t count,
                             const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (metadata[i].top && !strcmp(metadata[i].name, name))
            return metadata[i].text
                       ? tp_digits_value(metadata[i].text, metadata[i].length)
                       : metadata[i].number;
    }
    return -1;
}

void tp_label_from_metadata(const struct tp_metadata *metadata, size_t count,
                            struct tp_label *label)
{
    *label = (struct tp_label)TP_LABEL_NONE;
    for (size_t i = 0; i < count; i++) {
        if (!metadata[i].text && metadata[i].number == -1)
            continue; /* not answered */
        for (size_t field = 0; field < FIELD_COUNT; field++) {
            if (is_about(label, field, &metadata[i]))
                answer_field(label, field, &metadata[i]);
        }
        if (strcmp(metadata[i].name, TENSOR_NAME) == 0 && metadata[i].text &&
            strncmp(metadata[i].text, "grad__", 6) == 0 && !*label->operation)
            label->operation = "backward";
    }
    for (size_t i = 0; i < EPOCH && label->iteration < 0; i++)
        label->iteration = number_on_top(metadata, count, steps[i]);
    drop_unknown(label);
}

int64_t tp_label_epoch(const struct tp_metadata *metadata, size_t count)
{
    return number_on_top(metadata, count, steps[EPOCH]);
}
