/* SPDX-License-Identifier: MIT */
/* The base layer: errors, memory, texts and the pool. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/pool.h"
#include "base/text.h"

/* --- errors ------------------------------------------------------------ */

Test(error, keeps_code_place_and_frames)
{
    struct tp_error err = {0};
    cr_assert_eq(tp_fail(&err, TP_E_DAMAGED, 42, "bad %s", "opcode"),
                 TP_E_DAMAGED);
    tp_while(&err, "reading %s", "data.pkl");
    tp_error_in_file(&err, "a.pt");
    tp_error_in_file(&err, "b.pt"); /* the first name stays */
    cr_assert_eq(err.offset, 42);
    cr_assert_str_eq(err.message, "bad opcode, while reading data.pkl");
    cr_assert_str_eq(err.file, "a.pt");
}

Test(error, control_characters_are_made_visible)
{
    struct tp_error err = {0};
    tp_fail(&err, TP_E_DAMAGED, -1, "name %s", "\x1b[31m\n");
    cr_assert_str_eq(err.message, "name \\x1b[31m\\x0a");
}

Test(error, long_messages_are_cut_not_overrun)
{
    static char text[5000];
    struct tp_error err = {0};
    memset(text, '\n', sizeof text - 1); /* four bytes each once visible */
    tp_fail(&err, TP_E_DAMAGED, -1, "%s", text);
    tp_while(&err, "%s", text);
    tp_error_in_file(&err, text);
    cr_assert_lt(strlen(err.message), sizeof err.message);
    cr_assert_lt(strlen(err.file), sizeof err.file);
}

Test(error, works_without_an_object)
{
    cr_assert_eq(tp_fail(NULL, TP_E_LIMIT, 0, "x"), TP_E_LIMIT);
    errno = ENOENT;
    cr_assert_eq(tp_fail_errno(NULL, "x"), TP_E_IO);
    tp_while(NULL, "x");
}

/* --- memory ------------------------------------------------------------ */

Test(memory, grown_elements_are_zero_and_old_ones_stay)
{
    int *numbers = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < 1000; i++) {
        cr_assert_eq(tp_grow(&numbers, &capacity, i + 1, sizeof *numbers, NULL),
                     TP_OK);
        cr_assert_eq(numbers[i], 0);
        numbers[i] = (int)i;
    }
    for (size_t i = 0; i < 1000; i++) {
        cr_assert_eq(numbers[i], (int)i);
    }
    free(numbers);
}

Test(memory, a_size_that_overflows_is_refused)
{
    int *numbers = NULL;
    size_t capacity = 0;
    cr_assert_eq(tp_grow(&numbers, &capacity, SIZE_MAX, sizeof *numbers, NULL),
                 TP_E_MEMORY);
    cr_assert_null(numbers);
    struct tp_arena arena = {0};
    cr_assert_null(tp_arena_alloc(&arena, SIZE_MAX));
    tp_arena_clear(&arena);
}

Test(memory, arena_gives_zeroed_aligned_memory_after_a_reset)
{
    struct tp_arena arena = {0};
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            unsigned char *memory = tp_arena_alloc(&arena, size);
            cr_assert_eq((uintptr_t)memory % 16, 0);
            for (size_t i = 0; i < size; i++) {
                cr_assert_eq(memory[i], 0);
            }
            memset(memory, 0xee, size);
        }
        tp_arena_reset(&arena);
    }
    tp_arena_clear(&arena);
    cr_assert_eq(arena.total, 0);
}

/* --- texts ------------------------------------------------------------- */

Test(text, json_strings_are_valid_whatever_the_bytes)
{
    struct tp_text text = {0};
    tp_text_json(&text, "a\"\\\n\x7f\xc3\xa9\xff\xed\xa0\x80 \xf0\x9f\x98\x80");
    cr_assert_str_eq(tp_text_get(&text),
                     "\"a\\\"\\\\\\u000a\\u007f\xc3\xa9\xef\xbf\xbd"
                     "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xf0\x9f\x98\x80\"");
    tp_text_clear(&text);
}

Test(text, a_truncated_utf8_sequence_does_not_read_past_the_end)
{
    static const char *const cut[] = {"\xc3", "\xe2\x82", "\xf0\x9f\x98"};
    for (size_t i = 0; i < 3; i++) {
        struct tp_text text = {0};
        char *copy = strdup(cut[i]); /* a sanitizer sees one byte more */
        tp_text_json(&text, copy);
        cr_assert_eq(text.length, 2 + 3 * strlen(cut[i]));
        free(copy);
        tp_text_clear(&text);
    }
}

