/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/dump_maker.h"

#include <criterion/criterion.h>
#include <stdio.h>

#include "formats/model_config.h"

/* What is read of a config.json of that text; NULL: of a folder without. */
static struct tp_model_config read_text(const char *text)
{
    const struct maker maker = maker_begin();
    struct tp_model_config config;
    struct tp_error err = {0};
    char path[512];
    if (text)
        maker_put(&maker, "config.json", text);
    maker_path(&maker, "model.pt", path, sizeof path);
    cr_assert_eq(tp_model_config_read(path, &config, &err), TP_OK);
    maker_end(&maker);
    return config;
}

Test(model_config, what_it_says)
{
    static const char methods[][20] = {"fp8", "modelopt", "compressed-tensors"};
    char text[128];
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        snprintf(text, sizeof text,
                 "{\"quantization_config\": {\"quant_method\": \"%s\"}}",
                 methods[i]);
        struct tp_model_config config = read_text(text);
        cr_expect(config.scaled && !config.tied && !config.unread, "%s", text);
    }
    cr_expect(
        !read_text("{\"quantization_config\": {\"quant_method\": \"gptq\"}}")
             .scaled);
    cr_expect(read_text("{\"tie_word_embeddings\": true}").tied);
    cr_expect(!read_text("{\"tie_word_embeddings\": false}").tied);
    cr_expect(!read_text("{\"tie_word_embeddings\": 1}").tied);
}

/* One that is damaged says what stands before that, and is told as unread; one
 * that is not there is not. */
Test(model_config, unread)
{
    struct tp_model_config config = read_text("{\"a\": 1, ");
    cr_expect(config.unread && !config.scaled && !config.tied);
    cr_expect_eq(config.why.code, TP_E_DAMAGED);
    config = read_text("{\"tie_word_embeddings\": true, ");
    cr_expect(config.tied && config.unread);
    cr_expect(!read_text("{}").unread);
    cr_expect(!read_text(NULL).unread);
}
