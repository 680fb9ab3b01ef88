/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_rebuild.h"

#include <string.h>

#include "base/limits.h"
#include "base/search.h"
#include "data/packed_storage.h"
#include "data/range_storage.h"
#include "data/tensor_axes.h"
#include "formats/torch/torch_numpy.h"

/*
 * From a call in a pickle to a tensor. Nothing is called: a call that is in
 * the list below is taken apart, its arguments are checked and become shape,
 * strides, offset and a storage; any other call makes no tensor. Storages are
 * found by key through the container, or inside the pickle by the call that
 * would load them; what failed once is remembered with its reason, since a
 * thousand views may share a storage. To accept what a class looks like,
 * without a list, would read data under meanings that nobody checked. Cost:
 * a look through the list for each call, a binary search for each tensor.
 */

/* ---- the allow-list --------------------------------------------------- */

/* In order of frequency. Nothing here is called: a row says how to read what
 * the call would have made. */
static const struct tp_torch_global globals[] = {
    {"torch._utils._rebuild_tensor_v2", TP_TORCH_TENSOR, NULL, 0, 6},
    {"collections.OrderedDict", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"torch._utils._rebuild_parameter", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch._utils._rebuild_tensor_v3", TP_TORCH_TENSOR, NULL, 6, 7},
    {"torch._utils._rebuild_tensor", TP_TORCH_TENSOR, NULL, 0, 0},
    {"torch._utils._rebuild_parameter_with_state", TP_TORCH_WRAPPER, NULL, 0,
     0},
    {"torch._tensor._rebuild_from_type_v2", TP_TORCH_FROM_TYPE, NULL, 0, 0},
    {"torch._tensor._rebuild_from_type", TP_TORCH_FROM_TYPE, NULL, 0, 0},
    {"torch.tensor._rebuild_from_type", TP_TORCH_FROM_TYPE, NULL, 0, 0},
    {"torch.nn.parameter.Parameter", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch.nn.parameter.Buffer", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch._utils._rebuild_device_tensor_from_cpu_tensor", TP_TORCH_WRAPPER,
     NULL, 0, 0},

    /* its further arguments tell how the device lays it out */
    {"torch_npu.utils.storage._rebuild_npu_tensor", TP_TORCH_TENSOR, NULL, 0,
     0},
    {"numpy.core.multiarray._reconstruct", TP_TORCH_ARRAY, NULL, 0, 0},
    {"numpy._core.multiarray._reconstruct", TP_TORCH_ARRAY, NULL, 0, 0},
    {"numpy.core.numeric._frombuffer", TP_TORCH_ARRAY, NULL, 0, 0},
    {"numpy._core.numeric._frombuffer", TP_TORCH_ARRAY, NULL, 0, 0},
    /* of an array of numpy */
    {"torch._utils._rebuild_xla_tensor", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch._utils._rebuild_device_tensor_from_numpy", TP_TORCH_WRAPPER, NULL,
     0, 0},

    {"torch.Size", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"collections.defaultdict", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"collections.deque", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"collections.Counter", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"builtins.list", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"builtins.tuple", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"builtins.dict", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"builtins.set", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"builtins.frozenset", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"__builtin__.list", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"__builtin__.tuple", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"__builtin__.dict", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"__builtin__.set", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"__builtin__.frozenset", TP_TORCH_CONTAINER, NULL, 0, 0},
    {"torch.jit._pickle.build_intlist", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch.jit._pickle.build_boollist", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch.jit._pickle.build_doublelist", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch.jit._pickle.build_tensorlist", TP_TORCH_WRAPPER, NULL, 0, 0},
    {"torch.jit._pickle.restore_type_tag", TP_TORCH_WRAPPER, NULL, 0, 0},

    {"torch._utils._rebuild_sparse_tensor", TP_TORCH_UNSUPPORTED,
     "sparse tensors", 0, 0},
    {"torch._utils._rebuild_sparse_csr_tensor", TP_TORCH_UNSUPPORTED,
     "sparse tensors", 0, 0},
    {"torch._utils._rebuild_nested_tensor", TP_TORCH_UNSUPPORTED,
     "nested tensors", 0, 0},
    {"torch._utils._rebuild_meta_tensor_no_storage", TP_TORCH_UNSUPPORTED,
     "meta tensors (they have no values)", 0, 0},
    {"torch._utils._rebuild_mkldnn_tensor", TP_TORCH_UNSUPPORTED,
     "MKL-DNN tensors", 0, 0},
    {"torch._utils._rebuild_wrapper_subclass", TP_TORCH_SHELL,
     "wrapper subclasses (tensors without a storage of their own)", 0, 0},
    {"torch.nested._internal.nested_tensor._rebuild_njt", TP_TORCH_UNSUPPORTED,
     "nested tensors", 0, 0},
    {"torch.jit._pickle.build_tensor_from_id", TP_TORCH_UNSUPPORTED,
     "tensors stored outside the archive", 0, 0},
};

const struct tp_torch_global *tp_torch_global_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof globals / sizeof *globals; i++) {
        if (strcmp(globals[i].name, name) == 0)
            return &globals[i];
    }
    /* results of torch.max, torch.sort, ...: of a tuple and a dict */
    static const struct tp_torch_global results = {
        "torch.return_types", TP_TORCH_WRAPPER, NULL, 0, 0};
    size_t length = strlen(results.name);
    if (name && strncmp(name, results.name, length) == 0 && name[length] == '.')
        return &results;
    return NULL;
}

