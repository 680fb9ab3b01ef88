/* SPDX-License-Identifier: MIT */
#ifndef TP_TORCH_TORCH_REBUILD_H
#define TP_TORCH_TORCH_REBUILD_H

#include "formats/torch/torch_storage.h"

/* What a call in a torch pickle means to us. */
enum tp_torch_role {
    TP_TORCH_TENSOR,      /* (storage, offset, size, stride, ...)          */
    TP_TORCH_WRAPPER,     /* its first argument is the value               */
    TP_TORCH_FROM_TYPE,   /* (function, type, args, state) of a subclass   */
    TP_TORCH_CONTAINER,   /* its arguments and items are its content       */
    TP_TORCH_SHELL,       /* a tensor without a storage, whose parts are its
                             attributes; see `what`                        */
    TP_TORCH_ARRAY,       /* an array of numpy, see torch_numpy.h          */
    TP_TORCH_UNSUPPORTED  /* a tensor we cannot read, see `what`           */
};

/* An object of a pickle: what is called with `args`, what it is called by, and
 * the attributes it gets; TP_REF_NONE where there are none. */
struct tp_torch_object {
    tp_ref call, args, state;
};

/* One row of the allow-list of globals. */
struct tp_torch_global {
    const char *name;
    enum tp_torch_role role;
    const char *what;  /* SHELL, UNSUPPORTED: "sparse tensors"             */
    int8_t dtype;      /* TENSOR: place of the dtype among the arguments   */
    int8_t metadata;   /* TENSOR: and of the metadata; 0: there is none    */
};

/* The row of a global; NULL for all we know nothing about, and for NULL. */
const struct tp_torch_global *tp_torch_global_find(const char *name);

/* Reads a tuple, list or torch.Size of integers, *count of them. TP_E_DAMAGED,
 * TP_E_LIMIT. */
enum tp_status tp_torch_dims(const struct tp_pickle *pickle, tp_ref ref,
                             int64_t dims[TP_LIMIT_DIMS], int *count,
                             struct tp_error *err);

/*
 * Whether a value is a storage: named by a persistent id, or inside the pickle.
 */
bool tp_torch_is_storage(const struct tp_pickle *pickle, tp_ref ref);

/* Storages that lie inside the pickle: as bytes of a file of their own, or as
 * the elements of an array of numpy. */
struct tp_torch_nested {
    tp_ref call;                /* that makes it                           */
    struct tp_storage *storage; /* NULL: not read yet                      */
    enum tp_dtype dtype;
    bool array;                 /* of numpy, whose order and shape follow */
    bool fortran;
    tp_ref shape;
    const struct tp_error *failure; /* why there is none; NULL: not tried  */
};

struct tp_torch_builder {
    const struct tp_pickle *pickle;
    struct tp_torch_source *source;
    struct tp_arena *arena;
    struct tp_torch_nested *nested; /* sorted by call                      */
    size_t nested_count;
    uint64_t nested_bytes;          /* of those read so far                */
};

/* Finds the nested storages. Fails only with TP_E_MEMORY. */
enum tp_status tp_torch_builder_init(struct tp_torch_builder *builder,
                                     struct tp_error *err);

/*
 * Fills in *tensor, but for its path, from the arguments of a TP_TORCH_TENSOR
 * call, or from a TP_TORCH_ARRAY call itself. Fails with TP_E_DAMAGED or
 * TP_E_UNSUPPORTED.
 */
enum tp_status tp_torch_rebuild(struct tp_torch_builder *builder,
                                const struct tp_torch_global *global,
                                tp_ref args, struct tp_tensor *tensor,
                                struct tp_error *err);

#endif
