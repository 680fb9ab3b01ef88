/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "formats/param_name.h"
#include "formats/tensor_saver.h"
#include "fuzz.h"

/*
 * Labels from a path. Whatever it is: every text is part of it, every number
 * absent or not negative, and a label never contradicts the path it is from.
 * The same bytes are a key, too.
 */

static void check_label(const struct tp_label *label, size_t size)
{
    const char *const texts[] = {label->layer_type, label->operation,
                                 label->phase,      label->component,
                                 label->quant_type, label->tensor_name,
                                 label->timestamp};
    const int64_t numbers[] = {
        label->layer_idx, label->rank,    label->sample_idx, label->group_idx,
        label->iteration, label->counter, label->batch_size};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        fuzz_need(texts[i] && (strlen(texts[i]) <= size ||
                               strcmp(texts[i], "backward") == 0 ||
                               strcmp(texts[i], "forward") == 0),
                  "a text is there and not longer than the path");
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        fuzz_need(numbers[i] >= -1, "a number is -1 or more");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = malloc(size + 1);
    fuzz_need(path != NULL, "memory");
    if (size > 0)
        memcpy(path, data, size);
    path[size] = '\0';
    struct tp_arena arena = {0};
    struct tp_label label, empty = TP_LABEL_NONE;
    struct tp_error err = {0};
    const char *conflict = NULL;
    bool labelled, named;
    fuzz_need(tp_label_from_name(path, &arena, &label, &err) == TP_OK,
              "any path has a label");
    check_label(&label, size);
    fuzz_need(tp_label_complete(&label, path, &arena, &conflict, &labelled,
                                &err) == TP_OK &&
                  strcmp(conflict, "") == 0,
              "a path agrees with itself");
    fuzz_need(tp_label_complete(&empty, path, &arena, &conflict, &labelled,
                                &err) == TP_OK &&
                  strcmp(conflict, "") == 0,
              "what says nothing cannot disagree");
    check_label(&empty, size);
    fuzz_need(strcmp(empty.tensor_name, label.tensor_name) == 0 &&
                  strcmp(empty.quant_type, label.quant_type) == 0 &&
                  strcmp(empty.layer_type, label.layer_type) == 0 &&
                  empty.rank == label.rank &&
                  empty.layer_idx == label.layer_idx &&
                  empty.iteration == label.iteration,
              "completing nothing gives the same label");
    struct tp_label key = TP_LABEL_NONE;
    fuzz_need(tp_param_name_label(path, NULL, &arena, &key, &named, &err) ==
                      TP_OK &&
                  named == (*key.tensor_name != 0),
              "a key has a name or none");
    fuzz_need(strlen(key.module) <= size && strlen(key.tensor_name) <= size,
              "the words of a label are those of the key");
    tp_arena_clear(&arena);
    free(path);
    return 0;
}
