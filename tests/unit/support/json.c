/* SPDX-License-Identifier: MIT */
#include "tests/unit/support/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void need(int condition)
{
    if (!condition) {
        fputs("json.c: the expectations are no JSON\n", stderr);
        abort();
    }
}

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* Four hex digits as UTF-8; surrogate pairs do not occur. */
static const char *put_escape(const char *p, char **to)
{
    char digits[5] = {0};
    memcpy(digits, p, 4);
    unsigned long code = strtoul(digits, NULL, 16);
    unsigned char *out = (unsigned char *)*to;
    if (code < 0x80) {
        *out++ = (unsigned char)code;
    } else if (code < 0x800) {
        *out++ = (unsigned char)(0xc0 | code >> 6);
        *out++ = (unsigned char)(0x80 | (code & 0x3f));
    } else {
        *out++ = (unsigned char)(0xe0 | code >> 12);
        *out++ = (unsigned char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (unsigned char)(0x80 | (code & 0x3f));
    }
    *to = (char *)out;
    return p + 4;
}

static const char *read_string(const char *p, char **text)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    need(*p++ == '"');
    size_t length = 0; /* what is escaped only gets shorter */
    for (; p[length] != '"'; length += p[length] == '\\' ? 2 : 1)
        need(p[length] && (p[length] != '\\' || p[length + 1]));
    char *to = *text = malloc(length + 1);
    need(to != NULL);
    for (; *p != '"'; p++) {
        if (*p != '\\') {
            *to++ = *p;
        } else if (*++p == 'u') {
            p = put_escape(p + 1, &to) - 1;
        } else {
            const char *at = strchr(from, *p);
            need(*p && at);
            *to++ = into[at - from];
        }
    }
    *to = '\0';
    return p + 1;
}

static const char *read_value(const char *p, struct json *json);

static const char *read_members(const char *p, struct json *json)
{
    char close = *p++ == '{' ? '}' : ']';
    struct json **last = &json->first;
    p = skip_space(p);
    while (*p != close) {
        struct json *made = calloc(1, sizeof *made);
        need(made != NULL);
        if (close == '}') {
            p = skip_space(read_string(skip_space(p), &made->key));
            need(*p++ == ':');
        }
        p = skip_space(read_value(p, made));
        need(*p == ',' || *p == close);
        p = skip_space(*p == ',' ? p + 1 : p);
        *last = made;
        last = &made->next;
    }
    return p + 1;
}

static const char *read_number(const char *p, struct json *json)
{
    char *end;
    json->kind = JSON_NUMBER;
    json->number = strtod(p, &end);
    need(end > p);
    json->text = calloc((size_t)(end - p) + 1, 1);
    need(json->text != NULL);
    memcpy(json->text, p, (size_t)(end - p));
    return end;
}

static const char *read_value(const char *p, struct json *json)
{
    p = skip_space(p);
    if (*p == '{' || *p == '[') {
        json->kind = *p == '{' ? JSON_OBJECT : JSON_ARRAY;
        return read_members(p, json);
    }
    if (*p == '"') {
        json->kind = JSON_STRING;
        return read_string(p, &json->text);
    }
    if (strncmp(p, "null", 4) == 0)
        return p + 4;
    if (strncmp(p, "true", 4) == 0 || strncmp(p, "false", 5) == 0) {
        json->kind = JSON_BOOL;
        json->number = *p == 't';
        return p + (*p == 't' ? 4 : 5);
    }
    return read_number(p, json);
}

struct json *json_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    need(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    rewind(file);
    char *text = calloc((size_t)size + 1, 1);
    need(text && fread(text, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    struct json *json = calloc(1, sizeof *json);
    need(json != NULL);
    need(*skip_space(read_value(text, json)) == '\0');
    free(text);
    return json;
}

void json_free(struct json *json)
{
    while (json) {
        struct json *next = json->next;
        json_free(json->first);
        free(json->text);
        free(json->key);
        free(json);
        json = next;
    }
}

const struct json *json_get(const struct json *object, const char *key)
{
    const struct json *i = object ? object->first : NULL;
    while (i && strcmp(i->key, key) != 0)
        i = i->next;
    return i;
}

const struct json *json_at(const struct json *array, size_t index)
{
    const struct json *i = array ? array->first : NULL;
    while (i && index-- > 0)
        i = i->next;
    return i;
}

size_t json_count(const struct json *json)
{
    size_t count = 0;
    for (const struct json *i = json ? json->first : NULL; i; i = i->next)
        count++;
    return count;
}
