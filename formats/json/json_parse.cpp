// SPDX-License-Identifier: MIT
/*
 * JSON to a tree. simdjson checks and parses; its document is copied into an
 * arena as plain C values, since what reads them is C. Python writes NaN,
 * Infinity and -Infinity where a number is meant, which is not JSON: only when
 * a text does not parse these words are replaced, outside strings, by strings
 * of the same length that no writer would use, and it is parsed again; the
 * strings then become the numbers that were meant. Integers have no end in
 * JSON and in Python: those beyond 64 bits become reals by the same means.
 *
 * yyjson reads the words by itself, but would be a second parser of JSON in the
 * program. Cost: the text is copied once, and each value is written twice.
 */
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <simdjson.h>

extern "C" {
#include "base/limits.h"
#include "base/memory.h"
#include "formats/json/json_value.h"
}

using namespace simdjson;

struct tp_json_parser {
    dom::parser json;
    char *text;      // the copy that is parsed, with padding behind it
    size_t capacity; // of it
    bool words;      // number words were replaced in it
};

namespace
{

struct word {
    const char *written, *becomes;
    double number;
};

// The strings hold a DEL, which is in no name; where one does stand in a text
// with number words it becomes a number, too.
const word words[] = {
    {"NaN", "\"\x7f\"", NAN},
    {"-Infinity", "\"\x7f-infin\"", -INFINITY},
    {"Infinity", "\"\x7finfin\"", INFINITY},
};

bool starts_word(const char *text, size_t left, const word &which)
{
    size_t length = std::strlen(which.written);
    return left >= length && std::memcmp(text, which.written, length) == 0;
}

// Replaces a word that begins at text[i]; its length, 0: none does.
size_t replace_word(char *text, size_t left)
{
    for (const word &which : words)
        if (starts_word(text, left, which)) {
            size_t length = std::strlen(which.written);
            std::memcpy(text, which.becomes, length);
            return length;
        }
    return 0;
}

// Whether `length` digits are an integer that 64 bits do not hold.
bool is_wide(const char *digits, size_t length, bool negative)
{
    static const char least[] = "9223372036854775808"; // -2^63
    const size_t most = sizeof least - 1;
    return length > most ||
           (length == most && negative && std::memcmp(digits, least, most) > 0);
}

// Makes a real of an integer that 64 bits do not hold: 16 digits, and the
// number of those that are left out as the exponent, so that the length stays.
// False: it is beyond double.
bool make_real(char *digits, size_t length)
{
    const size_t kept = 16;
    size_t left_out = length - kept;
    if (length > 308)
        return false;
    digits[kept] = 'e';
    for (size_t i = length; i-- > kept + 1; left_out /= 10)
        digits[i] = char('0' + left_out % 10);
    return true;
}

// Infinity in place of a number that double does not hold.
void make_infinity(char *text, size_t length)
{
    const word &which = text[0] == '-' ? words[1] : words[2];
    const size_t size = std::strlen(which.becomes);
    std::memset(text, ' ', length);
    std::memcpy(text, which.becomes, size);
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// The length of the number that begins at text[0]; an integer that is too wide
// is replaced, which sets `any`.
size_t replace_number(char *text, size_t left, bool &any)
{
    const size_t sign = text[0] == '-';
    size_t end = sign;
    while (end < left && is_digit(text[end]))
        end++;
    const size_t digits = end - sign;
    const bool integer =
        end == left || !(text[end] == '.' || (text[end] | 32) == 'e');
    if (integer && is_wide(text + sign, digits, sign > 0)) {
        any = true;
        if (!make_real(text + sign, digits))
            make_infinity(text, end);
        return end;
    }
    while (end < left &&
           (is_digit(text[end]) || text[end] == '.' ||
            (text[end] | 32) == 'e' || text[end] == '+' || text[end] == '-'))
        end++;
    return end;
}

// Replaces the words, and integers that are too wide, outside strings; false
// when there was none.
bool replace_words(char *text, size_t size)
{
    bool any = false, quoted = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        size_t length = 0;
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            i += c == '\\';
        else if (c == 'N' || c == 'I' || c == '-') {
            length = replace_word(text + i, size - i);
            any |= length > 0;
        }
        if (!quoted && length == 0 && (c == '-' || is_digit(c)))
            length = replace_number(text + i, size - i, any);
        i += length > 0 ? length - 1 : 0;
    }
    return any;
}

struct builder {
    tp_arena *arena;
    bool words;
    char *texts; // room for the strings that are still to come

