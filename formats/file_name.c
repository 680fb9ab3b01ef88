/* SPDX-License-Identifier: MIT */
/*
 * What a file's name says. The name is cut at '_' into words, and the words
 * with a shape of their own are looked for first: time stamp and counter at
 * the front; rank, sample and group; the operation, the last one that a phase
 * or a known quantisation type explains. What lies between these anchors is
 * the layer type, the component and the tensor's name, all of which may hold
 * '_'. Other conventions are tried after this one, then single words. A
 * regular expression for the whole was the alternative: with every part
 * optional and three that hold the separator it matches in many ways, and the
 * first is often wrong. Cost: a few passes over at most 128 words.
 */
#include "formats/file_name.h"

#include <stdbool.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "data/number.h"
#include "formats/msprobe/msprobe_name.h"
#include "formats/saved_place.h"

/* File systems stop at 255 bytes a name; the last word takes what is left of
 * a longer one. */
enum { WORDS_MAX = 128 };

struct word {
    const char *at;
    size_t length;
};

/* A name cut into words; where texts made from it go. */
struct name {
    struct word word[WORDS_MAX];
    size_t count;
    struct tp_arena *arena;
    bool failed; /* out of memory */
};

static bool is_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

/* Whether a word is "<prefix>" and digits, though their number may be beyond
 * an int64_t. */
static bool is_numbered(struct word word, const char *prefix)
{
    size_t skip = strlen(prefix);
    return word.length > skip && memcmp(word.at, prefix, skip) == 0 &&
           is_digits(word.at + skip, word.length - skip);
}

/* N of a word "<prefix>N"; -1 when the word is another. */
static int64_t word_number(struct word word, const char *prefix)
{
    size_t skip = strlen(prefix);
    return is_numbered(word, prefix)
               ? tp_digits_value(word.at + skip, word.length - skip)
               : -1;
}

static bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) &&
           memcmp(word.at, text, word.length) == 0;
}

/* Cuts `text` at every character of `separators`. */
static void split(struct name *name, struct word text, const char *separators)
{
    const char *end = text.at + text.length;
    name->count = 0;
    for (const char *at = text.at;;) {
        const char *stop = at;
        while (stop < end &&
               (name->count == WORDS_MAX - 1 || !strchr(separators, *stop)))
            stop++;
        name->word[name->count++] = (struct word){at, (size_t)(stop - at)};
        if (stop == end)
            return;
        at = stop + 1;
    }
}

/* The text of words [first, last) with what stands between them. */
static const char *join(struct name *name, size_t first, size_t last)
{
    if (first >= last)
        return "";
    const char *at = name->word[first].at;
    const struct word *end = &name->word[last - 1];
    char *text =
        tp_arena_text(name->arena, at, (size_t)(end->at + end->length - at));
    name->failed |= !text;
    return text ? text : "";
}

/* As join, of all words but word `at`, which lies inside [first, last). */
static const char *join_without(struct name *name, size_t first, size_t at,
                                size_t last)
{
    if (at == first)
        return join(name, first + 1, last);
    if (at + 1 == last)
        return join(name, first, at);
    const char *before = name->word[first].at, *after = name->word[at + 1].at;
    size_t head = (size_t)(name->word[at].at - before);
    const struct word *end = &name->word[last - 1];
    size_t tail = (size_t)(end->at + end->length - after);
    char *text = tp_arena_alloc(name->arena, head + tail + 1);
    name->failed |= !text;
    if (!text)
        return "";
    memcpy(text, before, head);
    memcpy(text + head, after, tail);
    return text;
}

static bool is_operation(struct word word)
{
    return word_is(word, "forward") || word_is(word, "backward");
}

static bool is_phase(struct word word)
{
    return word_is(word, "pre") || word_is(word, "post") ||
           word_is(word, "unknown");
}

static bool is_tail(struct word word)
{
    return word_number(word, "rank") >= 0 || word_number(word, "sample") >= 0 ||
           word_number(word, "group") >= 0;
}

