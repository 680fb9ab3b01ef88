/* SPDX-License-Identifier: MIT */
#include "check/check_roles.h"

#include <string.h>

#define NN "torch.nn.functional."

/* Functions and classes of torch, by path. */
static const struct {
    const char *path;
    enum tp_call_role role;
} paths[] = {
    {"torch.softmax", TP_DOES_SOFTMAX},
    {NN "softmax", TP_DOES_SOFTMAX},
    {"torch.sigmoid", TP_DOES_SIGMOID},
    {NN "sigmoid", TP_DOES_SIGMOID},
    {"torch.log", TP_DOES_LOG},
    {"torch.sum", TP_DOES_REDUCE},
    {"torch.mean", TP_DOES_REDUCE},
    {NN "binary_cross_entropy", TP_DOES_BCE},
    {NN "cross_entropy", TP_DOES_CROSS_ENTROPY},
    {NN "binary_cross_entropy_with_logits", TP_DOES_BCE_LOGITS},
    {NN "nll_loss", TP_DOES_NLL},
    {NN "mse_loss", TP_DOES_LOSS},
    {NN "l1_loss", TP_DOES_LOSS},
    {NN "smooth_l1_loss", TP_DOES_LOSS},
    {NN "kl_div", TP_DOES_LOSS},
    {NN "huber_loss", TP_DOES_LOSS},
    {"torch.nn.BCELoss", TP_DOES_MAKE_BCE},
    {"torch.nn.CrossEntropyLoss", TP_DOES_MAKE_CROSS_ENTROPY},
    {"torch.nn.BCEWithLogitsLoss", TP_DOES_MAKE_BCE_LOGITS},
    {"torch.nn.NLLLoss", TP_DOES_MAKE_NLL},
    {"torch.nn.MSELoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.L1Loss", TP_DOES_MAKE_LOSS},
    {"torch.nn.SmoothL1Loss", TP_DOES_MAKE_LOSS},
    {"torch.nn.KLDivLoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.HuberLoss", TP_DOES_MAKE_LOSS},
    {"torch.nn.utils.clip_grad_norm_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad_value_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad.clip_grad_norm_", TP_DOES_CLIP},
    {"torch.nn.utils.clip_grad.clip_grad_value_", TP_DOES_CLIP},
    {"torch.autocast", TP_DOES_AUTOCAST},
    {"torch.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.cuda.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.cpu.amp.autocast", TP_DOES_AUTOCAST},
    {"torch.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.cuda.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.cpu.amp.GradScaler", TP_DOES_MAKE_SCALER},
    {"torch.no_grad", TP_DOES_NO_GRAD},
    {"torch.inference_mode", TP_DOES_NO_GRAD},
    {"torch.set_default_dtype", TP_DOES_DEFAULT_DTYPE},
};

/* Methods of tensors, of optimisers and of scalers, by name. */
static const struct {
    const char *name;
    enum tp_call_role role;
} methods[] = {
    {"half", TP_DOES_HALF},         {"bfloat16", TP_DOES_HALF},
    {"float", TP_DOES_FLOAT},       {"double", TP_DOES_FLOAT},
    {"softmax", TP_DOES_SOFTMAX},   {"sigmoid", TP_DOES_SIGMOID},
    {"log", TP_DOES_LOG},           {"sum", TP_DOES_REDUCE},
    {"mean", TP_DOES_REDUCE},       {"backward", TP_DOES_BACKWARD},
    {"step", TP_DOES_STEP},         {"scale", TP_DOES_SCALE},
    {"unscale_", TP_DOES_UNSCALE},  {"update", TP_DOES_UPDATE},
    {"view", TP_DOES_KEEP},         {"reshape", TP_DOES_KEEP},
    {"squeeze", TP_DOES_KEEP},      {"unsqueeze", TP_DOES_KEEP},
    {"transpose", TP_DOES_KEEP},    {"permute", TP_DOES_KEEP},
    {"contiguous", TP_DOES_KEEP},   {"flatten", TP_DOES_KEEP},
    {"autocast", TP_DOES_AUTOCAST},
};

/* Optimisers and modules are told by their folder. */
static enum tp_call_role role_of_path(const char *path)
{
    if (strncmp(path, "torch.", 6) != 0)
        return TP_DOES_NONE;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (!strcmp(paths[i].path, path))
            return paths[i].role;
    }
    if (!strncmp(path, "torch.optim.", 12) && !strchr(path + 12, '.') &&
        path[12] >= 'A' && path[12] <= 'Z')
        return TP_DOES_MAKE_OPTIMIZER;
    if (!strncmp(path, "torch.nn.", 9) && path[9] >= 'A' && path[9] <= 'Z' &&
        !strstr(path, "Loss"))
        return TP_DOES_MAKE_MODULE;
    return TP_DOES_NONE;
}

static enum tp_call_role role_of_object(uint32_t tags)
{
    return tags & TP_TAG_CROSS_ENTROPY ? TP_DOES_CROSS_ENTROPY
           : tags & TP_TAG_BCE_LOGITS  ? TP_DOES_BCE_LOGITS
           : tags & TP_TAG_NLL         ? TP_DOES_NLL
           : tags & TP_TAG_LOSS        ? TP_DOES_LOSS
                                       : TP_DOES_NONE;
}

/* Whether what stands before a method may be a tensor or the like: self is a
 * module, and classes begin with a capital. */
static bool is_value(const struct tp_script *script, uint32_t node)
{
    size_t length;
    const char *text = tp_script_text(script, node, &length);
    return !text || ((length != 4 || memcmp(text, "self", 4) != 0) &&
                     !(text[0] >= 'A' && text[0] <= 'Z'));
}

/* The role of a call whose path is unknown. */
static enum tp_call_role role_of_name(const struct tp_script *script,
                                      const struct tp_call *call)
{
    int kind = script->tree.at[call->function].kind;
    enum tp_call_role role =
        role_of_object(tp_script_object(script, call->function));
    if (role != TP_DOES_NONE)
        return role;
    if (kind == TP_PY_NAME)
        return tp_py_is(&script->tree, call->function, "autocast")
                   ? TP_DOES_AUTOCAST
                   : TP_DOES_NONE;
    if (kind != TP_PY_ATTRIBUTE || !is_value(script, call->receiver))
        return TP_DOES_NONE;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (tp_py_is(&script->tree, call->function, methods[i].name))
            return methods[i].role;
    }
    return TP_DOES_NONE;
}

void tp_call_read(const struct tp_script *script, uint32_t node,
                  struct tp_call *call)
{
    const struct tp_py_node *at = script->tree.at;
    call->node = node;
    call->function = at[node].child;
    call->receiver = 0;
    call->role = TP_DOES_NONE;
    call->path[0] = '\0';
    if (!call->function)
        return;
    tp_script_path(script, call->function, call->path);
    if (!call->path[0] && at[call->function].kind == TP_PY_ATTRIBUTE)
        call->receiver = at[call->function].child;
    call->role =
        call->path[0] ? role_of_path(call->path) : role_of_name(script, call);
}
