/* SPDX-License-Identifier: MIT */
/*
 * What a trace shows of how its run was set up. Each answer needs evidence
 * that could have come out otherwise; where there is none, or two pieces
 * disagree, nothing is said.
 *
 *   num_workers  0 when the DataLoader's iterator is the one without workers;
 *                the other iterator does not tell how many there are
 *   pin_memory   by the copy to the device that directly follows a batch: from
 *                pinned or from pageable memory, the same of all batches
 *   amp          true by what GradScaler runs, or by a layer with a cast inside
 *                that runs in half precision, as autocast makes it; false where
 *                layers run on the device and nothing is cast or half
 *   batch_size   the first axis of what enters the first layer (a convolution,
 *                or a linear layer of two axes), if the loss or else the last
 *                layer, and the largest copy to the device, have the same; in
 *                more than half of the steps, others being shorter; where a
 *                linear layer is first, there is a loss or a copy
 *
 * Shapes alone would take frames of a video or tokens for samples. A few walks
 * over the events and one over the operators with inputs; nine bytes an event.
 */
#include "trace/trace_settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "trace/trace_inputs.h"

/* What is known of an event of the host; bits. */
enum mark {
    FROM_PINNED = 1,
    FROM_PAGEABLE = 2,
    TO_DEVICE = 4, /* made a copy to the device itself     */
    CASTS = 8      /* a layer whose inputs are cast inside */
};

/* What the layers of a step say. */
struct step_batch {
    int64_t first_at, last_at; /* starts of layers                    */
    uint32_t first, last;      /* events; TP_NO_EVENT: none           */
    int64_t first_size, last_size, loss_size, copy_size; /* -1        */
    double copied;             /* elements of the largest copy        */
    size_t losses;
    bool linear_first;         /* its rows may be tokens              */
};

struct evidence {
    struct tp_trace *trace;
    uint8_t *marks;   /* [events.count] */
    uint32_t *around; /* [events.count] kinds of an event and all around it */
    uint32_t *root;   /* [events.count] the outermost operator it is in     */
    bool *telling;    /* [texts.count] names whose inputs tell samples      */
    struct step_batch *batches; /* [index.step_count or 1] */
    size_t batch_count;
};

static uint32_t kinds_of(const struct tp_trace *trace, uint32_t event)
{
    return trace->index.kinds[trace->events.name[event]];
}

/* The kinds of all that is around an event. */
static uint32_t kinds_around(const struct evidence *e, uint32_t event)
{
    const uint32_t parent = e->trace->index.parent[event];
    return parent == TP_NO_EVENT ? 0 : e->around[parent];
}

/* Beside the kinds of names: a layer that has a cast in it. */
static const uint32_t LAYER_WITH_CAST = 1u << 31;

/* Parents come before what they contain. */
static void look_around(struct evidence *e)
{
    const struct tp_trace_index *index = &e->trace->index;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i], parent = index->parent[event];
        const uint32_t kinds = kinds_of(e->trace, event);
        const bool is_op =
            e->trace->events.category[event] == TP_EVENT_CPU_OP &&
            !(kinds & TP_NAME_ANNOTATIONS);
        const uint32_t root = parent == TP_NO_EVENT ? TP_NO_EVENT
                                                    : e->root[parent];
        e->around[event] = kinds | kinds_around(e, event) |
                           (e->marks[event] & CASTS ? LAYER_WITH_CAST : 0);
        e->root[event] = root == TP_NO_EVENT && is_op ? event : root;
    }
}

static void say(struct tp_trace *trace, enum tp_setting_id id, int64_t value)
{
    trace->settings[id] = (struct tp_setting){true, value, "trace"};
}

/* --- num_workers -------------------------------------------------------- */

static void find_workers(struct tp_trace *trace)
{
    const struct tp_trace_index *index = &trace->index;
    bool none = false, some = false;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t kinds = kinds_of(trace, index->host[i]);
        none |= (kinds & TP_NAME_NO_WORKERS) != 0;
        some |= (kinds & TP_NAME_WORKERS) != 0;
    }
    if (none && !some)
        say(trace, TP_SETTING_NUM_WORKERS, 0);
}

/* --- pin_memory --------------------------------------------------------- */