/* Whether the text is a quantisation type by itself, in any context. */
static bool is_quant(const char *text, size_t length)
{
    /* Known to savers, but no number format (of its own). */
    static const char *const others[] = {"fp32", "fp64"};
    /* Words for dtypes, which many a name holds for other reasons. */
    static const char *const dtypes[] = {"bfloat16", "float16", "half"};
    char word[24];
    if (length == 0 || length >= sizeof word || memchr(text, 0, length))
        return false;
    memcpy(word, text, length);
    word[length] = '\0';
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(word, others[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (strcmp(word, dtypes[i]) == 0)
            return false;
    return tp_number_by_quant_type(word) != NULL;
}

/* How many words from `at` on, below `end`, make a quantisation type: 2, 1
 * or 0 (fp8_e4m3 is one type, and e4m3 alone another). */
static size_t quant_words(const struct name *name, size_t at, size_t end)
{
    for (size_t n = 2; n > 0; n--) {
        if (at + n > end)
            continue;
        const char *text = name->word[at].at;
        const struct word *last = &name->word[at + n - 1];
        if (is_quant(text, (size_t)(last->at + last->length - text)))
            return n;
    }
    return 0;
}

static size_t find_quant(const struct name *name, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++)
        if (quant_words(name, i, end))
            return i;
    return end;
}

static size_t find_tail(const struct name *name, size_t from)
{
    while (from < name->count && !is_tail(name->word[from]))
        from++;
    return from;
}

/*
 * The operation. Layer types and tensor names may hold the word as well
 * ("feed_forward"), so the last one before the quantisation type or the rank
 * counts, and one that a phase follows counts more.
 */
static size_t find_operation(const struct name *name, size_t from)
{
    size_t first = from;
    while (first < name->count && !is_operation(name->word[first]))
        first++;
    if (first == name->count)
        return first;
    size_t tail = find_tail(name, first + 1);
    size_t end = find_quant(name, first + 1, tail);
    bool anchored = end < name->count;
    size_t last = first;
    bool sure = false;
    for (size_t i = first; i < end; i++) {
        if (!is_operation(name->word[i]))
            continue;
        bool phased = i + 1 < name->count && is_phase(name->word[i + 1]);
        if (phased || (anchored && !sure))
            last = i;
        sure |= phased;
    }
    return last;
}

/* Time stamp, counter and iteration; returns the word after them. */
static size_t parse_head(struct name *name, struct tp_label *label)
{
    const struct word *word = name->word;
    size_t at = 0;
    if (name->count > 2 && word[0].length == 8 && word[1].length == 6 &&
        is_digits(word[0].at, 8) && is_digits(word[1].at, 6)) {
        label->timestamp = join(name, 0, 2);
        at = 2;
        label->counter = tp_digits_value(word[at].at, word[at].length);
        at += is_digits(word[at].at, word[at].length);
    }
    if (at == name->count || !is_numbered(word[at], "iter"))
        return at;
    label->iteration = word_number(word[at], "iter");
    return at + 1;
}

/* Layer type and layer index: words [first, last), the latter anywhere. */
static void parse_layer(struct name *name, size_t first, size_t last,
                        struct tp_label *label)
{
    size_t at = last;
    for (size_t i = first; i < last; i++)
        if (word_number(name->word[i], "L") >= 0)
            at = i;
    if (at == last) {
        label->layer_type = join(name, first, last);
        return;
    }
    label->layer_idx = word_number(name->word[at], "L");
    label->layer_type = join_without(name, first, at, last);
}

/* Phase and component: words [first, last). */
static void parse_place(struct name *name, size_t first, size_t last,
                        struct tp_label *label)
{
    if (first < last && is_phase(name->word[first])) {
        label->phase = join(name, first, first + 1);
        first++;
    }
    label->component = join(name, first, last);
}

/* Rank, sample, group: each at most once; returns the word after them. */
static size_t parse_tail(struct name *name, size_t at, struct tp_label *label)
{
    static const char *const prefixes[] = {"rank", "sample", "group"};
    int64_t *const numbers[] = {&label->rank, &label->sample_idx,
                                &label->group_idx};
    for (; at < name->count; at++) {
        size_t i = 0;
        while (i < 3 && (*numbers[i] >= 0 ||
                         word_number(name->word[at], prefixes[i]) < 0))
            i++;
        if (i == 3)
            break;
        *numbers[i] = word_number(name->word[at], prefixes[i]);
    }
    return at;
}

struct span {
    size_t first, last;
};

/*
 * The quantisation type of words (operation, tail): a known one just before
 * the rank; else the first known one, not taking the component that must
 * follow a phase; else any word before the rank that is neither phase nor
 * component. Empty, at the end of phase and component, when there is none.
 */
static struct span find_quant_type(const struct name *name, size_t op,
                                   size_t tail)
{
    bool anchored = tail < name->count;
    for (size_t n = 2; n > 0 && anchored; n--)
        if (tail > op + n && quant_words(name, tail - n, tail) == n)
            return (struct span){tail - n, tail};
    bool phased = op + 1 < tail && is_phase(name->word[op + 1]);
    size_t from = phased ? op + 3 : op + 1;
    size_t at = from < tail ? find_quant(name, from, tail) : tail;
    if (at == tail && phased && !anchored)
        at = find_quant(name, op + 2, tail);
    if (at < tail)
        return (struct span){at, at + quant_words(name, at, tail)};
    if (!anchored) {
        at = phased && op + 3 < tail ? op + 3 : phased ? tail : op + 1;
        return (struct span){at, at};
    }
    /* An unknown type: the word after a phase and a component, or one that
     * has a digit, as all these types have and components have not. */
    const struct word *word = &name->word[tail - 1];
    bool digit = false;
    for (size_t i = 0; i < word->length; i++)
        digit |= is_digits(word->at + i, 1);
    if (tail - op > 1 && (digit || (phased && tail - op > 3)))
        return (struct span){tail - 1, tail};
    return (struct span){tail, tail};
}

/*
 * The saver's own convention. Returns false, and leaves a half filled label,
 * when there is no operation or nothing else that only a saver writes.
 */
static bool parse_saver(struct name *name, struct word stem,
                        struct tp_label *label)
{
    split(name, stem, "_");
    size_t first = parse_head(name, label);
    size_t op = find_operation(name, first);
    if (op == name->count)
        return false;
    label->operation = join(name, op, op + 1);
    parse_layer(name, first, op, label);
    struct span quant = find_quant_type(name, op, find_tail(name, op + 1));
    parse_place(name, op + 1, quant.first, label);
    label->quant_type = join(name, quant.first, quant.last);
    size_t rest = parse_tail(name, quant.last, label);
    label->tensor_name = join(name, rest, name->count);
    return *label->timestamp || label->iteration >= 0 ||
           label->layer_idx >= 0 || label->rank >= 0;
}

/*
 * The path of a module: "decoder.3.mlp.fc1" is
 * layer 3 of type "decoder.mlp.fc1", so that layers line up.
 */
static void parse_module(struct name *name, struct word module,
                         struct tp_label *label)
{
    split(name, module, ".");
    size_t at = 0;
    while (at < name->count &&
           tp_digits_value(name->word[at].at, name->word[at].length) < 0)
        at++;
    if (at == name->count) {
        label->layer_type = join(name, 0, at);
        return;
    }
    label->layer_idx =
        tp_digits_value(name->word[at].at, name->word[at].length);
    label->layer_type = join_without(name, 0, at, name->count);
}

/* MODULE_TENSOR_iter_N, see the header. The pass follows from TENSOR: what
 * the library calls its gradients is known, all else is of the forward one. */
static bool parse_debug_dump(struct name *name, struct word stem,
                             struct tp_label *label)
{
    split(name, stem, "_");
    size_t n = name->count;
    if (n < 4 || !word_is(name->word[n - 2], "iter"))
        return false;
    struct word tensor = name->word[n - 3], last = name->word[n - 1];
    label->iteration = tp_digits_value(last.at, last.length);
    if (label->iteration < 0)
        return false;
    label->tensor_name = join(name, n - 3, n - 2);
    bool backward = word_is(tensor, "gradient") || word_is(tensor, "wgrad") ||
                    word_is(tensor, "dgrad");
    label->operation = backward ? "backward" : "forward";
    size_t length = (size_t)(tensor.at - stem.at) - 1;
    parse_module(name, (struct word){stem.at, length}, label);
    return true;
}

/* MODULE.TENSOR.stepN.rankN, see the header. TENSOR may begin with its pass. */
static bool parse_inspector(struct name *name, struct word stem,
                            struct tp_label *label)
{
    split(name, stem, ".");
    size_t n = name->count;
    if (n < 4)
        return false;
    label->iteration = word_number(name->word[n - 2], "step");
    label->rank = word_number(name->word[n - 1], "rank");
    if (label->iteration < 0 || label->rank < 0)
        return false;
    struct word tensor = name->word[n - 3];
    label->tensor_name = join(name, n - 3, n - 2);
    if (tensor.length > 4 && memcmp(tensor.at, "fwd_", 4) == 0)
        label->operation = "forward";
    if (tensor.length > 4 && memcmp(tensor.at, "bwd_", 4) == 0)
        label->operation = "backward";
    size_t length = (size_t)(tensor.at - stem.at) - 1;
    parse_module(name, (struct word){stem.at, length}, label);
    return true;
}

static const char *text_of(struct name *name, struct tp_msprobe_part span)
{
    char *text = tp_arena_text(name->arena, span.at, span.length);
    name->failed |= !text;
    return text ? text : "";
}

/* What an argument of an msprobe dump is called: by the signature of its API,
 * its own name, or its place; the first of a place by that alone, and the items
 * of a list as the list. */
static const char *argument_name(struct name *name,
                                 const struct tp_msprobe_name *parts)
{
    const char *known = tp_msprobe_argument_name(parts);
    bool output = parts->place == TP_MSPROBE_OUTPUT;
    if (parts->kind == TP_MSPROBE_VARIABLE)
        return text_of(name, parts->path);
    if (known || parts->place == TP_MSPROBE_CALL)
        return known ? known : "";
    if (parts->place != TP_MSPROBE_INPUT && !output)
        return text_of(name, parts->argument);
    size_t word = output ? strlen("output") : strlen("input");
    const char *dot = memchr(parts->argument.at, '.', parts->argument.length);
    size_t length =
        dot ? (size_t)(dot - parts->argument.at) : parts->argument.length;
    if (length == 0 || (length == 1 && *parts->argument.at == '0'))
        return output ? "output" : "input";
    struct tp_msprobe_part whole = {parts->argument.at - word - 1,
                                    length + word + 1};
    return text_of(name, whole);
}

/* Names of msprobe. A call of unknown type without a place is none: it may be
 * anybody's. Calls are numbered by API and step, as groups are. */
static bool parse_msprobe(struct name *name, struct word stem,
                          struct tp_label *label)
{
    struct tp_msprobe_name parts;
    if (!tp_msprobe_name_parse(stem.at, stem.length, &parts) ||
        (parts.place == TP_MSPROBE_CALL && !tp_msprobe_type_of(parts.type) &&
         parts.kind != TP_MSPROBE_VARIABLE))
        return false;
    struct word path = {parts.path.at, parts.path.length};
    if (parts.kind == TP_MSPROBE_MODULE)
        parse_module(name, path, label);
    else if (parts.kind == TP_MSPROBE_API)
        label->layer_type =
            text_of(name, path.length ? parts.path : parts.type);
    label->component = text_of(
        name, parts.kind == TP_MSPROBE_MODULE ? parts.class_name : parts.type);
    label->operation = tp_direction_word(parts.direction);
    label->group_idx = parts.number;
    label->tensor_name = argument_name(name, &parts);
    if (parts.place == TP_MSPROBE_OUTPUT || parts.gradient)
        label->phase = parts.kind == TP_MSPROBE_VARIABLE ? "" : "post";
    else if (parts.place != TP_MSPROBE_CALL)
        label->phase = "pre";
    return true;
}

/* What single words of a name without a convention tell; first come. */
static void parse_free(struct name *name, struct word stem,
                       struct tp_label *label)
{
    split(name, stem, "_.-");
    for (size_t i = 0; i < name->count; i++) {
        struct word word = name->word[i];
        if (label->iteration < 0)
            label->iteration = word_number(word, "iter");
        if (label->layer_idx < 0)
            label->layer_idx = word_number(word, "L");
        if (parse_tail(name, i, label) > i)
            continue;
        size_t quant =
            *label->quant_type ? 0 : quant_words(name, i, name->count);
        if (quant)
            label->quant_type = join(name, i, i + quant);
    }
}

/* The last component of a path, without the extension of a dump. */
static struct word path_stem(const char *path)
{
    const char *name = tp_file_base_name(path);
    return (struct word){name, tp_saved_stem(name)};
}

/*
 * A tensor saved by the short way of one saver: PREFIX_<address>.pt in a
 * directory iter_N. The address, which differs from file to file, is cut off.
 */
static void cut_address(struct name *name, struct word stem,
                        struct tp_label *hints)
{
    split(name, stem, "_");
    struct word last = name->word[name->count - 1];
    if (name->count > 1 && last.length >= 9 && is_digits(last.at, last.length))
        hints->tensor_name = join(name, 0, name->count - 1);
}

/* A quantisation type, and "rank": what a run of one process is saved in. */
static void parse_directories(struct name *name, const char *path,
                              size_t length, struct tp_label *hints)
{
    bool alone = false;
    for (int i = 0; i < 3 && length > 0; i++) {
        const char *end = path + length - 1; /* at a slash */
        const char *at = end;
        while (at > path && at[-1] != '/')
            at--;
        const struct word directory = {at, (size_t)(end - at)};
        if (!*hints->quant_type && is_quant(directory.at, directory.length)) {
            name->word[0] = directory;
            hints->quant_type = join(name, 0, 1);
        }
        alone = alone || word_is(directory, "rank");
        length = (size_t)(at - path);
    }
    if (alone && hints->rank < 0)
        hints->rank = 0;
}

/* Step and rank, as layouts of checkpoints have them. Returns the number of an
 * epoch, which stands for a step where nothing else is said. What is read from
 * the name of a file is no part of the tensor's. */
static int64_t parse_saved_place(struct name *name, const char *path,
                                 bool free_name, struct tp_label *hints)
{
    struct tp_saved_place place;
    size_t stem;
    tp_saved_place_of(path, free_name, &place, &stem);
    if (hints->iteration < 0)
        hints->iteration = place.number[TP_PLACE_STEP];
    if (hints->rank < 0)
        hints->rank = tp_saved_rank(&place);
    if (!free_name)
        return place.number[TP_PLACE_EPOCH];
    /* what DeepSpeed writes before it is the dtype of the model, not a run's */
    if (place.number[TP_PLACE_DATA] >= 0) {
        hints->quant_type = "";
        return place.number[TP_PLACE_EPOCH];
    }
    const struct word file = {tp_file_base_name(path), stem};
    split(name, file, "_");
    hints->tensor_name = stem ? join(name, 0, name->count) : "";
    return place.number[TP_PLACE_EPOCH];
}

enum tp_status tp_file_name_parse(const char *path, struct tp_arena *arena,
                                  struct tp_file_name *file_name,
                                  struct tp_error *err)
{
    static const struct tp_label none = TP_LABEL_NONE;
    static bool (*const conventions[])(struct name *, struct word,
                                       struct tp_label *) = {
        parse_saver, parse_debug_dump, parse_inspector, parse_msprobe};
    enum { CONVENTIONS = sizeof conventions / sizeof *conventions };
    struct name name = {.arena = arena};
    struct word stem = path_stem(path);
    file_name->hints = none;
    bool known = false;
    for (size_t i = 0; i < CONVENTIONS && !known; i++) {
        file_name->claims = none;
        known = conventions[i](&name, stem, &file_name->claims);
    }
    if (!known) {
        file_name->claims = none;
        parse_free(&name, stem, &file_name->hints);
    }
    bool stepless = file_name->hints.iteration < 0;
    file_name->epoch =
        parse_saved_place(&name, path, !known, &file_name->hints);
    parse_directories(&name, path, (size_t)(stem.at - path), &file_name->hints);
    if (!known && stepless && file_name->hints.iteration >= 0)
        cut_address(&name, stem, &file_name->hints);
    return name.failed ? tp_fail_memory(err) : TP_OK;
}
