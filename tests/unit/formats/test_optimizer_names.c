/* SPDX-License-Identifier: MIT */
#include "formats/optimizer_names.h"
#include "tests/unit/support/testdata.h"

#include <inttypes.h>

#include <criterion/criterion.h>

#include "formats/param_name.h"
#include "formats/reader.h"

/* The name of the parameter that number `number` of a file got; "-": none. */
static const char *name_of(const struct tp_tensor_file *file, int64_t number,
                           int *states)
{
    const char *name = "-";
    for (size_t i = 0; i < file->tensor_count; i++) {
        size_t prefix;
        if (tp_param_number(file->tensors[i].path, &prefix) != number)
            continue;
        ++*states;
        name = file->parameters[i] ? file->parameters[i] : "-";
    }
    return name;
}

/* Names without what holds the model: "model.emb.weight". */
static bool is_called(const char *name, const char *wanted)
{
    size_t length = strlen(name), tail = strlen(wanted);
    return length >= tail && !strcmp(name + length - tail, wanted) &&
           (length == tail || name[length - tail - 1] == '.');
}

/* Whose a state is says the parameter itself: tests/make_optimizer_files.py */
Test(optimizer_names, are_those_of_the_parameters)
{
    char path[512], name[64], wanted[64];
    int64_t number;
    int lines = 0;
    testdata_path("optimizer/names.txt", path, sizeof path);
    FILE *list = fopen(path, "r");
    cr_assert(list != NULL);
    for (; fscanf(list, "%63s %" SCNd64 " %63s", name, &number, wanted) == 3;
         lines++) {
        struct tp_tensor_file file = {0};
        struct tp_error err = {0};
        char inside[128];
        int states = 0;
        snprintf(inside, sizeof inside, "optimizer/%s", name);
        testdata_path(inside, path, sizeof path);
        cr_assert(tp_tensor_file_open(path, &file, &err) == TP_OK, "%s",
                  err.message);
        const char *is = name_of(&file, number, &states);
        cr_expect(states > 0, "%s has no state %" PRId64, name, number);
        cr_expect(is_called(is, wanted), "%s: %" PRId64 " is %s, not %s", name,
                  number, is, wanted);
        tp_tensor_file_close(&file);
        tp_arena_clear(&file.arena);
    }
    fclose(list);
    cr_expect(lines > 60, "%d lines", lines);
}
