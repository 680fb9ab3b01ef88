/* SPDX-License-Identifier: MIT */
/* Memory that grows, and arenas. */
#define _DEFAULT_SOURCE /* madvise, mincore */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

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

#ifdef MADV_POPULATE_WRITE
/* How many of these pages are there. */
static size_t pages_there(void *pages, size_t count, size_t page)
{
    unsigned char there[64];
    size_t found = 0;
    cr_assert(count <= sizeof there);
    cr_assert_eq(mincore(pages, count * page, there), 0);
    for (size_t i = 0; i < count; i++)
        found += there[i] & 1;
    return found;
}

Test(memory, is_made_ready_and_keeps_what_is_there)
{
    enum { COUNT = 40 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, COUNT * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    if (madvise(pages, page, MADV_POPULATE_WRITE) != 0)
        cr_skip("a system before Linux 5.14");
    pages[9 * page] = 7;
    tp_memory_ready(pages + page, 0);
    tp_memory_ready(pages + page + 1, page);     /* no whole page */
    tp_memory_ready(pages + page + 1, page - 2); /* nor in one */
    cr_assert_eq(pages_there(pages, COUNT, page), 2);
    tp_memory_ready(pages + 4 * page + 1, 21 * page - 1); /* 5 to 24 */
    cr_expect_eq(pages_there(pages, COUNT, page), 21);
    cr_expect_eq(pages_there(pages + 5 * page, 20, page), 20);
    cr_expect_eq(pages[9 * page], 7);
    cr_expect_eq(pages[10 * page], 0);
    munmap(pages, COUNT * page);
}
#endif
