/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

/* As fuzz_npz.c; the seeds have no checksums, so that pickles may change. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_tensor_file("torch_zip", data, size);
}
