/* SPDX-License-Identifier: MIT */
/*
 * Names of msprobe. They are joined by '.', and so are the paths of modules
 * in them, so what is what is told from the anchors: the direction with the
 * number of the call before it (an API) or after it (a module), the last such
 * pair, since modules may be called "forward" too. What is before the anchor
 * names the call, what is after it the place in it. A regular expression for
 * each form would match the same, but the forms overlap, and the first match
 * is not the right one. Cost: one pass over at most 64 words.
 */
#include "formats/msprobe/msprobe_name.h"

#include <string.h>

#include "base/text.h"

/* Nesting of modules and lists is far below; a longer name is none. */
enum { WORDS_MAX = 64 };

const struct tp_msprobe_type tp_msprobe_types[] = {
    {"Tensor", "torch.Tensor"},
    {"Torch", "torch"},
    {"Functional", "torch.nn.functional"},
    {"NPU", "operators of torch_npu"},
    {"VF", "torch._VF"},
    {"Aten", "torch.ops.aten"},
    {"Distributed", "torch.distributed"},
    {"MindSpeed", "operators of MindSpeed"},
    {"Triton", "kernels of Triton"},
    {"Module", "torch.nn.Module"},
    {"Cell", "mindspore.nn.Cell"},
    {"Mint", "mindspore.mint"},
    {"MintFunctional", "mindspore.mint.nn.functional"},
    {"Primitive", "mindspore.ops.Primitive"},
    {NULL, NULL},
};

static bool span_is(struct tp_msprobe_part span, const char *word)
{
    return span.length == strlen(word) &&
           memcmp(span.at, word, span.length) == 0;
}

const struct tp_msprobe_type *tp_msprobe_type_of(struct tp_msprobe_part type)
{
    for (const struct tp_msprobe_type *row = tp_msprobe_types; row->word; row++)
        if (span_is(type, row->word))
            return row;
    return NULL;
}

struct words {
    struct tp_msprobe_part word[WORDS_MAX];
    size_t count;
};

static bool split(const char *text, size_t length, char separator,
                  struct words *words)
{
    words->count = 0;
    for (size_t at = 0; at <= length;) {
        const char *stop = memchr(text + at, separator, length - at);
        size_t end = stop ? (size_t)(stop - text) : length;
        if (words->count == WORDS_MAX)
            return false;
        words->word[words->count++] =
            (struct tp_msprobe_part){text + at, end - at};
        at = end + 1;
    }
    return true;
}

/* The text of words [first, last) with what stands between them. */
static struct tp_msprobe_part join(const struct words *words, size_t first,
                                   size_t last)
{
    if (first >= last)
        return (struct tp_msprobe_part){"", 0};
    const struct tp_msprobe_part *end = &words->word[last - 1];
    const char *at = words->word[first].at;
    return (struct tp_msprobe_part){at, (size_t)(end->at + end->length - at)};
}

static int64_t number_of(struct tp_msprobe_part word)
{
    return tp_digits_value(word.at, word.length);
}

static enum tp_direction direction_of(struct tp_msprobe_part word)
{
    for (int i = TP_FORWARD; i <= TP_BACKWARD; i++)
        if (span_is(word, tp_direction_word((enum tp_direction)i)))
            return (enum tp_direction)i;
    return TP_DIRECTION_UNKNOWN;
}

/* The place, words from `at` on; false when they are none. */
static bool parse_place(const struct words *words, size_t at,
                        struct tp_msprobe_name *name)
{
    static const char *const places[] = {[TP_MSPROBE_INPUT] = "input",
                                         [TP_MSPROBE_OUTPUT] = "output",
                                         [TP_MSPROBE_KWARGS] = "kwargs",
                                         [TP_MSPROBE_PARAMETERS] =
                                             "parameters"};
    name->place = TP_MSPROBE_CALL;
    name->argument = join(words, at + 1, words->count);
    if (at == words->count)
        return true;
    for (int i = TP_MSPROBE_INPUT; i <= TP_MSPROBE_PARAMETERS; i++)
        if (span_is(words->word[at], places[i]))
            name->place = (enum tp_msprobe_place)i;
    return name->place != TP_MSPROBE_CALL;
}

