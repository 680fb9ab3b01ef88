/* SPDX-License-Identifier: MIT */
/*
 * Which tensors are codes, and where their scales are. A layout is one row:
 * endings of the names of codes and scales, their dtypes, and how a code and a
 * scale make a value. Names are looked up in an array sorted by them; the
 * first row that finds codes and scales decides. Sizes of blocks follow from
 * the two shapes, so that no configuration is needed; it is asked for only
 * where codes have no scales. To trust config.json alone would fail on files
 * that were copied without it, and it names no tensor. Cost: a sort of the
 * names, and for each tensor a search for each row whose dtype fits.
 *
 * Sources: DeepSeek-V3 inference/fp8_cast_bf16.py, compressed-tensors
 * 0.20, nvidia-modelopt 0.47 qtensor/nvfp4_tensor.py, gpt-oss torch/weights.py.
 */
#include "formats/value_layouts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/text.h"
#include "data/scaled.h"
#include "formats/model_config.h"

/* Sets of dtypes. */
enum {
    BYTES = 1,  /* uint8                                                   */
    FLOAT8 = 2, /* of 8 bits with a sign                                   */
    WORDS = 4,  /* int32                                                   */
    E4M3 = 8,
    E8M0 = 16,
    WIDE = 32, /* of 16 bits and more, floating                          */
    INT8 = 64
};

static const int64_t of_16[] = {16, 0}, of_32[] = {32, 0},
                     squares[] = {128, 64, 32, 256, 512, 16, 0};

static const struct layout {
    const char *name;
    const char *codes; /* ending of the codes' name; "X" is what is before */
    int codes_dtype;
    const char *scale; /* X and this are the scales                        */
    int scale_dtype;
    const char *factor; /* and this a factor of them; NULL: there is none   */
    enum tp_factor use;
    enum tp_packing packing;
    const char *number; /* NULL: of the codes' dtype                        */
    enum tp_dtype scale_as; /* where bytes are scales                       */
    const int64_t *sizes;   /* of blocks that are tried                     */
    bool grouped; /* the last two axes of the codes are one of the values   */
    bool bare;    /* the values are called after X, not after the codes     */
} layouts[] = {
    {"gpt-oss MXFP4", "_blocks", BYTES, "_scales", BYTES, NULL, 0,
     TP_PACKED_NIBBLES, "e2m1", TP_FLOAT8_E8M0FNU, of_32, true, true},
    {"gpt-oss MXFP4", ".blocks", BYTES, ".scales", BYTES, NULL, 0,
     TP_PACKED_NIBBLES, "e2m1", TP_FLOAT8_E8M0FNU, of_32, true, true},
    {"compressed-tensors NVFP4", "_packed", BYTES, "_scale", E4M3,
     "_global_scale", TP_FACTOR_OVER, TP_PACKED_NIBBLES, "e2m1", TP_DTYPE_COUNT,
     of_16, false, false},
    {"compressed-tensors MXFP4", "_packed", BYTES, "_scale", BYTES | E8M0, NULL,
     0, TP_PACKED_NIBBLES, "e2m1", TP_FLOAT8_E8M0FNU, of_32, false, false},
    {"compressed-tensors pack-quantized", "_packed", WORDS, "_scale", WIDE,
     NULL, 0, TP_PACKED_WORDS, NULL, TP_DTYPE_COUNT, NULL, false, false},
    {"ModelOpt NVFP4", "", BYTES, "_scale", E4M3, "_scale_2", TP_FACTOR_TIMES,
     TP_PACKED_NIBBLES, "e2m1", TP_DTYPE_COUNT, of_16, false, false},
    {"ModelOpt MXFP4", "", BYTES, "_scale", BYTES | E8M0, NULL, 0,
     TP_PACKED_NIBBLES, "e2m1", TP_FLOAT8_E8M0FNU, of_32, false, false},
    {"DeepSeek FP8", "", FLOAT8, "_scale_inv", WIDE | E8M0, NULL, 0,
     TP_PACKED_NOT, NULL, TP_DTYPE_COUNT, squares, false, false},
    {"MXFP8", "", FLOAT8, "_scale", BYTES | E8M0, NULL, 0, TP_PACKED_NOT, NULL,
     TP_FLOAT8_E8M0FNU, of_32, false, false},
    {"FP8 static", "", FLOAT8, "_scale", WIDE, NULL, 0, TP_PACKED_NOT, NULL,
     TP_DTYPE_COUNT, squares, false, false},
    {"compressed-tensors INT8", "", INT8, "_scale", WIDE, NULL, 0,
     TP_PACKED_NOT, NULL, TP_DTYPE_COUNT, NULL, false, false},
};