/* ---- storages inside the pickle --------------------------------------- */

static const char LOAD_FROM_BYTES[] = "torch.storage._load_from_bytes";

static const char *called(const struct tp_pickle *pickle, tp_ref ref)
{
    return tp_pickle_kind(pickle, ref) == TP_VALUE_CALL
               ? tp_pickle_callable(pickle, ref)
               : NULL;
}

static bool is_array(const struct tp_pickle *pickle, tp_ref ref)
{
    const char *name = called(pickle, ref);
    if (!name || strncmp(name, "numpy", 5) != 0)
        return false; /* most are torch's, and the list is long */
    const struct tp_torch_global *global = tp_torch_global_find(name);
    return global && global->role == TP_TORCH_ARRAY;
}

static bool is_loaded(const struct tp_pickle *pickle, tp_ref ref)
{
    const char *name = called(pickle, ref);
    return name && strcmp(name, LOAD_FROM_BYTES) == 0;
}

static bool is_nested(const struct tp_pickle *pickle, tp_ref ref)
{
    return is_loaded(pickle, ref) || is_array(pickle, ref);
}

bool tp_torch_is_storage(const struct tp_pickle *pickle, tp_ref ref)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    if (value && value->kind == TP_VALUE_PERSISTENT)
        return tp_pickle_is(
            pickle, tp_pickle_item(pickle, value->u.call.args, 0), "storage");
    return is_loaded(pickle, ref);
}

enum tp_status tp_torch_builder_init(struct tp_torch_builder *builder,
                                     struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    size_t count = 0;
    for (size_t i = 0; i < pickle->count; i++)
        count += is_nested(pickle, (tp_ref)i);
    builder->nested_count = count;
    if (count == 0)
        return TP_OK;
    builder->nested =
        tp_arena_alloc(builder->arena, count * sizeof *builder->nested);
    if (!builder->nested)
        return tp_fail_memory(err);
    count = 0;
    for (size_t i = 0; i < pickle->count; i++) {
        if (is_nested(pickle, (tp_ref)i))
            builder->nested[count++].call = (tp_ref)i;
    }
    return TP_OK;
}

static struct tp_torch_nested *find_nested(
    const struct tp_torch_builder *builder, tp_ref call)
{
    size_t i;
    TP_PARTITION_POINT(i, builder->nested_count,
                       builder->nested[i].call < call);
    return i < builder->nested_count && builder->nested[i].call == call
               ? &builder->nested[i]
               : NULL;
}

/*
 * Before protocol 3 pickle had no byte strings: they are texts of the
 * characters U+0000 to U+00FF, encoded when they are loaded. The bytes are
 * made here; they live in the arena.
 */
