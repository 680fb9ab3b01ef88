/* SPDX-License-Identifier: MIT */
/*
 * Labels from the keys of checkpoints. A key is cut at '.' and brackets into
 * words. Words of wrappers are dropped; of an optimizer's state, what names it
 * is taken out, so that the words of a parameter are left: its module, with
 * the numbers of layer and expert, and a leaf. The leaf tells the role, the
 * module the type of the layer, each by the first row of a table that matches
 * (param_table.c). A regular expression for each family of models was the
 * alternative: some thirty, most of them one library's, and none for a model
 * of tomorrow. Cost: the rows of the tables times the words of a key, about 6
 * microseconds a tensor.
 */
#include "formats/param_name.h"

#include <ctype.h>
#include <string.h>

#include "base/text.h"
#include "formats/param_table.h"

/* The last word of a longer key takes the rest of it. */
enum { WORDS_MAX = 64 };

struct word {
    const char *at;
    size_t length;
};

/* A key in parts. Words [0, leaf) are the module; [leaf, count) the leaf and
 * the numbers behind it. */
struct key {
    struct word word[WORDS_MAX];
    size_t count, leaf;
    struct word state; /* of an optimizer's state: exp_avg; or nothing */
    const struct tp_param_role *role;
    bool optimizer; /* of its state, of whichever role              */
};

/* --- words ------------------------------------------------------------- */

static bool is_number(struct word word)
{
    return tp_digits_value(word.at, word.length) >= 0;
}

static bool word_is(struct word word, const char *text)
{
    return word.length == strlen(text) && !memcmp(word.at, text, word.length);
}

/* Of ASCII, in place: some 5 000 letters a key are compared. */
static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter + ('a' - 'A'))
                                          : letter;
}

/* Whether `pattern`, with '*' for any text, is all of the word. A '*' takes as
 * little as it can, and more when what follows does not fit. */
