/* SPDX-License-Identifier: MIT */
/*
 * Names of checkpoints. Each row of the table is compared with a whole name, or
 * with that of a file and its directory where it has a slash, with a step back
 * to the last '*' where it does not fit; a number takes all
 * digits there are. Several rows may fit (a step and a rank): each says what is
 * not said yet. A name that numbers a shard says no more. Any number in a name
 * as its step was the alternative: that of "model-7b" would be one. Cost: some
 * 50 short comparisons a file and directory.
 */
#include "formats/saved_place.h"

#include <ctype.h>
#include <string.h>

#include "base/file.h"
#include "base/text.h"

enum { STAR = '*' };

#define BOTH true, true, false
#define FOLDER true, false, false
#define FILE_ONLY false, true, false
#define PART true, true, true
#define PART_FILE false, true, true

const struct tp_place_pattern tp_place_patterns[] = {
    {"*-N-of-N", FILE_ONLY, "transformers: a shard of a model is no rank"},
    {"iter_S", BOTH, "Megatron-LM"},
    {"iterS", FOLDER, ""},
    {"iteration_S", BOTH, ""},
    {"*_iter_S*", BOTH, ""},
    {"*step=S*", BOTH, "Lightning: epoch=3-step=500"},
    {"global_stepS", BOTH, "DeepSpeed"},
    {"*global_step_S*", BOTH, ""},
    {"*checkpoint-S", BOTH, "transformers"},
    {"*checkpoint_S", BOTH, "accelerate"},
    {"*ckpt_S", BOTH, ""},
    {"*ckpt-S", BOTH, ""},
    {"*ckptS", BOTH, ""},
    {"*checkpoints/S", FILE_ONLY, "a number alone, where checkpoints are"},
    {"*ckpts/S", FILE_ONLY, ""},
    {"*steps/S", FILE_ONLY, ""},
    {"S_steps", BOTH, ""},
    {"*_S_steps", BOTH, "Stable-Baselines3"},
    {"*-S-steps", BOTH, ""},
    {"stepS", BOTH, ""},
    {"step-S*", BOTH, "torchtitan"},
    {"step_S*", BOTH, "accelerate"},
    {"*_step_S*", BOTH, ""},
    {"*_stepS*", BOTH, ""},
    {"*-step-S*", BOTH, ""},
    {"*-step_S*", BOTH, ""},
    {"*-stepS*", BOTH, ""},
    {"*zero_pp_rank_D_mp_rank_T_*", PART_FILE, "DeepSpeed"},
    {"mp_rank_T_P_X", PART, "Megatron-LM: tensors, pipeline, experts"},
    {"mp_rank_T_P", PART, "Megatron-LM: tensors, pipeline"},
    {"mp_rank_T", PART, "Megatron-LM"},
    {"*mp_rank_T_*_states", PART_FILE, "DeepSpeed"},
    {"layer_N-model_T-*", PART_FILE, "DeepSpeed: pipelines"},
    {"tpN_ppN_rankR_pidN", FOLDER, "SGLang"},
    {"__R_N", FILE_ONLY, "torch.distributed.checkpoint"},
    {"rank_R", BOTH, ""},
    {"rankR", BOTH, ""},
    {"*rank=R*", BOTH, ""},
    {"*_rank_R", BOTH, ""},
    {"*_rankR", BOTH, ""},
    {"*-rankR", BOTH, ""},
    {"*-rank-R", BOTH, ""},
    {"rng_state_R", FILE_ONLY, "transformers"},
    {"random_states_R", FILE_ONLY, "accelerate"},
    {"consolidated.R", FILE_ONLY, "Llama"},
    {"checkpoint_E_S", FILE_ONLY, "fairseq: epoch and update"},
    {"checkpointE", FILE_ONLY, "fairseq, DETR: an epoch"},
    {"epoch_E", BOTH, ""},
    {"epochE", BOTH, ""},
    {"epoch-E", BOTH, ""},
    {"*epoch=E*", BOTH, "Lightning: only where no step is said"},
    {"*_epoch_E*", BOTH, ""},
    {"*_epochE*", BOTH, ""},
    {NULL, false, false, false, NULL},
};

/* The number a capital letter of a pattern stands for; TP_PLACE_NUMBERS for
 * one that does not count; -1: no such letter. */
static int meaning(char letter)
{
    static const char letters[] = "SERTPXDN";
    if (letter < 'A' || letter > 'Z') /* most are texts */
        return -1;
    const char *at = strchr(letters, letter);
    return at ? (int)(at - letters) : -1;
}

