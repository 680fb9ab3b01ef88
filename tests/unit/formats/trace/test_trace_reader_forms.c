/* SPDX-License-Identifier: MIT */
/*
 * The forms one trace may have: in pieces, as a list, as one or several gzip
 * members, whole or broken off. All give the same events as far as they go.
 */
#include <inttypes.h>

#include "tests/unit/support/trace_bytes.h"

static const char simple[] = "own/long.json.gz";

Test(trace_reader, pieces_of_any_size_are_the_same)
{
    static const size_t sizes[] = {1, 100, 777, 4096, 65536};
    struct tp_text text = trace_bytes(simple);
    struct tp_events whole = trace_events(text.data, text.length), events;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
            cr_assert_eq(trace_read_as(text.data, text.length, sizes[i], jobs,
                                       &events),
                         TP_OK);
            trace_assert_same(&whole, &events);
            tp_events_clear(&events);
        }
    }
    tp_events_clear(&whole);
    tp_text_clear(&text);
}

Test(trace_reader, list_root_is_the_same)
{
    struct tp_text text = trace_bytes(simple);
    struct tp_events object = trace_events(text.data, text.length);
    char *from = strstr(text.data, "\"traceEvents\": [");
    char *to = strstr(text.data, "],\n  \"traceName\"");
    cr_assert(from && to);
    from = strchr(from, '[');
    struct tp_events list = trace_events(from, (size_t)(to + 1 - from));
    trace_assert_same(&object, &list);
    cr_assert_eq(list.truncated_at, -1);
    cr_assert_eq(object.rank, 0);
    cr_assert_eq(list.rank, -1);
    tp_events_clear(&object);
    tp_events_clear(&list);
    tp_text_clear(&text);
}

/* Appends one gzip member, deflated at `level`. */
static void add_member_at(int level, struct tp_text *out, const char *data,
                          size_t size)
{
    static char buffer[1 << 20];
    z_stream stream = {.next_in = (Bytef *)data,
                       .avail_in = (uInt)size,
                       .next_out = (Bytef *)buffer,
                       .avail_out = sizeof buffer};
    cr_assert_eq(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8,
                              Z_DEFAULT_STRATEGY),
                 Z_OK);
    cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
    tp_text_bytes(out, buffer, stream.total_out);
    deflateEnd(&stream);
}

static void add_member(struct tp_text *out, const char *data, size_t size)
{
    add_member_at(6, out, data, size);
}

Test(trace_reader, several_gzip_members)
{
    struct tp_text text = trace_bytes(simple), packed = {0};
    struct tp_events whole = trace_events(text.data, text.length);
    add_member(&packed, text.data, 1000);
    add_member(&packed, text.data, 0);
    add_member(&packed, text.data + 1000, 99999);
    add_member(&packed, text.data + 100999, text.length - 100999);
    tp_text_bytes(&packed, "\0\0\0\0", 4); /* padding, as tapes have it */
    struct tp_events events = trace_events(packed.data, packed.length);
    trace_assert_same(&whole, &events);
    cr_assert_eq(events.truncated_at, -1);
    cr_assert_eq(events.bytes, text.length);
    tp_events_clear(&whole);
    tp_events_clear(&events);
    tp_text_clear(&text);
    tp_text_clear(&packed);
}

Test(trace_reader, gzip_that_breaks_off_is_read_up_to_there)
{
    struct tp_text text = trace_bytes(simple), packed = {0};
    struct tp_events whole = trace_events(text.data, text.length), events;
    add_member(&packed, text.data, text.length);
    cr_assert_eq(trace_read_as(packed.data, packed.length / 2, 4096, 2,
                               &events),
                 TP_OK);
    cr_assert(events.count > 100 && events.count < whole.count);
    cr_assert_eq(events.truncated_at, (int64_t)events.bytes);
    cr_assert_eq(events.repairs[TP_REPAIR_TRUNCATED], 1);
    tp_events_clear(&events);
    memset(packed.data + 10, 0xff, 50);
    cr_assert_eq(trace_read_as(packed.data, packed.length, 4096, 1, &events),
                 TP_E_DAMAGED);
    tp_events_clear(&events);
    tp_events_clear(&whole);
    tp_text_clear(&text);
    tp_text_clear(&packed);
}

/* A wrong byte in the eight that end the member before `end` ends the reading
 * there, when all that it inflates to was read, and is told: of four each in
 * the checksum and in the length. */
