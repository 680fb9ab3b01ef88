/* SPDX-License-Identifier: MIT */
/*
 * TransformerEngine's tensors, as its functions that rebuild them are called:
 * arguments by their place. Data and scales lie by rows, by columns or both;
 * scales are padded, and in some files tiled for cuBLAS. Data by columns is
 * transposed, but in MXFP8. Codes of 4 bits by columns stay codes: in pairs
 * along the other axis, and maybe turned by a Hadamard matrix, they are not
 * the tensor any more. Definitions: transformer_engine/pytorch/tensor and
 * common/cast/nvfp4/dequantize_nvfp4.cuh. Cost: as of some tensors each.
 */
#include "formats/torch/torch_scaled_te.h"

#include <string.h>

/* The dtype of TransformerEngine: the number of an enum. */
static const struct tp_number *te_number(struct tp_maker *m, tp_ref ref)
{
    const struct tp_pickle *pickle = m->builder->pickle;
    int64_t number = -1;
    if (tp_pickle_kind(pickle, ref) == TP_VALUE_CALL)
        ref = tp_pickle_item(pickle, pickle->values[ref].u.call.args, 0);
    tp_pickle_int(pickle, ref, &number);
    return tp_number_by_id(number == 7    ? "e4m3"
                           : number == 8  ? "e5m2"
                           : number == 10 ? "e2m1"
                                          : "");
}

enum tp_status tp_te_float8(struct tp_maker *m, struct tp_error *err)
{
    const struct tp_tensor *codes, *scale, *turned;
    struct tp_part_shape shape;
    enum tp_status status =
        tp_part_add(m, tp_part_argument(m, 0), "", &codes, err);
    if (status == TP_OK)
        status =
            tp_part_add(m, tp_part_argument(m, 2), ".scale_inv", &scale, err);
    if (status == TP_OK)
        status = tp_part_add(m, tp_part_argument(m, 5),
                             codes ? ".data_transpose" : "", &turned, err);
    if (status == TP_OK)
        status = tp_part_shape(m, tp_part_argument(m, 4), &shape, err);
    if (status == TP_OK && !codes && turned)
        codes = tp_part_turned(m, turned, err);
    const struct tp_number *number = te_number(m, tp_part_argument(m, 1));
    if (status == TP_OK)
        status = tp_part_need(m, codes && scale && number ? m : NULL,
                              "codes, scale or a dtype of 8 bits", err);
    struct tp_scaled *s =
        status == TP_OK ? tp_part_scaled(m, codes, number, err) : NULL;
    if (!s)
        return status == TP_OK ? TP_E_MEMORY : status;
    s->scale.tensor = scale;
    status = tp_part_lines(s, &shape, err);
    tp_part_blocks(&s->scale, shape.rows, shape.columns, 0, 0);
    return status == TP_OK ? tp_part_value(m, s, &shape, "#value", err)
                           : status;
}

/* Arguments of the classes with scales for blocks, each as it is stored by
 * rows and by columns. */
struct te_pair {
    const struct tp_tensor *codes[2], *scale[2], *amax[2];
    struct tp_part_shape shape;
    const struct tp_number *number;
};

static enum tp_status te_parts(struct tp_maker *m, size_t first, size_t shape,
                               size_t dtype, struct te_pair *pair,
                               struct tp_error *err)
{
    static const char *const codes[] = {"", "#columnwise"};
    static const char *const scales[] = {".rowwise_scale_inv",
                                         ".columnwise_scale_inv"};
    enum tp_status status = TP_OK;
    memset(pair, 0, sizeof *pair);
    for (size_t i = 0; i < 2 && status == TP_OK; i++) {
        status = tp_part_add(m, tp_part_argument(m, first + 2 * i), codes[i],
                             &pair->codes[i], err);
        if (status == TP_OK)
            status = tp_part_add(m, tp_part_argument(m, first + 2 * i + 1),
                                 scales[i], &pair->scale[i], err);
    }
    if (status == TP_OK)
        status =
            tp_part_shape(m, tp_part_argument(m, shape), &pair->shape, err);
    pair->number = te_number(m, tp_part_argument(m, dtype));
    if (status == TP_OK)
        status = tp_part_need(m, pair->number, "a dtype of ours", err);
    if (status == TP_OK)
        status = tp_part_need(
            m, pair->codes[0] ? pair->codes[0] : pair->codes[1], "codes", err);
    return status;
}

/* Lines of a matrix of scales; they may be longer than needed. */
static int64_t line_of(const struct tp_tensor *scale)
{
    return scale->ndim > 0 ? scale->shape[scale->ndim - 1] : 1;
}

