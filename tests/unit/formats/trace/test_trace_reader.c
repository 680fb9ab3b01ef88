/* SPDX-License-Identifier: MIT */
/*
 * The reader on traces as they are: against sums of Python's json and decimal
 * (tests/oracle/trace_sums.py printed the table), against the counts per
 * category that come with the traces, and against values that other tools
 * assert about them.
 */
#include "tests/unit/support/trace_bytes.h"

struct sums {
    const char *path;
    uint64_t seen, count, start, duration, order;
};

/* seen, count, sum of ts, sum of dur (ns, modulo 2^64), order and names */
static const struct sums table[] = {
    {"cpu-torch1.13.0a0/dataloader.1.pt.trace.json.gz",
     1203, 1203, UINT64_C(24859250000), UINT64_C(67937000),
     UINT64_C(17969264236419684395)},
    {"cpu-torch1.13.0a0/memory_churn.1.pt.trace.json.gz",
     1803, 1803, UINT64_C(5376257000), UINT64_C(11742000),
     UINT64_C(7133218355959940031)},
    {"cpu-torch1.13.0a0/none.1.pt.trace.json.gz",
     1203, 1203, UINT64_C(2895990000), UINT64_C(10735000),
     UINT64_C(9129091241219050795)},
    {"cpu-torch1.13.0a0/sync.1.pt.trace.json.gz",
     1624, 1624, UINT64_C(3970517000), UINT64_C(11028000),
     UINT64_C(7567455098892445306)},
    {"cpu-torch1.13.0a0/tiny_ops.1.pt.trace.json.gz",
     2541, 2541, UINT64_C(7098558000), UINT64_C(12187000),
     UINT64_C(11843783429295421775)},
    {"cpu-torch2.15.0/dataloader.1.pt.trace.json.gz",
     1922, 1852, UINT64_C(8111712285981109331), UINT64_C(110621466),
     UINT64_C(402645103442033152)},
    {"cpu-torch2.15.0/memory_churn.1.pt.trace.json.gz",
     3122, 3052, UINT64_C(13367682047731256287), UINT64_C(22826703),
     UINT64_C(6876720464141510764)},
    {"cpu-torch2.15.0/none.1.pt.trace.json.gz",
     1922, 1852, UINT64_C(8111711968284800742), UINT64_C(20680762),
     UINT64_C(402645103442033152)},
    {"cpu-torch2.15.0/sync.1.pt.trace.json.gz",
     2702, 2632, UINT64_C(11528092356865084197), UINT64_C(20885298),
     UINT64_C(15495014031849947392)},
    {"cpu-torch2.15.0/tiny_ops.1.pt.trace.json.gz",
     4941, 4871, UINT64_C(2888111098756064859), UINT64_C(23644419),
     UINT64_C(13710431830620294029)},
    {"own/busy.json.gz",
     228, 220, UINT64_C(4111637000), UINT64_C(223151000),
     UINT64_C(8643715502935020222)},
    {"own/fractions.json.gz",
     449, 441, UINT64_C(1399575428), UINT64_C(21293171),
     UINT64_C(813557242383197065)},
    {"own/loader.json.gz",
     321, 313, UINT64_C(5239650000), UINT64_C(60452000),
     UINT64_C(13073101823784297625)},
    {"own/long.json.gz",
     2265, 2257, UINT64_C(27910976000), UINT64_C(102166000),
     UINT64_C(10497304848009624938)},
    {"own/one_step.json.gz",
     135, 127, UINT64_C(205405000), UINT64_C(5874000),
     UINT64_C(3305902983479487528)},
    {"own/train.json.gz",
     479, 471, UINT64_C(1629803000), UINT64_C(22234000),
     UINT64_C(6480927226577208022)},
    {"own/ranks/rank0.json.gz",
     104, 95, UINT64_C(2766279631501094920), UINT64_C(7099000),
     UINT64_C(2819993831825948322)},
    {"own/ranks/rank1.json.gz",
     104, 95, UINT64_C(2766279631496709920), UINT64_C(7158000),
     UINT64_C(2819993831825948322)},
    {"own/ranks/rank2.json.gz",
     104, 95, UINT64_C(2766279631542822920), UINT64_C(5032000),
     UINT64_C(2819993831825948322)},
    {"own/ranks/rank3.json.gz",
     99, 90, UINT64_C(16213023705201702536), UINT64_C(5063000),
     UINT64_C(16368033217169922430)},
    {"01_resnet50_nw0/worker0.1623143089861.pt.trace.json.gz",
     75718, 57504, UINT64_C(15115183003528750656), UINT64_C(4924245000),
     UINT64_C(6311512270586904022)},
    {"02_resnet50_nw4/worker0.1623212756351.pt.trace.json.gz",
     71424, 52886, UINT64_C(12510223302476259752), UINT64_C(4276502000),
     UINT64_C(1771800519161206918)},
    {"03_resnet50_nw0_list/worker0.pt.trace.json.gz",
     82276, 63166, UINT64_C(8128873921386070768), UINT64_C(6904452000),
     UINT64_C(3047453429123844273)},
    {"04_gpu_metrics_input/gpu_metrics_input.json",
     340, 254, UINT64_C(6007531934705405448), UINT64_C(49625000),
     UINT64_C(1821072824878008040)},
    {"05_trace_compare/base/base.json.gz",
     33, 33, UINT64_C(17950481243821889768), UINT64_C(224906000),
     UINT64_C(15855998211472661758)},
    {"05_trace_compare/test/test.json.gz",
     34, 34, UINT64_C(1165675636391949152), UINT64_C(225364000),
     UINT64_C(7790279354544028497)},
    {"06_nccl_data/nccl_data.json.gz",
     40573, 26933, UINT64_C(9405076654760619226), UINT64_C(4383359174),
     UINT64_C(16430408429292661745)},
    {"08_ns_resolution/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
     68692, 45420, UINT64_C(14893143301292917551), UINT64_C(3437226132),
     UINT64_C(8855895249873581448)},
    {"09_negative_queue/rank0.json.gz",
     108936, 67217, UINT64_C(11853878527889336456), UINT64_C(7904659000),
     UINT64_C(4238419873828261646)},
    {"11_cpu_only/rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz",
     7604, 7480, UINT64_C(9066329543923598842), UINT64_C(6707439275),
     UINT64_C(16073393579741777643)},
    {"12_mi250_minitoy/mi250_minitoy_train_ROCm6_2_kineto.json.gz",
     220, 113, UINT64_C(475014665449148961), UINT64_C(52276266),
     UINT64_C(6152206162513792655)},
    {"13_simple_add/benchmark_result_493459_1694039959_trace.json.gz",
     1348, 838, UINT64_C(17652971983753065184), UINT64_C(306668311000),
     UINT64_C(14798566967989008790)},
    {"14_mtia_rank_0/mtia_rank_0.json.gz",
     455739, 138373, UINT64_C(781150546511315591), UINT64_C(156299996007),
     UINT64_C(3952272773624853653)},
    {"15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz",
     2551, 2296, UINT64_C(3258591882302358822), UINT64_C(174107606),
     UINT64_C(4210527163927694109)},
    {"16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
     132152, 117633, UINT64_C(914263619996871971), UINT64_C(48925224488),
     UINT64_C(9167897324489652651)},
    {"19_b200_eager/eager_trace.json.gz",
     24656, 22355, UINT64_C(12081867862605603231), UINT64_C(2118013220),
     UINT64_C(7487621937852193476)},
    {"23_dlrm_8rank/worker0_step_12.1694128201545.pt.trace.json",
     3290, 2460, UINT64_C(17037958944152484400), UINT64_C(93563000),
     UINT64_C(17477398027251056858)},
    {"23_dlrm_8rank/worker1_step_12.1694128201556.pt.trace.json",
     3424, 2527, UINT64_C(1417339919261580088), UINT64_C(148739000),
     UINT64_C(2182298014299097216)},
    {"23_dlrm_8rank/worker2_step_12.1694128201554.pt.trace.json",
     3268, 2449, UINT64_C(16849292803546019016), UINT64_C(77255000),
     UINT64_C(230833048292808937)},
    {"23_dlrm_8rank/worker3_step_12.1694128201557.pt.trace.json",
     3474, 2552, UINT64_C(6877056808750406856), UINT64_C(137640000),
     UINT64_C(11680760709629202511)},
    {"23_dlrm_8rank/worker4_step_12.1694128201547.pt.trace.json",
     3310, 2470, UINT64_C(15532496883501419784), UINT64_C(124692000),
     UINT64_C(5040088177432512309)},
    {"23_dlrm_8rank/worker5_step_12.1694128201549.pt.trace.json",
     3250, 2440, UINT64_C(1602138987885161016), UINT64_C(122293000),
     UINT64_C(16707641885118611421)},
    {"23_dlrm_8rank/worker6_step_12.1694128201553.pt.trace.json",
     3272, 2451, UINT64_C(1790805132703490400), UINT64_C(77422000),
     UINT64_C(8355005534152743236)},
    {"23_dlrm_8rank/worker7_step_12.1694128201553.pt.trace.json",
     3250, 2440, UINT64_C(1602138991336422016), UINT64_C(71054000),
     UINT64_C(4742098146039573040)},
    {"edge/after_fix_trace.json",
     75, 9, UINT64_C(796602493825335), UINT64_C(460),
     UINT64_C(8274971427838994887)},
    {"edge/distributed_info_not_found.json.gz",
     2467, 2467, UINT64_C(3011757924902111248), UINT64_C(250549000),
     UINT64_C(15298869228976113898)},
    {"edge/gpu_only_trace.json.gz",
     2443, 1194, UINT64_C(8201802377554191380), UINT64_C(13721486),
     UINT64_C(9641160271332555043)},
    {"edge/rank-70.Mar_25_20_48_12.2861.pt.trace.json.gz",
     2, 2, UINT64_C(300000), UINT64_C(150000),
     UINT64_C(98635682645900167)},
    {"edge/rank_non_gpu.json.gz",
     2467, 2467, UINT64_C(3011757924902111248), UINT64_C(250549000),
     UINT64_C(15298869228976113898)},
    {"edge/rank_not_found.json.gz",
     2467, 2467, UINT64_C(3011757924902111248), UINT64_C(250549000),
     UINT64_C(15298869228976113898)},
    {"edge/step_based_trace_2543932.json.gz",
     1344, 984, UINT64_C(4350547847607017176), UINT64_C(32862000),
     UINT64_C(7868369878677734262)},
    {"edge/triton_example.json.gz",
     70, 7, UINT64_C(35875678852937694), UINT64_C(10961446),
     UINT64_C(15215737588028278620)},
};

