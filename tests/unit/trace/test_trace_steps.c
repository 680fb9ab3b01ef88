/* SPDX-License-Identifier: MIT */
/* Steps against PyTorch's tensorboard plugin, and their rules by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_rows.h"

/*
 * Where the plugin's numbers come from doubles of epoch us, its sums are off
 * by `tolerance` us. In 06 it also takes the device's own nccl: annotations,
 * which reach over the gaps between kernels, for communication.
 */
static const struct {
    const char *section, *file;
    double tolerance;
} traces[] = {
    {"own/train", "own/train.json.gz", 0},
    {"own/loader", "own/loader.json.gz", 0},
    {"own/busy", "own/busy.json.gz", 0},
    {"own/long", "own/long.json.gz", 0},
    {"own/one_step", "own/one_step.json.gz", 0},
    {"own/fractions", "own/fractions.json.gz", 0.01},
    {"own/ranks/rank0", "own/ranks/rank0.json.gz", 0},
    {"own/ranks/rank1", "own/ranks/rank1.json.gz", 0},
    {"own/ranks/rank2", "own/ranks/rank2.json.gz", 0},
    {"own/ranks/rank3", "own/ranks/rank3.json.gz", 0},
    {"gpu_metrics_input.json", "04_gpu_metrics_input/gpu_metrics_input.json",
     0},
    {"resnet50_num_workers_0",
     "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz", 0},
    {"resnet50_num_workers_4",
     "02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz", 0},
    {"nccl_data", "06_nccl_data/nccl_data.json.gz", 4},
    {"ns_resolution",
     "08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 12},
    {"negative_queue", "09_negative_queue/rank0.json.gz", 0},
    {"mi250_minitoy",
     "12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz", 0.01},
    {"bert-small", "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz",
     0.01},
    {"owlv2",
     "16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz", 0.1},
    {"eager_trace", "19_b200_eager/eager_trace.json.gz", 0.1},
    {"worker0_step_12",
     "23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json", 0},
    {"worker1_step_12",
     "23_dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json", 0},
    {"worker2_step_12",
     "23_dlrm_8rank/worker2_step_12.1694128201554.pt.trace.json", 0},
    {"worker3_step_12",
     "23_dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json", 0},
    {"worker4_step_12",
     "23_dlrm_8rank/worker4_step_12.1694128201547.pt.trace.json", 0},
    {"worker5_step_12",
     "23_dlrm_8rank/worker5_step_12.1694128201549.pt.trace.json", 0},
    {"worker6_step_12",
     "23_dlrm_8rank/worker6_step_12.1694128201553.pt.trace.json", 0},
    {"worker7_step_12",
     "23_dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json", 0},
};

/* One line "  step 5 [...]" in the order of the plugin. */
struct cost {
    long long step;
    double kernel, memcpy, memset, communication, runtime, dataloader, cpu_exec,
        other, total;
};

static int read_cost(const char *line, struct cost *cost)
{
    return sscanf(line,
                  " step %lld [%lf, %lf, %lf, %lf, %lf, %lf, %lf, %lf, %lf]",
                  &cost->step, &cost->kernel, &cost->memcpy, &cost->memset,
                  &cost->communication, &cost->runtime, &cost->dataloader,
                  &cost->cpu_exec, &cost->other, &cost->total) == 10;
}

/* The plugin calls the one step of a trace without steps 0. */
static const struct tp_step_row *find_step(const struct tp_trace *trace,
                                           long long step)
{
    for (size_t i = 0; i < trace->steps.count; i++) {
        const struct tp_step_row *row = &trace->steps.rows[i];
        if (row->step == step || (step == 0 && row->step == -1)) {
            return row;
        }
    }
    return NULL;
}

static bool has_driver_calls(const struct tp_trace *trace)
{
    for (size_t i = 0; i < trace->events.count; i++) {
        if (trace->events.category[i] == TP_EVENT_DRIVER) {
            return true;
        }
    }
    return false;
}

static void near(double got, double wanted, double tolerance, const char *what,
                 const char *file)
{
    cr_expect(fabs(got - wanted) <= tolerance + 5e-4, "%s, %s: %.3f, not %.3f",
              file, what, got, wanted);
}

/* Kernels of communication are kernels there, and driver calls (which it does
 * not know) whatever is around them: then only sums can be compared. */
static void compare(const struct tp_trace *trace, const struct tp_step_row *row,
                    const struct cost *cost, double tolerance)
{
    const char *file = trace->path;
    near(row->window_us, cost->total, tolerance, "window", file);
    near(row->dataloader_us, cost->dataloader, tolerance, "data", file);
    near(row->other_us, cost->other, tolerance, "other", file);
    near(row->kernel_us + row->memcpy_us + row->memset_us +
             row->communication_us,
         cost->kernel + cost->memcpy + cost->memset + cost->communication,
         tolerance, "device", file);
    near(row->runtime_us + row->cpu_exec_us, cost->runtime + cost->cpu_exec,
         tolerance, "host", file);
    if (row->communication_us == 0) {
        near(row->kernel_us, cost->kernel, tolerance, "kernel", file);
        near(row->memcpy_us, cost->memcpy, tolerance, "memcpy", file);
        near(row->memset_us, cost->memset, tolerance, "memset", file);
    }
    if (!has_driver_calls(trace)) {
        near(row->runtime_us, cost->runtime, tolerance, "runtime", file);
        near(row->cpu_exec_us, cost->cpu_exec, tolerance, "cpu", file);
    }
}

/* Compares all steps of one section of the plugin's numbers; how many. */
static size_t compare_section(const struct tp_trace *trace, const char *section,
                              double tolerance)
{
    static char line[1 << 16];
    const bool own = strncmp(section, "own/", 4) == 0;
    FILE *file = trace_file_open(own ? "own/expected/tb_plugin.txt"
                                     : "expected/tb_plugin.txt");
    bool inside = false;
    size_t steps = 0;
    while (fgets(line, sizeof line, file)) {
        struct cost cost;
        if (!strncmp(line, "=====", 5)) {
            inside = strstr(line, section) != NULL;
        } else if (inside && read_cost(line, &cost)) {
            const struct tp_step_row *row = find_step(trace, cost.step);
            cr_assert_not_null(row, "%s: no step %lld", section, cost.step);
            compare(trace, row, &cost, tolerance);
            steps++;
        }
    }
    fclose(file);
    return steps;
}

Test(trace_steps, costs_of_the_tensorboard_plugin)
{
    size_t steps = 0;
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        struct tp_trace trace;
        if (!trace_data_there(traces[i].file))
            continue;
        trace_file_read(traces[i].file, &trace);
        cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
        const size_t here =
            compare_section(&trace, traces[i].section, traces[i].tolerance);
        cr_expect(here > 0, "%s: nothing to compare", traces[i].section);
        steps += here;
        /* Those it drops at the end do not count here. */
        size_t steady = 0;
        for (size_t j = 0; j < trace.steps.count; j++) {
            steady += trace.steps.rows[j].steady != 0;
        }
        cr_expect_eq(steady, here, "%s: %zu steady", traces[i].section, steady);
        trace_file_close(&trace);
    }
    cr_expect_eq(steps, trace_data_there("expected/tb_plugin.txt") ? 83 : 45,
                 "%zu", steps);
}