Test(text, nothing_printable_drives_a_terminal)
{
    struct tp_text text = {0};
    tp_text_printable(&text, "a\x1b[31m\x9b\xc2\x9b\xe2\x80\xae\xe2\x81\xa6"
                             "\xc3\xa9\xe2\x82\xac\xff");
    cr_assert_str_eq(tp_text_get(&text),
                     "a\\x1b[31m\\x9b\\xc2\\x9b\\xe2\\x80\\xae"
                     "\\xe2\\x81\\xa6\xc3\xa9\xe2\x82\xac\\xff");
    cr_assert(tp_text_is_utf8("\xc3\xa9"));
    cr_assert_not(tp_text_is_utf8("a\xff"));
    tp_text_clear(&text);
}

Test(text, long_names_are_cut_between_characters)
{
    static const char *const cut[][2] = {
        {"abcde", "abcde"},
        {"abcdef", "abcde..."},
        {"abcd\xc3\xa9", "abcd..."}, /* e acute */
        {"abc\xc3\xa9", "abc\xc3\xa9"},
        {"ab\xe2\x82\xac" "c", "ab\xe2\x82\xac..."}, /* Euro */
        {"ab\x01" "cd", "ab\\x0..."},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        struct tp_text text = {0};
        tp_text_printable_cut(&text, cut[i][0], 5);
        cr_assert_str_eq(tp_text_get(&text), cut[i][1]);
        tp_text_clear(&text);
    }
}

Test(text, json_numbers_round_trip_and_have_no_nan)
{
    struct tp_text text = {0};
    tp_text_json_number(&text, 0.1);
    cr_assert_eq(strtod(tp_text_get(&text), NULL), 0.1);
    tp_text_clear(&text);
    tp_text_json_number(&text, 0.0 / 0.0);
    cr_assert_str_eq(tp_text_get(&text), "null");
    tp_text_clear(&text);
}

/* --- bytes ------------------------------------------------------------- */

Test(bytes, reading_past_the_end_names_the_end)
{
    struct tp_bytes bytes;
    struct tp_error err = {0};
    char buffer[4];
    tp_bytes_view("abcdef", 6, &bytes);
    cr_assert_eq(tp_bytes_read(&bytes, 2, buffer, 4, &err), TP_OK);
    cr_assert_eq(memcmp(buffer, "cdef", 4), 0);
    cr_assert_eq(tp_bytes_read(&bytes, 3, buffer, 4, &err), TP_E_DAMAGED);
    cr_assert_eq(err.offset, 6);
    cr_assert_eq(tp_bytes_read(&bytes, UINT64_MAX, buffer, 4, &err),
                 TP_E_DAMAGED);
    tp_bytes_close(&bytes);
}

/* --- pool -------------------------------------------------------------- */

struct sums {
    struct tp_pool *pool;
    uint64_t inner[64][64];
    unsigned calls[64];
};

static void add_inner(void *context, size_t index, unsigned worker)
{
    uint64_t *row = context;
    (void)worker;
    row[index] = index * index;
}

static void run_inner(void *context, size_t index, unsigned worker)
{
    struct sums *sums = context;
    cr_assert_lt(worker, tp_pool_size(sums->pool));
    sums->calls[index]++;
    tp_pool_for(sums->pool, 64, add_inner, sums->inner[index]);
    for (uint64_t i = 0; i < 64; i++) { /* all ended on return */
        cr_assert_eq(sums->inner[index][i], i * i);
    }
}

Test(pool, nested_loops_visit_every_index_once)
{
    for (unsigned jobs = 1; jobs <= 8; jobs *= 2) {
        struct sums *sums = calloc(1, sizeof *sums);
        cr_assert_eq(tp_pool_new(jobs, &sums->pool, NULL), TP_OK);
        for (int round = 0; round < 20; round++) {
            tp_pool_for(sums->pool, 64, run_inner, sums);
        }
        for (size_t i = 0; i < 64; i++) {
            cr_assert_eq(sums->calls[i], 20);
        }
        tp_pool_free(sums->pool);
        free(sums);
    }
}

struct use {
    struct tp_pool *pool;
    _Atomic int busy[8];
};

static void claim(void *context, size_t index, unsigned worker)
{
    struct use *use = context;
    (void)index;
    cr_assert_eq(use->busy[worker]++, 0, "worker %u runs two tasks", worker);
    const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
    use->busy[worker]--;
}

Test(pool, no_two_tasks_share_a_worker_number)
{
    struct use use = {0};
    cr_assert_eq(tp_pool_new(8, &use.pool, NULL), TP_OK);
    tp_pool_for(use.pool, 2000, claim, &use);
    tp_pool_free(use.pool);
}

Test(pool, no_work_is_no_work)
{
    struct tp_pool *pool;
    cr_assert_eq(tp_pool_new(3, &pool, NULL), TP_OK);
    tp_pool_for(pool, 0, run_inner, NULL);
    tp_pool_free(pool);
    tp_pool_free(NULL);
    cr_assert_geq(tp_pool_processors(), 1);
}