enum { TRACES = sizeof table / sizeof table[0] };

static uint64_t mix(uint64_t order, const struct tp_events *events,
                    uint32_t text)
{
    const char *name = tp_events_get(events, text);
    return order * 31 + crc32(0, (const Bytef *)name, (uInt)strlen(name));
}

static uint64_t order_of(const struct tp_events *events)
{
    uint64_t order = 0;
    for (size_t i = 0; i < events->count; i++) {
        const struct tp_lane *lane = &events->lanes[events->lane[i]];
        order = mix(order, events, events->name[i]);
        order = mix(order, events, lane->pid);
        order = mix(order, events, lane->tid);
        order += (uint64_t)(events->category[i] == TP_EVENT_CPU_OP
                                ? -1
                                : events->correlation[i]);
    }
    return order;
}

static struct tp_events read_file(const char *name, unsigned jobs)
{
    char path[4096];
    struct tp_events events = {0};
    struct tp_error err = {0};
    trace_path(name, path, sizeof path);
    struct tp_pool *pool = trace_pool(jobs);
    cr_assert_eq(tp_trace_read(path, pool, NULL, &events, &err), TP_OK, "%s",
                 err.message);
    tp_pool_free(pool);
    return events;
}

static void check_sums(const struct sums *row, unsigned jobs)
{
    struct tp_events events = read_file(row->path, jobs);
    cr_assert_eq(events.seen, row->seen, "%s: %zu", row->path,
                 (size_t)events.seen);
    cr_assert_eq(events.count, row->count, "%s", row->path);
    cr_assert_eq((uint64_t)trace_sum(events.start, events.count), row->start,
                 "%s: sum of ts", row->path);
    cr_assert_eq((uint64_t)trace_sum(events.duration, events.count),
                 row->duration, "%s: sum of dur", row->path);
    cr_assert_eq(order_of(&events), row->order, "%s: order or names",
                 row->path);
    cr_assert_eq(events.truncated_at, -1);
    for (int i = 0; i < TP_REPAIRS; i++)
        cr_assert(events.repairs[i] == 0 && events.first_repair[i] == -1);
    tp_events_clear(&events);
}

