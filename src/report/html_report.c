/* SPDX-License-Identifier: MIT */
#include "report/html_report.h"

#include <string.h>

#include "report/html_told.h"
#include "report/html_write.h"

/* Each line by itself, in the language it is in. */
static void add_told(struct tp_text *html, const char *lang, const char *report)
{
    while (*report) {
        const size_t length = strcspn(report, "\n");
        struct tp_text line = {0};
        tp_text_bytes(&line, report, length);
        tp_html_told(html, lang, tp_text_get(&line));
        html->failed |= line.failed;
        tp_text_clear(&line);
        report += length;
        if (*report) {
            tp_text_add(html, "\n");
            report++;
        }
    }
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        count++;
    return count;
}

static size_t shown_length(const char *report, bool whole)
{
    size_t length = strlen(report);
    if (whole || length <= TP_HTML_REPORT)
        return length;
    length = TP_HTML_REPORT;
    while (length > 0 && report[length - 1] != '\n')
        length--;
    return length;
}

/* Last, closed, and on paper only if it was opened: the rest of a page says the
 * same. */
void tp_html_report(struct tp_text *html, const char *lang, const char *report,
                    bool whole)
{
    const size_t length = shown_length(report, whole);
    struct tp_text shown = {0};
    tp_text_bytes(&shown, report, length);
    tp_text_add(html, "<details class=\"text\"><summary>"
                      "<h2 id=\"report\">Report</h2></summary>\n"
                      "<div><pre tabindex=\"0\">");
    if (lang)
        add_told(html, lang, tp_text_get(&shown));
    else
        tp_html_lines(html, tp_text_get(&shown));
    tp_text_add(html, "</pre>");
    if (report[length])
        tp_text_add(html,
                    "<p class=\"soft\">%zu more lines are in the file of the "
                    "report, beside this page.</p>",
                    count_lines(report + length));
    tp_text_add(html, "</div></details>\n");
    html->failed |= shown.failed;
    tp_text_clear(&shown);
}