static enum tp_status decode_latin1(struct tp_torch_builder *builder,
                                    const struct tp_value_text *text,
                                    struct tp_bytes *bytes,
                                    struct tp_error *err)
{
    const struct tp_bytes *input = &builder->source->bytes;
    if (text->length > TP_LIMIT_PICKLE_BYTES)
        return tp_fail(err, TP_E_LIMIT, (int64_t)text->where,
                       "a byte string in text form is too long");
    unsigned char *made = tp_arena_alloc(builder->arena, text->length + 1);
    if (!made)
        return tp_fail_memory(err);
    enum tp_status status = TP_OK;
    if (text->data)
        memcpy(made, text->data, (size_t)text->length);
    else
        status =
            tp_bytes_read(input, text->where, made, (size_t)text->length, err);
    size_t length = (size_t)text->length, used = 0;
    for (size_t i = 0; status == TP_OK && i < length; i++) {
        if (made[i] < 0x80) {
            made[used++] = made[i];
        } else if ((made[i] == 0xc2 || made[i] == 0xc3) && i + 1 < length) {
            made[used++] = (unsigned char)(made[i] << 6 | (made[i + 1] & 0x3f));
            i++;
        } else {
            status = tp_fail(err, TP_E_DAMAGED, (int64_t)text->where,
                             "a byte string in text form holds other "
                             "characters");
        }
    }
    tp_bytes_view(made, used, bytes);
    return status;
}

/* The bytes of a nested storage: a byte string, or a text to be encoded. */
static enum tp_status nested_bytes(struct tp_torch_builder *builder, tp_ref ref,
                                   struct tp_bytes *bytes,
                                   struct tp_nested_range *range,
                                   struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    const struct tp_value *content = tp_pickle_value(pickle, ref);
    *bytes = builder->source->bytes;
    if (content && content->kind == TP_VALUE_BYTES) {
        range->start = content->u.text.where;
        range->end = range->start + content->u.text.length;
        return TP_OK;
    }
    const char *name = tp_pickle_callable(pickle, ref);
    const struct tp_value *text = NULL;
    range->start = range->end = 0;
    if (content && content->kind == TP_VALUE_CALL && name &&
        (strcmp(name, "__builtin__.bytes") == 0 ||
         strcmp(name, "builtins.bytes") == 0) &&
        tp_pickle_length(pickle, content->u.call.args) == 0)
        return TP_OK; /* no byte at all */
    if (name && strcmp(name, "_codecs.encode") == 0 &&
        content->kind == TP_VALUE_CALL)
        text = tp_pickle_value(pickle,
                               tp_pickle_item(pickle, content->u.call.args, 0));
    if (!text || text->kind != TP_VALUE_STRING)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                       "its elements are no byte string");
    enum tp_status status = decode_latin1(builder, &text->u.text, bytes, err);
    range->start = 0;
    range->end = bytes->size;
    return status;
}

/* Keeps *why, so that a thing that failed is not tried again. */
static const struct tp_error *keep(struct tp_arena *arena,
                                   const struct tp_error *why)
{
    struct tp_error *kept = tp_arena_alloc(arena, sizeof *kept);
    if (kept)
        *kept = *why;
    return kept;
}

static enum tp_status fail_again(const struct tp_error *failure,
                                 struct tp_error *err)
{
    if (err)
        *err = *failure;
    return failure->code;
}

/* The elements of an array, as a range of the pickle's bytes. */
static enum tp_status take_array(struct tp_torch_builder *builder,
                                 const struct tp_nested_range *range,
                                 struct tp_torch_nested *nested,
                                 bool big_endian, struct tp_error *err)
{
    struct tp_range_storage *storage = tp_range_storage_new(
        builder->arena, range->bytes, range->start, range->end - range->start);
    if (!storage)
        return tp_fail_memory(err);
    storage->base.big_endian = big_endian;
    nested->storage = &storage->base;
    return TP_OK;
}