/* Checks the rows of our own traces, or those of others. */
static void check_table(bool own, unsigned jobs)
{
    for (int i = 0; i < TRACES; i++)
        if (trace_data_own(table[i].path) == own)
            check_sums(&table[i], jobs);
}

Test(trace_reader, sums_of_own_traces_equal_python_decimal)
{
    check_table(true, 1);
}

Test(trace_reader, sums_of_every_trace_equal_python_decimal)
{
    check_table(false, 1);
}

Test(trace_reader, four_jobs_read_own_traces_the_same)
{
    check_table(true, 4);
}

Test(trace_reader, four_jobs_read_the_same)
{
    check_table(false, 4);
}

/* --- categories --------------------------------------------------------- */

static enum tp_event_category category_of(const char *name)
{
    static const struct {
        const char *names;
        enum tp_event_category category;
    } rows[] = {
        {" cpu_op Operator ", TP_EVENT_CPU_OP},
        {" user_annotation ", TP_EVENT_ANNOTATION},
        {" gpu_user_annotation ", TP_EVENT_GPU_ANNOTATION},
        {" cuda_runtime Runtime mtia_runtime ", TP_EVENT_RUNTIME},
        {" cuda_driver ", TP_EVENT_DRIVER},
        {" kernel Kernel mtia_ccp_events ", TP_EVENT_KERNEL},
        {" gpu_memcpy Memcpy ", TP_EVENT_MEMCPY},
        {" gpu_memset Memset ", TP_EVENT_MEMSET},
        {" python_function ", TP_EVENT_PYTHON},
        {" cuda_sync ", TP_EVENT_SYNC},
        {" overhead ", TP_EVENT_OVERHEAD},
        {" Trace ", TP_EVENT_SPAN},
    };
    char wanted[64];
    snprintf(wanted, sizeof wanted, " %s ", name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strstr(rows[i].names, wanted))
            return rows[i].category;
    }
    cr_assert_fail("no category %s", name);
    return TP_EVENT_OTHER;
}

