/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/pt_maker.h"

#include <math.h>

#include "dump/dump_check.h"
#include "tests/unit/support/testdata.h"

/*
 * Dumps by hand, most without files of tensors, and entries beside files that
 * torch wrote (testdata/torch): what is found, as "CHECK NAME;" in order. What
 * happens to whole dumps is in tests/cli/dump_damaged.sh.
 */

struct result {
    struct tp_dump dump, other;
    struct tp_dump_findings findings;
    struct tp_dump_integrity integrity;
    char text[1024];
};

static void list_findings(struct result *result)
{
    size_t length = 0;
    tp_dump_findings_sort(&result->findings);
    result->text[0] = '\0';
    for (size_t i = 0; i < result->findings.count; i++) {
        const struct tp_dump_finding *f = &result->findings.rows[i];
        cr_expect(*f->evidence, "%s", f->name);
        length += (size_t)snprintf(
            result->text + length, sizeof result->text - length, "%s%s %s %s",
            i ? "; " : "", tp_severity_name(f->level), f->rule->id, f->name);
    }
}

static void check(const struct maker *maker, const char *crc_from, bool recover,
                  struct result *result)
{
    struct tp_dump_check_options options = {.verify = TP_VERIFY_ALL};
    struct tp_error err = {0};
    memset(result, 0, sizeof *result);
    cr_assert_eq(maker_read(maker, "d", recover, &result->dump), TP_OK);
    if (crc_from) {
        cr_assert_eq(maker_read(maker, crc_from, false, &result->other), TP_OK);
        options.crc_from = &result->other;
    }
    cr_assert_eq(tp_pool_new(2, &options.pool, &err), TP_OK);
    cr_assert_eq(tp_dump_integrity_check(&result->dump, &options,
                                         &result->findings, &result->integrity,
                                         &err),
                 TP_OK, "%s", err.message);
    tp_pool_free(options.pool);
    list_findings(result);
}

static void clear(struct result *result)
{
    tp_dump_integrity_clear(&result->integrity);
    tp_dump_findings_clear(&result->findings);
    tp_dump_clear(&result->other);
    tp_dump_clear(&result->dump);
}

static void expect(const struct maker *maker, const char *findings)
{
    struct result result;
    check(maker, NULL, false, &result);
    cr_expect_str_eq(result.text, findings);
    clear(&result);
}

#define DATA(members) "{\"task\": \"statistics\", \"data\": {" members "}}"

/* --- json ----------------------------------------------------------------- */

/* What a lone dump.json is told to be, and whether the writer was cut off. */
static void expect_json(const char *json, const char *evidence, bool cut)
{
    struct maker maker = maker_begin();
    struct result result;
    maker_put(&maker, "d/dump.json", json);
    check(&maker, NULL, false, &result);
    cr_assert_eq(result.findings.count, 1, "%s: %s", json, result.text);
    const struct tp_dump_finding *finding = &result.findings.rows[0];
    cr_expect(strstr(finding->evidence, evidence), "%s", finding->evidence);
    cr_expect_eq(strstr(finding->suggestion, "debugger.stop") != NULL, cut,
                 "%s", finding->suggestion);
    clear(&result);
    maker_end(&maker);
}

Test(dump_check, json_of_something_else)
{
    expect_json("12345", "no dump of msprobe: it is no object", false);
    expect_json("[{}]", "no dump of msprobe: it is no object", false);
    expect_json("{\"data\": [1, 2, 3]}", "its \"data\" is no object", false);
    expect_json("{\"data\" : 7}", "its \"data\" is no object", false);
    expect_json("{\"a\": {}}", "it has no \"data\"", false);
    expect_json("{\"data\"", "the file ends too early", true);
    expect_json("{\"data\" {}}", "not JSON: a colon is missing", true);
    expect_json("{\"data\": {\"A\": {}", "; 1 call was read", true);
}

