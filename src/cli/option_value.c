/* SPDX-License-Identifier: MIT */
/*
 * What an option's row allows, checked and stored. C's own conversions take
 * blanks, signs and hexadecimal numbers that nobody means, so that the first
 * character is looked at, too.
 */
#include "cli/option_value.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tp_option_choice tp_option_choice_at(const struct tp_option *row,
                                            size_t i)
{
    if (row->choices)
        return row->choices[i];
    return (struct tp_option_choice){row->words[i], (int)i};
}

void tp_option_add_words(const struct tp_option *row, struct tp_text *text)
{
    const char *word;
    for (size_t i = 0; (word = tp_option_choice_at(row, i).word); i++)
        tp_text_add(text, "%s%s", i ? "|" : "", word);
}

static enum tp_status set_choice(void *slot, const struct tp_option *row,
                                 const char *value, struct tp_error *err)
{
    size_t i = 0;
    struct tp_option_choice found = tp_option_choice_at(row, i);
    while (found.word && strcmp(found.word, value))
        found = tp_option_choice_at(row, ++i);
    if (found.word) {
        memcpy(slot, &found.member, sizeof found.member);
        return TP_OK;
    }
    struct tp_text words = {0};
    tp_option_add_words(row, &words);
    enum tp_status status =
        tp_fail(err, TP_E_USAGE, -1, "--%s takes %s, not \"%s\"", row->name,
                tp_text_get(&words), value);
    tp_text_clear(&words);
    return status;
}

static enum tp_status set_count(void *slot, const struct tp_option *row,
                                const char *value, struct tp_error *err)
{
    const uint64_t least = (uint64_t)row->least, most = (uint64_t)row->most;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || number < least ||
        number > most)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes a number from %" PRIu64 " to %" PRIu64
                       ", not \"%s\"",
                       row->name, least, most, value);
    uint64_t count = number;
    memcpy(slot, &count, sizeof count);
    return TP_OK;
}

static enum tp_status set_real(void *slot, const struct tp_option *row,
                               const char *value, struct tp_error *err)
{
    char *end;
    double number = strtod(value, &end);
    bool plain = (*value >= '0' && *value <= '9') || *value == '.';
    if (!plain || *end || !(number >= row->least && number <= row->most))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes a number from %g to %g, not \"%s\"",
                       row->name, row->least, row->most, value);
    memcpy(slot, &number, sizeof number);
    return TP_OK;
}

static enum tp_status set_bytes(void *slot, const struct tp_option *row,
                                const char *value, struct tp_error *err)
{
    static const char units[] = "KMG"; /* 2^10, 2^20, 2^30 */
    const uint64_t least = (uint64_t)row->least, most = (uint64_t)row->most;
    char *end;
    errno = 0;
    unsigned long long number = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (*value < '0' || *value > '9' || (*end && (!unit || end[1])) || errno ||
        number < least || number > most >> shift)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--%s takes bytes, as 800M or 2G, up to %" PRIu64
                       "G, not \"%s\"",
                       row->name, most >> 30, value);
    uint64_t bytes = (uint64_t)number << shift;
    memcpy(slot, &bytes, sizeof bytes);
    return TP_OK;
}

enum tp_status tp_option_set(void *slot, const struct tp_option *row,
                             const char *value, struct tp_error *err)
{
    switch (row->kind) {
    case TP_OPTION_COUNT:
        return set_count(slot, row, value, err);
    case TP_OPTION_REAL:
        return set_real(slot, row, value, err);
    case TP_OPTION_BYTES:
        return set_bytes(slot, row, value, err);
    case TP_OPTION_CHOICE:
        return set_choice(slot, row, value, err);
    case TP_OPTION_TEXT:
        memcpy(slot, &value, sizeof value);
        return TP_OK;
    case TP_OPTION_FLAG:
        break;
    }
    *(bool *)slot = true;
    return TP_OK;
}

void tp_option_add_value(const void *slot, const struct tp_option *row,
                         struct tp_text *text)
{
    const char *word = NULL;
    int member;
    uint64_t count;
    if (row->kind == TP_OPTION_COUNT) {
        memcpy(&count, slot, sizeof count);
        tp_text_add(text, "%" PRIu64, count);
        return;
    }
    if (row->kind == TP_OPTION_TEXT) {
        memcpy(&word, slot, sizeof word);
    } else if (row->kind == TP_OPTION_FLAG) {
        word = *(const bool *)slot ? "yes" : "no";
    } else {
        memcpy(&member, slot, sizeof member);
        struct tp_option_choice choice = tp_option_choice_at(row, 0);
        for (size_t i = 1; choice.word && choice.member != member; i++)
            choice = tp_option_choice_at(row, i);
        word = choice.word;
    }
    tp_text_add(text, "%s", word ? word : "");
}
