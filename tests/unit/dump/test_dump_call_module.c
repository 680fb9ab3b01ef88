/* SPDX-License-Identifier: MIT */
/* The modules of calls of a small construct.json, as it was written. */
#include "tests/unit/support/dump_maker.h"

#include "dump/dump_call.h"

#define CALL(name) "\"" name "\": {\"output\": []}"
#define LINEAR "Module.blocks.0.fc.Linear.forward.0"

static const char json[] =
    "{\"task\": \"tensor\", \"data\": {" CALL("Functional.linear.0.forward")
    ", " CALL(LINEAR) ", " CALL("Functional.linear.0.backward")
    ", " CALL("Torch.log.0.forward") ", " CALL("Torch.log.0.backward") "}}";

static void expect(const char *construct, const char *call, const char *wanted)
{
    struct maker maker = maker_begin();
    struct tp_dump dump;
    maker_put(&maker, "dump.json", json);
    if (construct)
        maker_put(&maker, "construct.json", construct);
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    const struct tp_msprobe_part path = tp_dump_call_module(
        &dump.places[0], tp_dump_call_of(&dump.places[0], call));
    cr_expect_eq(path.length, strlen(wanted), "%s: %.*s", call,
                 (int)path.length, path.at);
    cr_expect_eq(strncmp(path.at, wanted, path.length), 0);
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(dump_call_module, nearest_above)
{
    static const char tree[] = "{\"Functional.linear.0.forward\": \"" LINEAR
                               "\", \"" LINEAR "\": null, "
                               "\"Functional.linear.0.backward\": null, "
                               "\"Torch.log.0.forward\": null}";
    expect(tree, "Functional.linear.0.forward", "blocks.0.fc");
    expect(tree, LINEAR, "blocks.0.fc");
    /* the tree has nothing above it: its forward call's */
    expect(tree, "Functional.linear.0.backward", "blocks.0.fc");
    expect(tree, "Torch.log.0.forward", "");
    expect(tree, "Torch.log.0.backward", "");
}

Test(dump_call_module, without_a_tree)
{
    expect(NULL, LINEAR, "blocks.0.fc");
    expect(NULL, "Functional.linear.0.forward", "");
    expect(NULL, "Functional.linear.0.backward", "");
}

static void expect_line(const char *line, const char *place, const char *code)
{
    const struct tp_dump_line made = tp_dump_line_of(line);
    cr_expect_eq(made.head, (int)strlen(place), "%s", line);
    cr_expect_eq(strncmp(made.place, place, strlen(place)), 0, "%s", line);
    cr_expect_eq(made.length, (int)strlen(code), "%s", line);
    cr_expect_eq(strncmp(made.code, code, strlen(code)), 0, "%s", line);
}

Test(dump_call, lines_without_breaks)
{
    expect_line("File m.py, line 7, in forward, \n return x\n",
                "File m.py, line 7, in forward", "return x");
    expect_line("File m.py, line 7, in f, \n", "File m.py, line 7, in f", "");
    expect_line("File m.py, line 7", "File m.py, line 7", "");
    expect_line("\n\t x = 1\n y = 2", "", "x = 1");
    expect_line("", "", "");
}
