/* SPDX-License-Identifier: MIT */
/* What is said of a host that the GPU waits for, and of what advice is given,
 * on traces that are made so that it is known. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/made_run.h"
#include "verdict/trace_rule_costs.h"

enum { STEPS = 6 };

/* Results that are read through pageable memory: the advice is about reading,
 * and it is given once. */
Test(trace_rule_idle, copies_to_the_host)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++) {
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_copy_out(&maker, 10, 200);
        }
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "synchronisation");
    cr_expect(it.run.traces[0].facts.to_host.copies == 10 * STEPS);
    cr_expect_eq(it.run.traces[0].facts.to_device.copies, 0);
    cr_expect(strstr(judged_find(&it, "sync")->suggestion, "less often"));
    cr_expect_null(judged_find(&it, "copies"));
    for (size_t i = 0; i < it.judged.findings.count; i++)
        cr_expect(!strstr(it.judged.findings.rows[i].suggestion, "pin_memory"),
                  "%s", it.judged.findings.rows[i].suggestion);
    judged_run_clear(&it);
}

/* The GPU waits for something that is not in the trace while the host reads a
 * result: that is no matter of reading, and where the GPU begins at once it is
 * not of what is pending. */
Test(trace_rule_idle, queued_work_that_does_not_start)
{
    for (int stalls = 0; stalls <= 1; stalls++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::mm", 20, 300);
            if (stalls)
                trace_maker_stall(&maker, 3000);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::add", 20, 100);
            trace_maker_copy_out(&maker, 10, 4);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *queued = judged_find(&it, "queued");
        const struct tp_trace_finding *sync = judged_find(&it, "sync");
        cr_expect_str_eq(judged_verdict(&it), stalls
                                                  ? "queued work does not start"
                                                  : "GPU-bound",
                         "%s", it.judged.verdict.sentence);
        cr_expect_eq(queued != NULL, stalls);
        if (queued) {
            cr_expect(strstr(queued->evidence, "6 times"), "%s",
                      queued->evidence);
        }
        cr_assert_not_null(sync);
        cr_expect_eq(sync->level, TP_SEVERITY_LOW);
        cr_expect(strstr(sync->suggestion, "leave them"));
        judged_run_clear(&it);
    }
}

/* What is pending waits beside collectives: that some have no kernel in the
 * trace is said, and where all have one it is not. */
Test(trace_rule_idle, collectives_without_a_kernel)
{
    for (int silent = 0; silent <= 1; silent++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_all_reduce(&maker, 20);
            trace_maker_all_reduce(&maker, silent ? 0 : 20);
            trace_maker_stall(&maker, 3000);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::add", 20, 100);
            trace_maker_copy_out(&maker, 10, 4);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *queued = judged_find(&it, "queued");
        cr_assert_not_null(queued);
        const bool said = strstr(queued->evidence,
                                 "6 of 12 collectives that the host calls") !=
                          NULL;
        cr_expect_eq(said, silent, "%s", queued->evidence);
        cr_expect_eq(strstr(queued->evidence, "nccl:all_reduce") != NULL,
                     silent);
        cr_expect_eq(it.run.traces[0].facts.collectives, 2 * STEPS);
        judged_run_clear(&it);
    }
}

/* Launches of 3 ms: of kernels that are new in the first steps, or in each, so
 * that their code is loaded, or of the one that all launch. */
Test(trace_rule_idle, first_launches)
{
    static const char *const words[] = {"", "first launch", "most steps"};
    static const char *const advice[] = {"", "warm-up", "shapes"};
    static const char *const all[] = {"", ", and 1 more; 6.00 ms in all",
                                      ", and 5 more; 18.00 ms in all"};
    static const int new_steps[] = {0, 2, STEPS};
    for (size_t k = 0; k < sizeof new_steps / sizeof *new_steps; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            char name[] = "void kernel_0<float>(float*)";
            name[12] = (char)('0' + i);
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_synchronize(&maker);
            if (i < new_steps[k])
                trace_maker_launch(&maker, name, 3000);
            else if (k != 1)
                trace_maker_launch(&maker, "void kernel<float>(float*)", 3000);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *first = judged_find(&it, "first_launch");
        cr_expect_str_eq(judged_verdict(&it),
                         k == 1 ? "cold start" : "host-bound", "%s",
                         it.judged.verdict.sentence);
        cr_expect_eq(first != NULL, new_steps[k] > 0);
        cr_expect_null(judged_find(&it, "cold_start"));
        if (first) {
            cr_expect(strstr(first->evidence, words[k]), "%s", first->evidence);
            cr_expect(strstr(first->evidence, all[k]), "%s", first->evidence);
            cr_expect(strstr(first->suggestion, advice[k]), "%s",
                      first->suggestion);
        }
        judged_run_clear(&it);
    }
}

