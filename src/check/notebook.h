/* SPDX-License-Identifier: MIT */
#ifndef TP_CHECK_NOTEBOOK_H
#define TP_CHECK_NOTEBOOK_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The Python in a notebook of Jupyter. */

/* Where a line is: of a script cell 0, and the same line twice. */
struct tp_check_place {
    uint32_t cell; /* from 1, of all cells                                */
    uint32_t line; /* from 1, of the cell                                 */
    uint32_t file_line;
};

/* All code cells as one source. All-zero bytes are none. */
struct tp_notebook {
    char *source;
    size_t length, capacity;
    struct tp_check_place *places; /* by line of the source, less 1       */
    size_t count, place_capacity;
};

/*
 * Puts the code cells of a notebook (nbformat 3 and 4) together; magics and
 * commands of the shell are blanked, so that columns stay. Fails with
 * TP_E_DAMAGED (not JSON), TP_E_UNSUPPORTED (no notebook, or none of Python)
 * or TP_E_MEMORY. Release with tp_notebook_clear, also after a failure.
 */
enum tp_status tp_notebook_read(const char *text, size_t length,
                                struct tp_notebook *notebook,
                                struct tp_error *err);
void tp_notebook_clear(struct tp_notebook *notebook); /* releases all     */

/* Blanks what in a cell is IPython's and not Python's. */
void tp_notebook_blank(char *cell, size_t length);

#endif