static void mark_copies(struct evidence *e)
{
    const struct tp_trace *trace = e->trace;
    for (size_t i = 0; i < trace->index.device_count; i++) {
        const uint32_t event = trace->index.device[i];
        const uint32_t call = trace->index.call[event];
        const char *name =
            tp_events_get(&trace->events, trace->events.name[event]);
        if (trace->events.category[event] != TP_EVENT_MEMCPY ||
            call == TP_NO_EVENT || !strstr(name, "HtoD"))
            continue;
        const uint32_t op = e->root[call];
        if (trace->index.op[event] != TP_NO_EVENT)
            e->marks[trace->index.op[event]] |= TO_DEVICE;
        if (op != TP_NO_EVENT)
            e->marks[op] |= strstr(name, "(Pinned")     ? FROM_PINNED
                            : strstr(name, "(Pageable") ? FROM_PAGEABLE
                                                        : 0;
    }
}

/* The first operator after each batch on the main thread, if it copies it;
 * zeroing gradients may come before. */
static void find_pinned(struct evidence *e)
{
    struct tp_trace *trace = e->trace;
    const struct tp_trace_index *index = &trace->index;
    const struct tp_events *events = &trace->events;
    bool awaited = false;
    int64_t loaded = 0;
    unsigned seen = 0;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i];
        const uint32_t kinds = kinds_of(trace, event);
        if (events->lane[event] != index->main_lane)
            continue;
        if (kinds & (TP_NAME_NO_WORKERS | TP_NAME_WORKERS)) {
            awaited = true;
            loaded = events->start[event] + events->duration[event];
        } else if (awaited && events->start[event] >= loaded &&
                   e->root[event] == event &&
                   !(kinds_around(e, event) & TP_NAME_OPTIMIZER)) {
            awaited = false;
            seen |= kinds & TP_NAME_COPY_OP ? e->marks[event] : 0u;
        }
    }
    seen &= FROM_PINNED | FROM_PAGEABLE;
    if (seen == FROM_PINNED || seen == FROM_PAGEABLE)
        say(trace, TP_SETTING_PIN_MEMORY, seen == FROM_PINNED);
}

/* --- amp ---------------------------------------------------------------- */

/* What the host's events show of autocast. */
struct autocast {
    bool scaler;   /* GradScaler was at work                              */
    bool compiled; /* casts may be in what torch.compile made             */
    bool casts;    /* a layer has one in it                               */
    bool half;     /* a kernel of half precision, or one like it          */
    bool layers;   /* a layer ran on the device                           */
    bool cast_half; /* a layer with a cast ran in half precision          */
};

static void look_at_host(struct evidence *e, struct autocast *seen)
{
    const struct tp_trace *trace = e->trace;
    const struct tp_trace_index *index = &trace->index;
    for (size_t i = 0; i < index->host_count; i++) {
        const uint32_t event = index->host[i], parent = index->parent[event];
        const uint32_t kinds = kinds_of(trace, event);
        seen->scaler |= (kinds & TP_NAME_SCALER) != 0;
        seen->compiled |= (kinds & TP_NAME_COMPILED) != 0;
        if ((kinds & TP_NAME_CAST) && parent != TP_NO_EVENT &&
            (kinds_of(trace, parent) & TP_NAME_LAYER)) {
            e->marks[parent] |= CASTS;
            seen->casts = true;
        }
    }
}

static void look_at_kernel(const struct evidence *e, uint32_t event,
                           struct autocast *seen)
{
    const struct tp_trace *trace = e->trace;
    const uint32_t kinds = kinds_of(trace, event);
    const bool half = (kinds & TP_NAME_HALF) != 0;
    const uint32_t op = e->trace->index.op[event];
    const uint32_t around = op == TP_NO_EVENT ? 0 : e->around[op];
    seen->half |= half;
    seen->compiled |= (kinds & TP_NAME_COMPILED) != 0;
    seen->layers |= (around & TP_NAME_LAYER) != 0;
    /* not the cast's own kernel */
    seen->cast_half |=
        half && (around & LAYER_WITH_CAST) && !(around & TP_NAME_CAST);
}

static void find_amp(const struct evidence *e, const struct autocast *host)
{
    const struct tp_trace_index *index = &e->trace->index;
    struct autocast seen = *host;
    for (size_t i = 0; i < index->device_count; i++) {
        if (e->trace->events.category[index->device[i]] == TP_EVENT_KERNEL)
            look_at_kernel(e, index->device[i], &seen);
    }
    if (seen.scaler || seen.cast_half)
        say(e->trace, TP_SETTING_AMP, true);
    else if (seen.layers && !seen.casts && !seen.half && !seen.compiled)
        say(e->trace, TP_SETTING_AMP, false);
}

/* --- batch_size --------------------------------------------------------- */

/* The step that a moment lies in; of a trace without steps all of it. */
static struct step_batch *batch_at(const struct evidence *e, int64_t at)
{
    const struct tp_trace_index *index = &e->trace->index;
    size_t next;
    if (index->step_count == 0)
        return e->batches;
    TP_PARTITION_POINT(next, index->step_count, index->steps[next].from <= at);
    return next && at < index->steps[next - 1].to ? &e->batches[next - 1]
                                                  : NULL;
}

