/* SPDX-License-Identifier: MIT */
/* Prints what the reader of Python finds in a file, for python_tree.py. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "tests/unit/support/python_print.h"

static void print_file(const char *text, size_t length)
{
    struct tp_py_tokens tokens = {0};
    struct tp_py_tree tree = {0};
    struct tp_error err = {0};
    if (tp_py_lex(text, length, &tokens, &err) != TP_OK ||
        tp_py_parse(&tokens, &tree, &err) != TP_OK)
        exit(EXIT_FAILURE);
    for (const struct python_kind *kind = python_kinds; kind->name; kind++) {
        char *lines = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&lines, &size);
        if (!out)
            exit(EXIT_FAILURE);
        kind->print(&tree, out);
        fclose(out);
        for (char *line = strtok(lines, "\n"); line; line = strtok(NULL, "\n"))
            printf("%s %s\n", kind->name, line);
        free(lines);
    }
    tp_py_tree_clear(&tree);
    tp_py_tokens_clear(&tokens);
}

int main(int argc, char **argv)
{
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    char *text = malloc(TP_LIMIT_SCRIPT_BYTES);
    if (!file || !text)
        return EXIT_FAILURE;
    print_file(text, fread(text, 1, TP_LIMIT_SCRIPT_BYTES, file));
    fclose(file);
    free(text);
    return EXIT_SUCCESS;
}