/* Of one file, and of two. */
Test(dump_check, numbers_of_files)
{
#define SAVED(name) "{\"type\": \"torch.Tensor\", \"data_name\": \"" name "\"}"
    expect_json(DATA("\"A\": {\"output\": [" SAVED("a.pt") "]}"),
                "names 1 file, and", false);
    expect_json(
        DATA("\"A\": {\"output\": [" SAVED("a.pt") ", " SAVED("b.pt") "]}"),
        "names 2 files, and", false);
}

/* An entry that is no JSON costs that entry, and integers have no end. */
Test(dump_check, entries_after_a_bad_one)
{
    expect_json(DATA("\"A\": {}, \"B\": {\"x\": 01}, \"C\": {}"),
                "at byte 46 of 66; 2 calls were read", true);
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json",
              DATA("\"A\": {\"output\": [{\"type\": \"torch.Tensor\", "
                   "\"shape\": [1180591620717411303424, 2]}]}, \"B\": {}"));
    expect(&maker, "");
    maker_end(&maker);
}

Test(dump_check, a_whole_dump_of_statistics)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/step0/rank0/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/step0/rank0/construct.json", "{}");
    maker_put(&maker, "d/step0/rank0/stack.json", "{}");
    expect(&maker, "");
    maker_end(&maker);
}

Test(dump_check, json_files_that_are_not_whole)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/stack.json", ""); /* as old versions leave it */
    maker_put(&maker, "d/construct.json", "{\"A\": nul");
    expect(&maker, "medium json construct.json; low json stack.json");
    maker_put(&maker, "d/dump.json", "");
    expect(&maker, "high json dump.json; medium json construct.json; "
                   "low json stack.json");
    maker_put(&maker, "d/dump.json", "{\"data\": {\"A\": {}");
    expect(&maker, "high json dump.json; medium json construct.json; "
                   "low json stack.json");
    maker_end(&maker);
}

Test(dump_check, no_calls_though_there_should_be)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", DATA(""));
    expect(&maker, ""); /* nothing was dumped */
    maker_put(&maker, "d/construct.json", "{\"A\": null}");
    expect(&maker, "high json dump.json");
    maker_put(&maker, "d/dump.json",
              "{\"task\": \"free_benchmark\", \"data\": {}}");
    expect(&maker, "");
    maker_put(&maker, "d/dump_tensor_data/a.pt", "x");
    expect(&maker, "high json dump.json");
    maker_end(&maker);
}

Test(dump_check, no_json_of_calls)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/construct.json", "{\"A\": null}");
    expect(&maker, "low json dump.json");
    maker_put(&maker, "d/dump_tensor_data/a.pt", "x");
    expect(&maker, "high json dump.json");
    maker_end(&maker);
}

/* --- files ---------------------------------------------------------------- */

#define ITEM(members)                       \
    DATA("\"A\": {\"output\": [{\"type\": " \
         "\"torch.Tensor\"" members "}]}")

Test(dump_check, files_that_are_missing_or_nobodys)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", ITEM(", \"data_name\": \"A.pt\""));
    expect(&maker, "medium missing_file dump_tensor_data"); /* all of them */
    maker_put(&maker, "d/dump_tensor_data/B.pt", "x");
    expect(&maker, "medium missing_file A.output.0; medium orphan_file B.pt");
    maker_end(&maker);
}

Test(dump_check, a_file_that_is_no_tensor)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", ITEM(", \"data_name\": \"A.pt\""));
    maker_put(&maker, "d/dump_tensor_data/A.pt", "");
    expect(&maker, "high damaged_file A.output.0");
    maker_put(&maker, "d/dump_tensor_data/A.pt", "no tensor at all");
    expect(&maker, "high damaged_file A.output.0");
    maker_end(&maker);
}

