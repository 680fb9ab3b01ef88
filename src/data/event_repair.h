/* SPDX-License-Identifier: MIT */
#ifndef TP_DATA_EVENT_REPAIR_H
#define TP_DATA_EVENT_REPAIR_H

/* What was put right, or lost, while reading. One row of the table of
 * repairs, tp_repair_name. */
enum tp_repair {
    TP_REPAIR_ESCAPE,          /* backslash that escapes nothing           */
    TP_REPAIR_CONTROL,         /* raw control character in a string        */
    TP_REPAIR_NUMBER,          /* N/A, nan, inf as a value                 */
    TP_REPAIR_COMMA,           /* trailing comma, empty value              */
    TP_REPAIR_QUOTE,           /* unescaped quote in a string              */
    TP_REPAIR_UTF8,            /* bytes that are not UTF-8                 */
    TP_REPAIR_DROPPED,         /* event that could not be read             */
    TP_REPAIR_TIME,            /* event without ts, or with times out of
                                  range; dropped                           */
    TP_REPAIR_NEGATIVE,        /* negative duration, set to 0              */
    TP_REPAIR_DUPLICATE,       /* object key met twice: the last counts    */
    TP_REPAIR_TRUNCATED,       /* 1: the file ends too early               */
    TP_REPAIR_LIMIT,           /* 1: what begins there is longer than read */
    TP_REPAIR_CHECKSUM,        /* 1: that of gzip does not fit             */
    TP_REPAIR_LENGTH,          /* 1: that of gzip does not fit             */
    TP_REPAIR_SECOND,          /* another list of events, not read         */
    TP_REPAIR_FOLLOWED,        /* 1: what follows the trace is not read    */
    TP_REPAIRS
};

/* One line for people: "unescaped quotes in strings". */
const char *tp_repair_name(enum tp_repair repair);

#endif