/* Where the digits of a number end; `text` when it is none that fits. */
static const char *number_end(const char *text, const char *end, int64_t *value)
{
    const char *at = text;
    while (at < end && isdigit((unsigned char)*at))
        at++;
    *value = tp_digits_value(text, (size_t)(at - text));
    return *value >= 0 ? at : text;
}

/* One step of a pattern at `text`: its end there, NULL if it does not fit. */
static const char *step(char letter, const char *text, const char *end,
                        int64_t *number)
{
    int kind = meaning(letter);
    int64_t value;
    if (text == end)
        return NULL;
    if (kind < 0)
        return tolower((unsigned char)*text) == letter ? text + 1 : NULL;
    const char *after = number_end(text, end, &value);
    if (after == text)
        return NULL;
    if (kind < TP_PLACE_NUMBERS)
        number[kind] = value;
    return after;
}

/* Where a text may go on with what follows a '*'. */
static const char *next_place(char letter, const char *text, const char *end)
{
    const bool small = letter >= 'a' && letter <= 'z';
    if (letter == '\0' || letter == STAR || (letter >= 'A' && letter <= 'Z'))
        return text;
    while (text < end && *text != letter &&
           !(small && (*text | 0x20) == letter))
        text++;
    return text;
}

/* Whether the pattern is all of the text. *before: bytes that a '*' at its
 * front took; 0 if it has none. */
static bool fits(const char *pattern, const char *text, const char *end,
                 int64_t *number, size_t *before)
{
    const char *first = *pattern == STAR ? pattern + 1 : NULL;
    const char *star = NULL, *mark = NULL, *start = text;
    *before = 0;
    while (text < end || *pattern) {
        const char *after;
        if (star == first && mark)
            *before = (size_t)(mark - start);
        if (*pattern == STAR) {
            star = ++pattern;
            mark = text;
        } else if (*pattern && (after = step(*pattern, text, end, number))) {
            pattern++;
            text = after;
        } else if (star && mark < end) {
            pattern = star;
            text = mark = next_place(*star, mark + 1, end);
        } else {
            return false;
        }
    }
    return true;
}

static void say_nothing(struct tp_saved_place *place)
{
    for (int i = 0; i < TP_PLACE_NUMBERS; i++)
        place->number[i] = -1;
}

/* A row that has a number but none that counts: a shard. */
static bool says_nothing(const struct tp_saved_place *place)
{
    for (int i = 0; i < TP_PLACE_NUMBERS; i++) {
        if (place->number[i] >= 0)
            return false;
    }
    return true;
}

void tp_saved_place_add(struct tp_saved_place *place,
                        const struct tp_saved_place *found)
{
    bool ranked = false;
    for (int i = TP_PLACE_RANK; i < TP_PLACE_NUMBERS; i++)
        ranked = ranked || place->number[i] >= 0;
    for (int i = 0; i < TP_PLACE_NUMBERS; i++) {
        if (place->number[i] < 0 && (i < TP_PLACE_RANK || !ranked))
            place->number[i] = found->number[i];
    }
}

/* Where the component before the one at `name` begins; `name`: there is none.
 */
static const char *component_before(const char *path, const char *name)
{
    const char *at = name > path ? name - 1 : name;
    while (at > path && at[-1] != '/')
        at--;
    return at;
}

/* What stands before the numbers of a name, as bits: by it most patterns are
 * known not to fit. No pattern has a digit before a number, so each number
 * begins with the first of its digits. Two bytes get one of 1024 bits: a name
 * of ten numbers would hit one of 64 by chance in every seventh pattern, and
 * has to be gone through for it. */
enum { PAIR_WORDS = 16 };

struct before_numbers {
    uint64_t single;           /* the last byte                            */
    uint64_t pair[PAIR_WORDS]; /* the last two                             */
};

static uint64_t single_bit(int last)
{
    return UINT64_C(1) << (tolower(last) & 63);
}

static unsigned pair_place(int before, int last)
{
    const unsigned both =
        (unsigned)tolower(before) * 37 + (unsigned)tolower(last);
    return both % (PAIR_WORDS * 64);
}

static bool has_pair(const struct before_numbers *numbers, int before, int last)
{
    const unsigned place = pair_place(before, last);
    return numbers->pair[place / 64] >> place % 64 & 1;
}

static struct before_numbers find_numbers(const char *text, const char *end)
{
    struct before_numbers found = {.single = 0};
    bool inside = false;
    for (const char *at = text; at < end; at++) {
        const bool digit = *at >= '0' && *at <= '9';
        if (digit && !inside) {
            const int last = at > text ? (unsigned char)at[-1] : 0;
            const int before = at > text + 1 ? (unsigned char)at[-2] : 0;
            found.single |= single_bit(last);
            const unsigned place = pair_place(before, last);
            found.pair[place / 64] |= UINT64_C(1) << place % 64;
        }
        inside = digit;
    }
    return found;
}

