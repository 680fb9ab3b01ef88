/* SPDX-License-Identifier: MIT */
#include "data/event_repair.h"

const char *tp_repair_name(enum tp_repair repair)
{
    static const char *const names[TP_REPAIRS] = {
        [TP_REPAIR_ESCAPE] = "backslashes that escape nothing",
        [TP_REPAIR_CONTROL] = "raw control characters in strings",
        [TP_REPAIR_NUMBER] = "values such as N/A, nan or inf",
        [TP_REPAIR_COMMA] = "trailing commas and empty values",
        [TP_REPAIR_QUOTE] = "unescaped quotes in strings",
        [TP_REPAIR_UTF8] = "bytes that are not UTF-8",
        [TP_REPAIR_DROPPED] = "events that could not be read",
        [TP_REPAIR_TIME] = "events dropped for a time that cannot be",
        [TP_REPAIR_NEGATIVE] = "negative durations, set to 0",
        [TP_REPAIR_DUPLICATE] = "keys met twice in one event",
        [TP_REPAIR_TRUNCATED] = "end of the file too early",
        [TP_REPAIR_LIMIT] = "something longer than is read",
        [TP_REPAIR_CHECKSUM] = "checksums of gzip that do not fit",
        [TP_REPAIR_LENGTH] = "lengths of gzip that do not fit",
        [TP_REPAIR_SECOND] = "lists of events beside the first",
        [TP_REPAIR_FOLLOWED] = "something that follows the trace",
    };
    return repair < TP_REPAIRS ? names[repair] : "unknown";
}
