/* SPDX-License-Identifier: MIT */
/*
 * Notebooks: which cells and lines become Python, and where findings say that
 * they are. What IPython takes for its own is from its documentation
 * ("IPython syntax"): magics, system commands, help, at the start of a
 * statement or right of an assignment, and cells that begin with "%%".
 */
#include "check/notebook.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_file.h"

static void expect_blanked(const char *cell, const char *wanted)
{
    char *copy = strdup(cell);
    tp_notebook_blank(copy, strlen(copy));
    cr_expect_str_eq(copy, wanted, "%s: %s", cell, copy);
    free(copy);
}

Test(notebook, what_is_ipython)
{
    expect_blanked("%cd x\ny()\n", "0    \ny()\n");
    expect_blanked("if a:\n  !ls", "if a:\n  0  ");
    expect_blanked("!pip a \\\n  b\nc()", "0       \n   \nc()");
    expect_blanked("x = !ls\n", "x = 0  \n");
    expect_blanked("x = %time f()\n", "x = 0        \n");
    expect_blanked("f.g??\n?f\n", "0    \n0 \n");
    expect_blanked("%%bash\nx y z\n", "      \n     \n");
    expect_blanked("\n%%time\ny()\n", "\n0     \ny()\n");
}

Test(notebook, what_is_python)
{
    static const char *const cells[] = {
        "x = (a\n     % b)\n", "x = a \\\n  % b\n", "s = '''\n!x\n%y\n'''\n",
        "x = 1 # really?\n",   "x != y\n",          "f(a='!', b='%')\n",
        "x = \"?\"\n",         "d = {'a':\n%s}\n",  "x %= 2\n"};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        expect_blanked(cells[i], cells[i]);
}

static void read_text(const char *text, struct tp_check_file *file,
                      enum tp_status wanted)
{
    struct tp_error err = {0};
    *file = (struct tp_check_file){0};
    cr_assert_eq(tp_check_text_of("a.ipynb", text, strlen(text), file, &err),
                 wanted, "%s: %s", text, err.message);
}

/* Names go from cell to cell; places are those of the cells. */
Test(notebook, cells_are_one_script)
{
    static const char text[] =
        "{\"cells\": [\n"
        "{\"cell_type\": \"code\", \"source\": \"from torch import nn as "
        "n\"},\n"
        "{\"cell_type\": \"raw\", \"source\": [\"x.half()\"]},\n"
        "{\"source\": [\"pass\\n\",\n\"\\\"\\\\n\\\"; n.BCELoss()\\n\",\n"
        "\"print 1\"], \"cell_type\": \"code\"}]}";
    struct tp_check_file file;
    read_text(text, &file, TP_OK);
    cr_assert_eq(file.findings.count, 1);
    struct tp_check_place place =
        tp_check_place_of(&file, file.findings.at[0].line);
    cr_expect_eq(place.cell, 3);
    cr_expect_eq(place.line, 2);
    cr_expect_eq(place.file_line, 5);
    cr_expect_eq(file.problem.code, TP_E_DAMAGED);
    cr_expect_eq(file.problem_line, 6);
    cr_expect(strstr(file.problem.message, "cell 3, line 3") != NULL, "%s",
              file.problem.message);
    tp_check_file_clear(&file);
}

Test(notebook, older_form)
{
    struct tp_check_file file;
    read_text("{\"worksheets\": [{\"cells\": [{\"cell_type\": \"code\", "
              "\"input\": [\"x.half()\"], \"language\": \"python\"}]}]}",
              &file, TP_OK);
    cr_expect_eq(file.findings.count, 1);
    tp_check_file_clear(&file);
}

Test(notebook, no_notebook_of_python)
{
    struct tp_check_file file;
    read_text("{}", &file, TP_E_UNSUPPORTED);
    read_text("[1]", &file, TP_E_UNSUPPORTED);
    read_text("{\"cells\": [], \"metadata\": {\"language_info\": "
              "{\"name\": \"julia\"}}}",
              &file, TP_E_UNSUPPORTED);
    read_text("{\"cells\": [", &file, TP_E_DAMAGED);
    read_text("{\"cells\": [1, [], {}, {\"cell_type\": \"code\", \"source\": "
              "{\"a\": \"x.half()\"}}]}",
              &file, TP_OK);
    cr_expect_eq(file.findings.count, 0);
    tp_check_file_clear(&file);
}