/* Layouts that are known by name alone. */
static const struct {
    const char *codes, *beside, *who;
} named[] = {
    {".qweight", ".qzeros", "GPTQ or AWQ"},
    {".qweight", ".scales", "GPTQ or AWQ"},
    {".weight", ".weight.absmax", "bitsandbytes"},
    {".W_q", ".meta", "HQQ"},
    {".codes", ".codebooks", "AQLM"},
};

static bool has_dtype(const struct tp_tensor *tensor, int set)
{
    const struct tp_dtype_info *info = tp_dtype_info(tensor->dtype);
    switch (tensor->dtype) {
    case TP_UINT8:
        return set & BYTES;
    case TP_INT8:
        return set & INT8;
    case TP_INT32:
        return set & WORDS;
    case TP_FLOAT8_E8M0FNU:
        return set & E8M0;
    case TP_FLOAT8_E4M3FN:
        return set & (E4M3 | FLOAT8);
    case TP_FLOAT8_E5M2:
    case TP_FLOAT8_E4M3FNUZ:
    case TP_FLOAT8_E5M2FNUZ:
        return set & FLOAT8;
    default:
        return set & WIDE && info->kind == TP_CLASS_FLOAT;
    }
}

/* ---- names ------------------------------------------------------------------
 */

/* Values of one tensor of codes, as it is found. */
struct value {
    size_t codes, scale, factor, shape; /* numbers in the file; none         */
    const struct layout *layout;
    struct tp_scaled *scaled; /* NULL: none could be made                   */
    const char *path;
};

static const size_t none = SIZE_MAX;

struct search {
    struct tp_tensor_file *file;
    size_t *by_name; /* numbers of tensors, sorted by path                  */
    size_t count;    /* of the tensors before any was added                 */
    struct value *values;
    size_t value_count, value_room;
    struct tp_text text;
    struct tp_error *err;
};

struct named_tensor {
    const char *path;
    size_t number;
};

static int compare_names(const void *a, const void *b)
{
    const struct named_tensor *x = a, *y = b;
    int result = strcmp(x->path, y->path);
    return result ? result : (x->number > y->number) - (x->number < y->number);
}

static bool sort_names(struct search *s)
{
    struct named_tensor *names = calloc(s->count + 1, sizeof *names);
    s->by_name = calloc(s->count + 1, sizeof *s->by_name);
    for (size_t i = 0; names && i < s->count; i++)
        names[i] = (struct named_tensor){s->file->tensors[i].path, i};
    if (names)
        qsort(names, s->count, sizeof *names, compare_names);
    for (size_t i = 0; names && s->by_name && i < s->count; i++)
        s->by_name[i] = names[i].number;
    bool sorted = names && s->by_name;
    free(names);
    return sorted;
}

/* The tensor called after the first `length` bytes of `path` and `ending`. */
static size_t find(struct search *s, const char *path, size_t length,
                   const char *ending)
{
    s->text.length = 0;
    tp_text_bytes(&s->text, path, length);
    tp_text_add(&s->text, "%s", ending);
    const char *name = tp_text_get(&s->text);
    const struct tp_tensor *tensors = s->file->tensors;
    size_t i;
    TP_PARTITION_POINT(i, s->count,
                       strcmp(tensors[s->by_name[i]].path, name) < 0);
    return i < s->count && !strcmp(tensors[s->by_name[i]].path, name)
               ? s->by_name[i]
               : none;
}

/* Length of what is before the ending; SIZE_MAX: the path has another. */
static size_t stem_of(const char *path, const char *ending)
{
    size_t whole = strlen(path), tail = strlen(ending);
    return whole >= tail && !strcmp(path + whole - tail, ending) ? whole - tail
                                                                 : SIZE_MAX;
}

/* ---- skips ------------------------------------------------------------------
 */