static void check_wait(const char *file, double each, double percent)
{
    struct tp_trace trace;
    double wait = 0, host = 0;
    trace_file_read(file, &trace);
    cr_assert_eq(tp_trace_steps(&trace, NULL), TP_OK);
    for (size_t i = 0; i < trace.steps.count; i++) {
        wait += trace.steps.rows[i].data_wait_us;
        host += trace.steps.rows[i].host_us;
    }
    cr_expect_float_eq(wait / (double)trace.steps.count, each, 50);
    cr_expect_float_eq(100 * wait / host, percent, 0.05);
    trace_file_close(&trace);
}

/* Summed by Python; of 01 the reference (5.1) says 69.3 ms a step, 39.6 % of
 * the time from the first to the last step. */
Test(trace_steps, data_wait)
{
    static const char trace_01[] =
        "01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz";
    check_wait("own/loader.json.gz", 23892 / 4., 100 * 23892 / 26452.);
    if (trace_data_there(trace_01))
        check_wait(trace_01, 69300, 39.6);
}

/* --- by hand -------------------------------------------------------------- */

#define HOST(cat, name, tid, ts, dur, more)                      \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name         \
    "\",\"pid\":1,\"tid\":" #tid ",\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{" more "}},"
#define STEP(n, ts, dur) \
    HOST("user_annotation", "ProfilerStep#" #n, 1, ts, dur, "")
#define LOAD(tid, ts, dur)                                                    \
    HOST("user_annotation", "enumerate(DataLoader)#X.__next__", tid, ts, dur, \
         "")
#define CALL(ts, dur, corr)                              \
    HOST("cuda_runtime", "cudaLaunchKernel", 1, ts, dur, \
         "\"correlation\":" #corr)
#define KERNEL(name, ts, dur, corr)                       \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name   \
    "\",\"pid\":0,\"tid\":7,\"ts\":" #ts ",\"dur\":" #dur \
    ",\"args\":{\"stream\":7,\"device\":0,\"correlation\":" #corr "}},"
#define END "{\"ph\":\"M\",\"name\":\"x\",\"pid\":0}]"

static void make(const char *json, struct tp_trace *trace)
{
    trace_text_read(json, trace);
    cr_assert_eq(tp_trace_steps(trace, NULL), TP_OK);
}

/* The first kernel of step 1 runs into step 2, and one of before step 1 runs
 * into it. */
Test(trace_steps, windows_by_hand)
{
    struct tp_trace trace;
    make("[" CALL(1, 2, 9) KERNEL("early", 5, 10, 9) STEP(1, 10, 100)
             LOAD(1, 10, 30) LOAD(2, 50, 20) CALL(60, 5, 1)
                 KERNEL("k", 80, 50, 1) STEP(2, 110, 100) LOAD(1, 110, 30)
                     CALL(160, 5, 2) KERNEL("ncclDevKernel_x", 170, 20, 2)
                         KERNEL("k", 180, 5, 2) END,
         &trace);
    cr_assert_eq(trace.steps.count, 2);
    const struct tp_step_row *one = &trace.steps.rows[0];
    cr_expect_eq(one->start_us, 9);
    cr_expect_eq(one->host_us, 100);
    cr_expect_eq(one->window_us, 130 - 15);
    cr_expect_eq(one->data_wait_us, 30);
    cr_expect_eq(one->compute_us, 130 - 15 - 25);
    cr_expect_eq(one->kernel_us, 50);
    cr_expect_eq(one->dataloader_us, 25 + 20 - 5); /* all threads; a call */
    cr_expect_eq(one->runtime_us, 5);
    cr_expect_eq(one->other_us, 115 - 50 - 40 - 5);
    cr_expect_eq(one->device_events, 1);
    cr_expect_eq(one->busy, (5 + 30) / 100.);
    const struct tp_step_row *two = &trace.steps.rows[1];
    cr_expect_eq(two->window_us, 210 - 130);
    cr_expect_eq(two->data_wait_us, 30);
    cr_expect_eq(two->compute_us, 210 - 130 - 10);
    cr_expect_eq(two->kernel_us, 5);
    cr_expect_eq(two->communication_us, 15);
    trace_file_close(&trace);
}

Test(trace_steps, steady_by_hand)
{
    struct tp_trace trace;
    make("[" STEP(1, 0, 300) CALL(1, 1, 1) KERNEL("k", 3, 1, 1)
             STEP(2, 300, 100) CALL(301, 1, 2) KERNEL("k", 310, 1, 2)
                 CALL(303, 1, 3) KERNEL("k", 320, 1, 3) STEP(3, 400, 100)
                     CALL(401, 1, 4) KERNEL("k", 410, 1, 4) STEP(4, 500, 100)
                         END,
         &trace);
    cr_assert_eq(trace.steps.count, 4);
    cr_expect_eq(trace.steps.rows[0].steady, 0); /* three times the median */
    cr_expect_eq(trace.steps.rows[1].steady, 1);
    cr_expect_eq(trace.steps.rows[2].steady, 0); /* half of the one before */
    cr_expect_eq(trace.steps.rows[3].steady, 0); /* nothing on the device  */
    trace_file_close(&trace);
    make("[" STEP(1, 0, 100) STEP(2, 100, 100) END, &trace);
    cr_assert_eq(trace.steps.count, 2);
    cr_expect_eq(trace.steps.rows[0].steady, 1);
    cr_expect_eq(trace.steps.rows[1].steady, 1);
    trace_file_close(&trace);
    make("[" END, &trace);
    cr_expect_eq(trace.steps.count, 0);
    trace_file_close(&trace);
}