static enum tp_status read_nested(struct tp_torch_builder *builder,
                                  struct tp_torch_nested *nested,
                                  struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    tp_ref args = pickle->values[nested->call].u.call.args;
    struct tp_torch_array array = {.bytes = tp_pickle_item(pickle, args, 0)};
    enum tp_status status = TP_OK;
    nested->array = is_array(pickle, nested->call);
    if (nested->array)
        status = tp_torch_array_read(pickle, nested->call, &array, err);
    nested->dtype = array.type.dtype;
    nested->fortran = array.fortran;
    nested->shape = array.shape;
    struct tp_bytes bytes;
    struct tp_nested_range range = {.bytes = &bytes};
    if (status == TP_OK)
        status = nested_bytes(builder, array.bytes, &bytes, &range, err);
    if (status != TP_OK)
        return status;
    /* Each has bytes of its own, so together they fit into the input; this
     * stops many calls that share one long byte string. */
    builder->nested_bytes += range.end - range.start;
    if (builder->nested_bytes > builder->source->bytes.size)
        return tp_fail(err, TP_E_LIMIT, tp_pickle_offset(pickle, nested->call),
                       "the storages in this pickle share their bytes");
    if (nested->array)
        return take_array(builder, &range, nested, array.type.big_endian, err);
    return builder->source->nested(&range, builder->arena, &nested->storage,
                                   &nested->dtype, err);
}

static enum tp_status nested_storage(struct tp_torch_builder *builder,
                                     struct tp_torch_nested *nested,
                                     struct tp_error *err)
{
    struct tp_error why = {0};
    if (nested->storage)
        return TP_OK;
    if (nested->failure)
        return fail_again(nested->failure, err);
    if (read_nested(builder, nested, &why) == TP_OK)
        return TP_OK;
    nested->failure = keep(builder->arena, &why);
    return fail_again(&why, err);
}

/* ---- tensors ---------------------------------------------------------- */

/*
 * A storage that is a view of another one, (key, offset, numel): elements
 * [offset, offset + numel) of it. Sets where the tensor's offset starts.
 */
static enum tp_status read_view(const struct tp_pickle *pickle,
                                const struct tp_torch_id *id,
                                struct tp_tensor *tensor, struct tp_error *err)
{
    int64_t offset;
    if (!tp_pickle_int(pickle, tp_pickle_item(pickle, id->view, 1), &offset) ||
        offset < 0 || offset > id->numel)
        return tp_fail(err, TP_E_DAMAGED, id->at,
                       "its storage is an impossible view of another one");
    tensor->offset = offset;
    return TP_OK;
}

static enum tp_status named_storage(struct tp_torch_builder *builder,
                                    tp_ref ref, struct tp_tensor *tensor,
                                    struct tp_error *err)
{
    struct tp_torch_source *source = builder->source;
    struct tp_torch_id id;
    enum tp_status status = tp_torch_id_read(builder->pickle, ref, &id, err);
    if (status != TP_OK)
        return status;
    struct tp_torch_entry *entry = tp_torch_table_find(&source->table, &id);
    if (!entry)
        return tp_fail(err, TP_E_DAMAGED, id.at, "its storage is missing");
    if (entry->failure)
        return fail_again(entry->failure, err);
    struct tp_error why = {0};
    if (!entry->storage && source->resolve(source, entry, &why) != TP_OK) {
        entry->failure = keep(builder->arena, &why);
        return fail_again(&why, err);
    }
    tensor->storage = entry->storage;
    tensor->dtype = id.dtype;
    return id.view == TP_REF_NONE
               ? TP_OK
               : read_view(builder->pickle, &id, tensor, err);
}

/* Sets the tensor's storage, and its dtype if the storage has one. */
static enum tp_status read_storage(struct tp_torch_builder *builder, tp_ref ref,
                                   struct tp_tensor *tensor,
                                   struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    if (tp_pickle_kind(pickle, ref) == TP_VALUE_PERSISTENT)
        return named_storage(builder, ref, tensor, err);
    struct tp_torch_nested *nested = find_nested(builder, ref);
    if (!nested) {
        const char *name = tp_pickle_callable(pickle, ref);
        return tp_fail(err, name ? TP_E_UNSUPPORTED : TP_E_DAMAGED,
                       tp_pickle_offset(pickle, ref),
                       "its storage is made by %s, not saved as such",
                       name ? name : "nothing");
    }
    enum tp_status status = nested_storage(builder, nested, err);
    tensor->storage = nested->storage;
    tensor->dtype = nested->dtype;
    return status;
}