/* TYPE.API.N.DIRECTION with the direction at word `at`; in TYPE.N.DIRECTION,
 * as modules of one's own are called, TYPE is the path, too. */
static bool parse_api(const struct words *words, size_t at,
                      struct tp_msprobe_name *name)
{
    if (at < 2 || number_of(words->word[at - 1]) < 0)
        return false;
    name->kind = TP_MSPROBE_API;
    name->number = number_of(words->word[at - 1]);
    name->direction = direction_of(words->word[at]);
    name->type = words->word[0];
    name->path = join(words, at > 2, at - 1);
    name->class_name = (struct tp_msprobe_part){"", 0};
    name->call = join(words, 0, at + 1);
    return parse_place(words, at + 1, name);
}

static bool is_module(struct tp_msprobe_part word)
{
    return span_is(word, "Module") || span_is(word, "Cell");
}

/* Module.PATH.CLASS.DIRECTION.N with the direction at word `at`. */
static bool parse_module(const struct words *words, size_t at,
                         struct tp_msprobe_name *name)
{
    if (at < 2 || at + 1 == words->count || !is_module(words->word[0]) ||
        number_of(words->word[at + 1]) < 0)
        return false;
    name->kind = TP_MSPROBE_MODULE;
    name->number = number_of(words->word[at + 1]);
    name->direction = direction_of(words->word[at]);
    name->type = words->word[0];
    name->path = join(words, 1, at - 1);
    name->class_name = words->word[at - 1];
    name->call = join(words, 0, at + 2);
    return parse_place(words, at + 2, name);
}

/* Module.PATH.CLASS.parameters_grad[.N][.NAME], the word at `at`. */
static bool parse_gradients(const struct words *words, size_t at,
                            struct tp_msprobe_name *name)
{
    if (at < 2 || !is_module(words->word[0]))
        return false;
    size_t next = at + 1;
    int64_t number = next < words->count ? number_of(words->word[next]) : -1;
    next += number >= 0;
    name->kind = TP_MSPROBE_MODULE;
    name->number = number;
    name->direction = TP_BACKWARD;
    name->gradient = true;
    name->type = words->word[0];
    name->path = join(words, 1, at - 1);
    name->class_name = words->word[at - 1];
    name->call = join(words, 0, next);
    name->argument = join(words, next, words->count);
    name->place =
        name->argument.length ? TP_MSPROBE_PARAMETERS : TP_MSPROBE_CALL;
    return true;
}

/* NAME.N.debug */
static bool parse_variable(const struct words *words,
                           struct tp_msprobe_name *name)
{
    size_t at = words->count - 1;
    while (at > 1 && !span_is(words->word[at], "debug"))
        at--;
    if (at < 2 || number_of(words->word[at - 1]) < 0)
        return false;
    name->kind = TP_MSPROBE_VARIABLE;
    name->number = number_of(words->word[at - 1]);
    name->direction = TP_DIRECTION_UNKNOWN;
    name->type = name->class_name = (struct tp_msprobe_part){"", 0};
    name->path = join(words, 0, at - 1);
    name->call = join(words, 0, at + 1);
    name->argument = join(words, at + 1, words->count);
    name->place = name->argument.length ? TP_MSPROBE_OUTPUT : TP_MSPROBE_CALL;
    return true;
}

static bool parse_dotted(const struct words *words,
                         struct tp_msprobe_name *name)
{
    for (size_t at = words->count; at-- > 0;) {
        if (direction_of(words->word[at]) != TP_DIRECTION_UNKNOWN &&
            (parse_module(words, at, name) || parse_api(words, at, name)))
            return true;
        if (span_is(words->word[at], "parameters_grad") &&
            parse_gradients(words, at, name))
            return true;
    }
    return parse_variable(words, name);
}

