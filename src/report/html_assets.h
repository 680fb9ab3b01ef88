/* SPDX-License-Identifier: MIT */
#ifndef TP_REPORT_HTML_ASSETS_H
#define TP_REPORT_HTML_ASSETS_H

/* What every page carries: the lines of html/report.css and of the scripts,
 * each ended by NULL, and the hashes by which the page's own policy knows them
 * (base64 of SHA-256). tests/check_html.sh compares these with the files. */
extern const char *const tp_html_style[];
extern const char *const tp_html_script[];

#define TP_HTML_STYLE_HASH \
    "sha256-hk4CY0nTwVGOiRDU0xj35zS35KgrOiMU13qvI5jGC0s="
#define TP_HTML_SCRIPT_HASH \
    "sha256-AoCXIbyqlW7vXwzc2QEXkumeZWQTL6Kltx0zqOBNCjk="

#endif