enum tp_status tp_torch_dims(const struct tp_pickle *pickle, tp_ref ref,
                             int64_t dims[TP_LIMIT_DIMS], int *count,
                             struct tp_error *err)
{
    const char *name = tp_pickle_kind(pickle, ref) == TP_VALUE_CALL
                           ? tp_pickle_callable(pickle, ref)
                           : NULL;
    if (name && strcmp(name, "torch.Size") == 0)
        ref = tp_pickle_item(pickle, pickle->values[ref].u.call.args, 0);
    enum tp_value_kind kind = tp_pickle_kind(pickle, ref);
    size_t length = tp_pickle_length(pickle, ref);
    if (kind != TP_VALUE_TUPLE && kind != TP_VALUE_LIST)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                       "its size or stride is no tuple");
    if (length > TP_LIMIT_DIMS)
        return tp_fail(err, TP_E_LIMIT, tp_pickle_offset(pickle, ref),
                       "it has %zu dimensions", length);
    for (size_t i = 0; i < length; i++) {
        if (!tp_pickle_int(pickle, tp_pickle_item(pickle, ref, i), &dims[i]))
            return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                           "its size or stride holds no integer at [%zu]", i);
    }
    *count = (int)length;
    return TP_OK;
}

/* Of a dtype with several elements a byte, torch counts bytes, and those of the
 * last axis are shared. Here the elements are counted. */
static enum tp_status unpack(const struct tp_torch_builder *builder,
                             struct tp_tensor_axes *axes,
                             struct tp_tensor *tensor, struct tp_error *err)
{
    const int last = tensor->ndim - 1;
    const int64_t each = 8 / tp_dtype_info(tensor->dtype)->packed;
    if (last < 0 || (axes->stride[last] != 1 && axes->shape[last] > 1) ||
        8 % tp_dtype_info(tensor->dtype)->packed)
        return tp_fail(err, TP_E_UNSUPPORTED, -1,
                       "elements that share a byte do not follow each other");
    bool beyond =
        __builtin_mul_overflow(tensor->offset, each, &tensor->offset) ||
        __builtin_mul_overflow(axes->shape[last], each, &axes->shape[last]);
    axes->stride[last] = 1;
    for (int i = 0; i < last; i++)
        beyond = beyond || __builtin_mul_overflow(axes->stride[i], each,
                                                  &axes->stride[i]);
    if (beyond)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "its elements lie beyond 2^63");
    tensor->storage = tp_packed_storage_new(builder->arena, tensor->storage,
                                            tensor->dtype);
    return tensor->storage ? TP_OK : tp_fail_memory(err);
}

static enum tp_status read_geometry(const struct tp_torch_builder *builder,
                                    tp_ref args, struct tp_tensor *tensor,
                                    struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    struct tp_tensor_axes axes;
    int strides = 0;
    enum tp_status status =
        tp_torch_dims(pickle, tp_pickle_item(pickle, args, 2), axes.shape,
                      &tensor->ndim, err);
    if (status == TP_OK)
        status = tp_torch_dims(pickle, tp_pickle_item(pickle, args, 3),
                               axes.stride, &strides, err);
    if (status != TP_OK)
        return status;
    if (strides != tensor->ndim)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, args),
                       "it has %d dimensions but %d strides", tensor->ndim,
                       strides);
    int64_t offset;
    if (!tp_pickle_int(pickle, tp_pickle_item(pickle, args, 1), &offset))
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, args),
                       "its storage offset is no integer");
    if (offset > INT64_MAX - tensor->offset)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, args),
                       "its storage offset lies beyond 2^63");
    tensor->offset += offset;
    if (tensor->dtype < TP_DTYPE_COUNT &&
        tp_dtype_info(tensor->dtype)->packed) {
        status = unpack(builder, &axes, tensor, err);
        if (status != TP_OK)
            return status;
    }
    tensor->shape = axes.shape;
    tensor->stride = axes.stride;
    return tp_tensor_keep_axes(tensor, builder->arena, err);
}

