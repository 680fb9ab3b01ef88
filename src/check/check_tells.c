/* SPDX-License-Identifier: MIT */
/*
 * Words as evidence. That a package trains in 16 bits follows from what it
 * calls (autocast, GradScaler, a framework that has both), from a dtype of
 * torch, and from an option that something reads; not from an option that is
 * only declared, or handed on, and not from a dtype of another library.
 *
 * Alternative: to follow each option from its declaration to the loop, through
 * files. Cost: a look at each word of a script.
 */
#include "check/check_tells.h"

#include <string.h>

/* The name of an option, which has to be read. */
enum { MAY_MIX = 1 << 16 };

/* Parts of names, as "_" divides them; of some the begin is enough. */
static const struct {
    const char *word;
    unsigned length, tells;
    bool begins;
} words[] = {
    {"autocast", 8, TP_TELLS_AUTOCAST | TP_TELLS_MIXED, true},
    {"GradScaler", 10, TP_TELLS_MIXED, true},
    {"amp", 3, MAY_MIX, false},
    {"apex", 4, MAY_MIX, false},
    {"fp16", 4, MAY_MIX, true},
    {"bf16", 4, MAY_MIX, true},
    {"mixed_prec", 10, MAY_MIX, true},
    {"MixedPrec", 9, TP_TELLS_MIXED, true},
    {"deepspeed", 9, TP_TELLS_MIXED, true},
    {"lightning", 9, TP_TELLS_MIXED | TP_TELLS_LOSS, true},
    {"accelerate", 10, TP_TELLS_MIXED, false},
    {"Accelerator", 11, TP_TELLS_MIXED, true},
    {"optim", 5, TP_TELLS_TRAINS, false},
    {"optimizer", 9, TP_TELLS_TRAINS, true},
    {"training_step", 13, TP_TELLS_TRAINS, true},
    {"Train", 5, TP_TELLS_TRAINS, true},
    {"no_grad", 7, TP_TELLS_INFERS, true},
    {"inference_mode", 14, TP_TELLS_INFERS, true},
    {"load_state_dict", 15, TP_TELLS_LOADS, true},
    {"from_pretrained", 15, TP_TELLS_LOADS, true},
    {"Module", 6, TP_TELLS_MODULE, true},
    {"loss", 4, TP_TELLS_LOSS, true},
    {"train", 5, TP_TELLS_LOSS, true},
    {"fit", 3, TP_TELLS_LOSS, false},
    {"criterion", 9, TP_TELLS_LOSS, true},
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

static bool is_one(const struct tp_py_tokens *tokens, size_t token,
                   const char *const *texts)
{
    for (; *texts; texts++) {
        if (tp_py_token_is(tokens, token, *texts))
            return true;
    }
    return false;
}

static bool is_same(const struct tp_py_tokens *tokens, size_t a, size_t b)
{
    const struct tp_py_token *left = &tokens->at[a], *right = &tokens->at[b];
    return left->length == right->length &&
           !memcmp(tokens->source + left->start, tokens->source + right->start,
                   left->length);
}

/* Whether a name that may stand for mixed precision is called, asked for, or
 * given a value that turns it on. Behind "def" it is only declared. */
static bool is_read(const struct tp_py_tokens *tokens, size_t i, bool declared)
{
    static const char *const asks[] = {"if", "elif", "and", "or", "not", NULL};
    static const char *const off[] = {"False", "None", "0", NULL};
    if (declared || tp_py_token_is(tokens, i - 1, "import"))
        return false;
    if (tp_py_token_is(tokens, i + 1, "=")) /* a keyword, or assigned */
        return (tp_py_token_is(tokens, i - 1, "(") ||
                tp_py_token_is(tokens, i - 1, ",")) &&
               !is_one(tokens, i + 2, off) && !is_same(tokens, i, i + 2);
    if (tp_py_token_is(tokens, i - 1, "=")) /* handed on by its own name */
        return i > 1 && !is_same(tokens, i - 2, i);
    return tp_py_token_is(tokens, i + 1, "(") ||
           tp_py_token_is(tokens, i + 1, ".") ||
           tp_py_token_is(tokens, i - 1, ".") || is_one(tokens, i - 1, asks);
}

/* Whether a name is a dtype of torch, or a cast to one. */
static bool is_half(const struct tp_py_tokens *tokens, size_t i)
{
    static const char *const names[] = {"half", "float16", "bfloat16", NULL};
    static const char *const torch[] = {"torch", "th", NULL};
    return i > 1 && tp_py_token_is(tokens, i - 1, ".") &&
           is_one(tokens, i, names) &&
           (is_one(tokens, i - 2, torch) ||
            (tp_py_token_is(tokens, i + 1, "(") &&
             tp_py_token_is(tokens, i + 2, ")")));
}

/* "precision=16", "precision='bf16-mixed'". */
static bool is_half_precision(const struct tp_py_tokens *tokens, size_t i)
{
    if (!tp_py_token_is(tokens, i, "precision") ||
        !tp_py_token_is(tokens, i + 1, "="))
        return false;
    const struct tp_py_token *value = &tokens->at[i + 2];
    const char *text = tokens->source + value->start;
    return tp_py_token_is(tokens, i + 2, "16") ||
           (value->kind == TP_PY_STRING && value->length > 4 &&
            (!memcmp(text + 1, "16", 2) || !memcmp(text + 1, "bf16", 4)));
}

static unsigned tells_of_word(const struct tp_py_tokens *tokens, size_t i,
                              bool declared)
{
    const struct tp_py_token *at = &tokens->at[i];
    unsigned tells = tells_of(tokens->source + at->start, at->length);
    if (tells & MAY_MIX && is_read(tokens, i, declared))
        tells |= TP_TELLS_MIXED;
    if (is_half(tokens, i) || is_half_precision(tokens, i))
        tells |= TP_TELLS_MIXED;
    if (tp_py_token_is(tokens, i - 1, ".") &&
        tp_py_token_is(tokens, i, "backward"))
        tells |= TP_TELLS_BACKWARD | TP_TELLS_TRAINS;
    if (at->length >= 4 &&
        !memcmp(tokens->source + at->start + at->length - 4, "Loss", 4))
        tells |= TP_TELLS_LOSS;
    if (tp_py_token_is(tokens, i, "binary_cross_entropy"))
        tells |= TP_TELLS_BCE;
    return tells & ~(unsigned)MAY_MIX;
}

unsigned tp_tells_read(const struct tp_py_tokens *tokens)
{
    unsigned tells = 0;
    int depth = 0; /* of brackets, from 1 on behind "def" */
    for (size_t i = 1; i < tokens->count; i++) {
        const struct tp_py_token *at = &tokens->at[i];
        bool opens = tp_py_token_is(tokens, i, "(");
        if (tp_py_token_is(tokens, i - 1, "def"))
            depth = 1;
        else if (depth > 0 && opens)
            depth++;
        else if (depth > 0 && tp_py_token_is(tokens, i, ")"))
            depth = depth > 2 ? depth - 1 : 0;
        if (at->kind == TP_PY_WORD)
            tells |= tells_of_word(tokens, i, depth > 0);
        else if (is_bce(tokens, i) && tp_py_token_is(tokens, i - 1, "=="))
            tells |= TP_TELLS_ASKS_BCE;
    }
    return tells;
}