    tp_json *make(dom::element value);
    const char *make_text(std::string_view text);
    void make_string(std::string_view text, tp_json *to);
    bool make_list(dom::array list, tp_json *to);
    bool make_object(dom::object object, tp_json *to);
    bool fill(dom::element value, tp_json *to);
};

const char *builder::make_text(std::string_view text)
{
    char *made = texts;
    std::memcpy(made, text.data(), text.size());
    made[text.size()] = '\0';
    texts += text.size() + 1;
    return made;
}

void builder::make_string(std::string_view text, tp_json *to)
{
    for (const word &which : ::words) {
        std::string_view inside(which.becomes + 1,
                                std::strlen(which.becomes) - 2);
        if (words && text == inside) {
            to->kind = TP_JSON_REAL;
            to->real = which.number;
            return;
        }
    }
    to->kind = TP_JSON_STRING;
    to->length = text.size();
    to->text = make_text(text);
}

bool builder::make_list(dom::array list, tp_json *to)
{
    tp_json **last = &to->first;
    to->kind = TP_JSON_LIST;
    for (dom::element item : list) {
        tp_json *made = make(item);
        if (!made)
            return false;
        *last = made;
        last = &made->next;
        to->count++;
    }
    return true;
}

bool builder::make_object(dom::object object, tp_json *to)
{
    tp_json **last = &to->first;
    to->kind = TP_JSON_OBJECT;
    for (dom::key_value_pair member : object) {
        tp_json *made = make(member.value);
        if (!made)
            return false;
        made->key = make_text(member.key);
        *last = made;
        last = &made->next;
        to->count++;
    }
    return true;
}

bool builder::fill(dom::element value, tp_json *to)
{
    switch (value.type()) {
    case dom::element_type::ARRAY:
        return make_list(value.get_array().value_unsafe(), to);
    case dom::element_type::OBJECT:
        return make_object(value.get_object().value_unsafe(), to);
    case dom::element_type::STRING:
        make_string(value.get_string().value_unsafe(), to);
        return true;
    case dom::element_type::BOOL:
        to->kind = TP_JSON_BOOL;
        to->integer = value.get_bool().value_unsafe();
        to->real = double(to->integer);
        return true;
    case dom::element_type::INT64:
        to->kind = TP_JSON_INTEGER;
        to->integer = value.get_int64().value_unsafe();
        to->real = double(to->integer);
        return true;
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE:
        to->kind = TP_JSON_REAL;
        to->real = value.get_double().value_unsafe();
        return true;
    case dom::element_type::NULL_VALUE:
        break;
    }
    to->kind = TP_JSON_NULL;
    return true;
}

// Recursive, as deep as TP_LIMIT_JSON_DEPTH lets a document be.
tp_json *builder::make(dom::element value)
{
    tp_json *made = static_cast<tp_json *>(tp_arena_alloc(arena, sizeof *made));
    return made && fill(value, made) ? made : nullptr;
}

// The document; of a text with number words the second time.
error_code parse(tp_json_parser *parser, size_t size, dom::element &root)
{
    error_code error = parser->json.parse(parser->text, size, false).get(root);
    parser->words = false;
    if (!error || error == MEMALLOC || !replace_words(parser->text, size))
        return error;
    parser->words = true;
    return parser->json.parse(parser->text, size, false).get(root);
}

} // namespace

extern "C" tp_json_parser *tp_json_parser_new(void)
{
    tp_json_parser *parser = new (std::nothrow) tp_json_parser();
    if (parser && parser->json.allocate(4096, TP_LIMIT_JSON_DEPTH) != SUCCESS) {
        delete parser;
        return nullptr;
    }
    return parser;
}

extern "C" void tp_json_parser_free(tp_json_parser *parser)
{
    if (parser)
        std::free(parser->text);
    delete parser;
}

extern "C" tp_status tp_json_parse(tp_json_parser *parser, const char *text,
                                   size_t length, tp_arena *arena,
                                   const tp_json **value, struct tp_error *err)
{
    *value = nullptr;
    tp_status status = tp_grow(&parser->text, &parser->capacity,
                               length + SIMDJSON_PADDING, 1, err);
    if (status != TP_OK)
        return status;
    std::memcpy(parser->text, text, length);
    dom::element root;
    error_code error = parse(parser, length, root);
    if (error == MEMALLOC)
        return tp_fail_memory(err);
    if (error)
        return tp_fail(err, TP_E_DAMAGED, -1, "not JSON: %s",
                       error_message(error));
    // a string is shorter with a NUL behind it than between its quotes
    char *texts = static_cast<char *>(tp_arena_alloc(arena, length));
    builder builder = {arena, parser->words, texts};
    *value = texts ? builder.make(root) : nullptr;
    return *value ? TP_OK : tp_fail_memory(err);
}
