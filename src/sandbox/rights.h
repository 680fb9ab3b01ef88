/* SPDX-License-Identifier: MIT */
#ifndef TP_SANDBOX_RIGHTS_H
#define TP_SANDBOX_RIGHTS_H

#include <stdbool.h>

/* What is asked of a sandbox, and what became of it. */

/* Who gives rights away. */
enum tp_sandbox_role {
    TP_SANDBOX_READER, /* reads inputs: only calls that are known to be needed;
                          one that an attack would make ends the process     */
    TP_SANDBOX_DEVICE, /* a reader with a GPU, whose driver may call much:
                          device files and sockets of this machine           */
    TP_SANDBOX_WORLD,  /* a reader among several processes of MPI: the network;
                          writes anywhere                                    */
    TP_SANDBOX_STARTER /* starts programs; refused calls just fail           */
};

enum { TP_SANDBOX_FOLDERS = 8 };

/* What is left to it. Texts are borrowed. */
struct tp_sandbox_wish {
    enum tp_sandbox_role role;
    /* All in them and below may be written; NULL, and what is not there, are
     * left out. */
    const char *folders[TP_SANDBOX_FOLDERS];
    /* Empty folders in them may be removed, as above. */
    const char *emptied[TP_SANDBOX_FOLDERS];
    const char *const *programs; /* names in PATH that may be started, ended by
                                    NULL; NULL: none                          */
};

/* One means of the kernel. */
struct tp_sandbox_means {
    bool active;
    char why_not[80]; /* "" where it is active                              */
};

/* What is in force. */
struct tp_sandbox {
    struct tp_sandbox_means landlock, seccomp;
    int landlock_version; /* of what the kernel has; 0: none                */
};

#endif
