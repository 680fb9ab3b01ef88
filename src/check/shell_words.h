/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_SHELL_WORDS_H
#define TP_CHECK_SHELL_WORDS_H

#include "base/text.h"
#include "check/shell_names.h"

/* What the readers of words and of commands share. */

enum { TP_SHELL_FRAMES = 256, TP_SHELL_DOCUMENTS = 16 };

/* An if, case, loop, { or ( that is open. */
struct tp_shell_frame {
    char kind; /* of "icl{("                                              */
    bool pattern;
    uint32_t arm; /* around it                                            */
};

struct tp_shell_reader {
    const char *p, *begin, *end;
    uint32_t line;
    struct tp_arena arena;
    struct tp_shell_names names;
    const struct tp_shell_visitor *visitor;
    uint32_t arm, list_arm; /* where we are; where the list began         */
    struct tp_shell_frame frames[TP_SHELL_FRAMES];
    size_t frame_count, expanded;
    /* the word that is made, and those that are                          */
    struct tp_text text;
    struct tp_shell_word word;
    bool begun, quoted, splits;
    struct tp_shell_word *words;
    size_t count, capacity;
    const char *documents[TP_SHELL_DOCUMENTS]; /* "<<END": END                */
    size_t document_size[TP_SHELL_DOCUMENTS], document_count;
    bool failed, drops; /* the next word is the file of a redirection     */
    bool joins;         /* the last operator was && or ||                 */
};

/* Whether a name may have that character, or begin with it. */
bool tp_shell_is_name(char c, bool first);

/* Whether the next character is `c`. */
static inline bool tp_shell_at(const struct tp_shell_reader *reader, char c)
{
    return reader->p < reader->end && *reader->p == c;
}

/* Passes one character; there must be one. */
static inline void tp_shell_pass(struct tp_shell_reader *reader)
{
    reader->line += *reader->p++ == '\n';
}

/* One word, or several that variables hold, up to a blank or an operator. With
 * reader->splits a text in quotes is many words. */
void tp_shell_read_word(struct tp_shell_reader *reader);

/* Adds what only running the script would tell. */
void tp_shell_add_unknown(struct tp_shell_reader *reader, const char *name,
                          size_t length);

/* Ends the word that is made, if one is. */
void tp_shell_end_word(struct tp_shell_reader *reader);

/* Passes what stands between brackets, which may nest and hold quotes. */
void tp_shell_pass_brackets(struct tp_shell_reader *reader, char open,
                            char close);

/* Passes the rest of the line. */
void tp_shell_pass_comment(struct tp_shell_reader *reader);

#endif