static enum tp_status read_dtype(const struct tp_pickle *pickle, tp_ref ref,
                                 struct tp_tensor *tensor, struct tp_error *err)
{
    const struct tp_value *value = tp_pickle_value(pickle, ref);
    static const char prefix[] = "torch.";
    if (!value || value->kind != TP_VALUE_GLOBAL ||
        strncmp(value->u.text.data, prefix, strlen(prefix)) != 0)
        return tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                       "its dtype is no torch dtype");
    tensor->dtype = tp_dtype_by_name(value->u.text.data + strlen(prefix));
    if (tensor->dtype == TP_DTYPE_COUNT)
        return tp_fail(err, TP_E_UNSUPPORTED, tp_pickle_offset(pickle, ref),
                       "the dtype %s is not supported", value->u.text.data);
    return TP_OK;
}

static bool flag(const struct tp_pickle *pickle, tp_ref metadata,
                 const char *key)
{
    int64_t set = 0;
    return tp_pickle_int(pickle, tp_pickle_lookup(pickle, metadata, key),
                         &set) &&
           set;
}

/* An array of numpy: the elements of its own bytes, without gaps. */
static enum tp_status rebuild_array(struct tp_torch_builder *builder,
                                    tp_ref call, struct tp_tensor *tensor,
                                    struct tp_error *err)
{
    struct tp_torch_nested *nested = find_nested(builder, call);
    struct tp_tensor_axes axes;
    if (!nested)
        return tp_fail(err, TP_E_DAMAGED, -1, "no array of numpy");
    enum tp_status status = nested_storage(builder, nested, err);
    if (status == TP_OK)
        status = tp_torch_dims(builder->pickle, nested->shape, axes.shape,
                           &tensor->ndim, err);
    if (status != TP_OK)
        return status;
    tensor->storage = nested->storage;
    tensor->dtype = nested->dtype;
    int64_t step = 1;
    for (int i = 0; i < tensor->ndim; i++) {
        int axis = nested->fortran ? i : tensor->ndim - 1 - i;
        axes.stride[axis] = step;
        if (__builtin_mul_overflow(step, axes.shape[axis], &step))
            step = 0; /* its numel overflows, too, or it is empty */
    }
    tensor->shape = axes.shape;
    tensor->stride = axes.stride;
    status = tp_tensor_keep_axes(tensor, builder->arena, err);
    return status == TP_OK ? tp_tensor_check(tensor, err) : status;
}

enum tp_status tp_torch_rebuild(struct tp_torch_builder *builder,
                                const struct tp_torch_global *global,
                                tp_ref args, struct tp_tensor *tensor,
                                struct tp_error *err)
{
    const struct tp_pickle *pickle = builder->pickle;
    memset(tensor, 0, sizeof *tensor);
    if (global->role == TP_TORCH_ARRAY)
        return rebuild_array(builder, args, tensor, err);
    enum tp_status status =
        read_storage(builder, tp_pickle_item(pickle, args, 0), tensor, err);
    if (status == TP_OK && global->dtype)
        status = read_dtype(pickle,
                            tp_pickle_item(pickle, args, (size_t)global->dtype),
                            tensor, err);
    if (status == TP_OK && tensor->dtype == TP_DTYPE_COUNT)
        status = tp_fail(err, TP_E_DAMAGED, tp_pickle_offset(pickle, args),
                         "neither it nor its storage has a dtype");
    if (status == TP_OK)
        status = read_geometry(builder, args, tensor, err);
    if (status != TP_OK)
        return status;
    if (global->metadata) {
        tp_ref metadata =
            tp_pickle_item(pickle, args, (size_t)global->metadata);
        tensor->conjugated = flag(pickle, metadata, "conj");
        tensor->negated = flag(pickle, metadata, "neg");
    }
    return tp_tensor_check(tensor, err);
}