Test(dump_check, texts_of_numpy_are_not_read)
{
    /* version 1.0, one text of one character */
    static const char text[] =
        "\x93NUMPY\1\0\x38\0{'descr': '<U1', 'fortran_order': False, "
        "'shape': (1,)}\n"
        "a\0\0";
    struct maker maker = maker_begin();
    struct result result;
    maker_put(&maker, "d/dump.json", ITEM(", \"data_name\": \"A.npy\""));
    maker_put(&maker, "d/dump_tensor_data/A.npy", "\x93NUMPY\1");
    expect(&maker, "high damaged_file A.output.0");
    maker_put_bytes(&maker, "d/dump_tensor_data/A.npy", text, sizeof text);
    check(&maker, NULL, false, &result);
    cr_expect_str_eq(result.text, "");
    cr_expect_eq(result.integrity.unread, 1);
    clear(&result);
    maker_end(&maker);
}

Test(dump_check, statistics_that_were_never_written)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", ITEM(", \"tensor_stat_index\": 12"));
    expect(&maker, "medium unfinished A.output.0");
    maker_end(&maker);
}

/* --- the tree ------------------------------------------------------------- */

Test(dump_check, a_tree_and_what_is_none)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/construct.json",
              "{\"A\": \"M\", \"M\": \"R\", \"R\": null, \"B\": \"R\", "
              "\"C\": \"optimizer\"}");
    expect(&maker, "");
    maker_put(&maker, "d/construct.json",
              "{\"A\": \"M\", \"M\": \"R\", \"R\": \"M\", \"B\": \"R\"}");
    expect(&maker, "medium tree M");
    maker_put(&maker, "d/construct.json", "{\"A\": \"A\"}");
    expect(&maker, "medium tree A");
    maker_put(&maker, "d/construct.json", "{\"A\": \"gone\"}");
    expect(&maker, "low tree A");
    maker_end(&maker);
}

/* --- sets of calls -------------------------------------------------------- */

Test(dump_check, ranks_and_steps_with_other_calls)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/step0/rank0/dump.json", DATA("\"A\": {}, \"B\": {}"));
    maker_put(&maker, "d/step0/rank1/dump.json", DATA("\"B\": {}, \"A\": {}"));
    maker_put(&maker, "d/step1/rank0/dump.json", DATA("\"A\": {}, \"B\": {}"));
    maker_put(&maker, "d/step1/rank1/dump.json", DATA("\"A\": {}, \"B\": {}"));
    expect(&maker, "");
    maker_put(&maker, "d/step1/rank1/dump.json",
              DATA("\"A\": {}, \"C\": {}, \"D\": {}"));
    expect(&maker, "low call_set B; low call_set B"); /* by step and by rank */
    maker_end(&maker);
}

Test(dump_check, a_rank_that_is_not_there)
{
    struct maker maker = maker_begin();
    maker_put(&maker, "d/step0/rank0/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/step0/rank1/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/step1/rank0/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/step2/rank0/dump.json", DATA("\"A\": {}"));
    maker_put(&maker, "d/step2/rank1/dump.json", DATA("\"A\": {}"));
    expect(&maker, "medium place rank1");
    maker_end(&maker);
}

/* --- a file of torch ------------------------------------------------------ */

#define LAYER_NORM_ENTRY                                                     \
    "\"dtype\": \"torch.bfloat16\", \"shape\": [4, 4], \"Max\": 1.4765625, " \
    "\"Min\": -2.53125, \"Mean\": -0.271484375, \"Norm\": 4.15625"

/* Puts a file of testdata/msprobe beside an entry about it: bf16 [4, 4],
 * with the numbers that msprobe gave, but for what `from` and `to` change. */
