/* SPDX-License-Identifier: MIT */
/*
 * config.json, which Hugging Face's save_pretrained writes beside the files of
 * a model: what of it decides how these are understood.
 */
#ifndef TP_FORMATS_MODEL_CONFIG_H
#define TP_FORMATS_MODEL_CONFIG_H

#include <stdbool.h>

#include "base/error.h"

struct tp_model_config {
    bool scaled; /* quantization_config: codes of 8 bits have scales         */
    bool tied;   /* tie_word_embeddings                                     */
    bool unread; /* not all of it could be read: what is false is not known */
    struct tp_error why; /* if so                                           */
};

/* What the configuration in the folder of `path` says; where there is none,
 * nothing. TP_E_MEMORY. */
enum tp_status tp_model_config_read(const char *path,
                                    struct tp_model_config *config,
                                    struct tp_error *err);

#endif