static void check_trailer(struct tp_text *packed, size_t end, uint64_t made)
{
    for (size_t back = 8; back > 0; back--) {
        struct tp_events events;
        packed->data[end - back] ^= 0x40;
        cr_assert_eq(trace_read_as(packed->data, packed->length, 1 << 18, 1,
                                   &events),
                     TP_OK);
        packed->data[end - back] ^= 0x40;
        cr_assert_eq(events.bytes, made, "%zu: %zu", end, back);
        const bool cut = end < packed->length;
        cr_assert_eq(events.truncated_at, cut ? (int64_t)made : -1);
        cr_assert_eq(events.repairs[TP_REPAIR_TRUNCATED], cut);
        cr_assert_eq(events.repairs[TP_REPAIR_CHECKSUM], back > 4);
        cr_assert_eq(events.repairs[TP_REPAIR_LENGTH], back <= 4);
        cr_assert_eq(
            events.first_repair[back > 4 ? TP_REPAIR_CHECKSUM
                                         : TP_REPAIR_LENGTH],
            (int64_t)made);
        tp_events_clear(&events);
    }
}

Test(trace_reader, gzip_that_was_changed_is_read_up_to_its_check)
{
    struct tp_text text = trace_bytes(simple), packed = {0};
    add_member(&packed, text.data, 100000);
    size_t end = packed.length;
    add_member(&packed, text.data + 100000, text.length - 100000);
    check_trailer(&packed, end, 100000);
    check_trailer(&packed, packed.length, text.length);
    tp_text_clear(&text);
    tp_text_clear(&packed);
}

/* Files are taken 64 KiB at a time: a trailer may lie on both sides. */
Test(trace_reader, gzip_whose_check_is_in_two_chunks)
{
    enum { CHUNK = 1 << 16 };
    struct tp_text text = trace_bytes(simple), packed = {0};
    struct tp_events whole = trace_events(text.data, text.length);
    int parted = 0;
    for (size_t size = CHUNK - 100; size < CHUNK; size++) {
        packed.length = 0;
        add_member_at(0, &packed, text.data, size);
        size_t end = packed.length;
        if (end < CHUNK || end > CHUNK + 8)
            continue;
        parted += end > CHUNK && end < CHUNK + 8;
        add_member(&packed, text.data + size, text.length - size);
        struct tp_events events = trace_events(packed.data, packed.length);
        trace_assert_same(&whole, &events);
        cr_assert_eq(events.truncated_at, -1, "%zu", end);
        tp_events_clear(&events);
        check_trailer(&packed, end, size);
    }
    cr_assert_eq(parted, 7);
    tp_events_clear(&whole);
    tp_text_clear(&text);
    tp_text_clear(&packed);
}

/* What is read of `text` and what follows it, with all sizes of pieces: the
 * events of `whole`, and from which byte on no more; -1: all. */
static void check_followed(const struct tp_text *text,
                           const struct tp_events *whole, int64_t from)
{
    static const size_t sizes[] = {100, 4096, 1 << 18};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof sizes[0]; i++) {
        struct tp_events events;
        cr_assert_eq(trace_read_as(text->data, text->length, sizes[i / 2],
                                   i % 2 ? 3 : 1, &events),
                     TP_OK);
        trace_assert_same(whole, &events);
        cr_expect_eq(events.rank, whole->rank);
        cr_expect_eq(events.truncated_at, -1);
        cr_expect_eq(events.repairs[TP_REPAIR_FOLLOWED], from >= 0);
        cr_expect_eq(events.first_repair[TP_REPAIR_FOLLOWED], from, "%" PRId64,
                     events.first_repair[TP_REPAIR_FOLLOWED]);
        for (int r = 0; r < TP_REPAIR_TRUNCATED; r++)
            cr_expect_eq(events.repairs[r], 0);
        tp_events_clear(&events);
    }
}

/* With a text behind it, and with white space before that. */
static void check_ends(struct tp_text *text)
{
    static const char *const rests[] = {"garbage{}", "garbage", "}", "]", "{",
                                        "\"", "\xff", ", \"rank\": 1}", "[]"};
    struct tp_events whole = trace_events(text->data, text->length);
    const struct tp_text alone = trace_bytes(simple);
    const size_t length = text->length;
    for (size_t i = 0; i < sizeof rests / sizeof rests[0]; i++) {
        tp_text_bytes(text, rests[i], strlen(rests[i]));
        check_followed(text, &whole, (int64_t)length);
        text->length = length;
    }
    tp_text_bytes(text, alone.data, alone.length);
    check_followed(text, &whole, (int64_t)length);
    text->length -= 1000;
    check_followed(text, &whole, (int64_t)length);
    text->length = length;
    tp_text_bytes(text, " \r\n\t ", 5);
    check_followed(text, &whole, -1);
    free(alone.data);
    tp_events_clear(&whole);
}

