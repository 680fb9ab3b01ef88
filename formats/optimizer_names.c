/* SPDX-License-Identifier: MIT */
/*
 * Names for the numbers of an optimizer's state. torch numbers parameters by
 * the order in which its groups list them, and a group lists them in the order
 * of the model; only since 2025 may their names be saved, too. Without them:
 * states and parameters are sorted by shape, then by place, and the k-th of
 * a shape is the k-th of that shape. This holds for one group, and for groups
 * by dimensions (decay or not), as long as all of one shape are in one group;
 * where a group would then not follow the model's order, or any count differs,
 * nothing is named: a wrong name is worse than a number. Parameters that share
 * their values (tied weights) count once. Cost: two sorts.
 */
#include "formats/optimizer_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/search.h"
#include "base/text.h"
#include "formats/param_name.h"

/* A parameter of the model, or one that a state is of. */
struct item {
    const struct tp_tensor *tensor; /* NULL: none seen of this number       */
    size_t place;                   /* in the file; in the optimizer's list */
    uint32_t group;
};

/* A number of a parameter, and its place in the optimizer's list. */
struct numbered {
    int64_t number;
    size_t place;
};

struct namer {
    struct tp_tensor_file *file;
    const struct tp_optimizer *optimizer;
    struct numbered *numbers;   /* [optimizer->count] sorted */
    struct item *state, *model; /* [optimizer->count], [tensor_count] */
    size_t model_count;
};

/* --- states -------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    int result = tp_order_int64(a->number, b->number);
    return result ? result : tp_order_size(a->place, b->place);
}

static void sort_numbers(struct namer *n)
{
    for (size_t i = 0; i < n->optimizer->count; i++)
        n->numbers[i] = (struct numbered){n->optimizer->number[i], i};
    qsort(n->numbers, n->optimizer->count, sizeof *n->numbers, compare_numbers);
}

/* The place of a number in the optimizer's list; its count: it is not there. */
static size_t find_number(const struct namer *n, int64_t number)
{
    size_t count = n->optimizer->count, at;
    TP_PARTITION_POINT(at, count, n->numbers[at].number < number);
    return at < count && n->numbers[at].number == number ? n->numbers[at].place
                                                         : count;
}

/* The place in the list of the parameter a tensor is the state of. */
static size_t parameter_of(const struct namer *n, const char *path)
{
    size_t length = strlen(n->optimizer->path), prefix;
    int64_t number = tp_param_number(path, &prefix);
    bool own = number >= 0 && prefix == length + (length > 0) &&
               !memcmp(path, n->optimizer->path, length);
    return own ? find_number(n, number) : n->optimizer->count;
}

static bool is_step(const char *path)
{
    const char *last = strrchr(path, '.');
    return last && !strcmp(last, ".step");
}

/* One tensor for each number: moments have the parameter's shape. */
static void find_states(struct namer *n)
{
    for (size_t i = 0; i < n->optimizer->count; i++)
        n->state[i] = (struct item){NULL, i, n->optimizer->group[i]};
    for (size_t i = 0; i < n->file->tensor_count; i++) {
        const struct tp_tensor *tensor = &n->file->tensors[i];
        size_t place = parameter_of(n, tensor->path);
        if (place < n->optimizer->count && !n->state[place].tensor &&
            !is_step(tensor->path))
            n->state[place].tensor = tensor;
    }
}

/* --- the model ------------------------------------------------------------ */

static int compare_values(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    uintptr_t x = (uintptr_t)a->tensor->storage;
    uintptr_t y = (uintptr_t)b->tensor->storage;
    if (x != y)
        return x < y ? -1 : 1;
    int result = tp_order_int64(a->tensor->offset, b->tensor->offset);
    return result ? result : tp_order_size(a->place, b->place);
}

static int compare_places(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    return tp_order_size(a->place, b->place);
}

