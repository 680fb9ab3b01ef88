/* SPDX-License-Identifier: MIT */
#include "report/html_report.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, LINES = TP_HTML_REPORT / LINE };

/* So many lines, the last one without an end. */
static char *lines_of(size_t count)
{
    char *text = malloc(count * LINE + 4);
    cr_assert_not_null(text);
    memset(text, 'x', count * LINE);
    for (size_t i = 1; i <= count; i++)
        text[i * LINE - 1] = '\n';
    memcpy(text + count * LINE, "end", 4);
    return text;
}

static void expect(size_t count, bool whole, size_t shown, const char *told)
{
    char *report = lines_of(count), *wanted = lines_of(shown);
    struct tp_text html = {0};
    tp_html_report(&html, NULL, report, whole);
    const char *text = tp_text_get(&html);
    const char *from = strstr(text, "<pre tabindex=\"0\">");
    cr_assert_not_null(from);
    from += strlen("<pre tabindex=\"0\">");
    cr_expect_eq(strncmp(from, wanted, shown * LINE), 0);
    cr_expect_eq(strncmp(from + shown * LINE, told ? "</pre>" : "end</pre>",
                         6),
                 0);
    cr_expect_eq(strstr(text, "more lines are in") != NULL, told != NULL);
    if (told)
        cr_expect_not_null(strstr(text, told));
    tp_text_clear(&html);
    free(report);
    free(wanted);
}

Test(html_report, a_flood_of_lines_is_cut_unless_the_page_alone_has_it)
{
    expect(3, false, 3, NULL);
    expect(LINES + 5, false, LINES, "<p class=\"soft\">5 more lines are in");
    expect(LINES + 5, true, LINES + 5, NULL);
}
