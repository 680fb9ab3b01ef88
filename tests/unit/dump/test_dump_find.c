/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include "dump/dump_find.h"

/* Places as one line: "STEP/RANK(FILES) ...". */
static const char *found(const char *root, const char *steps, const char *ranks)
{
    static char line[512];
    struct tp_dump_wish wish = {.roots = &root, .root_count = 1};
    struct tp_dump dump = {.place_count = 0};
    struct tp_error err = {0};
    size_t length = 0;
    line[0] = '\0';
    if (steps)
        cr_assert_eq(tp_number_set_parse(&wish.steps, steps, &err), TP_OK);
    if (ranks)
        cr_assert_eq(tp_number_set_parse(&wish.ranks, ranks, &err), TP_OK);
    enum tp_status status = tp_dump_find(&wish, &dump, &err);
    for (size_t i = 0; status == TP_OK && i < dump.place_count; i++)
        length += (size_t)snprintf(
            line + length, sizeof line - length, "%s%d/%d(%zu)", i ? " " : "",
            (int)dump.places[i].step, (int)dump.places[i].rank,
            dump.places[i].file_count);
    if (status != TP_OK)
        snprintf(line, sizeof line, "%s",
                 status == TP_E_NOT_FOUND ? "none" : "failed");
    cr_expect_eq(status == TP_OK, err.code == TP_OK);
    tp_dump_clear(&dump);
    tp_number_set_clear(&wish.steps);
    tp_number_set_clear(&wish.ranks);
    return line;
}

static const char *below(const struct maker *maker, const char *name)
{
    static char path[512];
    maker_path(maker, name, path, sizeof path);
    return found(path, NULL, NULL);
}

static struct maker two_by_two(void)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/step0/rank0/dump.json", "{}");
    maker_put(&maker, "d/step0/rank0/dump_tensor_data/a.pt", "x");
    maker_put(&maker, "d/step0/rank0/dump_tensor_data/b.pt", "x");
    maker_put(&maker, "d/step0/rank1/stack.json", "{}");
    maker_put(&maker, "d/step10/rank0/dump_tensor_data/a.pt", "x");
    maker_put(&maker, "d/step2/rank/debug.json", "{}");
    maker_put(&maker, "d/step2/rank/notes.txt", "no part of it");
    return maker;
}

Test(dump_find, from_anywhere_above_or_inside)
{
    struct maker maker = two_by_two();
    const char *all = "0/0(2) 0/1(0) 2/0(0) 10/0(1)";
    cr_expect_str_eq(below(&maker, ""), all);
    cr_expect_str_eq(below(&maker, "d"), all);
    cr_expect_str_eq(below(&maker, "d/"), all);
    cr_expect_str_eq(below(&maker, "d/step0"), "0/0(2) 0/1(0)");
    cr_expect_str_eq(below(&maker, "d/step0/rank0"), "0/0(2)");
    cr_expect_str_eq(below(&maker, "d/step0/rank0/dump.json"), "0/0(2)");
    cr_expect_str_eq(below(&maker, "d/step0/rank0/dump_tensor_data"), "0/0(2)");
    cr_expect_str_eq(below(&maker, "d/step0/rank0/dump_tensor_data//"),
                     "0/0(2)");
    cr_expect_str_eq(below(&maker, "d/step0/rank1/stack.json"), "0/1(0)");
    cr_expect_str_eq(below(&maker, "d/step2/rank/debug.json"), "2/0(0)");
    cr_expect_str_eq(below(&maker, "d/step10"), "10/0(1)");
    maker_end(&maker);
}