static bool matches(struct word pattern, struct word word)
{
    size_t p = 0, w = 0, star = pattern.length, mark = 0;
    while (w < word.length) {
        bool more = p < pattern.length;
        if (more && pattern.at[p] == '*') {
            star = p++;
            mark = w;
        } else if (more && lower(pattern.at[p]) == lower(word.at[w])) {
            p++;
            w++;
        } else if (star < pattern.length) {
            p = star + 1;
            w = ++mark;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.at[p] == '*')
        p++;
    return p == pattern.length;
}

/* The next word of a list, cut at `separator`; false at its end. */
static bool next_word(const char **list, const char *end, char separator,
                      struct word *word)
{
    while (*list < end && **list == separator)
        ++*list;
    if (*list == end)
        return false;
    const char *stop = memchr(*list, separator, (size_t)(end - *list));
    stop = stop ? stop : end;
    *word = (struct word){*list, (size_t)(stop - *list)};
    *list = stop;
    return true;
}

/* Whether the words of a pattern ("output.dense") begin at `words`; most have
 * but one, and are not cut for each word they are compared with. */
static bool begins(struct word pattern, size_t parts, const struct word *words,
                   size_t count)
{
    if (parts == 1)
        return count > 0 && matches(pattern, words[0]);
    const char *at = pattern.at, *end = at + pattern.length;
    struct word part;
    size_t n = 0;
    while (next_word(&at, end, '.', &part)) {
        if (n == count || !matches(part, words[n]))
            return false;
        n++;
    }
    return true;
}

/* Whether the first letters agree: a look that most comparisons end with. */
static inline bool may_match(struct word pattern, struct word word)
{
    return *pattern.at == '*' || lower(*pattern.at) == lower(*word.at);
}

/* How many words a pattern has. */
static size_t parts_of(struct word pattern)
{
    size_t parts = 1;
    for (size_t i = 0; i < pattern.length; i++)
        parts += pattern.at[i] == '.';
    return parts;
}

/* Whether one of the list's patterns begins at one of `count` words. */
static bool lists(const char *list, const struct word *words, size_t count)
{
    const char *end = list + strlen(list);
    struct word pattern;
    while (next_word(&list, end, ' ', &pattern)) {
        const size_t parts = parts_of(pattern);
        for (size_t i = 0; i < count; i++) {
            if (may_match(pattern, words[i]) &&
                begins(pattern, parts, words + i, count - i))
                return true;
        }
    }
    return false;
}

/* Whether one of the list's patterns is the last of the words. */
static bool ends(const char *list, const struct word *words, size_t count)
{
    const char *end = list + strlen(list);
    struct word pattern;
    while (next_word(&list, end, ' ', &pattern)) {
        const size_t parts = parts_of(pattern);
        if (parts <= count && may_match(pattern, words[count - parts]) &&
            begins(pattern, parts, words + count - parts, parts))
            return true;
    }
    return false;
}

/* A word without the quotes it has at a bracket. */
static struct word unquoted(const char *text, struct word word)
{
    if (word.at > text && word.at[-1] == '[' && word.length > 1 &&
        *word.at == '\'') {
        word.at++;
        word.length--;
    }
    if (word.at[word.length] == ']' && word.length > 1 &&
        word.at[word.length - 1] == '\'')
        word.length--;
    return word;
}

/* Cuts at '.' and brackets: a.b[3]['c.d'] is the words a b 3 c d. */
static void split(struct key *key, const char *text)
{
    static const char separators[] = ".[]";
    const char *at = text;
    while (*at) {
        at += strspn(at, separators);
        struct word word = {at, strcspn(at, separators)};
        if (word.length == 0)
            continue;
        at += word.length;
        if (key->count < WORDS_MAX)
            key->word[key->count++] = unquoted(text, word);
        else
            key->word[WORDS_MAX - 1].length =
                (size_t)(at - key->word[WORDS_MAX - 1].at);
    }
}

static void cut(struct key *key, size_t first, size_t end)
{
    memmove(key->word + first, key->word + end,
            (key->count - end) * sizeof *key->word);
    key->count -= end - first;
}

static void drop_wrappers(struct key *key)
{
    for (size_t i = key->count; i-- > 0;) {
        if (key->count > 1 &&
            lists(tp_param_wrappers.everywhere, key->word + i, 1))
            cut(key, i, i + 1);
    }
    while (key->count > 1 && lists(tp_param_wrappers.front, key->word, 1))
        cut(key, 0, 1);
}

/* --- an optimizer's state ---------------------------------------------- */

/* What the last of the words is to the model; NULL: nothing known. */
static const struct tp_param_role *role_of(const struct word *words,
                                           size_t count, bool state)
{
    const struct tp_param_role *row = tp_param_roles;
    while (row->component &&
           (row->state != state || !ends(row->words, words, count)))
        row++;
    return row->component ? row : NULL;
}

/* Where the name or number of a parameter begins: behind "state", or behind
 * the last word that says optimizer; 0: neither is there. */
static size_t after_optimizer(const struct key *key)
{
    size_t after = 0;
    for (size_t i = 0; i + 1 < key->count; i++) {
        if (word_is(key->word[i], "state"))
            return i + 1;
        if (lists("optim* *optimizer* *optimizer_state*", &key->word[i], 1))
            after = i + 1;
    }
    return after;
}

/* Takes what names a state out of the key: its words before the parameter,
 * and the word of the state, which stands before or behind it. "step" is one
 * only where an optimizer is named, and a gradient's behind a parameter. */
static void take_state(struct key *key)
{
    size_t after = after_optimizer(key);
    key->optimizer = after > 0;
    for (size_t i = key->count; i-- > after;) {
        const struct tp_param_role *row = role_of(&key->word[i], 1, true);
        bool sure =
            row && (key->optimizer || (row->role != TP_ROLE_COUNTER &&
                                       (row->role != TP_ROLE_GRADIENT ||
                                        (i > 0 && i + 1 == key->count))));
        if (!sure)
            continue;
        key->role = row;
        key->state = key->word[i];
        key->optimizer |= row->role != TP_ROLE_GRADIENT;
        if (key->count - after > 1) { /* a name or a number is left */
            cut(key, i, i + 1);
            cut(key, 0, after);
        }
        return;
    }
}

int64_t tp_param_number(const char *key, size_t *prefix)
{
    struct key parts = {.count = 0};
    split(&parts, key);
    size_t after = after_optimizer(&parts);
    if (after == 0 || !word_is(parts.word[after - 1], "state") ||
        after + 2 != parts.count)
        return -1;
    *prefix = (size_t)(parts.word[after - 1].at - key);
    return tp_digits_value(parts.word[after].at, parts.word[after].length);
}

bool tp_param_is_learned(const char *key)
{
    struct key parts = {.count = 0};
    split(&parts, key);
    take_state(&parts);
    if (parts.role || parts.optimizer || parts.count == 0)
        return false;
    const struct tp_param_role *row = role_of(parts.word, parts.count, false);
    return !row || !(row->role &
                     (TP_ROLE_BUFFER | TP_ROLE_SCALE | TP_ROLE_COUNTER));
}

/* --- a parameter ------------------------------------------------------- */

/* Words that number what follows as experts. */
static bool numbers_experts(struct word word)
{
    return lists("*experts *expert", &word, 1);
}

/* Layer and expert: the first number of the module that is no expert's, and
 * the first that is. Returns the words up to them: they name no tensor. */
static size_t find_numbers(const struct key *key, struct tp_label *label)
{
    size_t named = 0;
    for (size_t i = 0; i < key->leaf; i++) {
        int64_t number = tp_digits_value(key->word[i].at, key->word[i].length);
        int64_t *field = i > 0 && numbers_experts(key->word[i - 1])
                             ? &label->expert
                             : &label->layer_idx;
        if (number < 0 || *field >= 0)
            continue;
        *field = number;
        named = i + 1;
    }
    return named;
}

/* "weight5" of grouped experts: the expert's number is in the leaf, and which
 * bytes of it are not. */
static void cut_grouped(struct key *key, struct tp_label *label)
{
    struct word *leaf = &key->word[key->leaf];
    size_t length = leaf->length;
    while (length > 0 && isdigit((unsigned char)leaf->at[length - 1]))
        length--;
    struct word stem = {leaf->at, length};
    if (length == leaf->length || label->expert >= 0 ||
        (!word_is(stem, "weight") && !word_is(stem, "bias")))
        return;
    for (size_t i = 0; i < key->leaf; i++) {
        if (!numbers_experts(key->word[i]))
            continue;
        label->expert =
            tp_digits_value(leaf->at + length, leaf->length - length);
        *leaf = stem;
        return;
    }
}

/* Words that are the same in several places of a layer: the one before is
 * needed to tell whose they are. */
static bool is_common(struct word word)
{
    return is_number(word) ||
           lists("dense layer_norm layernorm linear norm proj c_proj conv "
                 "output self layer base_layer lora_*",
                 &word, 1);
}

/* Attention to another sequence stands beside that to its own. */
static bool is_cross(struct word word)
{
    return lists("encoder_attn cross* EncDecAttention", &word, 1);
}

/* The first word of the module that the name of a tensor begins with; none of
 * those before `from`. */
static size_t name_start(const struct key *key, size_t from)
{
    for (size_t i = from; i < key->leaf; i++) {
        if (is_cross(key->word[i]))
            return i;
    }
    size_t at = key->leaf; /* an adapter has a name behind its matrix */
    while (at > from && (at == key->leaf || is_common(key->word[at]) ||
                         lists("lora_*", &key->word[at - 1], 1)))
        at--;
    return at;
}

/* The type of the layer, or NULL. */
static const char *type_of(const struct key *key)
{
    struct word last = {"", 0};
    for (size_t i = 0; i < key->leaf; i++) {
        if (!is_number(key->word[i]))
            last = key->word[i];
    }
    const struct tp_param_pattern *row = tp_param_patterns;
    for (; row->type; row++) {
        if ((row->place == TP_PARAM_ANYWHERE &&
             lists(row->words, key->word, key->leaf)) ||
            (row->place == TP_PARAM_LAST && lists(row->words, &last, 1)) ||
            (row->place == TP_PARAM_LEAF &&
             lists(row->words, &key->word[key->leaf], 1)))
            return row->type;
    }
    return NULL;
}

/* --- the label ---------------------------------------------------------- */

static void add_words(struct tp_text *text, const struct key *key, size_t first,
                      size_t end)
{
    for (size_t i = first; i < end; i++)
        tp_text_add(text, "%s%.*s", text->length ? "." : "",
                    (int)key->word[i].length, key->word[i].at);
}

/* Moves a text into the arena; NULL, and the text is empty, without memory. */
static const char *keep(struct tp_text *text, struct tp_arena *arena)
{
    const char *kept =
        text->failed ? NULL
                     : tp_arena_text(arena, tp_text_get(text), text->length);
    tp_text_clear(text);
    return kept;
}

/* Whether a name is left once numbers at the end belong to the leaf. */
static bool find_leaf(struct key *key)
{
    size_t at = key->count;
    while (at > 0 && is_number(key->word[at - 1]))
        at--;
    key->leaf = at > 0 ? at - 1 : 0;
    return at > 0;
}

/* The last word of the module that is no number: what stands for a type that
 * no pattern tells. */
static void add_last_word(struct tp_text *text, const struct key *key)
{
    for (size_t i = key->leaf; i-- > 0;) {
        if (is_number(key->word[i]))
            continue;
        tp_text_add(text, "%.*s", (int)key->word[i].length, key->word[i].at);
        return;
    }
}

/* The words of a label. The parameter of a state that has but a number is
 * called by that. */
static enum tp_status name(struct key *key, size_t from, struct tp_arena *arena,
                           struct tp_label *label, struct tp_error *err)
{
    struct tp_text module = {0}, leaf = {0}, type = {0};
    bool parameter = find_leaf(key);
    bool known = parameter && (key->role || !key->optimizer);
    const char *word = known ? type_of(key) : "optimizer";
    if (word)
        tp_text_add(&type, "%s", word);
    else
        add_last_word(&type, key);
    add_words(&module, key, 0, parameter ? key->leaf : 0);
    cut_grouped(key, label);
    add_words(&leaf, key, parameter ? name_start(key, from) : 0, key->count);
    /* a state that is all there is of a key is its name already */
    if (key->state.length && key->state.at != key->word[key->count - 1].at)
        tp_text_add(&leaf, ".%.*s", (int)key->state.length, key->state.at);
    label->layer_type = keep(&type, arena);
    label->module = keep(&module, arena);
    label->tensor_name = keep(&leaf, arena);
    return label->layer_type && label->module && label->tensor_name
               ? TP_OK
               : tp_fail_memory(err);
}

/* The value of a quantised parameter X, which is called X#value, is named as
 * X is. */
static void cut_value(struct key *key)
{
    struct word *last = &key->word[key->count - 1];
    const char *mark = memchr(last->at, '#', last->length);
    if (mark && mark > last->at)
        last->length = (size_t)(mark - last->at);
}

enum tp_status tp_param_name_label(const char *key, const char *parameter,
                                   struct tp_arena *arena,
                                   struct tp_label *label, bool *named,
                                   struct tp_error *err)
{
    struct key parts = {.count = 0};
    split(&parts, key);
    *named = false;
    if (parts.count == 0)
        return TP_OK;
    cut_value(&parts);
    take_state(&parts);
    if (parameter) {
        parts.count = 0;
        split(&parts, parameter);
        if (parts.role && parts.role->role == TP_ROLE_MASTER)
            parts.state = (struct word){"master", strlen("master")};
    }
    drop_wrappers(&parts);
    if (!find_leaf(&parts) && !parts.role)
        return TP_OK; /* items of a list */
    *named = true;
    struct tp_label numbers = TP_LABEL_NONE;
    size_t from = find_numbers(&parts, &numbers);
    label->layer_idx =
        numbers.layer_idx >= 0 ? numbers.layer_idx : label->layer_idx;
    label->expert = numbers.expert;
    const struct tp_param_role *role = parts.role;
    if (!role)
        role = role_of(parts.word, parts.leaf + 1, false);
    enum tp_status status = name(&parts, from, arena, label, err);
    if (status != TP_OK)
        return status;
    tp_label_classify(label);
    if (role) {
        label->component = role->component;
        label->roles = role->role;
    }
    return TP_OK;
}