/* The host waits while the GPU works, which costs nothing where it has nothing
 * else to do, and all of what it could have done where it has. */
Test(trace_rule_idle, waits_that_hold_the_host_up)
{
    for (int busy = 0; busy <= 1; busy++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            if (busy)
                trace_maker_python(&maker, 3000);
            trace_maker_op(&maker, "aten::mm", 20, 6000);
            trace_maker_synchronize(&maker);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *sync = judged_find(&it, "sync");
        cr_assert_not_null(sync, "%d", busy);
        cr_expect_eq(strstr(sync->evidence, "meanwhile") != NULL, busy, "%s",
                     sync->evidence);
        cr_expect_eq(strstr(sync->suggestion, "leave them") != NULL, !busy,
                     "%s", sync->suggestion);
        cr_expect_eq(strstr(sync->suggestion, "torch.cuda.synchronize()") !=
                         NULL,
                     busy, "%s", sync->suggestion);
        cr_expect_eq(strstr(sync->evidence, "x cudaDeviceSynchronize") != NULL,
                     busy, "%s", sync->evidence);
        cr_expect_eq(sync->level, busy ? TP_SEVERITY_HIGH : TP_SEVERITY_LOW);
        cr_expect_str_eq(judged_verdict(&it),
                         busy ? "synchronisation" : "GPU-bound");
        judged_run_clear(&it);
    }
}

/* Reading values every fourth step, and Python behind it, is what the advice
 * is; in every step it is a loss. */
Test(trace_rule_idle, waits_of_few_steps)
{
    for (int every = 1; every <= 4; every += 3) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < 12; i++) {
            trace_maker_step_begin(&maker);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::mm", 20, 400);
            for (int k = 0; k < 8 && (i + 1) % every == 0; k++)
                trace_maker_item(&maker, 5);
            if ((i + 1) % every == 0)
                trace_maker_python(&maker, 3000);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *sync = judged_find(&it, "sync");
        cr_assert_not_null(sync, "%d", every);
        cr_expect_eq(sync->level,
                     every == 1 ? TP_SEVERITY_HIGH : TP_SEVERITY_LOW, "%s",
                     sync->evidence);
        cr_expect_eq(strstr(sync->suggestion, "every N steps") != NULL,
                     every == 1, "%s", sync->suggestion);
        judged_run_clear(&it);
    }
}

/* Steps with one batch each, and with four; a call after which nobody works
 * gives none. */
Test(trace_rule_idle, batches_of_a_step)
{
    for (int batches = 1; batches <= 4; batches += 3) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            for (int k = 0; k < batches; k++) {
                trace_maker_loader(&maker, 4000, false);
                trace_maker_op(&maker, "aten::mm", 20, 900);
                trace_maker_synchronize(&maker);
            }
            if (i == STEPS - 1)
                trace_maker_loader(&maker, 10, false);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_eq(it.run.traces[0].facts.batches, STEPS * batches);
        const struct tp_trace_finding *loader = judged_find(&it, "dataloader");
        cr_assert_not_null(loader);
        cr_expect(strstr(loader->evidence,
                         batches == 1
                             ? "each step waits 4.00 ms for its batch"
                             : "each ProfilerStep waits 16.00 ms, for 4 "
                               "batches, 4.00 ms each on average"),
                  "%s", loader->evidence);
        judged_run_clear(&it);
    }
}

/* Where all launches are slow, the first ones are as the others; one that is
 * far slower than these loads code all the same. The parts of what is lost add
 * up to it. */
