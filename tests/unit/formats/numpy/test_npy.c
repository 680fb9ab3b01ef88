/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "formats/numpy/npy.h"
#include "tests/unit/support/made_axes.h"

/* Heads as the manual of numpy.lib.format describes them; whole files are
 * compared in test_reader_files.c. */

static size_t make(unsigned char *bytes, int major, const char *text)
{
    size_t length = strlen(text), digits = major == 1 ? 2 : 4;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)major;
    bytes[7] = 0;
    for (size_t i = 0; i < digits; i++)
        bytes[8 + i] = (unsigned char)(length >> (8 * i));
    memcpy(bytes + 8 + digits, text, length);
    return 8 + digits + length;
}

static enum tp_status read_text(int major, const char *text, uint64_t elements,
                                struct tp_npy_head *head)
{
    static unsigned char bytes[4096];
    size_t size = make(bytes, major, text);
    return tp_npy_head_read(bytes, size, size + elements, head, NULL);
}

/* Key order, quotes, spacing, and the tuple of one are Python's to choose. */
Test(npy, literals)
{
    static const char *const texts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   \n",
        "{\"shape\":(3,),\"fortran_order\":False,\"descr\":\"<f4\"}",
        " { 'fortran_order' : False , 'descr':'f4','shape' : ( 3L , ) }\n\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tp_npy_head head;
        for (int major = 1; major <= 3; major++) {
            cr_assert_eq(read_text(major, texts[i], 12, &head), TP_OK, "%s",
                         texts[i]);
            cr_expect_eq(head.ndim, 1);
            cr_expect_eq(head.shape[0], 3);
            cr_expect_eq(head.bytes, 12);
            cr_expect_eq(head.type.dtype, TP_FLOAT32);
            cr_expect_not(head.fortran);
            cr_expect_not(head.type.big_endian);
        }
        cr_expect_eq(read_text(1, texts[i], 11, &head), TP_E_DAMAGED);
    }
}

Test(npy, what_is_no_literal)
{
    static const char *const texts[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4'}",
        "x",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)} + 1",
        "{'descr': '<f\\x34', 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tp_npy_head head;
        cr_expect_eq(read_text(1, texts[i], 12, &head), TP_E_DAMAGED, "%s",
                     texts[i]);
    }
}

static struct tp_tensor tensor_of(bool fortran)
{
    static struct tp_storage storage = {.size = 48, .file_offset = -1};
    struct tp_npy_head head = {
        .type = {.dtype = TP_FLOAT64, .big_endian = true},
        .fortran = fortran,
        .ndim = 2,
        .shape = {2, 3},
        .bytes = 48};
    struct tp_tensor tensor;
    cr_assert_eq(
        tp_npy_tensor(&head, &storage, &made_axes_arena, &tensor, NULL),
        TP_OK);
    cr_expect(storage.big_endian);
    return tensor;
}

Test(npy, orders)
{
    struct tp_tensor rows = tensor_of(false), columns = tensor_of(true);
    cr_expect_eq(rows.stride[0], 3);
    cr_expect_eq(rows.stride[1], 1);
    cr_expect_eq(columns.stride[0], 1);
    cr_expect_eq(columns.stride[1], 2);
    cr_expect_eq(columns.numel, 6);
}

/* Dimensions that are impossible but for a zero among them: numpy, too, reads
 * an empty array there. */
Test(npy, empty_and_huge)
{
    struct tp_npy_head head;
    struct tp_storage storage = {.file_offset = -1};
    struct tp_tensor tensor;
    cr_assert_eq(read_text(1,
                           "{'descr': '<f4', 'fortran_order': True, 'shape': "
                           "(0, 4611686018427387904, 4)}",
                           0, &head),
                 TP_OK);
    cr_expect_eq(head.bytes, 0);
    enum tp_status status =
        tp_npy_tensor(&head, &storage, &made_axes_arena, &tensor, NULL);
    cr_expect(status != TP_OK || tensor.numel == 0);
}