static enum tp_status add_skip(struct search *s, const char *path,
                               enum tp_status code, const char *reason)
{
    struct tp_error why = {0};
    tp_fail(&why, code, -1, "%s", reason);
    return tp_tensor_file_skip(s->file, path, &why, s->err);
}

static void add_shape(struct tp_text *text, const struct tp_tensor *tensor)
{
    for (int i = 0; i < tensor->ndim; i++)
        tp_text_add(text, "%s%" PRId64, i ? "," : "[", tensor->shape[i]);
    tp_text_add(text, tensor->ndim ? "]" : "[]");
}

/* "codes [4,8] of LAYOUT and scales [3] of NAME disagree: WHY" */
static enum tp_status skip_contradiction(struct search *s,
                                         const struct value *value,
                                         const char *why)
{
    const struct tp_tensor *tensors = s->file->tensors;
    struct tp_text text = {0};
    tp_text_add(&text, "no values of %s: codes ", value->layout->name);
    add_shape(&text, &tensors[value->codes]);
    tp_text_add(&text, " and scales ");
    add_shape(&text, &tensors[value->scale]);
    tp_text_add(&text, " disagree: %s", why);
    enum tp_status status =
        text.failed ? tp_fail_memory(s->err)
                    : add_skip(s, tensors[value->codes].path, TP_E_DAMAGED,
                               tp_text_get(&text));
    tp_text_clear(&text);
    return status;
}

/* ---- descriptions
 * ------------------------------------------------------------- */

/* The two numbers that weight_shape holds. */
static enum tp_status read_shape(const struct tp_tensor *tensor,
                                 int64_t shape[2], struct tp_error *err)
{
    if (tensor->dtype != TP_INT64 || tensor->numel != 2 ||
        tensor->stride[0] != 1 || tensor->ndim != 1)
        return tp_fail(err, TP_E_DAMAGED, -1, "weight_shape is no two int64");
    struct tp_walk walk;
    tp_walk_ordered(tensor, &walk);
    enum tp_status status = tp_walk_read(&walk, 0, 2, shape, NULL, err);
    if (status == TP_OK && (shape[0] < 0 || shape[1] < 1))
        status = tp_fail(err, TP_E_DAMAGED, -1,
                         "weight_shape says [%" PRId64 ",%" PRId64 "]",
                         shape[0], shape[1]);
    return status;
}

/* Bits of a code, of which `columns` fill `words` words: those that tools
 * write first. 0: none. */
static int bits_of(int64_t columns, int64_t words)
{
    static const int bits[] = {4, 8, 2, 3, 5, 6, 7, 1};
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++) {
        int64_t need =
            columns / 32 * bits[i] + (columns % 32 * bits[i] + 31) / 32;
        if (need == words)
            return bits[i];
    }
    return 0;
}

static enum tp_status describe_words(struct search *s,
                                     const struct value *value,
                                     struct tp_scaled *scaled,
                                     struct tp_error *err)
{
    const struct tp_tensor *codes = scaled->codes;
    if (value->shape == none || codes->ndim != 2)
        return tp_fail(err, TP_E_DAMAGED, -1, "no weight_shape is there");
    enum tp_status status =
        read_shape(&s->file->tensors[value->shape], scaled->shape, err);
    if (status != TP_OK)
        return status;
    scaled->ndim = 2;
    scaled->bits = bits_of(scaled->shape[1], codes->shape[1]);
    if (!scaled->bits)
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "%" PRId64 " codes of no number of bits fill %" PRId64
                       " words",
                       scaled->shape[1], codes->shape[1]);
    scaled->bias = 1 << (scaled->bits - 1);
    return TP_OK;
}

static enum tp_status describe_shape(struct search *s,
                                     const struct value *value,
                                     struct tp_scaled *scaled,
                                     struct tp_error *err)
{
    const struct tp_tensor *codes = scaled->codes;
    if (scaled->packing == TP_PACKED_WORDS)
        return describe_words(s, value, scaled, err);
    bool grouped = value->layout->grouped;
    scaled->ndim = codes->ndim - grouped;
    if (scaled->ndim < 1 || scaled->ndim > TP_SCALED_DIMS)
        return tp_fail(err, TP_E_UNSUPPORTED, -1, "codes of %d dimensions",
                       codes->ndim);
    for (int i = 0; i < scaled->ndim; i++)
        scaled->shape[i] = codes->shape[i];
    int64_t *last = &scaled->shape[scaled->ndim - 1];
    int64_t inner = grouped ? codes->shape[codes->ndim - 1] : 1;
    if (scaled->packing == TP_PACKED_NIBBLES)
        inner = inner > INT64_MAX / 2 ? INT64_MAX : 2 * inner;
    if (inner > 0 && *last > INT64_MAX / inner)
        return tp_fail(err, TP_E_DAMAGED, -1, "an impossible shape");
    *last *= inner;
    return TP_OK;
}

