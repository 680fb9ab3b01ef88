/* SPDX-License-Identifier: MIT */
#include "formats/msprobe/msprobe_dump.h"

#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

/* What was read, as one line. */
struct seen {
    char text[2048];
    size_t length, calls;
};

static const char places[] = {[TP_MSPROBE_INPUT] = 'i',
                              [TP_MSPROBE_OUTPUT] = 'o',
                              [TP_MSPROBE_KWARGS] = 'k',
                              [TP_MSPROBE_PARAMETERS] = 'p'};

static enum tp_status see_call(void *context,
                               const struct tp_msprobe_call *call,
                               struct tp_error *err)
{
    struct seen *seen = context;
    char *at = seen->text + seen->length;
    size_t left = sizeof seen->text - seen->length;
    (void)err;
    cr_expect_eq(call->order, seen->calls);
    int n = snprintf(at, left, "%s:", call->key);
    for (size_t i = 0; i < call->items.count; i++) {
        const struct tp_msprobe_item *item = &call->items.items[i];
        const char *type = tp_json_text(item->value, "type", "");
        n += snprintf(at + n, left - (size_t)n, " %c%s%s", places[item->place],
                      item->argument, tp_msprobe_is_tensor(type) ? "T" : "");
    }
    n += snprintf(at + n, left - (size_t)n, "\n");
    seen->length += (size_t)n;
    seen->calls++;
    return TP_OK;
}

static enum tp_status see(const char *text, size_t length, size_t chunk,
                          struct seen *seen, struct tp_error *err)
{
    const struct tp_msprobe_sink sink = {seen, see_call, NULL};
    memset(seen, 0, sizeof *seen);
    *err = (struct tp_error){0};
    return tp_msprobe_read_memory(text, length, chunk, &sink, err);
}

static const char DUMP[] =
    "{\n \"task\": \"tensor\", \"level\": \"mix\", \"dump_data_dir\": null,\n"
    " \"data\": {\n"
    "  \"Torch.cat.0.forward\": {\"input_args\": [[{\"type\": "
    "\"torch.Tensor\", \"Max\": NaN}, {\"type\": \"torch.Tensor\"}], "
    "{\"type\": \"int\", \"value\": 1}, null, {}], \"input_kwargs\": "
    "{\"dim\": {\"type\": \"int\", \"value\": 0}, \"out\": [{\"type\": "
    "\"torch.Tensor\"}]}, \"output\": [{\"type\": \"torch.Tensor\", \"Max\": "
    "-Infinity}]},\n"
    "  \"Module.fc.Linear.forward.0\": {\"input_args\": [{\"type\": "
    "\"torch.nn.parameter.Parameter.Tensor\"}], \"input_kwargs\": {}, "
    "\"parameters\": {\"weight\": {\"type\": \"torch.Tensor\"}}, "
    "\"output\": null, \"is_recompute\": false},\n"
    "  \"Functional.relu.0.backward\": {\"input\": [{\"type\": "
    "\"torch.Tensor\"}], \"output\": [null]},\n"
    "  \"Module.fc.Linear.parameters_grad.0\": {\"weight\": [{\"type\": "
    "\"torch.Tensor\"}], \"bias\": [null]},\n"
    "  \"loss.0.debug\": {\"type\": \"torch.Tensor\"},\n"
    "  \"odd\": 3\n }}";

static const char SEEN[] =
    "Torch.cat.0.forward: i0.0T i0.1T i1 i2 i3 kdim kout.0T o0T\n"
    "Module.fc.Linear.forward.0: i0T pweightT\n"
    "Functional.relu.0.backward: i0T o0\n"
    "Module.fc.Linear.parameters_grad.0: pweight.0T pbias.0\n"
    "loss.0.debug: oT\n"
    "odd:\n";

Test(msprobe_dump, items_of_every_kind_of_entry)
{
    struct seen seen;
    struct tp_error err;
    for (size_t chunk = 1; chunk <= sizeof DUMP; chunk += 37) {
        cr_assert_eq(see(DUMP, sizeof DUMP - 1, chunk, &seen, &err), TP_OK,
                     "%s", err.message);
        cr_expect_str_eq(seen.text, SEEN);
    }
}

/* The oldest generation says grad_output and grad_input. */
Test(msprobe_dump, gradients_of_the_first_generation)
{
    static const char dump[] =
        "{\"task\":\"statistics\",\"data_path\":\"x\",\"data\":{"
        "\"Functional.relu.0.backward\":{\"grad_input\":[{\"type\":"
        "\"torch.Tensor\"}],\"grad_output\":[null]}}}";
    struct seen seen;
    struct tp_error err;
    cr_assert_eq(see(dump, sizeof dump - 1, 16, &seen, &err), TP_OK);
    cr_expect_str_eq(seen.text, "Functional.relu.0.backward: i0 o0T\n");
}

/* Of every beginning of the file the whole entries are read, and the byte
 * where it ends is said. */
Test(msprobe_dump, a_dump_that_was_killed)
{
    struct seen seen;
    struct tp_error err;
    size_t most = 0;
    for (size_t length = 0; length < sizeof DUMP - 1; length++) {
        cr_expect_eq(see(DUMP, length, 64, &seen, &err), TP_E_DAMAGED);
        cr_expect_eq(err.offset, (int64_t)length);
        cr_expect(seen.calls >= most);
        cr_expect(memcmp(seen.text, SEEN, seen.length) == 0, "%zu: %s", length,
                  seen.text);
        most = seen.calls;
    }
    cr_expect_eq(most, 6);
}

Test(msprobe_dump, other_files_are_told_apart)
{
    struct seen seen;
    struct tp_error err;
    cr_expect_eq(see("{\"a\": 1}", 8, 64, &seen, &err), TP_E_UNSUPPORTED);
    cr_expect_eq(see("[1, 2]", 6, 64, &seen, &err), TP_E_UNSUPPORTED);
    cr_expect_eq(see("{\"data\": {\"a\": 01}}", 19, 64, &seen, &err),
                 TP_E_DAMAGED);
    cr_expect_eq(err.offset, 15);
    cr_expect_eq(see("{\"data\": {}}", 12, 64, &seen, &err), TP_OK);
    cr_expect_eq(seen.calls, 0);
}

/* A key does not cost its length for each item below it. */
Test(msprobe_dump, long_keys_are_cut)
{
    static char dump[70000];
    struct seen seen;
    struct tp_error err;
    size_t n =
        (size_t)sprintf(dump, "{\"data\": {\"c\": {\"input_kwargs\": {\"");
    memset(dump + n, 'k', 60000);
    n += 60000;
    n += (size_t)sprintf(dump + n, "\": [null, {\"a\": null}]}}}}");
    cr_assert_eq(see(dump, n, 4096, &seen, &err), TP_OK, "%s", err.message);
    cr_expect_str_eq(seen.text, "c: k0 k1.a\n");
}
