/* SPDX-License-Identifier: MIT */
/*
 * The log, line by line through one buffer: a line that does not fit is cut,
 * the rest of it passed over, so that memory does not depend on the input. An
 * entry is handed out when the next one begins or the file ends. Cost: one look
 * at each byte.
 */
#include "formats/torchtitan/activation_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum {
    PIECE = 1 << 16, /* bytes of a reading, and of the longest line kept   */
    TEXT_MAX = 4096  /* of a name or another text                          */
};

static const char head[] = "Total captured activations: ";

struct reading {
    const struct tp_bytes *bytes;
    const struct tp_activation_sink *sink;
    char *piece, *line;       /* [PIECE + 1] each                          */
    size_t length;            /* of the line                               */
    uint64_t at, line_at;     /* bytes of the file                         */
    size_t first, end;        /* of the piece that are not looked at yet   */
    int64_t announced, count; /* activations                               */
    bool open, ended;         /* one is being read; a blank line follows it */
    struct tp_activation one;
    char name[TEXT_MAX], dtype[TEXT_MAX], producers[TEXT_MAX],
        location[TEXT_MAX];
};

int64_t tp_activation_log_rank(const char *name)
{
    static const char begin[] = "rank_", end[] = "_activations.log";
    const size_t head_size = sizeof begin - 1, end_size = sizeof end - 1;
    const size_t length = strlen(name);
    if (length <= end_size || strcmp(name + length - end_size, end) != 0)
        return -1;
    size_t first = length - end_size;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    if (first < head_size ||
        memcmp(name + first - head_size, begin, head_size) != 0)
        return -1;
    return tp_digits_value(name + first, length - end_size - first);
}

/* --- lines ---------------------------------------------------------------- */

/* Sets *there to whether a line was read, and *whole to whether it ended. */
static enum tp_status next_line(struct reading *r, bool *there, bool *whole,
                                struct tp_error *err)
{
    r->length = 0;
    r->line_at = r->at;
    *there = *whole = false;
    while (!*whole) {
        if (r->first == r->end) {
            const uint64_t left = r->bytes->size - r->at;
            r->first = 0;
            r->end = left < PIECE ? (size_t)left : (size_t)PIECE;
            if (r->end == 0)
                break;
            enum tp_status status =
                tp_bytes_read(r->bytes, r->at, r->piece, r->end, err);
            if (status != TP_OK)
                return status;
        }
        const char *from = r->piece + r->first;
        const size_t left = r->end - r->first;
        const char *stop = memchr(from, '\n', left);
        const size_t n = stop ? (size_t)(stop - from) : left;
        const size_t room = PIECE - r->length, kept = n < room ? n : room;
        memcpy(r->line + r->length, from, kept);
        r->length += kept;
        *there = true;
        *whole = stop != NULL;
        r->first += n + *whole;
        r->at += n + *whole;
    }
    if (r->length && r->line[r->length - 1] == '\r')
        r->length--;
    r->line[r->length] = '\0';
    return TP_OK;
}

/* What follows the word at the beginning of a line; NULL: it begins
 * otherwise. */
static const char *behind(const char *line, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(line, word, length) == 0 ? line + length : NULL;
}

static void keep(const char *text, size_t length, char to[TEXT_MAX])
{
    const size_t n = length < TEXT_MAX - 1 ? length : TEXT_MAX - 1;
    memcpy(to, text, n);
    to[n] = '\0';
}

/* --- entries -------------------------------------------------------------- */

static enum tp_status hand_out(struct reading *r, struct tp_error *err)
{
    if (!r->open)
        return TP_OK;
    r->open = false;
    r->count++;
    r->one.name = r->name;
    r->one.dtype = r->dtype;
    r->one.producers = r->producers;
    r->one.location = r->location;
    return r->sink->activation(r->sink->context, &r->one, err);
}

static void begin(struct reading *r)
{
    r->open = true;
    r->ended = false;
    r->one = (struct tp_activation){.offset = (int64_t)r->line_at, .ndim = -1};
    keep(r->line + 1, r->length - 2, r->name);
    *r->dtype = *r->producers = *r->location = '\0';
}

/* "4, 256])" to the numbers; -1: it is something else. */
static int read_shape(const char *text, int64_t shape[TP_LIMIT_DIMS])
{
    int ndim = 0;
    while (*text != ']') {
        const size_t digits = strspn(text, "0123456789");
        const int64_t n = tp_digits_value(text, digits);
        if (ndim == TP_LIMIT_DIMS || n < 0)
            return -1;
        shape[ndim++] = n;
        text += digits;
        if (text[0] == ',' && text[1] == ' ')
            text += 2;
        else if (*text != ']')
            return -1;
    }
    return ndim;
}

static void read_kind(struct reading *r, const char *text)
{
    static const char size[] = "torch.Size([", dtype[] = ", Dtype: ";
    const char *shape = behind(text, size), *word = strstr(text, dtype);
    if (shape)
        r->one.ndim = read_shape(shape, r->one.shape);
    if (word) {
        word += sizeof dtype - 1;
        keep(word, strcspn(word, " ,"), r->dtype);
    }
}