/* What is learned, each once, in payload order. */
static void find_model(struct namer *n)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < n->file->tensor_count; i++) {
        const struct tp_tensor *tensor = &n->file->tensors[i];
        if (tp_param_is_learned(tensor->path))
            n->model[count++] = (struct item){tensor, i, 0};
    }
    qsort(n->model, count, sizeof *n->model, compare_values);
    for (size_t i = 0; i < count; i++) {
        const struct tp_tensor *now = n->model[i].tensor;
        const struct tp_tensor *last = kept ? n->model[kept - 1].tensor : NULL;
        bool tied = last && now->storage && now->storage == last->storage &&
                    now->offset == last->offset && now->numel == last->numel;
        if (!tied)
            n->model[kept++] = n->model[i];
    }
    qsort(n->model, kept, sizeof *n->model, compare_places);
    n->model_count = kept;
}

/* --- one to one ------------------------------------------------------------
 */

static int compare_shapes(const struct tp_tensor *a, const struct tp_tensor *b)
{
    int result = tp_order_int64(a->ndim, b->ndim);
    for (int i = 0; i < a->ndim && result == 0; i++)
        result = tp_order_int64(a->shape[i], b->shape[i]);
    return result;
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int result = compare_shapes(a->tensor, b->tensor);
    return result ? result : tp_order_size(a->place, b->place);
}

/* Whether the states, in their order, are of the parameters `model` (place of
 * each in the file), and each group follows the model's order. */
static bool in_order(const struct namer *n, const size_t *model)
{
    size_t before = 0;
    for (size_t i = 0; i < n->optimizer->count; i++) {
        bool same =
            i > 0 && n->optimizer->group[i] == n->optimizer->group[i - 1];
        if (same && model[i] <= before)
            return false;
        before = model[i];
    }
    return true;
}

/* Whether all of one shape, in sorted states, are of one group. */
static bool one_group_each(const struct namer *n)
{
    for (size_t i = 1; i < n->optimizer->count; i++) {
        const struct item *a = &n->state[i - 1], *b = &n->state[i];
        if (a->group != b->group && !compare_shapes(a->tensor, b->tensor))
            return false;
    }
    return true;
}

/* Sets names[place in the optimizer's list] by shapes, if that is possible in
 * one way only. `model` has room for as many. */
static void match(struct namer *n, const char **names, size_t *model)
{
    size_t count = n->optimizer->count;
    bool agree = n->model_count == count;
    for (size_t i = 0; i < count && agree; i++)
        agree = n->state[i].tensor != NULL;
    if (!agree)
        return;
    qsort(n->state, count, sizeof *n->state, compare_items);
    qsort(n->model, count, sizeof *n->model, compare_items);
    for (size_t i = 0; i < count && agree; i++) {
        agree = !compare_shapes(n->state[i].tensor, n->model[i].tensor);
        model[n->state[i].place] = n->model[i].place;
    }
    if (!agree || !one_group_each(n) || !in_order(n, model))
        return;
    for (size_t i = 0; i < count; i++)
        names[n->state[i].place] = n->model[i].tensor->path;
}

/* --- lists of masters --------------------------------------------------- */

/* "[G][I]" at the end of a path whose beginning is the list beside the
 * optimizer: of "optimizer.optimizer" "optimizer.fp32_from_fp16_params[0][3]",
 * as Megatron-LM saves its float32 parameters, in the order of the groups. */
static bool is_master(const struct namer *n, const char *path, uint32_t *group,
                      size_t *index)
{
    static const char word[] = "fp32_from_fp16_params[";
    const char *own = n->optimizer->path, *dot = strrchr(own, '.');
    const size_t above = dot ? (size_t)(dot + 1 - own) : 0;
    unsigned long numbers[2];
    if (strncmp(path, own, above) != 0 ||
        strncmp(path + above, word, strlen(word)) != 0)
        return false;
    const char *at = path + above + strlen(word);
    for (int i = 0; i < 2; i++) {
        const size_t digits = strspn(at, "0123456789");
        const int64_t number = tp_digits_value(at, digits);
        if (number < 0 || number > UINT32_MAX ||
            strncmp(at + digits, i ? "]" : "][", 2) != 0)
            return false;
        numbers[i] = (unsigned long)number;
        at += digits + 2;
    }
    *group = (uint32_t)numbers[0];
    *index = numbers[1];
    return true;
}

