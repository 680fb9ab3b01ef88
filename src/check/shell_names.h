/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_SHELL_NAMES_H
#define TP_CHECK_SHELL_NAMES_H

#include <stdint.h>

#include "base/memory.h"

/* Variables of a shell script, and in which branch they got what they hold. */

/* A word of a command. */
struct tp_shell_word {
    const char *text; /* up to what is unknown; of a variable that nothing is
                         known of "$NAME"                                 */
    uint32_t line, offset; /* where it was written, maybe in a variable    */
    bool unknown;          /* it goes on, or is more words                 */
    bool maybe;            /* a branch may leave it out                    */
};

/* Who is told of each command, in the order of the script. The words live
 * during the call, their texts until tp_shell_read returns. */
struct tp_shell_visitor {
    void *context;
    void (*command)(void *context, const struct tp_shell_word *words,
                    size_t count);
};

/* A branch: of an if, a case, a loop, a function, or behind && and ||. 0: what
 * runs in any case. */
struct tp_shell_arm {
    uint32_t parent, depth;
};

/* A word that a variable holds. */
struct tp_shell_item {
    struct tp_shell_word word;
    uint32_t arm;    /* that put it there                                  */
    uint32_t masked; /* an arm that put something else there; 0: none      */
};

struct tp_shell_variable {
    const char *name;
    struct tp_shell_item *items;
    size_t count, capacity;
    bool known;
};

/* All-zero bytes are none. */
struct tp_shell_names {
    struct tp_shell_variable *slots; /* open addressing                    */
    size_t count, capacity;
    struct tp_shell_arm *arms;
    size_t arm_count, arm_capacity;
    bool failed; /* memory ended for one of them                           */
};

/* The variable, made if `make` and there is none; NULL: none, or no memory.
 * Valid until the next one is made. */
struct tp_shell_variable *tp_shell_name(struct tp_shell_names *names,
                                        struct tp_arena *arena,
                                        const char *name, size_t length,
                                        bool make);

/* A new branch in another one; that one itself where they nest too deep. */
uint32_t tp_shell_arm_new(struct tp_shell_names *names, uint32_t parent);

/* What an item is where branch `arm` runs: its word, with maybe set where the
 * branch does not tell. False: something else is there. */
bool tp_shell_item_in(const struct tp_shell_names *names,
                      const struct tp_shell_item *item, uint32_t arm,
                      struct tp_shell_word *word);

/* Forgets what the variable held, as far as branch `arm` runs. */
void tp_shell_forget(struct tp_shell_names *names,
                     struct tp_shell_variable *variable, uint32_t arm);

/* Adds a word, in that branch. TP_E_MEMORY; TP_E_LIMIT, there are too many. */
enum tp_status tp_shell_give(struct tp_shell_variable *variable,
                             struct tp_shell_word word, uint32_t arm);

/* Releases everything but names and texts, which are the arena's. */
void tp_shell_names_clear(struct tp_shell_names *names);

#endif
