/* SPDX-License-Identifier: MIT */
#ifndef TP_BASE_HOST_DEVICE_H
#define TP_BASE_HOST_DEVICE_H

/*
 * In front of an inline function: it also runs on a CUDA device. So that
 * arithmetic both sides must agree on bit for bit stands once.
 */
#ifdef __CUDACC__
#define TP_HOST_DEVICE __host__ __device__
#else
#define TP_HOST_DEVICE
#endif

#endif