enum tp_status tp_te_mxfp8(struct tp_maker *m, struct tp_error *err)
{
    struct te_pair pair;
    enum tp_status status = te_parts(m, 0, 6, 4, &pair, err);
    bool tiled = tp_part_is_true(m, tp_part_argument(m, 8));
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        if (!pair.codes[i] || (i == 1 && tiled))
            continue; /* what tiles mean for columns is not said anywhere */
        struct tp_scaled *s =
            tp_part_scaled(m, pair.codes[i], pair.number, err);
        if (!s)
            return TP_E_MEMORY;
        status = tp_part_need(m, pair.scale[i], "scales", err);
        if (status == TP_OK)
            status = tp_part_lines(s, &pair.shape, err);
        if (status != TP_OK)
            return status;
        s->scale.tensor = pair.scale[i];
        s->scale.dtype = TP_FLOAT8_E8M0FNU;
        int64_t line = line_of(pair.scale[i]);
        if (tiled) {
            line = (pair.shape.columns + 31) / 32;
            s->scale.tensor =
                tp_part_untiled(m, pair.scale[i], pair.shape.rows, &line, err);
            if (!s->scale.tensor)
                return err->code;
        }
        tp_part_blocks(&s->scale, i ? 32 : 1, i ? 1 : 32, line, 1);
        status = tp_part_value(m, s, &pair.shape,
                               i ? "#columnwise#value" : "#value", err);
    }
    return status;
}

enum tp_status tp_te_blockwise(struct tp_maker *m, struct tp_error *err)
{
    struct te_pair pair;
    enum tp_status status = te_parts(m, 1, 0, 5, &pair, err);
    bool square = tp_part_is_true(m, tp_part_argument(m, 8));
    for (int i = 0; i < 2 && status == TP_OK; i++) {
        if (!pair.codes[i])
            continue;
        status = tp_part_need(m, pair.scale[i], "scales", err);
        const struct tp_tensor *codes =
            i ? tp_part_turned(m, pair.codes[i], err) : pair.codes[i];
        struct tp_scaled *s =
            codes ? tp_part_scaled(m, codes, pair.number, err) : NULL;
        if (!s)
            return TP_E_MEMORY;
        if (status == TP_OK)
            status = tp_part_lines(s, &pair.shape, err);
        if (status != TP_OK)
            return status;
        s->scale.tensor = pair.scale[i];
        /* what is stored by columns, or for lines of 128, lies transposed,
         * what is both does not */
        if ((i == 1) == square) {
            s->scale.tensor = tp_part_turned(m, pair.scale[i], err);
            if (!s->scale.tensor)
                return TP_E_MEMORY;
        }
        tp_part_blocks(&s->scale, square || i ? 128 : 1, square || !i ? 128 : 1,
                       line_of(s->scale.tensor), 1);
        status = tp_part_value(m, s, &pair.shape,
                               i ? "#columnwise#value" : "#value", err);
    }
    return status;
}

enum tp_status tp_te_nvfp4(struct tp_maker *m, struct tp_error *err)
{
    struct te_pair pair;
    const struct tp_tensor *amax, *other;
    enum tp_status status = te_parts(m, 1, 0, 7, &pair, err);
    if (status == TP_OK)
        status =
            tp_part_add(m, tp_part_argument(m, 5), ".amax_rowwise", &amax, err);
    if (status == TP_OK)
        status = tp_part_add(m, tp_part_argument(m, 6), ".amax_columnwise",
                             &other, err);
    if (status != TP_OK || !pair.codes[0])
        return status; /* by columns only: turned, maybe; not for reading */
    status = tp_part_need(m, pair.scale[0] && amax ? m : NULL, "scales or amax",
                          err);
    if (status != TP_OK)
        return status;
    struct tp_scaled *s = tp_part_scaled(m, pair.codes[0], pair.number, err);
    if (!s)
        return TP_E_MEMORY;
    status = tp_part_lines(s, &pair.shape, err);
    int64_t line = line_of(pair.scale[0]), most = 448;
    s->scale.tensor = pair.scale[0];
    s->scale.dtype = TP_FLOAT8_E4M3FN;
    if (status == TP_OK && tp_part_is_true(m, tp_part_argument(m, 10))) {
        line = (pair.shape.columns + 15) / 16;
        s->scale.tensor =
            tp_part_untiled(m, pair.scale[0], pair.shape.rows, &line, err);
        if (!s->scale.tensor)
            return err->code;
    }
    tp_part_blocks(&s->scale, 1, 16, line, 1);
    s->factor.tensor = amax;
    s->factor_use = TP_FACTOR_AMAX;
    tp_part_blocks(&s->factor, amax->numel > 1 ? 1 : pair.shape.rows,
                   pair.shape.columns, amax->numel > 1, 0);
    tp_pickle_int(m->builder->pickle, tp_part_argument(m, 13), &most);
    s->amax_for = (float)most;
    return status == TP_OK ? tp_part_value(m, s, &pair.shape, "#value", err)
                           : status;
}
