/* SPDX-License-Identifier: MIT */
#ifndef TP_TRACE_TRACE_NAMES_H
#define TP_TRACE_TRACE_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What an event's name alone says. The profiler has no finer categories than
 * "runtime call" or "operator", and its own annotations are recognised by
 * their names only, so one table of patterns holds all of them, CUDA's, ROCm's
 * and MTIA's, old names and new.
 */

/* What follows from an event's name alone; bits, worked out once per name. */
enum tp_name_kind {
    TP_NAME_STEP = 1,           /* ProfilerStep#N                          */
    TP_NAME_DATALOADER = 2,     /* enumerate(DataLoader)#..., DataPipe     */
    TP_NAME_OPTIMIZER = 4,      /* Optimizer.step#..., zero_grad           */
    TP_NAME_DROPPED = 8,        /* bookkeeping that key_averages leaves out*/
    TP_NAME_DRIVER_ALLOC = 16,  /* cudaMalloc, cudaFree, hipMalloc, ...    */
    TP_NAME_BLOCKING = 32,      /* calls that wait for the device          */
    TP_NAME_LAUNCH = 64,        /* calls that start a kernel or graph      */
    TP_NAME_COPY_CALL = 128,    /* memcpy and memset calls                 */
    TP_NAME_COMM = 256,         /* communication kernels: nccl, rccl, ...  */
    TP_NAME_ITEM = 512,         /* aten::item, _local_scalar_dense, ...    */
    TP_NAME_COPY_OP = 1024,     /* aten::to, _to_copy, copy_               */
    TP_NAME_EMPTY_OP = 2048,    /* aten::empty*, resize_, new_*            */
    TP_NAME_SINGLE_TENSOR = 4096, /* optimizer kernels one tensor at a time*/
    TP_NAME_MOVES = 8192,       /* kernels that only move memory: dma_request*/
    TP_NAME_COLLECTIVE = 16384, /* host ranges nccl:all_reduce, gloo:...   */
    TP_NAME_NO_WORKERS = 1 << 15, /* the iterator of num_workers 0         */
    TP_NAME_WORKERS = 1 << 16,  /* the iterator of 1 and more              */
    TP_NAME_LAYER = 1 << 17,    /* operators that autocast runs in half    */
    TP_NAME_LOSS = 1 << 18,     /* losses, of a batch and its targets      */
    TP_NAME_CAST = 1 << 19,     /* aten::to, aten::_to_copy                */
    TP_NAME_SCALER = 1 << 20,   /* what GradScaler runs when enabled       */
    TP_NAME_HALF = 1 << 21,     /* kernels of fp16 and bf16, and more      */
    TP_NAME_COMPILED = 1 << 22, /* what torch.compile made                 */
    TP_NAME_BACKWARD = 1 << 23, /* what autograd runs                      */
    TP_NAME_ANY_STEP = 1 << 24, /* ProfilerStep#..., with a number or not  */
    /* Ranges that are annotations in every trace: torch up to 1.11 has them
     * as operators. */
    TP_NAME_ANNOTATIONS =
        TP_NAME_STEP | TP_NAME_DATALOADER | TP_NAME_OPTIMIZER
};

/* Bits of enum tp_name_kind of a name. */
uint32_t tp_name_kinds(const char *name);

/* Whether `name` is ProfilerStep#N with a number that fits; then *number is
 * it. */
bool tp_name_step(const char *name, int64_t *number);

#endif
