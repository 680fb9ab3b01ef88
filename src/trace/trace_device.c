/* SPDX-License-Identifier: MIT */
/*
 * What devices can do at most, by their makers' data sheets: dense products
 * (without sparsity) at boost clock, and the bandwidth of the memory. The name
 * that the driver gives, which traces hold in deviceProperties, is looked for
 * in the rows from the first on, so a row with more words comes before one with
 * fewer. Of AMD's devices of two dies the driver shows each die as a device,
 * and a row is one die.
 *
 * Rows were held against what others have written of the data sheets: tables of
 * torchtitan, Lightning, KernelBench and of agents for kernels, verda.com (B300
 * to B200), glennklockwood.com (B300, A100), notebookcheck.net (MI100),
 * waredb.com (RTX 4090), zangshuxian.com and willitrunai.com (H20) and pages of
 * dealers (L40, A40, MI250; fibermall.com for B300). What follows from units,
 * clock and the rate of the same chip is "computed": MI308X (80 units at 1.42
 * GHz), MI350X (256 at 2.2 GHz). Where no second source was found the row says
 * "not confirmed".
 *
 * Asking the driver (clock times units times width) would need the device; a
 * measured peak depends on power and cooling. So a share of a roof is one of
 * the data sheet: 60 to 80 % of it is what good kernels reach.
 */
#include "trace/trace_device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PEAKS(half, tf, whole, twice, eight, four, int_8)                 \
    {                                                                     \
        [TP_PRECISION_FP64] = (twice), [TP_PRECISION_FP32] = (whole),     \
        [TP_PRECISION_TF32] = (tf), [TP_PRECISION_FP16] = (half),         \
        [TP_PRECISION_BF16] = (half), [TP_PRECISION_FP8] = (eight),       \
        [TP_PRECISION_FP4] = (four), [TP_PRECISION_INT8] = (int_8),       \
    }
/* The first matrix cores of AMD: bf16 at half the rate of fp16. */
#define CDNA1_PEAKS(half, brain, whole, twice, int_8)                     \
    {                                                                     \
        [TP_PRECISION_FP64] = (twice), [TP_PRECISION_FP32] = (whole),     \
        [TP_PRECISION_FP16] = (half), [TP_PRECISION_BF16] = (brain),      \
        [TP_PRECISION_INT8] = (int_8),                                    \
    }
/* Devices before Ampere have no bf16. */
#define OLD_PEAKS(half, whole, twice)                                     \
    {                                                                     \
        [TP_PRECISION_FP64] = (twice), [TP_PRECISION_FP32] = (whole),     \
        [TP_PRECISION_FP16] = (half),                                     \
    }