/* `counts`: "M:None=20 X:Kernel=8772 ...", from the list of traces. */
static void check_categories(const struct tp_events *events, char *counts,
                             const char *path)
{
    size_t wanted[TP_EVENT_CATEGORIES] = {0};
    size_t found[TP_EVENT_CATEGORIES] = {0};
    char *save = NULL;
    for (char *item = strtok_r(counts, " `", &save); item;
         item = strtok_r(NULL, " `", &save)) {
        char *equals = strchr(item, '=');
        if (strncmp(item, "X:", 2) != 0 || !equals)
            continue;
        *equals = '\0';
        wanted[category_of(item + 2)] += strtoul(equals + 1, NULL, 10);
    }
    for (size_t i = 0; i < events->count; i++)
        found[events->category[i]]++;
    for (int i = 0; i < TP_EVENT_CATEGORIES; i++) {
        if (i != TP_EVENT_MEMORY) /* not told from other instants there */
            cr_assert_eq(found[i], wanted[i], "%s: %zu %s, not %zu", path,
                         found[i], tp_event_category_name(i), wanted[i]);
    }
}

/* The line of README.md about a trace, without "/" and what follows. */
static bool find_line(FILE *readme, const char *path, char *line, size_t size)
{
    char wanted[128];
    size_t tag = strcspn(path, "/");
    snprintf(wanted, sizeof wanted, "- **%.*s** ", (int)tag, path);
    rewind(readme);
    while (fgets(line, (int)size, readme)) {
        if (strncmp(line, wanted, strlen(wanted)) == 0 && strstr(line, " X:"))
            return true;
    }
    return false;
}

