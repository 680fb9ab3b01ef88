/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "formats/torch/torch_formats.h"

/*
 * Before version 0.1.10 torch.save wrote a tar archive of the members
 * sys_info, pickle, tensors and storages. Such files are recognised only, so
 * that their owner learns what to do.
 */

static enum tp_status open_file(struct tp_tensor_file *file,
                                struct tp_error *err)
{
    (void)file;
    return tp_fail(err, TP_E_UNSUPPORTED, 0,
                   "a tar archive of torch before 0.4; load it with torch "
                   "and save it again");
}

/* A tar archive starts with the name of its first member, NUL-padded. */
static int bid(const unsigned char *head, size_t length)
{
    static const char *const members[] = {"sys_info", "pickle", "tensors",
                                          "storages"};
    static const unsigned char zeros[TP_FORMAT_HEAD];
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        size_t name = strlen(members[i]);
        if (length == TP_FORMAT_HEAD && memcmp(head, members[i], name) == 0 &&
            memcmp(head + name, zeros, length - name) == 0)
            return 8 * TP_FORMAT_HEAD;
    }
    return 0;
}

const struct tp_format tp_format_torch_tar = {
    .name = "torch_tar",
    .help = "torch.save before 0.1.10 (recognised, not read)",
    .suffixes = TP_TORCH_SUFFIXES,
    .bid = bid,
    .open = open_file,
};