/* Samples that enter a layer, or -1 where its axes do not tell them. */
static int64_t layer_size(const char *name, const struct tp_op_args *args)
{
    static const struct {
        const char *name;
        int input;
        int64_t axes; /* with the batch; 0: three and more */
    } layers[] = {
        {"aten::conv1d", 0, 3},           {"aten::conv2d", 0, 4},
        {"aten::conv3d", 0, 5},           {"aten::convolution", 0, 0},
        {"aten::conv_transpose1d", 0, 3}, {"aten::conv_transpose2d", 0, 4},
        {"aten::conv_transpose3d", 0, 5}, {"aten::linear", 0, 2},
        {"aten::addmm", 1, 2}};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const struct tp_op_arg *shape = &args->args[layers[i].input];
        if (!strcmp(name, layers[i].name))
            return layers[i].axes
                       ? shape->axes == layers[i].axes ? shape->dims[0] : -1
                   : shape->axes >= 3 ? shape->dims[0]
                                      : -1;
    }
    return -1; /* an embedding: which axis is which is up to the model */
}

static void add_layer(struct step_batch *batch, const struct tp_op_args *args,
                      const struct tp_trace *trace, uint32_t event)
{
    const int64_t at = trace->events.start[event];
    const char *name = tp_events_get(&trace->events, trace->events.name[event]);
    const int64_t size = layer_size(name, args);
    if (batch->first == TP_NO_EVENT || at < batch->first_at) {
        batch->first = event;
        batch->first_at = at;
        batch->first_size = size;
        batch->linear_first = !strstr(name, "conv");
    }
    if (batch->last == TP_NO_EVENT || at > batch->last_at) {
        batch->last = event;
        batch->last_at = at;
        batch->last_size = size;
    }
}

/* Operators whose inputs tell how many samples a step has: layers, losses and
 * copies. */
static bool tells_samples(const char *name)
{
    static const char *const telling[] = {
        "conv1d", "conv2d", "conv3d", "convolution", "conv_transpose1d",
        "conv_transpose2d", "conv_transpose3d", "copy_", "linear", "addmm",
        "embedding", "cross_entropy_loss", "nll_loss", "nll_loss_nd",
        "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss",
        "binary_cross_entropy", "binary_cross_entropy_with_logits"};
    static const char space[] = "aten::";
    const size_t skip = sizeof space - 1;
    if (strncmp(name, space, skip) || !strchr("acelmnsbh", name[skip]))
        return false;
    for (size_t i = 0; i < sizeof telling / sizeof *telling; i++) {
        if (!strcmp(name + skip, telling[i]))
            return true;
    }
    return false;
}

static void add_inputs(struct evidence *e, const struct tp_op_inputs *row)
{
    const struct tp_trace *trace = e->trace;
    const uint32_t event = row->event;
    const int64_t at = trace->events.start[event];
    const uint32_t kinds = kinds_of(trace, event);
    const uint32_t around = kinds_around(e, event);
    const bool copies = kinds & TP_NAME_COPY_OP;
    struct tp_op_args args;
    struct step_batch *batch = batch_at(e, at);
    if (!batch || trace->events.lane[event] != trace->index.main_lane ||
        (around & (TP_NAME_DATALOADER | TP_NAME_BACKWARD | TP_NAME_OPTIMIZER)))
        return;
    if (copies ? !(e->marks[event] & TO_DEVICE)
               : (around & (TP_NAME_LAYER | TP_NAME_LOSS)) != 0)
        return; /* part of what was counted */
    tp_op_args_read(tp_events_get_inputs(&trace->events, row->inputs), &args);
    const struct tp_op_arg *inputs = args.args;
    if (copies) {
        if (inputs[0].axes > 0 && inputs[0].elements > batch->copied) {
            batch->copied = inputs[0].elements;
            batch->copy_size = inputs[0].dims[0];
        }
    } else if (kinds & TP_NAME_LOSS) {
        const bool same =
            inputs[1].axes < 1 || inputs[1].dims[0] == inputs[0].dims[0];
        batch->losses++;
        batch->loss_size = same ? inputs[0].dims[0] : -1;
    } else {
        add_layer(batch, &args, trace, event);
    }
}

/* The samples of a step, or -1 where they are not told, or not by two. */
static int64_t size_of(const struct step_batch *batch)
{
    const int64_t size = batch->first_size;
    if (size < 1 || batch->losses > 1 ||
        (batch->copied > 0 && batch->copy_size != size))
        return -1;
    if (batch->losses)
        return batch->loss_size == size ? size : -1;
    if (batch->linear_first && !(batch->copied > 0))
        return -1;
    return batch->last != batch->first && batch->last_size == size ? size : -1;
}

