/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_CSV_H
#define TP_TESTS_CSV_H

#include <stddef.h>
#include <string.h>

/* Cuts one line of CSV in place into at most `most` fields: quotes around a
 * field are removed, two inside are one. How many there were. */
static inline size_t csv_split(char *line, char **fields, size_t most)
{
    size_t count = 0;
    char *from = line;
    line[strcspn(line, "\r\n")] = '\0';
    while (from && count < most) {
        char *to = from;
        fields[count++] = to;
        int quoted = *from == '"';
        from += quoted;
        while (*from && (quoted || *from != ',')) {
            if (quoted && *from == '"' && *++from != '"') {
                quoted = 0;
                continue;
            }
            *to++ = *from++;
        }
        from = *from == ',' ? from + 1 : NULL;
        *to = '\0';
    }
    return count;
}

#endif