/* tests/oracle/trace_signals.py rows */
static const char *const own_counts[][2] = {
    {"own/train.json.gz",
     "X:user_annotation=25 X:cpu_op=165 X:cuda_runtime=116 X:gpu_memcpy=20 "
     "X:kernel=65 X:gpu_user_annotation=10 X:gpu_memset=20"},
    {"own/ranks/rank1.json.gz",
     "X:user_annotation=8 X:cpu_op=31 X:cuda_runtime=23 X:gpu_memcpy=4 "
     "X:kernel=13 X:gpu_user_annotation=5 X:gpu_memset=3"},
};

Test(trace_reader, counts_per_category_of_own_traces)
{
    static char line[1 << 14];
    for (size_t i = 0; i < sizeof own_counts / sizeof *own_counts; i++) {
        struct tp_events events = read_file(own_counts[i][0], 2);
        snprintf(line, sizeof line, "%s", own_counts[i][1]);
        check_categories(&events, line, own_counts[i][0]);
        tp_events_clear(&events);
    }
}

Test(trace_reader, counts_per_category_equal_the_published)
{
    static char line[1 << 14];
    char path[4096];
    int checked = 0;
    trace_path("README.md", path, sizeof path);
    FILE *readme = fopen(path, "r");
    cr_assert(readme != NULL);
    for (int i = 0; i < TRACES; i++) {
        if (!find_line(readme, table[i].path, line, sizeof line))
            continue;
        struct tp_events events = read_file(table[i].path, 2);
        check_categories(&events, strchr(line, 96), table[i].path);
        tp_events_clear(&events);
        checked++;
    }
    fclose(readme);
    cr_assert_geq(checked, 14);
}

/* --- what others assert ------------------------------------------------- */

/* The numbers of collectives, and what the longest of them says. */
static void check_collectives(const struct tp_events *events, size_t number,
                              int64_t elements, const char *ranks)
{
    size_t kernels = 0, longest = TP_NO_EVENT;
    for (size_t i = 0; i < events->count; i++) {
        if (events->category[i] != TP_EVENT_KERNEL ||
            events->gpu[events->detail[i]].comm == TP_NO_DETAIL)
            continue;
        kernels++;
        if (longest == TP_NO_EVENT ||
            events->duration[i] > events->duration[longest])
            longest = i;
    }
    cr_assert_eq(kernels, number);
    const struct tp_comm_detail *comm =
        &events->comms[events->gpu[events->detail[longest]].comm];
    cr_assert_str_eq(tp_events_get(events, comm->collective), "allreduce");
    cr_assert_eq(comm->in_elements, elements);
    cr_assert_str_eq(tp_events_get(events, comm->group_ranks), ranks);
    cr_assert_str_eq(events->backend, "nccl");
}

Test(trace_reader, collectives_of_own_traces)
{
    struct tp_events events = read_file("own/ranks/rank1.json.gz", 2);
    check_collectives(&events, 3, 100000, "[0, 1, 2, 3]");
    cr_assert(events.rank == 1 && events.world_size == 4);
    tp_events_clear(&events);
    events = read_file("own/fractions.json.gz", 2);
    cr_assert_eq(events.base_ns, INT64_C(1700000000000000000));
    tp_events_clear(&events);
}

/* HolisticTraceAnalysis, tests/test_trace_parse.py */
Test(trace_reader, collectives_of_06)
{
    struct tp_events events = read_file("06_nccl_data/nccl_data.json.gz", 2);
    check_collectives(&events, 21, 2049000, "[0, 1]");
    cr_assert_eq(events.base_ns, INT64_C(1711964646000000000));
    cr_assert(events.rank == 0 && events.world_size == 2);
    tp_events_clear(&events);
}

Test(trace_reader, integer_above_two_to_63)
{
    static const char text[] =
        "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": "
        "\"ncclKernel_x\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 2, "
        "\"args\": {\"Collective name\": \"allreduce\", \"Comms Id\": "
        "10159970886766084423}}]}";
    struct tp_events events = trace_events(text, strlen(text));
    cr_assert_eq(events.comm_count, 1);
    cr_assert_str_eq(tp_events_get(&events, events.comms[0].comms_id),
                     "10159970886766084423");
    tp_events_clear(&events);
}

