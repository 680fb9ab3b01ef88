// SPDX-License-Identifier: MIT
//
// trace_walk FILE RUNS: reads every event of a trace with simdjson on demand
// and nothing else: each field, each argument, times and correlation as
// numbers, names as text. Prints the seconds of the fastest run twice: with
// the time to load the file, as the reader has it, and without. The floor for
// tests/bench/bench.sh.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <simdjson.h>

using namespace simdjson;

namespace {

struct totals {
    uint64_t events = 0, arguments = 0, text = 0;
    double times = 0;
    uint64_t correlations = 0;
};

void read_arguments(ondemand::object arguments, totals &totals)
{
    for (auto field : arguments) {
        totals.arguments++;
        ondemand::raw_json_string key;
        if (field.key().get(key))
            return;
        uint64_t number;
        if (key == "correlation" &&
            field.value().get_uint64().get(number) == SUCCESS)
            totals.correlations += number;
    }
}

void read_event(ondemand::object event, totals &totals)
{
    for (auto field : event) {
        ondemand::raw_json_string key;
        if (field.key().get(key))
            return;
        std::string_view text;
        double number;
        ondemand::object arguments;
        if (key == "args") {
            if (field.value().get_object().get(arguments) == SUCCESS)
                read_arguments(arguments, totals);
        } else if (key == "ts" || key == "dur") {
            if (field.value().get_double().get(number) == SUCCESS)
                totals.times += number;
        } else if (key == "name" || key == "cat" || key == "ph") {
            if (field.value().get_string().get(text) == SUCCESS)
                totals.text += text.size();
        } else {
            if (field.value().raw_json_token().get(text) == SUCCESS)
                totals.text += text.size();
        }
    }
    totals.events++;
}

bool walk(ondemand::parser &parser, const padded_string &json, totals &totals)
{
    ondemand::document document;
    ondemand::array events;
    if (parser.iterate(json).get(document))
        return false;
    if (document.get_array().get(events) &&
        document["traceEvents"].get_array().get(events))
        return false;
    for (auto element : events) {
        ondemand::object event;
        if (element.get_object().get(event))
            return false;
        read_event(event, totals);
    }
    return true;
}

} // namespace

int main(int argc, char **argv)
{
    using clock = std::chrono::steady_clock;
    ondemand::parser parser;
    double best = 1e9, best_walk = 1e9;
    totals totals;
    if (argc != 3) {
        std::fprintf(stderr, "usage: trace_walk FILE RUNS\n");
        return 2;
    }
    for (int i = std::atoi(argv[2]); i >= 0; i--) {
        padded_string json;
        totals = {};
        auto start = clock::now();
        if (padded_string::load(argv[1]).get(json))
            return 1;
        auto loaded = clock::now();
        if (!walk(parser, json, totals))
            return 1;
        auto end = clock::now();
        best = std::min(best, std::chrono::duration<double>(end - start)
                                  .count());
        best_walk = std::min(
            best_walk, std::chrono::duration<double>(end - loaded).count());
    }
    std::fprintf(stderr, "%llu events, %llu arguments, %g\n",
                 (unsigned long long)totals.events,
                 (unsigned long long)totals.arguments,
                 totals.times + double(totals.correlations + totals.text));
    std::printf("%.4f %.4f\n", best, best_walk);
    return 0;
}