Test(trace_rule_idle, slow_launches)
{
    static const double first_us[] = {5000, 60000};
    for (size_t k = 0; k < 2; k++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            for (int n = 0; n < 4; n++) {
                char name[] = "void kernel_0<float>(float*)";
                name[12] = (char)('0' + n);
                trace_maker_launch(&maker, name,
                                   i == 0 && n == 0 ? first_us[k] : 5000);
            }
            trace_maker_python(&maker, 2000);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_eq(it.run.traces[0].idle.first_launches, k == 0 ? 0 : 1);
        const struct tp_trace_finding *first = judged_find(&it, "first_launch");
        cr_expect_eq(first != NULL, k == 1);
        if (first) /* one: there are no others to speak of */
            cr_expect_null(strstr(first->evidence, " more;"), "%s",
                           first->evidence);
        const struct tp_trace_finding *host = judged_find(&it, "host");
        double all, operators, launches, python;
        cr_assert_not_null(host, "%s", it.judged.verdict.sentence);
        const char *parts = strstr(host->evidence, "idles ");
        cr_assert_not_null(parts);
        cr_assert_eq(sscanf(parts,
                            "idles %lf %% of the window behind the host: %lf "
                            "inside operators, %lf inside launch calls, %lf",
                            &all, &operators, &launches, &python),
                     4, "%s", host->evidence);
        cr_expect_float_eq(operators + launches + python, all, 0.21, "%s",
                           host->evidence);
        judged_run_clear(&it);
    }
}

/* The GPU waits for Python: the function that takes the time is named, where
 * stacks were recorded; where not, that is the advice. */
Test(trace_rule_idle, functions_of_python)
{
    for (int stacks = 0; stacks <= 1; stacks++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            const double outer = trace_maker_frame_begin(&maker);
            const double inner = trace_maker_frame_begin(&maker);
            trace_maker_python(&maker, 5000);
            if (stacks)
                trace_maker_frame_end(&maker, "data.py(7): augment", inner);
            trace_maker_op(&maker, "aten::mm", 20, 900);
            trace_maker_synchronize(&maker);
            if (stacks)
                trace_maker_frame_end(&maker, "train.py(3): step", outer);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *host = judged_find(&it, "host");
        cr_expect_str_eq(judged_verdict(&it), "host-bound");
        cr_assert_not_null(host);
        cr_expect_eq(strstr(host->evidence,
                            "; 30.00 ms idle in data.py(7): augment (6 "
                            "calls), called by train.py(3): step") != NULL,
                     stacks, "%s", host->evidence);
        cr_expect_eq(strstr(host->evidence, "data.py") != NULL, stacks);
        cr_expect_eq(strstr(host->evidence, "Python") != NULL, stacks, "%s",
                     host->evidence);
        cr_expect_eq(strstr(it.judged.verdict.sentence, "Python") != NULL,
                     stacks, "%s", it.judged.verdict.sentence);
        cr_expect_eq(strstr(host->suggestion, "with_stack") != NULL, !stacks,
                     "%s", host->suggestion);
        judged_run_clear(&it);
    }
}

/* Where workers load, the function in which the main thread waits says nothing;
 * without workers it is the one that loads. */
Test(trace_rule_idle, functions_of_the_loader)
{
    for (int workers = 0; workers <= 1; workers++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            const double inner = trace_maker_frame_begin(&maker);
            trace_maker_loader(&maker, 5000, workers);
            trace_maker_frame_end(&maker, workers ? "queue.py(154): get"
                                                  : "data.py(9): __getitem__",
                                  inner);
            trace_maker_op(&maker, "aten::mm", 20, 900);
            trace_maker_synchronize(&maker);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *finding =
            judged_find(&it, "dataloader");
        cr_assert_not_null(finding);
        cr_expect_eq(strstr(finding->evidence,
                            "30.00 ms idle in data.py(9): __getitem__") != NULL,
                     !workers, "%s", finding->evidence);
        cr_expect_eq(strstr(finding->evidence, "what the workers do") != NULL,
                     workers, "%s", finding->evidence);
        cr_expect_null(strstr(finding->evidence, "queue.py"));
        judged_run_clear(&it);
    }
}

/* A result is read, and the GPU idles until the next launch: blamed on the wait
 * where the launch would have come earlier without it, not where Python or
 * another function of the host takes the time anyway. */