static size_t first_kernel(const struct tp_events *events)
{
    size_t i = 0;
    while (events->category[i] != TP_EVENT_KERNEL)
        i++;
    return i;
}

Test(trace_reader, first_kernel_and_device)
{
    struct tp_events events = read_file("own/train.json.gz", 1);
    const struct tp_gpu_detail *gpu =
        &events.gpu[events.detail[first_kernel(&events)]];
    cr_assert(gpu->device == 0 && gpu->stream == 7);
    cr_assert(gpu->grid[0] == 100 && gpu->block[0] == 256);
    cr_assert_float_eq(gpu->blocks_per_sm, 1.25, 1e-5);
    cr_assert_eq(gpu->bytes, -1);
    cr_assert_eq(events.device_count, 1);
    cr_assert_str_eq(events.devices[0].name, "Made-up GPU");
    cr_assert_eq(events.devices[0].sm_count, 80);
    cr_assert(events.profile_memory && events.record_shapes);
    cr_assert_not(events.with_stack || events.with_flops);
    tp_events_clear(&events);
}

Test(trace_reader, first_kernel_of_15)
{
    struct tp_events events = read_file(
        "15_bert_h100/gaunernst_bert-small-uncased__1016001.json.gz", 1);
    const struct tp_gpu_detail *gpu =
        &events.gpu[events.detail[first_kernel(&events)]];
    cr_assert(gpu->device == 0 && gpu->stream == 7);
    cr_assert(gpu->grid[0] == 564 && gpu->block[0] == 128);
    cr_assert_float_eq(gpu->blocks_per_sm, 4.272727, 1e-5);
    cr_assert_eq(gpu->bytes, -1);
    cr_assert_eq(events.device_count, 1);
    cr_assert_str_eq(events.devices[0].name, "NVIDIA H100 80GB HBM3");
    cr_assert_eq(events.devices[0].sm_count, 132);
    cr_assert(events.with_stack && events.profile_memory);
    cr_assert(events.with_flops && events.with_modules && events.record_shapes);
    tp_events_clear(&events);
}

/* Sums by Python's json over the args of the [memory] and memcpy events; of
 * our own by tests/oracle/trace_signals.py rows. */
static const struct argument_sums {
    const char *path;
    size_t count;
    int64_t bytes, allocated, reserved;
    uint64_t addresses;
    int64_t types, ids, copied;
} arguments[] = {
    {"own/train.json.gz", 50, 0, 9830400, 671088640, 216655, 40, -10,
     36700180},
    {"own/fractions.json.gz", 48, 0, 12582912, 671088640, 207292, 40, -8,
     29360144},
    {"16_owlv2_h100/google_owlv2-large-patch14-ensemble__1016001.json.gz",
     13474, 0, INT64_C(13419647677888), INT64_C(44181938503680),
     UINT64_C(1684254227212593280), 12270, -1204, 177315930},
};

static void check_arguments(const struct argument_sums *sums)
{
    struct tp_events events = read_file(sums->path, 2);
    struct argument_sums got = {.path = sums->path};
    for (size_t i = 0; i < events.memory_count; i++) {
        const struct tp_memory_detail *memory = &events.memory[i];
        got.bytes += memory->bytes;
        got.allocated += memory->total_allocated;
        got.reserved += memory->total_reserved;
        got.addresses += memory->address;
        got.types += memory->device_type;
        got.ids += memory->device_id;
    }
    for (size_t i = 0; i < events.count; i++) {
        if (events.category[i] == TP_EVENT_MEMCPY)
            got.copied += events.gpu[events.detail[i]].bytes;
    }
    cr_assert_eq(events.memory_count, sums->count);
    cr_assert(got.bytes == sums->bytes && got.types == sums->types &&
              got.ids == sums->ids);
    cr_assert_eq(got.allocated, sums->allocated);
    cr_assert_eq(got.reserved, sums->reserved);
    cr_assert_eq(got.addresses, sums->addresses);
    cr_assert_eq(got.copied, sums->copied);
    tp_events_clear(&events);
}

Test(trace_reader, arguments_of_own_traces)
{
    check_arguments(&arguments[0]);
    check_arguments(&arguments[1]);
}