/* The place in the optimizer's list of the parameter a master is of; its count:
 * none. */
static size_t master_of(const struct namer *n, const char *path)
{
    uint32_t group;
    size_t index, count = n->optimizer->count, first;
    if (!is_master(n, path, &group, &index))
        return count;
    TP_PARTITION_POINT(first, count, n->optimizer->group[first] < group);
    return index < count - first && n->optimizer->group[first + index] == group
               ? first + index
               : count;
}

/* Names the masters if each parameter has one of its shape; `model`: its place
 * in the file. */
static void name_masters(struct namer *n, const char *const *names,
                         const size_t *model)
{
    const struct tp_tensor_file *file = n->file;
    size_t found = 0;
    bool agree = true;
    for (size_t i = 0; i < file->tensor_count; i++) {
        const size_t place = master_of(n, file->tensors[i].path);
        if (place == n->optimizer->count)
            continue;
        found++;
        agree =
            agree && names[place] &&
            !compare_shapes(&file->tensors[i], &file->tensors[model[place]]);
    }
    if (!agree || found != n->optimizer->count)
        return;
    for (size_t i = 0; i < file->tensor_count; i++) {
        const size_t place = master_of(n, file->tensors[i].path);
        if (place < n->optimizer->count)
            file->parameters[i] = names[place];
    }
}

/* --- all of it -------------------------------------------------------------
 */

static bool has_names(const struct tp_optimizer *optimizer)
{
    for (size_t i = 0; i < optimizer->count; i++) {
        if (*optimizer->name[i])
            return true;
    }
    return false;
}

static void name_states(struct namer *n, const char **names)
{
    for (size_t i = 0; i < n->file->tensor_count; i++) {
        size_t place = parameter_of(n, n->file->tensors[i].path);
        if (place < n->optimizer->count && names[place] && *names[place])
            n->file->parameters[i] = names[place];
    }
}

static enum tp_status name_one(struct namer *n, struct tp_error *err)
{
    size_t count = n->optimizer->count;
    n->numbers = calloc(count + 1, sizeof *n->numbers);
    n->state = calloc(count + 1, sizeof *n->state);
    n->model = calloc(n->file->tensor_count + 1, sizeof *n->model);
    size_t *model = calloc(count + 1, sizeof *model);
    const char **names = calloc(count + 1, sizeof *names);
    bool there = n->numbers && n->state && n->model && model && names;
    if (there) {
        sort_numbers(n);
        if (has_names(n->optimizer)) {
            memcpy(names, n->optimizer->name, count * sizeof *names);
        } else {
            find_states(n);
            find_model(n);
            match(n, names, model);
            name_masters(n, names, model);
        }
        name_states(n, names);
    }
    free(n->numbers);
    free(n->state);
    free(n->model);
    free(model);
    free(names);
    return there ? TP_OK : tp_fail_memory(err);
}

enum tp_status tp_optimizer_names(struct tp_tensor_file *file,
                                  struct tp_error *err)
{
    file->parameters = tp_arena_alloc(
        &file->arena, (file->tensor_count + 1) * sizeof *file->parameters);
    if (!file->parameters)
        return tp_fail_memory(err);
    for (size_t i = 0; i < file->tensor_count; i++)
        file->parameters[i] = NULL;
    enum tp_status status = TP_OK;
    for (const struct tp_optimizer *optimizer = file->optimizers;
         optimizer && status == TP_OK; optimizer = optimizer->next) {
        struct namer n = {.file = file, .optimizer = optimizer};
        status = name_one(&n, err);
    }
    return status;
}