Test(trace_rule_idle, time_after_a_wait_is_not_always_its_fault)
{
    for (int python = 0; python <= 1; python++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            trace_maker_step_begin(&maker);
            const double inner = trace_maker_frame_begin(&maker);
            if (python)
                trace_maker_python(&maker, 9000);
            trace_maker_frame_end(&maker, "images.py(9): preprocess", inner);
            for (int k = 0; k < 20; k++) {
                trace_maker_op(&maker, "aten::mm", 20, python ? 40 : 100);
                if (!python) {
                    trace_maker_item(&maker, 4);
                    trace_maker_python(&maker, 30);
                }
            }
            if (python)
                trace_maker_item(&maker, 4);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *sync = judged_find(&it, "sync");
        cr_expect_eq(sync && sync->level >= TP_SEVERITY_MEDIUM, !python);
        cr_expect_eq(strstr(it.judged.verdict.sentence,
                            "mostly in Python outside of operators (") !=
                         NULL,
                     python, "%s", it.judged.verdict.sentence);
        cr_expect_eq(strstr(it.judged.verdict.sentence,
                            "within images.py(9): preprocess, with") != NULL,
                     python, "%s", it.judged.verdict.sentence);
        if (python) {
            cr_expect_str_eq(judged_verdict(&it), "host-bound");
            cr_expect_str_eq(it.judged.findings.rows[0].rule->id, "host");
        }
        judged_run_clear(&it);
    }
}

/* The same copies where the trace does not say which way they go: the advice
 * is for either way, and nobody is told that this happens once. */
Test(trace_rule_idle, copies_that_go_nobody_knows_where)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        for (int k = 0; k < 10; k++) {
            trace_maker_op(&maker, "aten::mm", 20, 300);
            trace_maker_copy_out(&maker, 10, 200);
        }
        trace_maker_step_end(&maker);
    }
    char *at = maker.json.data;
    while ((at = strstr(at, "DtoH (Device")))
        memcpy(at, "PtoP (", 6);
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    const struct tp_trace_finding *finding = judged_find(&it, "sync");
    cr_assert_not_null(finding);
    cr_expect_eq(tp_trace_worst_sync(&it.run.traces[0])->why, TP_SYNC_COPY);
    cr_expect(strstr(finding->evidence, "copies not known"), "%s",
              finding->evidence);
    cr_expect(strstr(finding->suggestion, "if they read"), "%s",
              finding->suggestion);
    cr_expect(!strstr(finding->evidence, "profiler"), "%s", finding->evidence);
    /* and of no direction they count */
    cr_expect_eq(it.run.traces[0].facts.to_device.copies, 0);
    cr_expect_eq(it.run.traces[0].facts.to_host.copies, 0);
    judged_run_clear(&it);
}

/* A trace of slow loading by an iterator of this name; what a file of metrics
 * says of num_workers is put beside it (-1: nothing). */
static const char *loader_advice(struct judged_run *it, const char *iterator,
                                 int64_t said, bool pinned)
{
    static const char single[] = "enumerate(DataLoader)#_SingleProcess"
                                 "DataLoaderIter.__next__";
    struct trace_maker maker;
    judged_run_clear(it);
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < STEPS; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_loader(&maker, 8000, false);
        trace_maker_copy_in(&maker, 20, true);
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    struct trace_maker other = {.host = 0};
    const char *text = tp_text_get(&maker.json), *next;
    while ((next = strstr(text, single))) {
        tp_text_bytes(&other.json, text, (size_t)(next - text));
        tp_text_add(&other.json, "%s", iterator);
        text = next + sizeof single - 1;
    }
    tp_text_add(&other.json, "%s", text);
    trace_maker_clear(&maker);
    made_run_add(it, &other, "made.json");
    struct tp_setting *settings = it->run.traces[0].settings;
    if (said >= 0)
        settings[TP_SETTING_NUM_WORKERS] =
            (struct tp_setting){true, said, "metrics.json"};
    if (pinned)
        settings[TP_SETTING_PIN_MEMORY] =
            (struct tp_setting){true, 1, "metrics.json"};
    judged_run_finish(it);
    const struct tp_trace_finding *finding = judged_find(it, "dataloader");
    cr_assert_not_null(finding);
    return finding->suggestion;
}

/* That prefetch_factor is void is said of 0 workers, if that is known; else on
 * that condition; and not at all where there are workers. */
