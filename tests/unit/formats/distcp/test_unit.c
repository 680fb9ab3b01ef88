/* SPDX-License-Identifier: MIT */
/* Units by their names. What they read is tested on whole checkpoints, in
 * tests/unit/tensors/test_collect_checkpoints.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "formats/distcp/unit.h"

static const char *pattern(const char *name)
{
    static char text[512];
    const char *found = tp_unit_pattern(name, text, sizeof text);
    return found ? found : "";
}

Test(unit, patterns_of_files_without_an_index)
{
    cr_expect_str_eq(pattern("__0.metadata"), "__*.metadata");
    cr_expect_str_eq(pattern("__123.metadata"), "__*.metadata");
    cr_expect_str_eq(pattern("shard-00002-model-00001-of-00003.safetensors"),
                     "shard-*-model-00001-of-00003.safetensors");
    cr_expect_str_eq(pattern(".metadata"), "");
    cr_expect_str_eq(pattern("__x.metadata"), "");
    cr_expect_str_eq(pattern("__0_0.distcp"), "");
    cr_expect_str_eq(pattern("__0.metadata.json"), "");
    cr_expect_str_eq(pattern("shard-00001.safetensors"), "");
    cr_expect_str_eq(pattern("model-00001-of-00002.safetensors"), "");
}

Test(unit, formats_claim_their_names)
{
    cr_expect_eq(tp_format_distcp.claims(".metadata"), TP_NAME_FILE);
    cr_expect_eq(tp_format_distcp.claims("__3.metadata"), TP_NAME_FILE);
    cr_expect_eq(tp_format_distcp.claims("__*.metadata"), TP_NAME_PATTERN);
    cr_expect_eq(tp_format_distcp.claims("x.metadata"), TP_NAME_OTHER);
    cr_expect_eq(tp_format_weight_map.claims("model.safetensors.index.json"),
                 TP_NAME_FILE);
    cr_expect_eq(tp_format_weight_map.claims("pytorch_model.bin.index.json"),
                 TP_NAME_FILE);
    cr_expect_eq(tp_format_weight_map.claims("config.json"), TP_NAME_OTHER);
    cr_expect_eq(tp_format_distcp_safetensors.claims("shard-*-a.safetensors"),
                 TP_NAME_PATTERN);
    cr_expect_eq(
        tp_format_distcp_safetensors.claims("shard-00001-a.safetensors"),
        TP_NAME_OTHER);
}