static struct maker with_tensor(const char *from, const char *to)
{
    static const char file[] = "Functional.layer_norm.0.forward.input.0.pt";
    char name[256], path[512], json[1024], *at;
    struct maker maker = maker_begin();
    snprintf(name, sizeof name, "msprobe/step0/proc4711/dump_tensor_data/%s",
             file);
    testdata_path(name, path, sizeof path);
    FILE *in = fopen(path, "rb");
    cr_assert_not_null(in, "%s", path);
    static char bytes[65536];
    const size_t size = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    snprintf(name, sizeof name, "d/dump_tensor_data/%s", file);
    maker_put_bytes(&maker, name, bytes, size);
    snprintf(json, sizeof json,
             DATA("\"Functional.layer_norm.0.forward\": {\"input_args\": "
                  "[{\"type\": \"torch.Tensor\", %s, \"data_name\": "
                  "\"%s\"}]}"),
             LAYER_NORM_ENTRY, file);
    at = strstr(json, from);
    cr_assert_not_null(at, "%s", from);
    cr_assert_eq(strlen(from), strlen(to)); /* pad with spaces */
    memcpy(at, to, strlen(to));
    maker_put(&maker, "d/dump.json", json);
    return maker;
}

static void expect_changed(const char *from, const char *to,
                           const char *findings)
{
    struct maker maker = with_tensor(from, to);
    expect(&maker, findings);
    maker_end(&maker);
}

static const char item[] = "Functional.layer_norm.0.forward.input.0";

static const char *about(const char *check)
{
    static char text[128];
    snprintf(text, sizeof text, "high %s %s", check, item);
    return text;
}

Test(dump_check, numbers_of_msprobe_agree)
{
    expect_changed("Max", "Max", "");
}

Test(dump_check, extrema_are_equal_or_wrong)
{
    expect_changed("1.4765625", "1.4765626", about("statistics"));
    expect_changed("-2.53125", "-2.53124", about("statistics"));
    expect_changed("1.4765625", "      NaN", about("statistics"));
    expect_changed("1.4765625", " Infinity", about("statistics"));
    expect_changed("1.4765625", "     null", ""); /* not said */
}

/* mean 0.27063 of the file, mean |x| 0.87146: 2 % of that is 0.0174 */
Test(dump_check, a_mean_has_the_room_of_its_dtype)
{
    expect_changed("-0.271484375", "-0.287900000", "");
    expect_changed("-0.271484375", "-0.288200000", about("statistics"));
    expect_changed("-0.271484375", "-0.253300000", "");
    expect_changed("-0.271484375", "-0.253000000", about("statistics"));
}

/* 4.14188 in the file; a tenth of it */
Test(dump_check, a_norm_has_more)
{
    expect_changed("4.15625", "4.55500", "");
    expect_changed("4.15625", "4.55700", about("statistics"));
    expect_changed("4.15625", "3.72900", "");
    expect_changed("4.15625", "3.72700", about("statistics"));
    expect_changed("4.15625", "    NaN", about("statistics"));
}

/* Ones of float32, and a Norm that is off by so much of itself. */
static void expect_norm(int terms, double error, const char *findings)
{
    static const char file[] = "Torch.add.0.forward.output.0.pt";
    static float ones[1 << 15];
    char name[128], json[512];
    struct maker maker = maker_begin();
    for (int i = 0; i < terms; i++)
        ones[i] = 1;
    snprintf(name, sizeof name, "d/dump_tensor_data/%s", file);
    pt_put(&maker, name, &pt_float32, ones, (size_t)terms);
    snprintf(json, sizeof json,
             DATA("\"Torch.add.0.forward\": {\"output\": [{\"type\": "
                  "\"torch.Tensor\", \"dtype\": \"torch.float32\", "
                  "\"shape\": [%d], \"Norm\": %.17g, \"data_name\": "
                  "\"%s\"}]}"),
             terms, sqrt(terms) * (1 + error), file);
    maker_put(&maker, "d/dump.json", json);
    expect(&maker, findings);
    maker_end(&maker);
}

/* What torch.norm of chunks was off by is no damage; 2^-25 for each term is
 * 6.1e-5 of 2048 and 9.8e-4 of 32768. */
