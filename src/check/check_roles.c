/* SPDX-License-Identifier: MIT */
#include "check/check_roles.h"

#include <stdlib.h>
#include <string.h>

#include "check/amp_ops.h"

#define NN "nn.functional."

/* A name with its length, so that most are told apart by that. */
struct row {
    const char *name;
    unsigned char length, role;
};

#define ROW(name, role)                       \
    {                                         \
        name, sizeof name - 1, TP_DOES_##role \
    }

/* Functions and classes of torch, by path behind "torch.". */
static const struct row paths[] = {
    ROW("softmax", SOFTMAX),
    ROW(NN "softmax", SOFTMAX),
    ROW("special.softmax", SOFTMAX),
    ROW("sigmoid", SIGMOID),
    ROW(NN "sigmoid", SIGMOID),
    ROW("log", LOG),
    ROW("exp", EXP),
    ROW("sqrt", SQRT),
    ROW("square", SQUARE),
    ROW("pow", SQUARE),
    ROW("sum", REDUCE),
    ROW("mean", REDUCE),
    ROW("norm", NORM),
    ROW("linalg.norm", NORM),
    ROW("linalg.vector_norm", NORM),
    ROW("cumsum", CUMULATE),
    ROW("cumprod", CUMULATE),
    ROW("prod", CUMULATE),
    ROW("cos", TRIGONOMETRY),
    ROW("sin", TRIGONOMETRY),
    ROW("clamp", CLAMP),
    ROW("clip", CLAMP),
    ROW("where", WHERE),
    ROW("masked_fill", MASKED_FILL),
    ROW("arange", ARANGE),
    ROW("outer", KEEP_WIDTH),
    ROW("abs", KEEP_WIDTH),
    ROW("dropout", KEEP_WIDTH),
    ROW(NN "relu", KEEP_WIDTH),
    ROW(NN "gelu", KEEP_WIDTH),
    ROW(NN "silu", KEEP_WIDTH),
    ROW(NN "dropout", KEEP_WIDTH),
    ROW(NN "binary_cross_entropy", BCE),
    ROW(NN "cross_entropy", CROSS_ENTROPY),
    ROW(NN "binary_cross_entropy_with_logits", BCE_LOGITS),
    ROW(NN "nll_loss", NLL),
    ROW(NN "mse_loss", LOSS),
    ROW(NN "l1_loss", LOSS),
    ROW(NN "smooth_l1_loss", LOSS),
    ROW(NN "kl_div", LOSS),
    ROW(NN "huber_loss", LOSS),
    ROW("nn.BCELoss", MAKE_BCE),
    ROW("nn.CrossEntropyLoss", MAKE_CROSS_ENTROPY),
    ROW("nn.BCEWithLogitsLoss", MAKE_BCE_LOGITS),
    ROW("nn.NLLLoss", MAKE_NLL),
    ROW("nn.MSELoss", MAKE_LOSS),
    ROW("nn.L1Loss", MAKE_LOSS),
    ROW("nn.SmoothL1Loss", MAKE_LOSS),
    ROW("nn.KLDivLoss", MAKE_LOSS),
    ROW("nn.HuberLoss", MAKE_LOSS),
    ROW("nn.LayerNorm", MAKE_NORM),
    ROW("nn.RMSNorm", MAKE_NORM),
    ROW("nn.GroupNorm", MAKE_NORM),
    ROW("nn.BatchNorm1d", MAKE_NORM),
    ROW("nn.BatchNorm2d", MAKE_NORM),
    ROW("nn.BatchNorm3d", MAKE_NORM),
    ROW("nn.SyncBatchNorm", MAKE_NORM),
    ROW("nn.DataParallel", MAKE_DATA_PARALLEL),
    ROW("nn.parallel.DataParallel", MAKE_DATA_PARALLEL),
    ROW("nn.utils.clip_grad_norm_", CLIP),
    ROW("nn.utils.clip_grad_value_", CLIP),
    ROW("nn.utils.clip_grad.clip_grad_norm_", CLIP),
    ROW("nn.utils.clip_grad.clip_grad_value_", CLIP),
    ROW("autocast", AUTOCAST),
    ROW("amp.autocast", AUTOCAST),
    ROW("cuda.amp.autocast", AUTOCAST),
    ROW("cpu.amp.autocast", AUTOCAST),
    ROW("amp.autocast_mode.autocast", AUTOCAST),
    ROW("cuda.amp.autocast_mode.autocast", AUTOCAST),
    ROW("amp.GradScaler", MAKE_SCALER),
    ROW("cuda.amp.GradScaler", MAKE_SCALER),
    ROW("cpu.amp.GradScaler", MAKE_SCALER),
    ROW("amp.grad_scaler.GradScaler", MAKE_SCALER),
    ROW("cuda.amp.grad_scaler.GradScaler", MAKE_SCALER),
    ROW("no_grad", NO_GRAD),
    ROW("inference_mode", NO_GRAD),
    ROW("set_default_dtype", DEFAULT_DTYPE),
};

