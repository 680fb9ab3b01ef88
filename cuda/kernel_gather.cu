/* SPDX-License-Identifier: MIT */
#include "cuda/kernels.h"

#include "cuda/launch.h"

/*
 * Strided views, made contiguous. Neighbouring threads write neighbours; what
 * they read lies as the view has it. A tile turned in shared memory would read
 * whole cache lines of a transposed matrix, but of no other view; the device
 * reads many times as fast as its link sends, so this is not what is waited
 * for. Each element costs a division per axis.
 */
namespace {

enum { THREADS = 256, PER_PROCESSOR = 16 };

/* Axes of length 1 are left out, and those that continue their neighbour are
 * one with it, so that few divisions are left. */
void simplify(const struct tp_kernel_view *from, struct tp_kernel_view *to)
{
    to->codes = from->codes;
    to->size = from->size;
    to->ndim = 0;
    for (int i = 0; i < from->ndim; i++) {
        if (from->shape[i] == 1)
            continue;
        const int last = to->ndim - 1;
        const int64_t span = from->stride[i] *
                             static_cast<int64_t>(from->shape[i]);
        if (last >= 0 && to->stride[last] == span) {
            to->shape[last] *= from->shape[i];
            to->stride[last] = from->stride[i];
            continue;
        }
        to->shape[to->ndim] = from->shape[i];
        to->stride[to->ndim++] = from->stride[i];
    }
}

/* Where element `number` lies, in elements. */
__device__ int64_t place_of(const struct tp_kernel_view &view, uint64_t number)
{
    int64_t at = 0;
    for (int i = view.ndim - 1; i > 0; i--) {
        const uint64_t rest = number / view.shape[i];
        const uint64_t index = number - rest * view.shape[i];
        at += static_cast<int64_t>(index) * view.stride[i];
        number = rest;
    }
    return view.ndim > 0 ? at + static_cast<int64_t>(number) * view.stride[0]
                         : at;
}

template <class ELEMENT>
__global__ void __launch_bounds__(THREADS)
    gather(struct tp_kernel_view view, uint64_t first, uint64_t n, ELEMENT *to)
{
    const ELEMENT *from = static_cast<const ELEMENT *>(view.codes);
    const uint64_t step = uint64_t{gridDim.x} * THREADS;
    for (uint64_t i = uint64_t{blockIdx.x} * THREADS + threadIdx.x; i < n;
         i += step)
        to[i] = from[place_of(view, first + i)];
}

/* A piece of a view. */
struct piece {
    struct tp_kernel_view view;
    uint64_t first, n;
    void *to;
};

template <class ELEMENT>
int start(const struct tp_kernel_place *place, const piece &of)
{
    const uint64_t most = uint64_t(place->multiprocessors) * PER_PROCESSOR;
    uint64_t grid = (of.n + THREADS - 1) / THREADS;
    grid = grid < most ? grid : most;
    auto kernel = gather<ELEMENT>;
    TP_LAUNCH(kernel, unsigned(grid), THREADS, 0, place->stream, of.view,
              of.first, of.n, static_cast<ELEMENT *>(of.to));
    return cudaGetLastError();
}

} // namespace

int tp_kernel_gather(const struct tp_kernel_place *place,
                     const struct tp_kernel_view *view, uint64_t first,
                     uint64_t n, void *to)
{
    piece of = {{}, first, n, to};
    if (n == 0)
        return 0;
    simplify(view, &of.view);
    switch (view->size) {
    case 1: return start<uint8_t>(place, of);
    case 2: return start<uint16_t>(place, of);
    case 4: return start<uint32_t>(place, of);
    case 8: return start<uint64_t>(place, of);
    default: return start<uint4>(place, of);
    }
}