Test(dump_check, a_norm_is_summed_in_one_lane)
{
    static const char wrong[] = "high statistics Torch.add.0.forward.output.0";
    expect_norm(2048, 1.1e-6, "");
    expect_norm(8192, 1.6e-6, "");
    expect_norm(32768, -4.5e-6, "");
    expect_norm(2048, 7e-5, wrong);
    expect_norm(32768, -1.1e-3, wrong);
    expect_norm(16, 2e-6, wrong); /* as before: so few hardly round */
    expect_norm(16, 1e-6, "");
}

Test(dump_check, another_shape_or_dtype)
{
    expect_changed("[4, 4]", "[2, 8]", about("shape"));
    expect_changed("[4, 4]", "  [16]", about("shape"));
    expect_changed("torch.bfloat16", " torch.float16", about("dtype"));
    expect_changed("\"torch.bfloat16\"", "    \"torch.int8\"", about("dtype"));
    /* what has 8 bits was saved as float by older versions */
    expect_changed("torch.bfloat16", "torch.float8_x", "");
    expect_changed("torch.bfloat16\", \"shape\": [4, 4]",
                   "torch_npu.HiFloat8Tensor\", \"s\":1", "");
}

#define MAX_MIN "\"Max\": 1.4765625, \"Min\": -2.53125"

Test(dump_check, checksums_of_its_own_json)
{
    expect_changed(MAX_MIN, "\"md5\": \"df6155cb\"                ", "");
    expect_changed(MAX_MIN, "\"md5\": \"e6c6160d\"                ", "");
    expect_changed(MAX_MIN, "\"md5\": \"df6155cc\"                ",
                   about("crc"));
    expect_changed(MAX_MIN, "\"md5\": \"0x80da004a81437e3f\"      ", "");
    expect_changed(MAX_MIN, "\"md5\": \"0x80da004a81437e3e\"      ",
                   about("crc"));
}

/* The json of another dump: its CRC-32, no other file. */
static void expect_other(const char *md5, const char *findings,
                         struct tp_dump_crc_counts wanted)
{
    char json[512];
    struct result result;
    struct maker maker = with_tensor("Max", "Max");
    snprintf(json, sizeof json,
             DATA("\"Functional.layer_norm.0.forward\": {\"input_args\": "
                  "[{\"type\": \"torch.Tensor\", \"md5\": \"%s\"}]}"),
             md5);
    maker_put(&maker, "other/dump.json", json);
    check(&maker, "other", false, &result);
    cr_expect_str_eq(result.text, findings);
    const struct tp_dump_crc_counts *other = &result.integrity.other;
    cr_expect_eq(other->equal, wanted.equal);
    cr_expect_eq(other->later, wanted.later);
    cr_expect_eq(other->differ, wanted.differ);
    cr_expect_eq(other->absent, wanted.absent);
    clear(&result);
    maker_end(&maker);
}

Test(dump_check, checksums_of_another_dump)
{
    expect_other("df6155cb", "", (struct tp_dump_crc_counts){1, 0, 0, 0});
    expect_other("e6c6160d", "", (struct tp_dump_crc_counts){1, 0, 0, 0});
    expect_other("00000000", about("crc"),
                 (struct tp_dump_crc_counts){0, 0, 1, 0});
    expect_other("", "", (struct tp_dump_crc_counts){0, 0, 0, 1});
}

Test(dump_check, a_file_under_another_name)
{
    static char text[256];
    struct maker maker = with_tensor("input.0.pt\"}]}}}", "input.9.pt\"}]}}}");
    char from[512], to[512];
    maker_path(&maker,
               "d/dump_tensor_data/Functional.layer_norm.0.forward."
               "input.0.pt",
               from, sizeof from);
    maker_path(&maker,
               "d/dump_tensor_data/Functional.layer_norm.0.forward."
               "input.9.pt",
               to, sizeof to);
    cr_assert_eq(rename(from, to), 0);
    snprintf(text, sizeof text, "medium renamed_file %s", item);
    expect(&maker, text);
    maker_end(&maker);
}
