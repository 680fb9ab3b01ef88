/* SPDX-License-Identifier: MIT */
/*
 * What an event's name says of it: a table of patterns, each with the kinds it
 * adds; all that fit count.
 *
 * A hash of whole names cannot hold prefixes and parts, and an automaton is
 * not worth building: names are interned, so each text is looked at once per
 * trace, some thousands of times in all. O(patterns x length) for each text.
 */
#include "trace/trace_names.h"

#include <stddef.h>
#include <string.h>

static const char step_prefix[] = "ProfilerStep#";

enum match { EXACT, PREFIX, CONTAINS };

/* Every row that fits adds its kinds. Names of calls that only mark memory as
 * used or free in a pool of the driver are listed with those that map it: to
 * the host they cost the same kind of time. */
static const struct pattern {
    enum match match;
    const char *text;
    uint32_t kinds;
} patterns[] = {
    /* Written by the DataLoader and the optimizers themselves. */
    {PREFIX, "enumerate(DataLoader)", TP_NAME_DATALOADER},
    {PREFIX, "enumerate(DataPipe)", TP_NAME_DATALOADER},
    {PREFIX, "enumerate(DataLoader)#_SingleProcessDataLoaderIter",
     TP_NAME_NO_WORKERS},
    {PREFIX, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter",
     TP_NAME_WORKERS},
    {PREFIX, "Optimizer.step", TP_NAME_OPTIMIZER},
    {PREFIX, "Optimizer.zero_grad", TP_NAME_OPTIMIZER},

    /* torch/autograd/profiler_util.py leaves these out of its table. */
    {EXACT, "[memory]", TP_NAME_DROPPED},
    {EXACT, "[OutOfMemory]", TP_NAME_DROPPED},
    {EXACT, "profiler::_record_function_enter", TP_NAME_DROPPED},
    {EXACT, "profiler::_record_function_enter_new", TP_NAME_DROPPED},
    {EXACT, "profiler::_record_function_exit", TP_NAME_DROPPED},
    {EXACT, "aten::is_leaf", TP_NAME_DROPPED},
    {EXACT, "aten::output_nr", TP_NAME_DROPPED},
    {EXACT, "aten::_version", TP_NAME_DROPPED},

    {PREFIX, "cudaMalloc", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "cudaFree", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cudaHostAlloc", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "cuMemAlloc", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "cuMemFree", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "cuMemHostAlloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cuMemCreate", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cuMemMap", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cuMemUnmap", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cuMemRelease", TP_NAME_DRIVER_ALLOC},
    {EXACT, "cuMemSetAccess", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "cuMemAddress", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "hipMalloc", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "hipExtMalloc", TP_NAME_DRIVER_ALLOC},
    {PREFIX, "hipFree", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipHostMalloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipHostAlloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipHostFree", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipMemCreate", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipMemMap", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipMemUnmap", TP_NAME_DRIVER_ALLOC},
    {EXACT, "hipMemRelease", TP_NAME_DRIVER_ALLOC},

    {EXACT, "cudaStreamSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cudaDeviceSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cudaThreadSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cudaEventSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cudaMemcpy", TP_NAME_BLOCKING},
    {EXACT, "cuStreamSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cuCtxSynchronize", TP_NAME_BLOCKING},
    {EXACT, "cuEventSynchronize", TP_NAME_BLOCKING},
    {EXACT, "hipStreamSynchronize", TP_NAME_BLOCKING},
    {EXACT, "hipDeviceSynchronize", TP_NAME_BLOCKING},
    {EXACT, "hipEventSynchronize", TP_NAME_BLOCKING},
    {EXACT, "hipMemcpy", TP_NAME_BLOCKING},
    {EXACT, "hipMemcpyWithStream", TP_NAME_BLOCKING},

    {PREFIX, "cudaLaunch", TP_NAME_LAUNCH},
    {PREFIX, "cudaGraphLaunch", TP_NAME_LAUNCH},
    {PREFIX, "cuLaunch", TP_NAME_LAUNCH},
    {PREFIX, "cuGraphLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipExtLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipModuleLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipExtModuleLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipHccModuleLaunch", TP_NAME_LAUNCH},
    {PREFIX, "hipGraphLaunch", TP_NAME_LAUNCH},
    {PREFIX, "runFunction - job_prep_and_submit", TP_NAME_LAUNCH}, /* MTIA */
    /* XPU: Unified Runtime, the interface before it, and Level Zero. */
    {PREFIX, "urEnqueueKernelLaunch", TP_NAME_LAUNCH},
    {PREFIX, "urEnqueueCooperativeKernelLaunch", TP_NAME_LAUNCH},
    {PREFIX, "piEnqueueKernelLaunch", TP_NAME_LAUNCH},
    {PREFIX, "zeCommandListAppendLaunch", TP_NAME_LAUNCH},
    {PREFIX, "urEnqueueUSMMemcpy", TP_NAME_COPY_CALL},
    {PREFIX, "urEnqueueUSMFill", TP_NAME_COPY_CALL},
    {PREFIX, "urEnqueueMemBuffer", TP_NAME_COPY_CALL},
    {PREFIX, "piextUSMEnqueueMem", TP_NAME_COPY_CALL},
    {PREFIX, "zeCommandListAppendMemory", TP_NAME_COPY_CALL},
    {EXACT, "urQueueFinish", TP_NAME_BLOCKING},
    {EXACT, "urEventWait", TP_NAME_BLOCKING},
    {EXACT, "piQueueFinish", TP_NAME_BLOCKING},
    {EXACT, "piEventsWait", TP_NAME_BLOCKING},
    {EXACT, "zeCommandQueueSynchronize", TP_NAME_BLOCKING},
    {EXACT, "zeCommandListHostSynchronize", TP_NAME_BLOCKING},
    {EXACT, "zeEventHostSynchronize", TP_NAME_BLOCKING},
    {EXACT, "zeFenceHostSynchronize", TP_NAME_BLOCKING},
    {EXACT, "urUSMDeviceAlloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "urUSMHostAlloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "urUSMFree", TP_NAME_DRIVER_ALLOC},
    {EXACT, "piextUSMDeviceAlloc", TP_NAME_DRIVER_ALLOC},
    {EXACT, "piextUSMFree", TP_NAME_DRIVER_ALLOC},
    {EXACT, "zeMemAllocDevice", TP_NAME_DRIVER_ALLOC},
    {EXACT, "zeMemAllocHost", TP_NAME_DRIVER_ALLOC},
    {EXACT, "zeMemFree", TP_NAME_DRIVER_ALLOC},

    {PREFIX, "cudaMemcpy", TP_NAME_COPY_CALL},
    {PREFIX, "cudaMemset", TP_NAME_COPY_CALL},
    {PREFIX, "cuMemcpy", TP_NAME_COPY_CALL},
    {PREFIX, "cuMemset", TP_NAME_COPY_CALL},
    {PREFIX, "hipMemcpy", TP_NAME_COPY_CALL},
    {PREFIX, "hipMemset", TP_NAME_COPY_CALL},

    /* NCCL and RCCL (ncclKernel_*, ncclDevKernel_*, ncclKernel inside other
     * names), HCCL, oneCCL, the dispatch and combine of DeepEP within a node
     * and between nodes, and the kernels with which torch, vLLM, SGLang and
     * TensorRT-LLM reduce over peers directly. */
    {PREFIX, "nccl", TP_NAME_COMM},
    {PREFIX, "hccl", TP_NAME_COMM},
    {CONTAINS, "ncclKernel", TP_NAME_COMM},
    {CONTAINS, "ncclDevKernel", TP_NAME_COMM},
    {CONTAINS, "rccl", TP_NAME_COMM},
    {CONTAINS, "nvshmem", TP_NAME_COMM},
    {CONTAINS, "cross_device_reduce", TP_NAME_COMM},
    {CONTAINS, "multimem_all_reduce", TP_NAME_COMM},
    {CONTAINS, "multimem_all_gather", TP_NAME_COMM},
    {CONTAINS, "multimem_one_shot", TP_NAME_COMM},
    {CONTAINS, "one_shot_all_reduce", TP_NAME_COMM},
    {CONTAINS, "two_shot_all_reduce", TP_NAME_COMM},
    {CONTAINS, "all_reduce_one_shot", TP_NAME_COMM},
    {CONTAINS, "all_reduce_two_shot", TP_NAME_COMM},
    {CONTAINS, "oneShotAllReduce", TP_NAME_COMM},
    {CONTAINS, "twoShotAllReduce", TP_NAME_COMM},
    {CONTAINS, "allreduce_fusion_kernel", TP_NAME_COMM},
    {CONTAINS, "deep_ep::", TP_NAME_COMM},
    {CONTAINS, "internode::", TP_NAME_COMM},
    {CONTAINS, "internode_ll::", TP_NAME_COMM},
    {CONTAINS, "intranode::", TP_NAME_COMM},
    {CONTAINS, "oneccl", TP_NAME_COMM},

    /* The ranges the tensorboard plugin takes for communication. */
    {EXACT, "nccl:broadcast", TP_NAME_COLLECTIVE},
    {EXACT, "nccl:reduce", TP_NAME_COLLECTIVE},
    {EXACT, "nccl:all_reduce", TP_NAME_COLLECTIVE},
    {EXACT, "nccl:all_gather", TP_NAME_COLLECTIVE},
    {EXACT, "nccl:reduce_scatter", TP_NAME_COLLECTIVE},
    /* What training on a CPU waits in, of any kind. */
    {PREFIX, "gloo:", TP_NAME_COLLECTIVE},
    {PREFIX, "mpi:", TP_NAME_COLLECTIVE},
    {PREFIX, "ucc:", TP_NAME_COLLECTIVE},
    {EXACT, "aten::item", TP_NAME_ITEM},
    {EXACT, "aten::_local_scalar_dense", TP_NAME_ITEM},
    {EXACT, "aten::is_nonzero", TP_NAME_ITEM},

    {EXACT, "aten::to", TP_NAME_COPY_OP},
    {EXACT, "aten::_to_copy", TP_NAME_COPY_OP},
    {EXACT, "aten::copy_", TP_NAME_COPY_OP},

    {PREFIX, "aten::empty", TP_NAME_EMPTY_OP},
    {PREFIX, "aten::new_", TP_NAME_EMPTY_OP},
    {EXACT, "aten::resize_", TP_NAME_EMPTY_OP},

    {EXACT, "aten::to", TP_NAME_CAST},
    {EXACT, "aten::_to_copy", TP_NAME_CAST},
    {PREFIX, "aten::_amp_", TP_NAME_SCALER},

    {EXACT, "aten::conv1d", TP_NAME_LAYER},
    {EXACT, "aten::conv2d", TP_NAME_LAYER},
    {EXACT, "aten::conv3d", TP_NAME_LAYER},
    {EXACT, "aten::convolution", TP_NAME_LAYER},
    {EXACT, "aten::conv_transpose1d", TP_NAME_LAYER},
    {EXACT, "aten::conv_transpose2d", TP_NAME_LAYER},
    {EXACT, "aten::conv_transpose3d", TP_NAME_LAYER},
    {EXACT, "aten::linear", TP_NAME_LAYER},
    {EXACT, "aten::addmm", TP_NAME_LAYER},
    {EXACT, "aten::matmul", TP_NAME_LAYER},
    {EXACT, "aten::mm", TP_NAME_LAYER},
    {EXACT, "aten::bmm", TP_NAME_LAYER},
    {EXACT, "aten::baddbmm", TP_NAME_LAYER},

    {EXACT, "aten::cross_entropy_loss", TP_NAME_LOSS},
    {EXACT, "aten::nll_loss", TP_NAME_LOSS},
    {EXACT, "aten::nll_loss_nd", TP_NAME_LOSS},
    {EXACT, "aten::mse_loss", TP_NAME_LOSS},
    {EXACT, "aten::l1_loss", TP_NAME_LOSS},
    {EXACT, "aten::smooth_l1_loss", TP_NAME_LOSS},
    {EXACT, "aten::huber_loss", TP_NAME_LOSS},
    {EXACT, "aten::binary_cross_entropy", TP_NAME_LOSS},
    {EXACT, "aten::binary_cross_entropy_with_logits", TP_NAME_LOSS},

    /* Of cuBLAS, cuDNN, CUTLASS, torch's own templates and Tensile. Some fit
     * kernels that are not half, but all that are should be here. */
    {CONTAINS, "half", TP_NAME_HALF},
    {CONTAINS, "Half", TP_NAME_HALF},
    {CONTAINS, "bfloat16", TP_NAME_HALF},
    {CONTAINS, "BFloat16", TP_NAME_HALF},
    {CONTAINS, "f16", TP_NAME_HALF},
    {CONTAINS, "fp16", TP_NAME_HALF},
    {CONTAINS, "h884", TP_NAME_HALF},
    {CONTAINS, "h1688", TP_NAME_HALF},
    {CONTAINS, "h16816", TP_NAME_HALF},
    {CONTAINS, "hgemm", TP_NAME_HALF},
    {CONTAINS, "hcudnn", TP_NAME_HALF},
    {CONTAINS, "nvjet_h", TP_NAME_HALF},
    {CONTAINS, "nvjet_t", TP_NAME_HALF},
    {CONTAINS, "_HHS_", TP_NAME_HALF},
    {CONTAINS, "_HBH_", TP_NAME_HALF},
    {CONTAINS, "_HSS_", TP_NAME_HALF},
    {CONTAINS, "_HB_", TP_NAME_HALF},
    {CONTAINS, "_BBS_", TP_NAME_HALF},
    {CONTAINS, "_BSS_", TP_NAME_HALF},
    {CONTAINS, "_BB_", TP_NAME_HALF},

    {PREFIX, "triton_", TP_NAME_COMPILED},
    {PREFIX, "CompiledFunction", TP_NAME_COMPILED},
    {PREFIX, "Torch-Compiled Region", TP_NAME_COMPILED},
    {CONTAINS, "CompiledFxGraph", TP_NAME_COMPILED},

    {PREFIX, "autograd::engine", TP_NAME_BACKWARD},
    {CONTAINS, "Backward", TP_NAME_BACKWARD},

    {CONTAINS, "_single_tensor_", TP_NAME_SINGLE_TENSOR},

    {PREFIX, "dma", TP_NAME_MOVES}, /* MTIA; HTA's class MEMORY */
};

static bool fits(const struct pattern *pattern, const char *name)
{
    switch (pattern->match) {
    case EXACT:
        return !strcmp(name, pattern->text);
    case PREFIX:
        return !strncmp(name, pattern->text, strlen(pattern->text));
    default:
        return strstr(name, pattern->text) != NULL;
    }
}

uint32_t tp_name_kinds(const char *name)
{
    int64_t number;
    uint32_t kinds = tp_name_step(name, &number) ? TP_NAME_STEP : 0;
    if (!strncmp(name, step_prefix, sizeof step_prefix - 1)) {
        kinds |= TP_NAME_ANY_STEP;
    }
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        if (fits(&patterns[i], name)) {
            kinds |= patterns[i].kinds;
        }
    }
    return kinds;
}

bool tp_name_step(const char *name, int64_t *number)
{
    const size_t prefix = sizeof step_prefix - 1;
    if (strncmp(name, step_prefix, prefix)) {
        return false;
    }
    const char *digits = name + prefix;
    const size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 18 || digits[length]) { /* 10^18 < 2^63 */
        return false;
    }
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    *number = value;
    return true;
}
