/* SPDX-License-Identifier: MIT */
#include "formats/model_config.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/json/json_members.h"

static enum tp_status see_member(void *context, const struct tp_json_pair *pair,
                                 struct tp_arena *arena, struct tp_error *err)
{
    (void)arena;
    (void)err;
    struct tp_model_config *config = context;
    if (!strcmp(pair->key, "tie_word_embeddings"))
        config->tied =
            pair->value->kind == TP_JSON_BOOL && pair->value->integer;
    if (strcmp(pair->key, "quantization_config") != 0)
        return TP_OK;
    const char *method = tp_json_text(pair->value, "quant_method", "");
    config->scaled = !strcmp(method, "fp8") || !strcmp(method, "modelopt") ||
                     !strcmp(method, "compressed-tensors");
    return TP_OK;
}

enum tp_status tp_model_config_read(const char *path,
                                    struct tp_model_config *config,
                                    struct tp_error *err)
{
    const struct tp_json_visitor visitor = {config, see_member};
    struct tp_text beside = {0};
    bool there = false;
    *config = (struct tp_model_config){.scaled = false};
    tp_text_bytes(&beside, path, (size_t)(tp_file_base_name(path) - path));
    tp_text_add(&beside, "config.json");
    enum tp_status status = beside.failed ? TP_E_MEMORY
                                          : tp_file_look(tp_text_get(&beside),
                                                         &there, &config->why);
    if (status == TP_OK && there)
        status =
            tp_json_walk_file(tp_text_get(&beside), &visitor, &config->why);
    tp_text_clear(&beside);
    if (status == TP_E_MEMORY)
        return tp_fail_memory(err);
    config->unread = status != TP_OK;
    return TP_OK;
}
