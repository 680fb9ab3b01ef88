/* SPDX-License-Identifier: MIT */
#ifndef TP_REPLAY_CONVOLVE_H
#define TP_REPLAY_CONVOLVE_H

#include "base/error.h"
#include "replay/array.h"

enum { TP_CONVOLVE_AXES = 3 };

/*
 * Windows over one to three axes, fewer with leading ones of length 1. A
 * convolution goes from the large side [batch][large][in] to the small one
 * [batch][small][out], its transposed from small to large; both have weights
 * [small][large / groups][kernel].
 */
struct tp_convolve {
    int64_t batch, large, small, groups;
    int64_t in[TP_CONVOLVE_AXES], out[TP_CONVOLVE_AXES];
    int64_t kernel[TP_CONVOLVE_AXES], stride[TP_CONVOLVE_AXES],
        pad[TP_CONVOLVE_AXES], dilation[TP_CONVOLVE_AXES];
    double unit; /* of a rounding of the device that accumulates            */
};

/* Each makes one of the three, zero before and with bounds, from the values of
 * the other two. TP_E_MEMORY. */
enum tp_status tp_convolve_small(const struct tp_convolve *convolve,
                                 const struct tp_array *large,
                                 const struct tp_array *weight,
                                 struct tp_array *small, struct tp_error *err);
enum tp_status tp_convolve_large(const struct tp_convolve *convolve,
                                 const struct tp_array *small,
                                 const struct tp_array *weight,
                                 struct tp_array *large, struct tp_error *err);
enum tp_status tp_convolve_weight(const struct tp_convolve *convolve,
                                  const struct tp_array *large,
                                  const struct tp_array *small,
                                  struct tp_array *weight,
                                  struct tp_error *err);

#endif
