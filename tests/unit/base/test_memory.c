/* SPDX-License-Identifier: MIT */
/* Memory that grows, and arenas. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