/* Groups along a line, of as many columns as divide it evenly. */
static void even_groups(const struct tp_scaled *scaled, int64_t sizes[2])
{
    const struct tp_tensor *scale = scaled->scale.tensor;
    int64_t columns = scaled->shape[scaled->ndim - 1];
    int64_t groups = scale->ndim ? scale->shape[scale->ndim - 1] : 1;
    sizes[0] = groups > 0 && columns % groups == 0 ? columns / groups : 0;
    sizes[1] = 0;
}

static enum tp_status describe(struct search *s, const struct value *value,
                               struct tp_scaled *scaled, struct tp_error *err)
{
    const struct layout *layout = value->layout;
    const struct tp_tensor *tensors = s->file->tensors;
    int64_t even[2];
    scaled->layout = layout->name;
    scaled->codes = &tensors[value->codes];
    scaled->packing = layout->packing;
    scaled->number = layout->number ? tp_number_by_id(layout->number)
                     : layout->packing == TP_PACKED_NOT
                         ? tp_number_by_dtype(scaled->codes->dtype)
                         : NULL;
    scaled->scale.tensor = &tensors[value->scale];
    scaled->zero.dtype = scaled->factor.dtype = TP_DTYPE_COUNT;
    scaled->scale.dtype = scaled->scale.tensor->dtype == TP_UINT8
                              ? layout->scale_as
                              : TP_DTYPE_COUNT;
    enum tp_status status = describe_shape(s, value, scaled, err);
    if (status != TP_OK)
        return status;
    even_groups(scaled, even);
    if (!tp_block_scale_fit(&scaled->scale, scaled,
                            layout->sizes ? layout->sizes : even, false))
        return tp_fail(err, TP_E_DAMAGED, -1,
                       "these are no blocks of the codes");
    if (value->factor != none) {
        scaled->factor.tensor = &tensors[value->factor];
        scaled->factor_use = layout->use;
        if (scaled->factor.tensor->numel != 1 &&
            !tp_block_scale_fit(&scaled->factor, scaled, (const int64_t[]){0},
                                false))
            return tp_fail(err, TP_E_DAMAGED, -1,
                           "the factor of the scales has another shape");
        if (scaled->factor.tensor->numel == 1)
            tp_block_scale_fit(&scaled->factor, scaled, (const int64_t[]){0},
                               false);
    }
    return tp_scaled_check(scaled, err);
}

static const char *value_path(struct search *s, const struct value *value)
{
    const char *path = s->file->tensors[value->codes].path;
    size_t length = value->layout->bare ? stem_of(path, value->layout->codes)
                                        : strlen(path);
    s->text.length = 0;
    tp_text_bytes(&s->text, path, length);
    tp_text_add(&s->text, "#value");
    return tp_arena_text(&s->file->arena, tp_text_get(&s->text),
                         s->text.length);
}

/* ---- finding
 * ------------------------------------------------------------------- */

/* What beside scales changes the meaning of integers. */
static const char *unread_part(struct search *s, const char *path, size_t stem)
{
    static const char *const parts[] = {"_zero_point", "_g_idx"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (find(s, path, stem, parts[i]) != none)
            return parts[i];
    }
    return NULL;
}

static enum tp_status make(struct search *s, struct value *value, size_t stem)
{
    const char *path = s->file->tensors[value->codes].path;
    struct tp_error why = {0};
    const char *unread = value->layout->codes_dtype & (WORDS | INT8)
                             ? unread_part(s, path, stem)
                             : NULL;
    if (unread) {
        s->text.length = 0;
        tp_text_add(&s->text, "no values of %s: what X%s means is not known",
                    value->layout->name, unread);
        return add_skip(s, path, TP_E_UNSUPPORTED, tp_text_get(&s->text));
    }
    struct tp_scaled *scaled = tp_arena_alloc(&s->file->arena, sizeof *scaled);
    if (!scaled)
        return tp_fail_memory(s->err);
    enum tp_status status = describe(s, value, scaled, &why);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(s->err);
    if (status != TP_OK)
        return skip_contradiction(s, value, why.message);
    value->scaled = scaled;
    value->path = value_path(s, value);
    status = tp_grow(&s->values, &s->value_room, s->value_count + 1,
                     sizeof *s->values, s->err);
    if (status == TP_OK)
        s->values[s->value_count++] = *value;
    return value->path ? status : tp_fail_memory(s->err);
}