Test(trace_reader, what_follows_the_trace_is_said)
{
    struct tp_text text = trace_bytes(simple), list = {0};
    while (text.data[text.length - 1] != '}')
        text.length--;
    check_ends(&text);
    const char *from = strchr(strstr(text.data, "\"traceEvents\": ["), '[');
    const char *to = strstr(text.data, "],\n  \"traceName\"");
    tp_text_bytes(&list, from, (size_t)(to + 1 - from));
    check_ends(&list);
    tp_text_clear(&list);
    text.length = (size_t)(to + 1 - text.data); /* no member behind the list */
    tp_text_bytes(&text, "}", 1);
    check_ends(&text);
    tp_text_clear(&text);
}

Test(trace_reader, what_follows_gzip_is_said)
{
    struct tp_text text = trace_bytes(simple), packed = {0};
    struct tp_events whole = trace_events(text.data, text.length);
    static const char zeros[100000];
    add_member(&packed, text.data, text.length);
    tp_text_bytes(&packed, zeros, sizeof zeros);
    check_followed(&packed, &whole, -1);
    tp_text_bytes(&packed, "x", 1);
    check_followed(&packed, &whole, (int64_t)text.length);
    packed.length = 0;
    add_member(&packed, text.data, text.length);
    add_member(&packed, text.data, text.length);
    while (text.data[text.length - 1] != '}')
        text.length--;
    check_followed(&packed, &whole, (int64_t)text.length);
    tp_events_clear(&whole);
    tp_text_clear(&text);
    tp_text_clear(&packed);
}

/* Reads it with one job and three; where which of two things was met. */
static void check_first(const struct tp_text *text, enum tp_repair repair,
                        int64_t at, size_t count)
{
    for (unsigned jobs = 1; jobs <= 3; jobs += 2) {
        struct tp_events events;
        cr_assert_eq(trace_read_as(text->data, text->length, 1 << 18, jobs,
                                   &events),
                     TP_OK);
        cr_expect_eq(events.first_repair[repair], at, "%" PRId64,
                     events.first_repair[repair]);
        cr_expect_eq(events.count, count);
        cr_expect_eq(events.repairs[TP_REPAIR_DUPLICATE], 0);
        tp_events_clear(&events);
    }
}

/* Two events, so much white space after the first. */
static struct tp_text apart(size_t blanks)
{
    static const char *const events[] = {
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 1, "
        "\"tid\": 1, \"ts\": 1, \"dur\": 1}",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"b\", \"pid\": 1, "
        "\"tid\": 1, \"ts\": 3, \"dur\": 1}"};
    struct tp_text text = {0};
    char blank[1 << 16];
    memset(blank, ' ', sizeof blank);
    tp_text_add(&text, "{\"traceEvents\": [%s,", events[0]);
    for (; blanks > sizeof blank; blanks -= sizeof blank)
        tp_text_bytes(&text, blank, sizeof blank);
    tp_text_add(&text, "%s]}", events[1]);
    cr_assert(!text.failed);
    return text;
}

Test(trace_reader, what_is_too_long_is_said)
{
    struct tp_text text = apart(100 << 20);
    check_first(&text, TP_REPAIR_LIMIT, -1, 2);
    tp_text_clear(&text);
    text = apart(200 << 20);
    check_first(&text, TP_REPAIR_LIMIT, 17, 1);
    tp_text_clear(&text);
}

Test(trace_reader, a_second_list_is_said)
{
    struct tp_text text = apart(0);
    const size_t length = text.length - 1;
    text.length = length;
    tp_text_add(&text, ", \"x\": {\"traceEvents\": []}}");
    check_first(&text, TP_REPAIR_SECOND, -1, 2);
    text.length = length;
    tp_text_add(&text, ", \"traceEvents\": [{\"ph\": \"X\"}], \"x\": 1}");
    check_first(&text, TP_REPAIR_SECOND, (int64_t)length + 2, 2);
    text.length -= 15; /* in it */
    check_first(&text, TP_REPAIR_SECOND, (int64_t)length + 2, 2);
    text.length = length;
    tp_text_add(&text, ", \"traceEvents\": [");
    for (size_t i = 0; i < 2 << 20; i++)
        tp_text_bytes(&text, "{\"ph\": \"X\"},", 12);
    tp_text_add(&text, "{}]}");
    check_first(&text, TP_REPAIR_SECOND, (int64_t)length + 2, 2);
    check_first(&text, TP_REPAIR_LIMIT, (int64_t)length, 2);
    check_first(&text, TP_REPAIR_TRUNCATED, -1, 2);
    tp_text_clear(&text);
}