Test(trace_reader, arguments_of_16)
{
    check_arguments(&arguments[2]);
}

Test(trace_reader, lanes_have_the_names_of_their_process)
{
    struct tp_events events = read_file("own/train.json.gz", 1);
    size_t streams = 0;
    for (size_t i = 0; i < events.lane_count; i++) {
        const struct tp_lane *lane = &events.lanes[i];
        if (strcmp(tp_events_get(&events, lane->process_labels), "GPU 0") == 0)
            streams += !strncmp(tp_events_get(&events, lane->thread_name),
                                "stream 7", 8);
    }
    cr_assert_eq(streams, 1);
    tp_events_clear(&events);
}

/* What operators were given, under both names it had, as it stands in the
 * file; equal inputs are one text, and of what is no list nothing is kept. */
Test(trace_reader, inputs_of_operators)
{
#define OP(name, args) \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", \"pid\": " \
    "1, \"tid\": 1, \"ts\": 1, \"dur\": 1, \"args\": {" args "}}"
    static const char json[] =
        "[" OP("aten::add", "\"Input Dims\": [[1, 2], [1, 2]] ") ",\n"
        OP("aten::conv2d", "\"Input Dims\": [[4, 3], []], \"Input type\": "
                           "[\"float\"], \"Concrete Inputs\": [\"\", "
                           "\"a,]\"]") ",\n"
        OP("aten::linear", "\"Input dims\": [[1, 2], [1, 2]]") ",\n"
        OP("aten::copy_", "\"Input Strides\": [], \"Input Dims\": [\"\"]") ",\n"
        OP("aten::mse_loss", "\"Input type\": [\"float\"]") ",\n"
        OP("aten::addmm", "\"Input Dims\": \"none\", \"Bytes\": 3") "]";
#undef OP
#define END TP_INPUT_END
    static const struct {
        uint32_t event;
        const char *inputs;
    } expected[] = {
        {0, "[[1, 2], [1, 2]]" END END END},
        {1, "[[4, 3], []]" END "[\"float\"]" END END "[\"\", \"a,]\"]"},
        {2, "[[1, 2], [1, 2]]" END END END},
        {3, "[\"\"]" END END "[]" END}};
#undef END
    struct tp_text text = {0};
    tp_text_add(&text, "%s", json);
    struct tp_events whole = trace_events(text.data, text.length), pieces;
    cr_assert_eq(whole.op_input_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct tp_op_inputs *row = &whole.op_inputs[i];
        cr_expect_eq(row->event, expected[i].event, "%zu", i);
        cr_expect_str_eq(whole.inputs.texts[row->inputs], expected[i].inputs);
    }
    cr_expect_eq(whole.op_inputs[0].inputs, whole.op_inputs[2].inputs);
    cr_assert_eq(trace_read_as(text.data, text.length, 100, 1, &pieces),
                 TP_OK);
    trace_assert_same(&whole, &pieces);
    tp_events_clear(&whole);
    tp_events_clear(&pieces);
    tp_text_clear(&text);
}

/* --- names of files ----------------------------------------------------- */

Test(trace_reader, names_of_files)
{
    const char *worker;
    size_t length;
    int64_t span;
    cr_assert(tp_trace_is_name("a/worker0.1623143089861.pt.trace.json.gz"));
    cr_assert(tp_trace_is_name("x.json") && tp_trace_is_name("x.json.tmp"));
    cr_assert(!tp_trace_is_name("x.jsonl") && !tp_trace_is_name("x.gz"));
    tp_trace_name_parts("a/worker0.1623143089861.pt.trace.json.gz", &worker,
                        &length, &span);
    cr_assert(length == 7 && strncmp(worker, "worker0", 7) == 0);
    cr_assert_eq(span, INT64_C(1623143089861));
    tp_trace_name_parts("rank-0.Apr_03_18_51_38.1102.pt.trace.json", &worker,
                        &length, &span);
    cr_assert(length == 22 && span == 1102);
    tp_trace_name_parts("/x/host_12.pt.trace.json", &worker, &length, &span);
    cr_assert(length == 7 && span == -1);
    tp_trace_name_parts("/x/trace.json", &worker, &length, &span);
    cr_assert(length == 0 && span == -1);
}