/* Whether a row describes a tensor: its codes, and the rest is there. */
static bool is_of(struct search *s, const struct layout *layout, size_t number,
                  struct value *value, size_t *stem)
{
    const struct tp_tensor *tensor = &s->file->tensors[number];
    if (!has_dtype(tensor, layout->codes_dtype))
        return false;
    *stem = stem_of(tensor->path, layout->codes);
    if (*stem == SIZE_MAX)
        return false;
    *value =
        (struct value){.codes = number,
                       .layout = layout,
                       .scale = find(s, tensor->path, *stem, layout->scale),
                       .factor = none,
                       .shape = none};
    if (value->scale == none ||
        !has_dtype(&s->file->tensors[value->scale], layout->scale_dtype))
        return false;
    if (layout->factor)
        value->factor = find(s, tensor->path, *stem, layout->factor);
    if (layout->packing == TP_PACKED_WORDS)
        value->shape = find(s, tensor->path, *stem, "_shape");
    return !layout->factor || value->factor != none;
}

static enum tp_status find_named(struct search *s, size_t number, bool *found)
{
    const char *path = s->file->tensors[number].path;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        size_t stem = stem_of(path, named[i].codes);
        if (stem == SIZE_MAX || find(s, path, stem, named[i].beside) == none)
            continue;
        *found = true;
        s->text.length = 0;
        tp_text_add(&s->text,
                    "codes as %s names them; their values are not derived",
                    named[i].who);
        return add_skip(s, path, TP_E_UNSUPPORTED, tp_text_get(&s->text));
    }
    return TP_OK;
}

/* Whether a tensor has to have scales: by a name that only codes have, or as
 * codes of 8 bits where the configuration says so. */
static bool wants_scales(const struct tp_tensor *tensor, bool configured)
{
    return tensor->ndim >= 2 &&
           ((configured && has_dtype(tensor, FLOAT8) &&
             !strstr(tensor->path, "_scale")) ||
            (has_dtype(tensor, BYTES | WORDS) &&
             tp_text_ends_with(tensor->path, ".weight_packed")) ||
            (has_dtype(tensor, BYTES) &&
             tp_text_ends_with(tensor->path, "_proj_blocks")));
}

static bool find_layout(struct search *s, size_t number, struct value *value,
                        size_t *stem)
{
    bool found = false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts && !found; i++)
        found = is_of(s, &layouts[i], number, value, stem);
    return found;
}

/* Counts codes that no row found scales of. */
static enum tp_status find_one(struct search *s, size_t number, size_t *bare)
{
    const struct tp_tensor *tensor = &s->file->tensors[number];
    struct value value;
    size_t stem;
    bool found = false;
    if (tensor->scaled || tensor->encoded)
        return TP_OK;
    if (find_layout(s, number, &value, &stem))
        return make(s, &value, stem);
    enum tp_status status = find_named(s, number, &found);
    *bare += !found && wants_scales(tensor, true);
    return status;
}

/* ---- those without scales ------------------------------------------------ */

/* Why nothing is known of the values of a tensor. */
static enum tp_status skip_one(struct search *s, const struct tp_tensor *tensor,
                               const struct tp_model_config *config)
{
    if (!has_dtype(tensor, FLOAT8))
        return add_skip(s, tensor->path, TP_E_NOT_FOUND,
                        "packed codes without scales (_scale or _scales): "
                        "their values are not known");
    if (config->scaled)
        return add_skip(s, tensor->path, TP_E_NOT_FOUND,
                        "codes of 8 bits without scales (_scale_inv or "
                        "_scale), though config.json beside it says that they "
                        "have some: their values are not known");
    struct tp_error why = {0};
    tp_fail(&why, config->why.code, -1,
            "codes of 8 bits without scales; whether they have some is not "
            "known: config.json beside it: %s",
            config->why.message);
    return tp_tensor_file_skip(s->file, tensor->path, &why, s->err);
}