/* Whether a pattern may fit what begins with a byte. */
static bool may_fit(const char *pattern, const struct before_numbers *numbers,
                    char first)
{
    const char *at = pattern;
    if (*at != STAR && meaning(*at) < 0 && *at != tolower((unsigned char)first))
        return false;
    while (*at && meaning(*at) < 0)
        at++;
    if (!*at || at == pattern || at[-1] == STAR)
        return true;
    if (at == pattern + 1 || at[-2] == STAR)
        return numbers->single & single_bit(at[-1]);
    return has_pair(numbers, at[-2], at[-1]);
}

/* Adds what one name of a path says; returns the bytes before what matched. */
static size_t read_name(const char *path, const char *name, size_t length,
                        bool file, struct tp_saved_place *place)
{
    const char *above = component_before(path, name);
    size_t stem = length;
    const struct before_numbers numbers = find_numbers(above, name + length);
    if (!numbers.single) /* every pattern has a number */
        return length;
    for (const struct tp_place_pattern *row = tp_place_patterns; row->pattern;
         row++) {
        struct tp_saved_place found;
        size_t before;
        if (!(file ? row->file : row->directory) ||
            !may_fit(row->pattern, &numbers, *name))
            continue;
        /* these begin with '*' */
        const bool both = strchr(row->pattern, '/') != NULL;
        say_nothing(&found);
        if (!fits(row->pattern, both ? above : name, name + length,
                  found.number, &before))
            continue;
        before = both ? 0 : before;
        stem = before < stem ? before : stem;
        if (says_nothing(&found))
            break;
        tp_saved_place_add(place, &found);
    }
    while (stem > 0 && stem < length && strchr("_-.", name[stem - 1]))
        stem--;
    return stem;
}

size_t tp_saved_stem(const char *name)
{
    static const char *const extensions[] = {
        ".gz",          ".pt",     ".pth", ".pkl", ".bin", ".ckpt",
        ".safetensors", ".distcp", ".npy", ".npz", ".pt2"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++) {
        size_t n = strlen(extensions[i]);
        bool packed = i == 0;
        if (length <= n || memcmp(name + length - n, extensions[i], n))
            continue;
        length -= n;
        if (!packed)
            break;
    }
    return length;
}

void tp_saved_place_of_name(const char *path, struct tp_saved_place *place,
                            size_t *stem)
{
    const char *name = tp_file_base_name(path);
    say_nothing(place);
    *stem = read_name(path, name, tp_saved_stem(name), true, place);
}

void tp_saved_place_of_folders(const char *path, struct tp_saved_place *place)
{
    enum { DIRECTORIES = 3 };
    const char *end = tp_file_base_name(path);
    say_nothing(place);
    for (int i = 0; i < DIRECTORIES && end > path; i++) {
        const char *at = component_before(path, end);
        read_name(path, at, (size_t)(end - 1 - at), false, place);
        end = at;
    }
}

void tp_saved_place_of(const char *path, bool file,
                       struct tp_saved_place *place, size_t *stem)
{
    struct tp_saved_place folders;
    say_nothing(place);
    *stem = tp_saved_stem(tp_file_base_name(path));
    if (file)
        tp_saved_place_of_name(path, place, stem);
    tp_saved_place_of_folders(path, &folders);
    tp_saved_place_add(place, &folders);
}

bool tp_saved_may_name_part(const char *path)
{
    const char *name = tp_file_base_name(path);
    const struct before_numbers numbers =
        find_numbers(name, name + strlen(name));
    for (const struct tp_place_pattern *row = tp_place_patterns; row->pattern;
         row++) {
        if (row->part && row->file && may_fit(row->pattern, &numbers, *name))
            return true;
    }
    return false;
}

bool tp_saved_names_part(const struct tp_saved_place *place)
{
    for (int i = TP_PLACE_TENSOR; i < TP_PLACE_NUMBERS; i++) {
        if (place->number[i] >= 0)
            return true;
    }
    return false;
}

int64_t tp_saved_rank(const struct tp_saved_place *place)
{
    int64_t rank = place->number[TP_PLACE_RANK];
    for (int i = TP_PLACE_TENSOR; i < TP_PLACE_NUMBERS && rank < 0; i++) {
        int64_t part = place->number[i];
        for (int k = TP_PLACE_TENSOR; k < TP_PLACE_NUMBERS; k++)
            part = k != i && place->number[k] >= 0 ? -1 : part;
        rank = part;
    }
    return rank;
}
