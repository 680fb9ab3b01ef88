/* SPDX-License-Identifier: MIT */
/*
 * Pickles that would do more than make objects. A pickle names functions, and
 * Python calls them while it loads; here they stay names. Of those that run
 * programs or text as code no object of training makes use, so their presence
 * alone is worth a word, wherever they stand and whether or not something is
 * called with them. A list of what is harmless would be the stricter
 * alternative, and torch has one (weights_only); but configurations in
 * checkpoints name any class, and every second file would be blamed. Cost: a
 * few comparisons for each name in the pickle.
 */
#include "formats/torch/torch_danger.h"

#include <string.h>

/* Beginnings of full names. posix and nt are what Python calls the functions of
 * os where it pickles them; the names of Python 2 are __builtin__'s. */
static const char *const dangers[] = {
    "posix.",
    "nt.",
    "os.system",
    "os.popen",
    "os.exec",
    "os.spawn",
    "os.posix_spawn",
    "subprocess.",
    "commands.",
    "pty.",
    "runpy.",
    "shutil.",
    "importlib.",
    "ctypes.",
    "webbrowser.",
    "pdb.",
    "bdb.",
    "timeit.",
    "marshal.",
    "pickle.load",
    "_pickle.load",
    "builtins.eval",
    "builtins.exec",
    "builtins.compile",
    "builtins.open",
    "builtins.__import__",
    "__builtin__.eval",
    "__builtin__.exec",
    "__builtin__.compile",
    "__builtin__.open",
    "__builtin__.__import__",
};

static bool is_danger(const char *name)
{
    for (size_t i = 0; name && i < sizeof dangers / sizeof *dangers; i++) {
        if (*name == *dangers[i] &&
            !strncmp(name, dangers[i], strlen(dangers[i])))
            return true;
    }
    return false;
}

enum tp_status tp_torch_danger_tell(struct tp_tensor_file *file,
                                    const struct tp_pickle *pickle,
                                    struct tp_error *err)
{
    for (size_t i = 0; i < pickle->count; i++) {
        const tp_ref ref = (tp_ref)i;
        if (tp_pickle_kind(pickle, ref) != TP_VALUE_GLOBAL ||
            !is_danger(tp_pickle_callable(pickle, ref)))
            continue;
        struct tp_error why = {0};
        tp_fail(&why, TP_E_DAMAGED, tp_pickle_offset(pickle, ref),
                "whoever loads this with Python may run %.200s, which no "
                "tensor needs; here nothing was called",
                tp_pickle_callable(pickle, ref));
        return tp_tensor_file_skip(file, "", &why, err);
    }
    return TP_OK;
}