static enum tp_status skip_bare(struct search *s, const char *name)
{
    struct value value;
    size_t stem;
    struct tp_model_config config;
    enum tp_status status = tp_model_config_read(name, &config, s->err);
    for (size_t i = 0; i < s->count && status == TP_OK; i++) {
        const struct tp_tensor *tensor = &s->file->tensors[i];
        if (!tensor->encoded && !tensor->scaled &&
            wants_scales(tensor, config.scaled || config.unread) &&
            !find_layout(s, i, &value, &stem))
            status = skip_one(s, tensor, &config);
    }
    return status;
}

/* ---- all of it --------------------------------------------------------- */

static void mark(struct search *s, const struct value *value)
{
    static const char *const inputs[] = {"input_scale", "input_global_scale"};
    struct tp_tensor *tensors = s->file->tensors;
    const size_t parts[] = {value->codes, value->scale, value->factor,
                            value->shape};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] != none)
            tensors[parts[i]].encoded = true;
    }
    /* of what the layer reads: a scale, and no parameter */
    const char *path = tensors[value->codes].path, *dot = strrchr(path, '.');
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        size_t found =
            find(s, path, dot ? (size_t)(dot - path) + 1 : 0, inputs[i]);
        if (found != none)
            tensors[found].encoded = true;
    }
}

/* Puts the tensors of values behind those of their codes; descriptions point
 * to where codes and scales are then. */
static enum tp_status insert(struct search *s)
{
    struct tp_tensor_file *file = s->file;
    const struct tp_tensor *old = file->tensors;
    size_t *place = calloc(s->count + 1, sizeof *place);
    struct tp_tensor *all =
        tp_arena_alloc(&file->arena, (s->count + s->value_count) * sizeof *all);
    enum tp_status status = place && all ? TP_OK : tp_fail_memory(s->err);
    for (size_t i = 0, v = 0; status == TP_OK && i < s->count; i++) {
        place[i] = i + v;
        all[i + v] = old[i];
        v += v < s->value_count && s->values[v].codes == i;
    }
    for (size_t v = 0; status == TP_OK && v < s->value_count; v++) {
        struct value *value = &s->values[v];
        struct tp_scaled *scaled = value->scaled;
        scaled->codes = &all[place[value->codes]];
        scaled->scale.tensor = &all[place[value->scale]];
        if (value->factor != none)
            scaled->factor.tensor = &all[place[value->factor]];
        status = tp_scaled_tensor(scaled, value->path, &file->arena,
                                  &all[place[value->codes] + 1], s->err);
    }
    free(place);
    if (status == TP_OK) {
        file->tensors = all;
        file->tensor_count = s->count + s->value_count;
    }
    return status;
}

static enum tp_status find_all(struct search *s, const char *name)
{
    size_t bare = 0;
    enum tp_status status = sort_names(s) ? TP_OK : tp_fail_memory(s->err);
    for (size_t i = 0; i < s->count && status == TP_OK; i++)
        status = find_one(s, i, &bare);
    for (size_t v = 0; v < s->value_count && status == TP_OK; v++)
        mark(s, &s->values[v]);
    if (status == TP_OK && bare)
        status = skip_bare(s, name);
    if (status == TP_OK && s->value_count)
        status = insert(s);
    return status == TP_OK && s->text.failed ? tp_fail_memory(s->err) : status;
}

/* Whether any dtype of the file can be codes, which most files show not. */
static bool may_have_codes(const struct tp_tensor_file *file)
{
    for (size_t i = 0; i < file->tensor_count; i++) {
        if (has_dtype(&file->tensors[i], BYTES | FLOAT8 | WORDS | INT8))
            return true;
    }
    return false;
}

enum tp_status tp_value_layouts_add(const char *name,
                                    struct tp_tensor_file *file,
                                    struct tp_error *err)
{
    if (!may_have_codes(file))
        return TP_OK;
    struct search s = {.file = file, .count = file->tensor_count, .err = err};
    enum tp_status status = find_all(&s, name);
    tp_text_clear(&s.text);
    free(s.by_name);
    free(s.values);
    return status;
}