/* Methods of tensors, of modules, of optimisers and of scalers, by name. */
static const struct row methods[] = {
    ROW("half", HALF),
    ROW("bfloat16", HALF),
    ROW("float", FLOAT),
    ROW("double", FLOAT),
    ROW("to", CAST),
    ROW("type", CAST),
    ROW("softmax", SOFTMAX),
    ROW("sigmoid", SIGMOID),
    ROW("log", LOG),
    ROW("exp", EXP),
    ROW("sqrt", SQRT),
    ROW("square", SQUARE),
    ROW("pow", SQUARE),
    ROW("sum", REDUCE),
    ROW("mean", REDUCE),
    ROW("norm", NORM),
    ROW("cumsum", CUMULATE),
    ROW("cumprod", CUMULATE),
    ROW("prod", CUMULATE),
    ROW("cos", TRIGONOMETRY),
    ROW("sin", TRIGONOMETRY),
    ROW("clamp", CLAMP),
    ROW("clamp_", CLAMP),
    ROW("clip", CLAMP),
    ROW("masked_fill", MASKED_FILL),
    ROW("masked_fill_", MASKED_FILL),
    ROW("where", WHERE),
    ROW("backward", BACKWARD),
    ROW("step", STEP),
    ROW("scale", SCALE),
    ROW("unscale_", UNSCALE),
    ROW("update", UPDATE),
    ROW("view", KEEP),
    ROW("reshape", KEEP),
    ROW("squeeze", KEEP),
    ROW("unsqueeze", KEEP),
    ROW("transpose", KEEP),
    ROW("permute", KEEP),
    ROW("contiguous", KEEP),
    ROW("flatten", KEEP),
    ROW("clone", KEEP),
    ROW("detach", KEEP),
    ROW("cuda", KEEP),
    ROW("cpu", KEEP),
    ROW("expand", KEEP),
    ROW("repeat", KEEP_WIDTH),
    ROW("abs", KEEP_WIDTH),
    ROW("neg", KEEP_WIDTH),
    ROW("relu", KEEP_WIDTH),
    ROW("requires_grad_", KEEP),
    ROW("train", KEEP),
    ROW("eval", KEEP),
    ROW("autocast", AUTOCAST),
};

#undef ROW

static enum tp_call_role role_of(const struct row *rows, size_t count,
                                 const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].length == length && rows[i].name[0] == *name &&
            memcmp(rows[i].name, name, length) == 0)
            return (enum tp_call_role)rows[i].role;
    }
    return TP_DOES_NONE;
}

/* What autocast does to an operator that has no role of its own. */
static enum tp_call_role role_of_policy(const char *name, size_t length)
{
    switch (tp_amp_policy_of(name, length)) {
    case TP_AMP_LOWER:
        return TP_DOES_MULTIPLY;
    case TP_AMP_FP32:
        return TP_DOES_WIDEN;
    default:
        return TP_DOES_NONE;
    }
}

/* Optimisers and modules are told by their folder. */
static enum tp_call_role role_of_path(const char *path)
{
    if (!strncmp(path, "msprobe.", 8)) {
        const char *last = strrchr(path, '.');
        return strcmp(last, ".PrecisionDebugger") ? TP_DOES_NONE
                                                  : TP_DOES_MAKE_DEBUGGER;
    }
    if (strncmp(path, "torch.", 6) != 0) {
        const char *last = strrchr(path, '.');
        return last && !strcmp(last, ".autocast") &&
                       strncmp(path, "transformer_engine.", 19) != 0
                   ? TP_DOES_AUTOCAST /* of a framework */
                   : TP_DOES_NONE;
    }
    path += 6;
    enum tp_call_role role =
        role_of(paths, sizeof paths / sizeof *paths, path, strlen(path));
    if (role != TP_DOES_NONE)
        return role;
    if (!strncmp(path, "optim.", 6) && !strchr(path + 6, '.') &&
        path[6] >= 'A' && path[6] <= 'Z')
        return TP_DOES_MAKE_OPTIMIZER;
    if (!strncmp(path, "nn.", 3) && path[3] >= 'A' && path[3] <= 'Z' &&
        !strstr(path, "Loss"))
        return TP_DOES_MAKE_MODULE;
    if (!strncmp(path, NN, sizeof NN - 1))
        path += sizeof NN - 1;
    return strchr(path, '.') ? TP_DOES_NONE
                             : role_of_policy(path, strlen(path));
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
    const struct tp_py_token *token =
        &script->tokens.at[script->tree.at[call->function].token];
    const char *text = script->tokens.source + token->start;
    role =
        role_of(methods, sizeof methods / sizeof *methods, text, token->length);
    return role != TP_DOES_NONE ? role : role_of_policy(text, token->length);
}

void tp_call_judge(const struct tp_script *script, uint32_t node,
                   char path[TP_PATH_MAX], struct tp_call *call)
{
    const struct tp_py_node *at = script->tree.at;
    path[0] = '\0';
    *call = (struct tp_call){
        .node = node, .function = at[node].child, .path = path};
    if (!call->function)
        return;
    tp_script_path(script, call->function, path);
    if (!path[0] && at[call->function].kind == TP_PY_ATTRIBUTE)
        call->receiver = at[call->function].child;
    call->role = path[0] ? role_of_path(path) : role_of_name(script, call);
}

bool tp_calls_judge(struct tp_script *script)
{
    const struct tp_py_tree *tree = &script->tree;
    char path[TP_PATH_MAX];
    size_t count = 0, number = 0;
    for (size_t i = 1; i < tree->count; i++)
        count += tree->at[i].kind == TP_PY_CALL;
    script->calls = calloc(count + 1, sizeof *script->calls);
    script->call_of = calloc(tree->count + 1, sizeof *script->call_of);
    if (!script->calls || !script->call_of)
        return false;
    for (size_t i = 1; i < tree->count; i++) {
        if (tree->at[i].kind != TP_PY_CALL)
            continue;
        struct tp_call *call = &script->calls[number];
        tp_call_judge(script, (uint32_t)i, path, call);
        call->path =
            !path[0] ? "" : tp_arena_text(&script->arena, path, strlen(path));
        if (!call->path)
            return false;
        script->call_of[i] = (uint32_t)number++;
    }
    return true;
}

void tp_call_read(const struct tp_script *script, uint32_t node,
                  struct tp_call *call)
{
    *call = script->calls[script->call_of[node]];
}