/* The size of most steps that have layers, no other being larger. */
static void pick_batch(struct evidence *e)
{
    size_t steps = 0, with = 0;
    int64_t most = -1;
    for (size_t i = 0; i < e->batch_count; i++) {
        const int64_t size = size_of(&e->batches[i]);
        steps += e->batches[i].first != TP_NO_EVENT;
        most = size > most ? size : most;
    }
    for (size_t i = 0; i < e->batch_count; i++)
        with += size_of(&e->batches[i]) == most;
    if (most > 0 && 2 * with > steps)
        say(e->trace, TP_SETTING_BATCH_SIZE, most);
}

static enum tp_status find_batch(struct evidence *e, struct tp_error *err)
{
    const struct tp_trace *trace = e->trace;
    e->batch_count = trace->index.step_count ? trace->index.step_count : 1;
    e->batches = calloc(e->batch_count, sizeof *e->batches);
    e->telling = calloc(trace->events.texts.count + 1, sizeof *e->telling);
    if (!e->batches || !e->telling) {
        free(e->batches);
        free(e->telling);
        return tp_fail_memory(err);
    }
    for (size_t i = 0; i < e->batch_count; i++)
        e->batches[i] = (struct step_batch){.first = TP_NO_EVENT,
                                            .last = TP_NO_EVENT,
                                            .first_size = -1,
                                            .last_size = -1,
                                            .loss_size = -1,
                                            .copy_size = -1};
    for (uint32_t i = 0; i < trace->events.texts.count; i++)
        e->telling[i] = tells_samples(tp_events_get(&trace->events, i));
    for (size_t i = 0; i < trace->events.op_input_count; i++) {
        const struct tp_op_inputs *row = &trace->events.op_inputs[i];
        if (e->telling[trace->events.name[row->event]])
            add_inputs(e, row);
    }
    pick_batch(e);
    free(e->batches);
    free(e->telling);
    return TP_OK;
}

/* --- all ---------------------------------------------------------------- */

static enum tp_status find_all(struct evidence *e, struct tp_error *err)
{
    struct autocast seen = {.scaler = false};
    look_at_host(e, &seen);
    look_around(e);
    mark_copies(e);
    find_workers(e->trace);
    find_pinned(e);
    find_amp(e, &seen);
    return find_batch(e, err);
}

enum tp_status tp_trace_settings_make(struct tp_trace *trace,
                                      struct tp_error *err)
{
    const size_t count = trace->events.count + 1;
    struct evidence e = {.trace = trace,
                         .marks = calloc(count, 1),
                         .around = malloc(count * sizeof *e.around),
                         .root = malloc(count * sizeof *e.root)};
    enum tp_status status = TP_OK;
    if (e.marks && e.around && e.root)
        status = find_all(&e, err);
    else
        status = tp_fail_memory(err);
    free(e.marks);
    free(e.around);
    free(e.root);
    for (int i = 0; i < TP_SETTING_COUNT; i++) {
        if (trace->events.settings[i].known) {
            trace->settings[i] = trace->events.settings[i];
            trace->settings[i].source = "metadata";
        }
    }
    return status;
}

struct tp_setting tp_trace_run_setting(const struct tp_trace_run *run,
                                       enum tp_setting_id id)
{
    struct tp_setting all = {.known = false};
    for (size_t i = 0; i < run->trace_count; i++) {
        const struct tp_setting *one = &run->traces[i].settings[id];
        if (!one->known || (i > 0 && one->value != all.value))
            return (struct tp_setting){.known = false};
        all = i > 0 ? all : *one;
    }
    return all;
}

/* Bytes of the folder in a path; 0 without. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash ? 0 : slash == path ? 1 : (size_t)(slash - path);
}

const char *tp_trace_run_folder(const struct tp_trace_run *run,
                                const char *const *inputs, size_t input_count,
                                size_t *length)
{
    const char *first = run->trace_count ? run->traces[0].path : "";
    bool same = run->trace_count > 0;
    *length = folder_length(first);
    for (size_t i = 1; i < run->trace_count; i++)
        same = same && folder_length(run->traces[i].path) == *length &&
               !memcmp(run->traces[i].path, first, *length);
    if (same && *length)
        return first;
    if (!same && input_count != 1)
        return NULL;
    const char *folder = same ? "." : inputs[0];
    *length = strlen(folder);
    while (*length > 1 && folder[*length - 1] == '/')
        --*length;
    return folder;
}
