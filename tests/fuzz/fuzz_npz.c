/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

/* Zip archives of which torch_zip finds that they are not its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_tensor_file("torch_zip", data, size);
}
