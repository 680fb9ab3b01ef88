/* SPDX-License-Identifier: MIT */
#ifndef TP_TESTS_CALL_MAKER_H
#define TP_TESTS_CALL_MAKER_H

/*
 * Calls of a dump in a line each, as dump.json has them: a name, and items
 *
 *   i:MAX:MIN[:NUMEL]   a tensor among the inputs; l: two levels down in lists
 *   o:MAX:MIN[:NUMEL]   among the outputs
 *   p:MAX:MIN[:NUMEL]   a parameter "weight"; k: a keyword "mask"
 *   u                   an input without statistics
 *   s:VALUE             a number among the inputs
 *   src:N dst:N         keywords of communications; g:N,N their group
 *   >N:MAX:MIN[:NUMEL]  a tensor of a P2POp that is sent to rank N; <N: it is
 *                       received from there; among the inputs, after "=" the
 *                       outputs: "=<1:nan:nan"
 *
 * MAX and MIN are numbers, "nan", "inf" or "-inf"; Mean and Norm follow. Values
 * are float32.
 */
#include "tests/unit/support/dump_maker.h"

#include <math.h>

#include "base/text.h"

/* Members of the entry under construction. */
struct call_parts {
    struct tp_text inputs, keywords, parameters, outputs;
};

static inline void call_number(double value, struct tp_text *text)
{
    if (isnan(value))
        tp_text_add(text, "NaN");
    else if (isinf(value))
        tp_text_add(text, value > 0 ? "Infinity" : "-Infinity");
    else
        tp_text_add(text, "%.17g", value);
}

static inline void call_tensor(const char *spec, struct tp_text *text)
{
    char *at;
    double max = strtod(spec, &at), min = strtod(at + 1, &at);
    long numel = *at == ':' ? strtol(at + 1, NULL, 10) : 8;
    const double stats[] = {max, min, (max + min) / 2, hypot(max, min)};
    static const char *const names[] = {"Max", "Min", "Mean", "Norm"};
    tp_text_add(text,
                "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", "
                "\"shape\": [%ld]",
                numel);
    for (int i = 0; i < 4; i++) {
        tp_text_add(text, ", \"%s\": ", names[i]);
        call_number(i == 3 && isnan(max) ? NAN : stats[i], text);
    }
    tp_text_add(text, "}");
}

static inline void call_comma(struct tp_text *text)
{
    tp_text_add(text, "%s", text->length ? ", " : "");
}

static inline void call_keyword(const char *name, const char *type,
                                const char *member, const char *value,
                                struct tp_text *text)
{
    call_comma(text);
    tp_text_add(text, "\"%s\": {\"type\": \"%s\", \"%s\": %s}", name, type,
                member, value);
}

/* As one of a list that is the only argument: [[...], [...]] reads the same. */
static inline void call_p2p(const char *item, struct tp_text *text)
{
    char *at;
    const long peer = strtol(item + 1, &at, 10);
    call_comma(text);
    tp_text_add(text, "[{\"class_type\": \"torch.distributed.P2POp\", "
                      "\"tensor\": ");
    call_tensor(at + 1, text);
    tp_text_add(text, ", \"op\": \"%s\", \"peer\": %ld, \"tag\": 0}]",
                *item == '>' ? "isend" : "irecv", peer);
}

static inline void call_item(const char *item, struct call_parts *parts)
{
    char ranks[64];
    if (!strncmp(item, "src:", 4) || !strncmp(item, "dst:", 4)) {
        char name[4] = {item[0], item[1], item[2], '\0'};
        call_keyword(name, "int", "value", item + 4, &parts->keywords);
    } else if (!strncmp(item, "g:", 2)) {
        snprintf(ranks, sizeof ranks, "[%s]", item + 2);
        call_keyword("group", "torch.ProcessGroup", "group_ranks", ranks,
                     &parts->keywords);
    } else if (*item == 'k' || *item == 'p') {
        struct tp_text *text =
            *item == 'k' ? &parts->keywords : &parts->parameters;
        call_comma(text);
        tp_text_add(text, "\"%s\": ", *item == 'k' ? "mask" : "weight");
        call_tensor(item + 2, text);
    } else if (*item == '>' || *item == '<' || *item == '=') {
        call_p2p(item + (*item == '='),
                 *item == '=' ? &parts->outputs : &parts->inputs);
    } else if (*item == 'o') {
        call_comma(&parts->outputs);
        call_tensor(item + 2, &parts->outputs);
    } else {
        call_comma(&parts->inputs);
        if (*item == 's') {
            tp_text_add(&parts->inputs, "{\"type\": \"float\", \"value\": ");
            call_number(strtod(item + 2, NULL), &parts->inputs);
            tp_text_add(&parts->inputs, "}");
        } else if (*item == 'u') {
            tp_text_add(&parts->inputs,
                        "{\"type\": \"torch.Tensor\", \"dtype\": "
                        "\"torch.float32\", \"shape\": [8]}");
        } else {
            tp_text_add(&parts->inputs, *item == 'l' ? "[[" : "");
            call_tensor(item + 2, &parts->inputs);
            tp_text_add(&parts->inputs, *item == 'l' ? "]]" : "");
        }
    }
}

/* Adds an entry for a line. */
static inline void call_entry(const char *line, struct tp_text *data)
{
    char words[512];
    struct call_parts parts = {0};
    snprintf(words, sizeof words, "%s", line);
    char *rest, *name = strtok_r(words, " ", &rest);
    for (char *item; (item = strtok_r(NULL, " ", &rest));)
        call_item(item, &parts);
    bool gradient = strstr(name, "parameters_grad");
    bool backward = strstr(name, "backward") && !gradient;
    tp_text_add(data, "%s\n\"%s\": {", data->length ? "," : "", name);
    if (gradient)
        tp_text_add(data, "\"weight\": [%s]}", tp_text_get(&parts.outputs));
    else
        tp_text_add(data,
                    "\"%s\": [%s], \"input_kwargs\": {%s}, "
                    "\"parameters\": {%s}, \"output\": [%s]}",
                    backward ? "input" : "input_args",
                    tp_text_get(&parts.inputs), tp_text_get(&parts.keywords),
                    tp_text_get(&parts.parameters),
                    tp_text_get(&parts.outputs));
    tp_text_clear(&parts.inputs);
    tp_text_clear(&parts.keywords);
    tp_text_clear(&parts.parameters);
    tp_text_clear(&parts.outputs);
}

/* Writes a dump.json of lines, ended by NULL, into a folder of the maker. */
static inline void call_write(const struct maker *maker, const char *folder,
                              const char *const *lines)
{
    struct tp_text data = {0}, text = {0};
    char name[256];
    for (; *lines; lines++)
        call_entry(*lines, &data);
    tp_text_add(&text,
                "{\"task\": \"statistics\", \"level\": \"mix\", "
                "\"data\": {%s}}",
                tp_text_get(&data));
    snprintf(name, sizeof name, "%s/dump.json", folder);
    maker_put(maker, name, tp_text_get(&text));
    tp_text_clear(&data);
    tp_text_clear(&text);
}

#endif
