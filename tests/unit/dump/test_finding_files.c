/* SPDX-License-Identifier: MIT */
/* Findings about an item, a call, a file and a step, against the files that
 * were put there. */
#include "tests/unit/support/dump_maker.h"

#include "dump/finding_files.h"

#define TENSOR(file) "{\"type\": \"torch.Tensor\", \"data_name\": \"" file "\"}"
#define ADD "Torch.add.0.forward"

static struct maker make(void)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "dump.json",
              "{\"task\": \"tensor\", \"data\": {\"" ADD
              "\": {\"input_args\": [" TENSOR(ADD ".input.0.pt") ", " TENSOR(
                  ADD
                  ".input.1.pt") "], \"output\": [" TENSOR(ADD ".output.0."
                                                               "pt") "]}}}");
    maker_put(&maker, "dump_tensor_data/" ADD ".input.0.pt", "x");
    maker_put(&maker, "dump_tensor_data/" ADD ".output.0.pt", "x");
    maker_put(&maker, "dump_tensor_data/orphan.pt", "x");
    return maker;
}

/* The files of one finding: "what END\n" for each, END what its path ends in
 * behind the place's directory. */
static void expect(const char *name, int64_t order, enum tp_dump_check_id check,
                   const char *wanted)
{
    struct maker maker = make();
    struct tp_dump dump;
    struct tp_dump_findings findings = {0};
    struct tp_finding_files files = {0};
    struct tp_dump_finding *finding;
    struct tp_text text = {0};
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    const struct tp_dump_place *place = &dump.places[0];
    cr_assert_eq(tp_dump_finding_add(&findings, check, TP_SEVERITY_HIGH, place,
                                     &finding, NULL),
                 TP_OK);
    finding->order = order;
    finding->name = name;
    cr_assert_eq(tp_dump_finding_files(&dump, &findings, &files, NULL), TP_OK);
    for (size_t i = 0; i < files.count; i++) {
        const char *path = files.rows[i].file;
        cr_expect_eq(files.rows[i].finding, 0);
        cr_assert_eq(strncmp(path, place->directory, strlen(place->directory)),
                     0);
        tp_text_add(&text, "%s %s\n", files.rows[i].what,
                    path + strlen(place->directory));
    }
    cr_expect_str_eq(tp_text_get(&text), wanted, "%s", tp_text_get(&text));
    tp_text_clear(&text);
    tp_finding_files_clear(&files);
    tp_dump_findings_clear(&findings);
    tp_dump_clear(&dump);
    maker_end(&maker);
}

Test(finding_files, of_a_call_results_first)
{
    expect(ADD, 0, TP_CHECK_NONFINITE,
           "output.0 /dump_tensor_data/" ADD ".output.0.pt\n"
           "input.0 /dump_tensor_data/" ADD ".input.0.pt\n"
           "input.1 /dump_tensor_data/" ADD ".input.1.pt\n"
           "dump.json /dump.json\n");
}

Test(finding_files, of_an_item_alone)
{
    expect(ADD ".input.0", 0, TP_CHECK_CRC,
           "input.0 /dump_tensor_data/" ADD ".input.0.pt\n"
           "dump.json /dump.json\n");
}

Test(finding_files, one_that_is_missing_is_named)
{
    expect(ADD ".input.1", 0, TP_CHECK_MISSING_FILE,
           "input.1 /dump_tensor_data/" ADD ".input.1.pt\n"
           "dump.json /dump.json\n");
}

Test(finding_files, of_no_call)
{
    expect("orphan.pt", -1, TP_CHECK_ORPHAN_FILE,
           "file /dump_tensor_data/orphan.pt\n");
    expect("stack.json", -1, TP_CHECK_JSON, "stack.json /stack.json\n");
    expect(ADD, -1, TP_CHECK_TREE, "construct.json /construct.json\n");
    expect("rank1", -1, TP_CHECK_PLACE, "dump.json /dump.json\n");
}

/* Another call has that place in the order of calls. */
Test(finding_files, of_a_call_that_is_not_there)
{
    expect("Torch.mul.0.forward", 0, TP_CHECK_NONFINITE, "");
    expect(ADD, 7, TP_CHECK_NONFINITE, "");
}

/* Two directories of one model, whose paths tell neither step nor rank. */
Test(finding_files, are_those_of_its_own_directory)
{
    static const char json[] =
        "{\"task\": \"tensor\", \"data\": {\"" ADD
        "\": {\"output\": [" TENSOR(ADD ".output.0.pt") "]}}}";
    struct maker maker = maker_begin();
    struct tp_dump dump;
    struct tp_dump_findings findings = {0};
    struct tp_finding_files files = {0};
    struct tp_dump_finding *finding;
    maker_put(&maker, "alpha/dump.json", json);
    maker_put(&maker, "beta/dump.json", json);
    cr_assert_eq(maker_read(&maker, "", false, &dump), TP_OK);
    cr_assert_eq(dump.place_count, 2);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(tp_dump_finding_add(&findings, TP_CHECK_CRC,
                                         TP_SEVERITY_HIGH, &dump.places[i],
                                         &finding, NULL),
                     TP_OK);
        finding->order = 0;
        finding->name = ADD ".output.0";
    }
    cr_assert_eq(tp_dump_finding_files(&dump, &findings, &files, NULL), TP_OK);
    cr_assert_eq(files.count, 4);
    for (size_t i = 0; i < files.count; i++)
        cr_expect(strstr(files.rows[i].file,
                         dump.places[files.rows[i].finding].directory));
    tp_finding_files_clear(&files);
    tp_dump_findings_clear(&findings);
    tp_dump_clear(&dump);
    maker_end(&maker);
}
