/* SPDX-License-Identifier: MIT */
#include "check/check_tells.h"

#include <string.h>

/* Parts of names, as "_" divides them; of some the begin is enough. */
static const struct {
    const char *word;
    unsigned length, tells;
    bool begins;
} words[] = {
    {"autocast", 8, TP_TELLS_AUTOCAST | TP_TELLS_MIXED, true},
    {"GradScaler", 10, TP_TELLS_MIXED, true},
    {"amp", 3, TP_TELLS_MIXED, false},
    {"apex", 4, TP_TELLS_MIXED, false},
    {"fp16", 4, TP_TELLS_MIXED, true},
    {"bf16", 4, TP_TELLS_MIXED, true},
    {"float16", 7, TP_TELLS_MIXED, false},
    {"bfloat16", 8, TP_TELLS_MIXED, false},
    {"mixed_prec", 10, TP_TELLS_MIXED, true},
    {"MixedPrec", 9, TP_TELLS_MIXED, true},
    {"deepspeed", 9, TP_TELLS_MIXED, true},
    {"lightning", 9, TP_TELLS_MIXED, true},
    {"accelerate", 10, TP_TELLS_MIXED, false},
    {"Accelerator", 11, TP_TELLS_MIXED, true},
    {"optim", 5, TP_TELLS_TRAINS, false},
    {"optimizer", 9, TP_TELLS_TRAINS, true},
    {"training_step", 13, TP_TELLS_TRAINS, true},
    {"Train", 5, TP_TELLS_TRAINS, true},
    {"no_grad", 7, TP_TELLS_INFERS, true},
    {"inference_mode", 14, TP_TELLS_INFERS, true},
    {"load_state_dict", 15, TP_TELLS_LOADS, true},
    {"BCELoss", 7, TP_TELLS_BCE, true},
    {"BCEWith", 7, TP_TELLS_BCE, true},
};

static unsigned tells_of(const char *text, size_t length)
{
    unsigned tells = 0;
    for (size_t begin = 0; begin < length;) {
        const char *part = text + begin;
        const char *line = memchr(part, '_', length - begin);
        size_t size = line ? (size_t)(line - part) : length - begin;
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            size_t end = words[i].length;
            if (part[0] == words[i].word[0] && begin + end <= length &&
                memcmp(part, words[i].word, end) == 0 &&
                (words[i].begins || begin + end == length || part[end] == '_'))
                tells |= words[i].tells;
        }
        begin += size + 1;
    }
    return tells;
}

static bool is_bce(const struct tp_py_tokens *tokens, size_t token)
{
    const struct tp_py_token *at = &tokens->at[token];
    const char *text = tokens->source + at->start;
    return at->kind == TP_PY_STRING && at->length == 5 &&
           memcmp(text + 1, "bce", 3) == 0;
}

unsigned tp_tells_read(const struct tp_py_tokens *tokens)
{
    unsigned tells = 0;
    for (size_t i = 1; i < tokens->count; i++) {
        const struct tp_py_token *at = &tokens->at[i];
        if (at->kind == TP_PY_WORD) {
            tells |= tells_of(tokens->source + at->start, at->length);
            bool method = tp_py_token_is(tokens, i - 1, ".");
            if (method && tp_py_token_is(tokens, i, "backward"))
                tells |= TP_TELLS_BACKWARD | TP_TELLS_TRAINS;
            if (method && tp_py_token_is(tokens, i, "half"))
                tells |= TP_TELLS_MIXED;
            if (tp_py_token_is(tokens, i, "binary_cross_entropy"))
                tells |= TP_TELLS_BCE;
        } else if (is_bce(tokens, i) && tp_py_token_is(tokens, i - 1, "==")) {
            tells |= TP_TELLS_ASKS_BCE;
        }
    }
    return tells;
}
