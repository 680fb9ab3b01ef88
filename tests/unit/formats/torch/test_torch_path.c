/* SPDX-License-Identifier: MIT */
#include "formats/torch/torch_path.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "formats/torch/pickle.h"

/*
 * pickle.dumps of CPython 3.11, protocols 2 and 4, of
 *     (None, True, 7, 2.5, 'a.b', b'a\xff', (1, 'a'), ('x',),
 *      (('p', 1), None), "it's", '\\', 'plain', 'caf\u00e9')
 */
static const char protocol2[] =
    "\x80\x02\x28\x4e\x88\x4b\x07\x47\x40\x04\x00\x00\x00\x00\x00\x00\x58"
    "\x03\x00\x00\x00\x61\x2e\x62\x71\x00\x63\x5f\x63\x6f\x64\x65\x63\x73"
    "\x0a\x65\x6e\x63\x6f\x64\x65\x0a\x71\x01\x58\x03\x00\x00\x00\x61\xc3"
    "\xbf\x71\x02\x58\x06\x00\x00\x00\x6c\x61\x74\x69\x6e\x31\x71\x03\x86"
    "\x71\x04\x52\x71\x05\x4b\x01\x58\x01\x00\x00\x00\x61\x71\x06\x86\x71"
    "\x07\x58\x01\x00\x00\x00\x78\x71\x08\x85\x71\x09\x58\x01\x00\x00\x00"
    "\x70\x71\x0a\x4b\x01\x86\x71\x0b\x4e\x86\x71\x0c\x58\x04\x00\x00\x00"
    "\x69\x74\x27\x73\x71\x0d\x58\x01\x00\x00\x00\x5c\x71\x0e\x58\x05\x00"
    "\x00\x00\x70\x6c\x61\x69\x6e\x71\x0f\x58\x05\x00\x00\x00\x63\x61\x66"
    "\xc3\xa9\x71\x10\x74\x71\x11\x2e";
static const char protocol4[] =
    "\x80\x04\x95\x50\x00\x00\x00\x00\x00\x00\x00\x28\x4e\x88\x4b\x07\x47"
    "\x40\x04\x00\x00\x00\x00\x00\x00\x8c\x03\x61\x2e\x62\x94\x43\x02\x61"
    "\xff\x94\x4b\x01\x8c\x01\x61\x94\x86\x94\x8c\x01\x78\x94\x85\x94\x8c"
    "\x01\x70\x94\x4b\x01\x86\x94\x4e\x86\x94\x8c\x04\x69\x74\x27\x73\x94"
    "\x8c\x01\x5c\x94\x8c\x05\x70\x6c\x61\x69\x6e\x94\x8c\x05\x63\x61\x66"
    "\xc3\xa9\x94\x74\x94\x2e";

/* What they are to be called; those in brackets as repr() has them but for
 * what would not be printable. */
static const char *const words[] = {"None",       "True",   "7",
                                    "2.5",        "a.b",    "b'a\\xff'",
                                    "(1, 'a')",   "('x',)", "(('p', 1), None)",
                                    "it's",       "\\",     "plain",
                                    "caf\xc3\xa9"};
static const char *const bracketed[] = {
    "[None]",         "[True]",    "[7]",
    "[2.5]",          "['a.b']",   "[b'a\\xff']",
    "[(1, 'a')]",     "[('x',)]",  "[(('p', 1), None)]",
    "['it\\x27s']",   "['\\x5c']", ".plain",
    "['caf\xc3\xa9']"};
enum { KEYS = sizeof words / sizeof *words };

/* Keys behind "p", as a payload has them. */
static void expect_keys(const char *bytes, size_t size, bool brackets)
{
    struct tp_bytes data = {0};
    struct tp_pickle pickle = {0};
    struct tp_error err = {0};
    uint64_t position = 0;
    tp_bytes_view(bytes, size, &data);
    cr_assert_eq(tp_pickle_read(&data, &position, size, &pickle, &err), TP_OK,
                 "%s", err.message);
    for (size_t i = 0; i < KEYS; i++) {
        char text[TP_TORCH_PATH_ROOM] = "p", wanted[64];
        uint32_t length = 1;
        struct tp_torch_path path = {text, &length, brackets};
        cr_assert(tp_torch_path_key(&path, &pickle,
                                    tp_pickle_item(&pickle, pickle.root, i)));
        text[length] = '\0';
        snprintf(wanted, sizeof wanted, "p%s%s", brackets ? "" : ".",
                 brackets ? bracketed[i] : words[i]);
        cr_expect_str_eq(text, wanted);
    }
    tp_pickle_clear(&pickle);
}

Test(torch_path, keys_are_written_as_python_does)
{
    expect_keys(protocol2, sizeof protocol2 - 1, false);
    expect_keys(protocol4, sizeof protocol4 - 1, false);
}

Test(torch_path, brackets_tell_keys_apart)
{
    expect_keys(protocol2, sizeof protocol2 - 1, true);
    expect_keys(protocol4, sizeof protocol4 - 1, true);
}

/* Names of over 1024 bytes are cut between characters; what they end on
 * depends on all of them. */
Test(torch_path, long_places_are_cut)
{
    char text[TP_TORCH_PATH_ROOM];
    uint32_t length = 1500;
    struct tp_torch_path path = {text, &length, false};
    struct tp_arena arena = {0};
    for (size_t i = 0; i < length; i += 2)
        memcpy(text + i, "\xc3\xa9", 2);
    const char *first = tp_torch_path_text(&path, length, &arena);
    cr_assert(first != NULL);
    cr_expect(strlen(first) <= TP_TORCH_PATH_MAX);
    cr_expect(strlen(first) > TP_TORCH_PATH_MAX - 3);
    cr_expect(strspn(first, "\xc3\xa9") % 2 == 0);
    cr_expect(strcspn(first, "~") == strlen(first) - 17);
    text[1499] = '\xa8';
    const char *second = tp_torch_path_text(&path, length, &arena);
    cr_assert(second != NULL);
    cr_expect(strcmp(first, second) != 0);
    cr_expect_str_eq(tp_torch_path_text(&path, 4, &arena), "\xc3\xa9\xc3\xa9");
    tp_arena_clear(&arena);
}