/*
 * The older form: TYPE_API_N_DIRECTION[_PLACE], with '.' only inside PLACE. A
 * known TYPE and a number before the direction are wanted here, since names of
 * other savers have '_' and a direction as well.
 */
static bool parse_underscores(const char *text, size_t length,
                              struct tp_msprobe_name *name)
{
    struct words words;
    const char *dot = memchr(text, '.', length);
    size_t head = dot ? (size_t)(dot - text) : length;
    if (!split(text, head, '_', &words) || !tp_msprobe_type_of(words.word[0]))
        return false;
    for (size_t at = words.count; at-- > 2;) {
        if (direction_of(words.word[at]) == TP_DIRECTION_UNKNOWN ||
            number_of(words.word[at - 1]) < 0 || at + 2 < words.count)
            continue;
        words.count = at + 1;
        struct tp_msprobe_part place = {
            words.word[at].at + words.word[at].length, 0};
        place.length = (size_t)(text + length - place.at);
        if (!parse_api(&words, at, name))
            return false;
        if (place.length == 0)
            return true;
        return split(place.at + 1, place.length - 1, '.', &words) &&
               parse_place(&words, 0, name);
    }
    return false;
}

bool tp_msprobe_name_parse(const char *text, size_t length,
                           struct tp_msprobe_name *name)
{
    struct words words;
    memset(name, 0, sizeof *name);
    if (split(text, length, '.', &words) && parse_dotted(&words, name))
        return true;
    memset(name, 0, sizeof *name);
    return parse_underscores(text, length, name);
}

int64_t tp_msprobe_layer(const struct tp_msprobe_name *name)
{
    struct words words;
    if (name->kind != TP_MSPROBE_MODULE ||
        !split(name->path.at, name->path.length, '.', &words))
        return -1;
    for (size_t i = 0; i < words.count; i++)
        if (number_of(words.word[i]) >= 0)
            return number_of(words.word[i]);
    return -1;
}

/* --- arguments ----------------------------------------------- */

enum { ARGUMENTS = 5 };

/* Tensors among the positional arguments, as the signatures of PyTorch's and
 * torch_npu's functions name them; NULL: no tensor, or one without a name of
 * its own. */
static const struct signature {
    const char *api;
    const char *argument[ARGUMENTS];
} signatures[] = {
    {"linear", {"input", "weight", "bias"}},
    {"conv1d", {"input", "weight", "bias"}},
    {"conv2d", {"input", "weight", "bias"}},
    {"conv3d", {"input", "weight", "bias"}},
    {"conv_transpose1d", {"input", "weight", "bias"}},
    {"conv_transpose2d", {"input", "weight", "bias"}},
    {"conv_transpose3d", {"input", "weight", "bias"}},
    {"embedding", {"input", "weight"}},
    {"layer_norm", {"input", NULL, "weight", "bias"}},
    {"group_norm", {"input", NULL, "weight", "bias"}},
    {"rms_norm", {"input", NULL, "weight"}},
    {"batch_norm", {"input", "running_mean", "running_var", "weight", "bias"}},
    {"scaled_dot_product_attention", {"query", "key", "value", "attn_mask"}},
    {"npu_fusion_attention", {"query", "key", "value"}},
    {"npu_rms_norm", {"input", "weight"}},
};

const char *tp_msprobe_argument_name(const struct tp_msprobe_name *name)
{
    int64_t argument = number_of(name->argument);
    if (name->kind != TP_MSPROBE_API || name->place != TP_MSPROBE_INPUT ||
        name->direction != TP_FORWARD || argument < 0 || argument >= ARGUMENTS)
        return NULL;
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        if (span_is(name->path, signatures[i].api))
            return signatures[i].argument[argument];
    return NULL;
}