const struct tp_device_roof tp_device_roofs[] = {
    {"GB300", "GB300", PEAKS(2500, 1250, 80, 1.3, 5000, 15000, 165), 80, 8000,
     "NVIDIA GB300 NVL72 data sheet"},
    {"B300", "B300", PEAKS(2250, 1125, 75, 1.25, 4500, 14000, 150), 75, 7700,
     "NVIDIA HGX B300 data sheet"},
    {"GB200", "GB200", PEAKS(2500, 1250, 80, 40, 5000, 10000, 5000), 80, 8000,
     "NVIDIA GB200 NVL72 data sheet, not confirmed"},
    {"B200", "B200", PEAKS(2250, 1125, 75, 37, 4500, 9000, 4500), 75, 7700,
     "NVIDIA HGX B200 data sheet"},
    {"GH200", "GH200", PEAKS(989.4, 494.7, 66.9, 66.9, 1978.9, 0, 1978.9),
     66.9, 4000, "NVIDIA GH200 data sheet, HBM3, bandwidth not confirmed"},
    {"H200 NVL", "H200&NVL", PEAKS(835.5, 417.5, 60, 60, 1670.5, 0, 1670.5),
     60, 4800, "NVIDIA H200 data sheet, NVL"},
    {"H200", "H200", PEAKS(989.4, 494.7, 66.9, 66.9, 1978.9, 0, 1978.9), 66.9,
     4800, "NVIDIA H200 data sheet, SXM"},
    {"H100 PCIe", "H100&PCIe", PEAKS(756, 378, 51.2, 51.2, 1513, 0, 1513),
     51.2, 2000, "NVIDIA H100 data sheet, PCIe"},
    {"H100 NVL", "H100&NVL", PEAKS(835.5, 417.5, 60, 60, 1670.5, 0, 1670.5),
     60, 3900, "NVIDIA H100 data sheet, NVL"},
    {"H100 SXM", "H100", PEAKS(989.4, 494.7, 66.9, 66.9, 1978.9, 0, 1978.9),
     66.9, 3350, "NVIDIA H100 data sheet, SXM"},
    {"H800", "H800", PEAKS(989.4, 494.7, 66.9, 1, 1978.9, 0, 1978.9), 66.9,
     3350, "as H100 SXM, with less fp64"},
    {"H20", "H20", PEAKS(148, 74, 44, 1, 296, 0, 296), 44, 4000,
     "NVIDIA H20 specification"},
    {"A100 SXM 80GB", "A100&80GB&SXM", PEAKS(312, 156, 19.5, 19.5, 0, 0, 624),
     19.5, 2039, "NVIDIA A100 data sheet"},
    {"A100 PCIe 80GB", "A100&80GB", PEAKS(312, 156, 19.5, 19.5, 0, 0, 624),
     19.5, 1935, "NVIDIA A100 data sheet"},
    {"A100 40GB", "A100", PEAKS(312, 156, 19.5, 19.5, 0, 0, 624), 19.5, 1555,
     "NVIDIA A100 data sheet"},
    {"A800", "A800", PEAKS(312, 156, 19.5, 19.5, 0, 0, 624), 19.5, 2039,
     "as A100 80GB"},
    {"L40S", "L40S", PEAKS(362, 183, 91.6, 1.4, 733, 0, 733), 91.6, 864,
     "NVIDIA L40S data sheet"},
    {"L40", "NVIDIA L40", PEAKS(181, 90.5, 90.5, 1.4, 362, 0, 362), 90.5,
     864, "NVIDIA L40 data sheet"},
    {"L4", "NVIDIA L4", PEAKS(121, 60, 30.3, 0.5, 242.5, 0, 242.5), 30.3, 300,
     "NVIDIA L4 data sheet"},
    {"A40", "NVIDIA A40", PEAKS(149.7, 74.8, 37.4, 0.6, 0, 0, 299.3), 37.4, 696,
     "NVIDIA A40 data sheet"},
    {"A10G", "A10G", PEAKS(70, 35, 31.2, 1, 0, 0, 140), 31.2, 600,
     "NVIDIA A10G specification, not confirmed"},
    {"A10", "NVIDIA A10", PEAKS(125, 62.5, 31.2, 1, 0, 0, 250), 31.2, 600,
     "NVIDIA A10 data sheet"},
    {"RTX 4090", "4090", PEAKS(165.2, 82.6, 82.6, 1.3, 330.3, 0, 660.6), 82.6,
     1008, "NVIDIA Ada architecture, fp32 accumulate"},
    {"RTX 3090", "3090", PEAKS(71, 35.6, 35.6, 0.6, 0, 0, 284), 35.6, 936,
     "NVIDIA GA102 architecture, fp32 accumulate"},
    {"RTX 2080 Ti", "2080 Ti", OLD_PEAKS(53.8, 13.4, 0.4), 13.4, 616,
     "NVIDIA Turing architecture, fp32 accumulate, not confirmed"},
    {"T4", "Tesla T4", OLD_PEAKS(65, 8.1, 0.25), 8.1, 320,
     "NVIDIA T4 data sheet"},
    {"V100 PCIe", "V100&PCIE|V100&PCIe", OLD_PEAKS(112, 14, 7), 14, 900,
     "NVIDIA V100 data sheet, PCIe"},
    {"V100 SXM", "V100", OLD_PEAKS(125, 15.7, 7.8), 15.7, 900,
     "NVIDIA V100 data sheet, NVLink"},
    {"P100", "P100|GP100", OLD_PEAKS(21.2, 10.6, 5.3), 10.6, 732,
     "NVIDIA P100 data sheet, NVLink, not confirmed"},
    {"MI355X", "MI355", PEAKS(2516.6, 0, 157.3, 78.6, 5033.2, 10066, 5033.2),
     157.3, 8000, "AMD Instinct MI355X data sheet"},
    {"MI350X", "MI350", PEAKS(2306.9, 0, 144.2, 72.1, 4614, 9227, 4614), 144.2,
     8000, "AMD Instinct MI350X data sheet, computed"},
    {"MI325X", "MI325",
     PEAKS(1307.4, 653.7, 163.4, 163.4, 2614.9, 0, 2614.9), 163.4, 6000,
     "AMD Instinct MI325X data sheet"},
    {"MI300X", "MI300X",
     PEAKS(1307.4, 653.7, 163.4, 163.4, 2614.9, 0, 2614.9), 163.4, 5300,
     "AMD Instinct MI300X data sheet"},
    {"MI308X", "MI308X", PEAKS(232.7, 116.3, 29.1, 29.1, 465.3, 0, 465.3), 29.1,
     5300, "AMD Instinct MI308X specification, computed"},
    {"MI300A", "MI300A", PEAKS(980.6, 490.3, 122.6, 122.6, 1961.2, 0, 1961.2),
     122.6, 5300, "AMD Instinct MI300A data sheet"},
    {"MI250X", "MI250X", PEAKS(191.5, 0, 47.9, 47.9, 0, 0, 191.5), 23.9, 1638,
     "AMD Instinct MI250X data sheet, one die of two"},
    {"MI250", "MI250", PEAKS(181.1, 0, 45.3, 45.3, 0, 0, 181.1), 22.6, 1638,
     "AMD Instinct MI250 data sheet, one die of two"},
    {"MI210", "MI210", PEAKS(181, 0, 45.3, 45.3, 0, 0, 181), 22.6, 1638,
     "AMD Instinct MI210 data sheet"},
    {"MI100", "MI100", CDNA1_PEAKS(184.6, 92.3, 46.1, 11.5, 184.6), 23.1, 1229,
     "AMD Instinct MI100 data sheet"},
    {NULL, NULL, {0}, 0, 0, NULL},
};

