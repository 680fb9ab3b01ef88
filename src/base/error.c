/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Input text may hold escapes that would drive the user's terminal. */
static void make_printable(char *text, size_t capacity)
{
    char clean[TP_ERROR_MESSAGE_MAX];
    size_t used = 0;
    for (const char *in = text; *in && used + 5 < sizeof clean; in++) {
        unsigned char c = (unsigned char)*in;
        if (c >= 0x20 && c != 0x7f)
            clean[used++] = (char)c;
        else
            used += (size_t)snprintf(clean + used, 5, "\\x%02x", c);
    }
    clean[used] = '\0';
    snprintf(text, capacity, "%s", clean);
}

static void set_message(struct tp_error *err, enum tp_status code,
                        int64_t offset, const char *text)
{
    err->code = code;
    err->of_second = false;
    err->offset = offset;
    snprintf(err->message, sizeof err->message, "%s", text);
    make_printable(err->message, sizeof err->message);
}

enum tp_status tp_fail(struct tp_error *err, enum tp_status code,
                       int64_t offset, const char *format, ...)
{
    if (err) {
        char text[TP_ERROR_MESSAGE_MAX];
        va_list args;
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
        set_message(err, code, offset, text);
    }
    return code;
}

enum tp_status tp_fail_errno(struct tp_error *err, const char *format, ...)
{
    int number = errno;
    if (err) {
        char text[TP_ERROR_MESSAGE_MAX];
        va_list args;
        va_start(args, format);
        int length = vsnprintf(text, sizeof text, format, args);
        va_end(args);
        if (length >= 0 && (size_t)length < sizeof text)
            snprintf(text + length, sizeof text - (size_t)length, ": %s",
                     strerror(number));
        set_message(err, TP_E_IO, -1, text);
    }
    return TP_E_IO;
}

enum tp_status tp_fail_memory(struct tp_error *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_DATA, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return tp_fail(err, TP_E_MEMORY, -1, "out of memory");
    return tp_fail(err, TP_E_MEMORY, -1,
                   "out of memory: this process may take %" PRIu64
                   " bytes (--memory_limit)",
                   (uint64_t)limit.rlim_cur);
}

void tp_while(struct tp_error *err, const char *format, ...)
{
    if (!err || err->code == TP_OK)
        return;
    char frame[TP_ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(frame, sizeof frame, format, args);
    va_end(args);
    make_printable(frame, sizeof frame);
    size_t used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ", while %s",
             frame);
}

enum tp_status tp_of_second(enum tp_status status, struct tp_error *err)
{
    if (status != TP_OK && err)
        err->of_second = true;
    return status;
}

void tp_error_in_file(struct tp_error *err, const char *path)
{
    if (!err || err->code == TP_OK || err->file[0])
        return;
    size_t length = strlen(path);
    size_t skip = length < sizeof err->file ? 0 : length + 1 - sizeof err->file;
    snprintf(err->file, sizeof err->file, "%s", path + skip);
}

const char *tp_status_name(enum tp_status status)
{
    switch (status) {
    case TP_OK:
        return "ok";
    case TP_E_USAGE:
        return "usage";
    case TP_E_IO:
        return "io";
    case TP_E_DAMAGED:
        return "damaged";
    case TP_E_CHANGED:
        return "changed";
    case TP_E_UNSUPPORTED:
        return "unsupported";
    case TP_E_LIMIT:
        return "limit";
    case TP_E_MEMORY:
        return "memory";
    case TP_E_NOT_FOUND:
        return "not found";
    case TP_E_INTERRUPTED:
        return "interrupted";
    }
    return "unknown";
}