Test(trace_rule_idle, advice_by_workers)
{
    static const struct {
        const char *iterator;
        int64_t said;
        bool none, perhaps;
    } cases[] = {
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", -1,
         true, false},
        {"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 4,
         false, false},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", -1,
         false, false},
        {"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0,
         true, false},
        {"enumerate(DataPipe)#MapperIterDataPipe", -1, false, true},
        {"enumerate(DataPipe)#MapperIterDataPipe", 0, true, false},
        {"enumerate(DataPipe)#MapperIterDataPipe", 4, false, false},
    };
    struct judged_run it = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *advice =
            loader_advice(&it, cases[i].iterator, cases[i].said, false);
        cr_expect_eq(strstr(advice, "num_workers is 0, so") != NULL,
                     cases[i].none, "%zu: %s", i, advice);
        cr_expect_eq(strstr(advice, "; without workers prefetch_factor and "
                                    "persistent_workers are void") != NULL,
                     cases[i].none, "%zu: %s", i, advice);
        cr_expect_eq(strstr(advice, "if num_workers is 0") != NULL,
                     cases[i].perhaps, "%zu: %s", i, advice);
        cr_expect_eq(strstr(advice, "raise num_workers and prefetch") != NULL,
                     !cases[i].none, "%zu: %s", i, advice);
    }
    judged_run_clear(&it);
}

/* Nobody is told to set what is set. */
Test(trace_rule_idle, advice_on_pinned_memory)
{
    static const char iterator[] =
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    struct judged_run it = {0};
    cr_expect(strstr(loader_advice(&it, iterator, -1, false), "pin_memory"));
    cr_expect(!strstr(loader_advice(&it, iterator, -1, true), "pin_memory"));
    judged_run_clear(&it);
}

/* Where most of the host's share is code that is loaded in every step, that is
 * told alone; where Python takes more, both are. */
Test(trace_rule_idle, code_that_is_loaded_all_the_time)
{
    for (int python = 0; python <= 1; python++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < STEPS; i++) {
            char name[] = "triton_poi_fused_0";
            name[17] = (char)('0' + i);
            trace_maker_step_begin(&maker);
            trace_maker_op(&maker, "aten::mm", 20, 1000);
            trace_maker_synchronize(&maker);
            trace_maker_launch(&maker, name, 5000);
            trace_maker_python(&maker, python ? 9000 : 0);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        cr_expect_str_eq(judged_verdict(&it), "host-bound");
        cr_expect_eq(strstr(it.judged.verdict.sentence,
                            "launches that load code") != NULL,
                     !python, "%s", it.judged.verdict.sentence);
        cr_expect_not_null(judged_find(&it, "first_launch"));
        cr_expect_eq(judged_find(&it, "host") != NULL, python);
        judged_run_clear(&it);
    }
}

/* Two steps of eight that wait for data are not each step. */
Test(trace_rule_idle, batches_that_come_unevenly)
{
    for (int even = 0; even <= 1; even++) {
        struct judged_run it = {0};
        struct trace_maker maker;
        trace_maker_begin(&maker, -1, 0);
        for (int i = 0; i < 8; i++) {
            trace_maker_step_begin(&maker);
            trace_maker_loader(&maker, even || i % 4 == 3 ? 8000 : 20, true);
            for (int k = 0; k < 10; k++)
                trace_maker_op(&maker, "aten::mm", 20, 400);
            trace_maker_synchronize(&maker);
            trace_maker_step_end(&maker);
        }
        made_run_add(&it, &maker, "made.json");
        judged_run_finish(&it);
        const struct tp_trace_finding *loader = judged_find(&it, "dataloader");
        cr_assert_not_null(loader);
        cr_expect(strstr(loader->evidence,
                         even ? "each step waits 8.00 ms for its batch"
                              : "steps wait 2.01 ms for their batches on "
                                "average, one of them 8.00 ms"),
                  "%s", loader->evidence);
        judged_run_clear(&it);
    }
}

/* What the first of four steps waits is no wait of each. */
Test(trace_rule_idle, batches_of_a_first_step)
{
    struct judged_run it = {0};
    struct trace_maker maker;
    trace_maker_begin(&maker, -1, 0);
    for (int i = 0; i < 4; i++) {
        trace_maker_step_begin(&maker);
        trace_maker_loader(&maker, i == 0 ? 20000 : 20, true);
        for (int k = 0; k < 10; k++)
            trace_maker_op(&maker, "aten::mm", 20, 400);
        trace_maker_synchronize(&maker);
        trace_maker_step_end(&maker);
    }
    made_run_add(&it, &maker, "made.json");
    judged_run_finish(&it);
    cr_expect_str_eq(judged_verdict(&it), "cold start");
    const struct tp_trace_finding *loader = judged_find(&it, "dataloader");
    cr_assert_not_null(loader);
    cr_expect(strstr(loader->evidence, "steps wait 5.01 ms for their batches "
                                       "on average, one of them 20.00 ms"),
              "%s", loader->evidence);
    judged_run_clear(&it);
}