/* Whether all of the words of one alternative are in a name. */
static bool has_words(const char *name, const char *words, size_t length)
{
    char word[32];
    while (length > 0) {
        const size_t size = strcspn(words, "&|");
        const size_t used = size < length ? size : length;
        if (used >= sizeof word)
            return false;
        memcpy(word, words, used);
        word[used] = '\0';
        if (!strstr(name, word))
            return false;
        words += used + (used < length);
        length -= used + (used < length);
    }
    return true;
}

static bool matches(const struct tp_device_roof *row, const char *name)
{
    for (const char *at = row->matches; *at;) {
        const size_t length = strcspn(at, "|");
        if (has_words(name, at, length))
            return true;
        at += length + (at[length] == '|');
    }
    return false;
}

static bool is_same(const char *a, const char *b)
{
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Whether the text is somewhere in the name, in letters of any case. */
static bool is_part(const char *text, const char *name)
{
    const size_t length = strlen(text);
    for (; strlen(name) >= length; name++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) ==
                                 tolower((unsigned char)name[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

/* ": A, B" of the devices with the text in their name; "" without any. */
static void list_alike(const char *text, char *names, size_t size)
{
    size_t used = 0;
    *names = '\0';
    for (const struct tp_device_roof *row = tp_device_roofs; row->name; row++) {
        if (*text && used < size && is_part(text, row->name))
            used += (size_t)snprintf(names + used, size - used, "%s%s",
                                     used ? ", " : ": ", row->name);
    }
}

enum tp_status tp_roof_choose(struct tp_roof_choice *choice, const char *name,
                              struct tp_error *err)
{
    for (const struct tp_device_roof *row = tp_device_roofs; row->name; row++) {
        if (is_same(row->name, name)) {
            choice->device = row->name;
            return TP_OK;
        }
    }
    char names[256];
    list_alike(name, names, sizeof names);
    return tp_fail(err, TP_E_USAGE, -1,
                   "--gpu: no device \"%s\"; 'tprof-analyze list gpus' "
                   "shows them%s; --peak sets the roofs of others",
                   name, names);
}

static double *peak_of(struct tp_device_roof *roof, const char *name,
                       size_t length)
{
    if (length == strlen("bandwidth") && !strncmp(name, "bandwidth", length))
        return &roof->gbps;
    if (length == strlen("vector") && !strncmp(name, "vector", length))
        return &roof->vector_tflops;
    for (int i = TP_PRECISION_NONE + 1; i < TP_PRECISION_OTHER; i++) {
        const char *word = tp_precision_word((enum tp_precision)i);
        if (strlen(word) == length && !strncmp(name, word, length))
            return &roof->tflops[i];
    }
    return NULL;
}

enum tp_status tp_roof_set(struct tp_roof_choice *choice, const char *setting,
                           struct tp_error *err)
{
    const size_t length = strcspn(setting, "=");
    const char *value = setting[length] ? setting + length + 1 : "";
    double *peak = peak_of(&choice->peaks, setting, length);
    char *end;
    const double number = strtod(value, &end);
    if (!peak)
        return tp_fail(err, TP_E_USAGE, -1,
                       "--peak: no roof \"%.*s\"; there are fp64 fp32 tf32 "
                       "fp16 bf16 fp8 fp4 int8 vector (TFLOP/s) and "
                       "bandwidth (GB/s)",
                       (int)length, setting);
    if (!isdigit((unsigned char)*value) || *end || !(number > 0) ||
        !(number <= 1e9))
        return tp_fail(err, TP_E_USAGE, -1,
                       "--peak %.*s takes a number above 0, as in %.*s=1000",
                       (int)length, setting, (int)length, setting);
    *peak = number;
    return TP_OK;
}

struct tp_device_roof tp_roof_of(const char *name,
                                 const struct tp_roof_choice *choice)
{
    const struct tp_device_roof *row = tp_device_roofs;
    while (row->name && (choice->device ? strcmp(row->name, choice->device) != 0
                                        : !matches(row, name)))
        row++;
    struct tp_device_roof roof = *row;
    const struct tp_device_roof *said = &choice->peaks;
    roof.name = row->name ? row->name : "";
    for (int i = 0; i < TP_PRECISIONS; i++) {
        if (said->tflops[i] > 0)
            roof.tflops[i] = said->tflops[i];
    }
    if (said->tflops[TP_PRECISION_FP32] > 0)
        roof.vector_tflops = said->tflops[TP_PRECISION_FP32];
    if (said->vector_tflops > 0)
        roof.vector_tflops = said->vector_tflops;
    roof.gbps = said->gbps > 0 ? said->gbps : roof.gbps;
    return roof;
}