Test(dump_find, from_inside_by_a_dot)
{
    struct maker maker = two_by_two();
    char path[512];
    maker_path(&maker, "d/step0/rank0", path, sizeof path);
    cr_assert_eq(chdir(path), 0);
    cr_expect_str_eq(found(".", NULL, NULL), "0/0(2)");
    cr_expect_str_eq(found("dump.json", NULL, NULL), "0/0(2)");
    cr_expect_str_eq(found("./dump.json", NULL, NULL), "0/0(2)");
    cr_expect_str_eq(found("dump_tensor_data", NULL, NULL), "0/0(2)");
    cr_expect_str_eq(found("..", NULL, NULL), "0/0(2) 0/1(0)");
    cr_assert_eq(chdir("dump_tensor_data"), 0);
    cr_expect_str_eq(found(".", NULL, NULL), "0/0(2)");
    cr_assert_eq(chdir("/"), 0);
    maker_end(&maker);
}

Test(dump_find, steps_and_ranks_that_were_asked_for)
{
    struct maker maker = two_by_two();
    cr_expect_str_eq(found(maker.root, "0", NULL), "0/0(2) 0/1(0)");
    cr_expect_str_eq(found(maker.root, "2-10", NULL), "2/0(0) 10/0(1)");
    cr_expect_str_eq(found(maker.root, NULL, "1"), "0/1(0)");
    cr_expect_str_eq(found(maker.root, "0,2", "0"), "0/0(2) 2/0(0)");
    cr_expect_str_eq(found(maker.root, "3", NULL), "none");
    cr_expect_str_eq(found(maker.root, "2", "1"), "none");
    maker_end(&maker);
}

Test(dump_find, names_of_ranks)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "a/rank/dump.json", "{}");
    maker_put(&maker, "b/step3/proc77/dump.json", "{}");
    maker_put(&maker, "c/step0/proc900/dump.json", "{}");
    maker_put(&maker, "c/step0/proc77/dump.json", "{}");
    maker_put(&maker, "c/step1/proc901/dump.json", "{}");
    maker_put(&maker, "e/step0/pynative/rank5/dump.json", "{}");
    maker_put(&maker, "f/stepx/rankly/dump.json", "{}");
    cr_expect_str_eq(below(&maker, "a"), "-1/0(0)");
    cr_expect_str_eq(below(&maker, "b"), "3/-1(0)"); /* a single process */
    char single[512]; /* to who asks for it, it is rank 0 */
    maker_path(&maker, "b", single, sizeof single);
    cr_expect_str_eq(found(single, NULL, "0"), "3/-1(0)");
    cr_expect_str_eq(found(single, NULL, "1"), "none");
    cr_expect_str_eq(below(&maker, "c"), "0/0(0) 0/1(0) 1/0(0)");
    cr_expect_str_eq(below(&maker, "e"), "0/5(0)");
    cr_expect_str_eq(below(&maker, "f"), "-1/-1(0)");
    maker_end(&maker);
}

Test(dump_find, what_is_no_dump)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/model.pt", "x");
    maker_put(&maker, "e/dump_tensor_data/.hidden", "x");
    maker_put(&maker, "my_dump_tensor_data/a.pt", "x");
    cr_expect_str_eq(below(&maker, "d"), "none");
    cr_expect_str_eq(below(&maker, "e"), "none");
    cr_expect_str_eq(below(&maker, "my_dump_tensor_data"), "none");
    cr_expect_str_eq(below(&maker, "nothing"), "none");
    cr_expect_str_eq(below(&maker, "d/model.pt"), "none");
    maker_end(&maker);
}

Test(dump_find, the_same_twice_is_one)
{
    struct maker maker = two_by_two();
    char a[512], b[512];
    maker_path(&maker, "d", a, sizeof a);
    maker_path(&maker, "d/step0", b, sizeof b);
    const char *roots[] = {a, b};
    const struct tp_dump_wish wish = {.roots = roots, .root_count = 2};
    struct tp_dump dump = {.place_count = 0};
    cr_assert_eq(tp_dump_find(&wish, &dump, NULL), TP_OK);
    cr_expect_eq(dump.place_count, 4);
    tp_dump_clear(&dump);
    maker_end(&maker);
}