/* "1.234560e+02, nan" */
static enum tp_activation_inputs read_hashes(const char *text)
{
    enum tp_activation_inputs inputs =
        *text ? TP_ACTIVATION_FINITE : TP_ACTIVATION_UNKNOWN;
    while (*text) {
        char *end;
        const double hash = strtod(text, &end);
        if (end == text)
            return TP_ACTIVATION_UNKNOWN;
        if (isnan(hash))
            return TP_ACTIVATION_NAN;
        if (isinf(hash))
            inputs = TP_ACTIVATION_UNKNOWN;
        text = end + strspn(end, ", ");
    }
    return inputs;
}

/* What a line of an entry says. */
static void read_member(struct reading *r, const char *line)
{
    static const char *const stats[TP_ACTIVATION_STATS] = {
        [TP_ACTIVATION_MAX] = "Max: ",
        [TP_ACTIVATION_MIN] = "Min: ",
        [TP_ACTIVATION_MEAN] = "Mean: ",
        [TP_ACTIVATION_NORM] = "L2 norm: "};
    const char *text;
    for (int i = 0; i < TP_ACTIVATION_STATS; i++) {
        char *end;
        if (!(text = behind(line, stats[i])))
            continue;
        r->one.stats[i] = strtod(text, &end);
        r->one.has[i] = end > text && *end == '\0';
        return;
    }
    if ((text = behind(line, "Shape: ")))
        read_kind(r, text);
    else if ((text = behind(line, "Input hashes: ")))
        r->one.inputs = read_hashes(text);
    else if ((text = behind(line, "Input producers: ")))
        keep(text, strlen(text), r->producers);
    else if ((text = behind(line, "Location: ")))
        keep(text, strlen(text), r->location);
    else if ((text = behind(line, "Phase: ")))
        r->one.backward = strcmp(text, "backward") == 0;
}

static enum tp_status read_line(struct reading *r, struct tp_error *err)
{
    enum tp_status status = TP_OK;
    if (r->length > 2 && r->line[0] == '[' && r->line[r->length - 1] == ']') {
        status = hand_out(r, err);
        if (status == TP_OK)
            begin(r);
    } else if (r->open && strncmp(r->line, "  ", 2) == 0) {
        read_member(r, r->line + 2);
    } else if (r->length == 0) {
        r->ended = true;
    }
    return status;
}

static enum tp_status read_head(struct reading *r, struct tp_error *err)
{
    bool there, whole;
    enum tp_status status = next_line(r, &there, &whole, err);
    if (status != TP_OK)
        return status;
    const char *number = behind(r->line, head);
    r->announced = number ? tp_digits_value(number, strlen(number)) : -1;
    if (r->announced < 0 && !(number && !whole))
        return tp_fail(err, TP_E_UNSUPPORTED, 0,
                       "no log of torchtitan's activations: it does not begin "
                       "with \"%sN\"",
                       head);
    return whole ? TP_OK
                 : tp_fail(err, TP_E_DAMAGED, (int64_t)r->at,
                           "it ends in its first line");
}

static enum tp_status read_lines(struct reading *r, struct tp_error *err)
{
    bool there = true, whole = true;
    enum tp_status status = read_head(r, err);
    if (status != TP_OK)
        return status;
    for (;;) {
        status = next_line(r, &there, &whole, err);
        if (status != TP_OK || !whole)
            break;
        status = read_line(r, err);
        if (status != TP_OK)
            return status;
    }
    if (status == TP_OK && there) { /* cut: what the line says is not known */
        r->open = false;
        return tp_fail(err, TP_E_DAMAGED, (int64_t)r->at,
                       "it ends amid a line, after %" PRId64
                       " of %" PRId64 " activations",
                       r->count, r->announced);
    }
    if (status != TP_OK)
        return status;
    if (!r->ended && r->count + 1 < r->announced)
        r->open = false; /* it may have been cut between two lines */
    status = hand_out(r, err);
    return status != TP_OK || r->count >= r->announced
               ? status
               : tp_fail(err, TP_E_DAMAGED, (int64_t)r->at,
                         "it ends after %" PRId64 " of %" PRId64
                         " activations",
                         r->count, r->announced);
}

enum tp_status tp_activation_log_read(const struct tp_bytes *bytes,
                                      const struct tp_activation_sink *sink,
                                      struct tp_error *err)
{
    struct reading *r = calloc(1, sizeof *r);
    enum tp_status status = TP_OK;
    if (r) {
        r->bytes = bytes;
        r->sink = sink;
        r->piece = malloc(PIECE + 1);
        r->line = malloc(PIECE + 1);
    }
    if (!r || !r->piece || !r->line)
        status = tp_fail_memory(err);
    else
        status = read_lines(r, err);
    if (r) {
        free(r->piece);
        free(r->line);
    }
    free(r);
    return status;
}
