/* SPDX-License-Identifier: MIT */
/* /roofline against the tables that TraceLens (AMD-AGI/TraceLens, MIT) keeps of
 * its own traces, tests/traces/h100/..._perf_report_csvs/unified_perf_summary
 * .csv, and by hand. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "tests/unit/support/trace_files.h"
#include "trace/trace_flops.h"

/* Inputs, operators, GFLOP and MB (2^20 bytes) of one, kernel time of all, us;
 * GFLOP below 0: TraceLens has no model; MB below 0: it does not know a type's
 * size. Its times are differences of large floats: a quarter of a nanosecond
 * to each end of a kernel. */
static const struct {
    const char *trace, *op, *dims;
    int64_t count;
    double gflops, mb, us;
} expected[] = {
#define T "15_bert_h100"
    {T, "aten::addmm", "[[512], [141, 512], [512, 512], [], []]", 17,
     0.0739968, 0.7763671875, 98.718017578125},
    {T, "aten::addmm", "[[30522], [141, 512], [512, 30522], [], []]", 1,
     4.41119205, 38.211021423339844, 41.280029296875},
    {T, "aten::_scaled_dot_product_flash_attention",
     "[[1, 8, 141, 64], [1, 8, 141, 64], [1, 8, 141, 64], [], [], [], []]", 4,
     0.040716288, 0.55078125, 37.408203125},
    {T, "aten::addmm", "[[512], [141, 2048], [2048, 512], [], []]", 4,
     0.295770624, 2.689453125, 33.089111328125},
    {T, "aten::layer_norm", "[[1, 141, 512], [], [512], [512], [], []]", 10,
     0.000364032, 0.28125, 30.912109375},
    {T, "aten::addmm", "[[2048], [141, 512], [512, 2048], [], []]", 4,
     0.2959872, 2.6923828125, 24.510986328125},
    {T, "aten::add", "[[1, 141, 512], [1, 141, 512], []]", 9, 7.2192e-05,
     0.4130859375, 14.752685546875},
    {T, "aten::gelu", "[[1, 141, 2048], []]", 4, -1, 0, 7.87060546875},
    {T, "aten::all", "[[1, 141]]", 1, -1, 0, 3.64794921875},
    {T, "aten::index_select", "[[512, 512], [], [141]]", 1, -1, 0,
     3.424072265625},
    {T, "aten::index_select", "[[2, 512], [], [141]]", 1, -1, 0,
     3.263916015625},
    {T, "aten::index_select", "[[30522, 512], [], [141]]", 1, -1, 0,
     3.135986328125},
    {T, "aten::_local_scalar_dense", "[[]]", 1, -1, 0, 2.239990234375},
    {T, "aten::eq", "[[1, 141], []]", 1, -1, 0, 1.760009765625},
    {T, "aten::gelu", "[[1, 141, 512], []]", 1, -1, 0, 1.72802734375},
    {T, "aten::add_", "[[1, 141, 512], [1, 141, 512], []]", 1, 7.2192e-05,
     0.4130859375, 1.696044921875},
#undef T
#define T "24_h100_timesformer"
    {T, "aten::_softmax", "[[8, 12, 3137, 3137], [], []]", 12, -1, 0,
     68688.62524414062},
    {T, "aten::bmm", "[[96, 3137, 64], [96, 64, 3137]]", 12, 120.923369472,
     1875.4220581054688, 22819.5283203125},
    {T, "aten::bmm", "[[96, 3137, 3137], [96, 3137, 64]]", 12, 120.923369472,
     1875.4220581054688, 20388.114013671875},
    {T, "aten::mul", "[[8, 12, 3137, 3137], []]", 12, 0.944713824,
     3603.797248840332, 15495.24365234375},
    {T, "aten::copy_", "[[1, 128, 3, 224, 224], [1, 128, 3, 224, 224], []]", 1,
     0.019267584, 73.5, 3461.35791015625},
    {T, "aten::addmm", "[[3072], [25089, 768], [768, 3072], [], []]", 12,
     118.461828096, 188.26318359375, 1977.749267578125},
    {T, "aten::addmm", "[[768], [25089, 3072], [3072, 768], [], []]", 12,
     118.40402304, 188.2587890625, 1904.562255859375},
    {T, "aten::copy_", "[[8, 12, 64, 3137], [8, 12, 64, 3137], []]", 12,
     0.019273728, 73.5234375, 1846.00732421875},
    {T, "aten::gelu", "[[1, 25089, 3072], []]", 12, -1, 0, 1534.199951171875},
    {T, "aten::addmm", "[[2304], [25096, 768], [768, 2304], [], []]", 12,
     88.871159808, 150.42626953125, 1511.800537109375},
    {T, "aten::addmm", "[[2304], [25088, 768], [768, 2304], [], []]", 12,
     88.842829824, 150.37939453125, 1478.551513671875},
    {T, "aten::copy_", "[[8, 12, 3137, 64], [8, 12, 3137, 64], []]", 24,
     0.019273728, 73.5234375, 1418.552},
    {T, "aten::copy_", "[[3136, 12, 8, 64], [3136, 12, 8, 64], []]", 24,
     0.019267584, 73.5, 1400.504},
    {T, "aten::bmm", "[[37632, 8, 8], [37632, 8, 64]]", 12, 0.308281344,
     78.09375, 1300.50390625},
    {T, "aten::convolution",
     "[[128, 3, 224, 224], [768, 3, 16, 16], [768], [], [], [], [], [], []]", 1,
     29.595009024, 74.625, 1297.9140625},
    {T, "aten::cat", "[[[8, 1, 768], [8, 3136, 768]], []]", 12, -1, 0,
     1140.858154296875},
    {T, "aten::addmm", "[[768], [25088, 768], [768, 768], [], []]", 24,
     29.614276608, 74.62646484375, 1124.541259765625},
    {T, "aten::add", "[[1, 25089, 768], [1, 25089, 768], []]", 24, 0.019268352,
     110.25439453125, 891.773681640625},
    {T, "aten::cat", "[[[1, 1, 768], [1, 25088, 768]], []]", 12, -1, 0,
     857.1787109375},
    {T, "aten::cat", "[[[1, 1, 768], [1, 25088, 768]], []]", 12, -1, 0,
     852.02587890625},
    {T, "aten::layer_norm", "[[1, 25089, 768], [], [768], [768], [], []]", 13,
     0.096346368, 73.51171875, 776.0615234375},
    {T, "aten::layer_norm", "[[3136, 8, 768], [], [768], [768], [], []]", 12,
     0.096342528, 73.5087890625, 715.165771484375},
    {T, "aten::layer_norm", "[[8, 3137, 768], [], [768], [768], [], []]", 12,
     0.096373248, 73.5322265625, 711.4208984375},
    {T, "aten::copy_", "[[3136, 8, 12, 64], [3136, 8, 12, 64], []]", 12,
     0.019267584, 73.5, 686.843994140625},
    {T, "aten::copy_", "[[8, 3137, 12, 64], [8, 3137, 12, 64], []]", 12,
     0.019273728, 73.5234375, 678.14013671875},
    {T, "aten::copy_", "[[1, 224, 14, 8, 768], [1, 224, 14, 8, 768], []]", 12,
     0.019267584, 73.5, 637.94921875},
    {T, "aten::copy_", "[[3136, 12, 64, 8], [3136, 12, 64, 8], []]", 12,
     0.019267584, 73.5, 612.697998046875},
    {T, "aten::addmm", "[[768], [25096, 768], [768, 768], [], []]", 12,
     29.623719936, 74.64990234375, 567.6142578125},
    {T, "aten::bmm", "[[37632, 8, 64], [37632, 64, 8]]", 12, 0.308281344,
     78.09375, 490.207275390625},
    {T, "aten::add", "[[1, 25088, 768], [1, 25088, 768], []]", 12, 0.019267584,
     110.25, 468.605224609375},
    {T, "aten::cat", "[[[128, 1, 768], [128, 196, 768]], []]", 1, -1, 0,
     161.31103515625},
    {T, "aten::_softmax", "[[3136, 12, 8, 8], [], []]", 12, -1, 0,
     92.671142578125},
    {T, "aten::add", "[[196, 128, 768], [1, 128, 768], []]", 1, 0.019267584,
     73.6875, 86.080078125},
    {T, "aten::cat", "[[[1, 1, 768], [1, 25088, 768]], []]", 1, -1, 0,
     71.742919921875},
    {T, "aten::mean", "[[1, 8, 768], [], [], []]", 12, 6.144e-06,
     0.011720657348632812, 64.992431640625},
    {T, "aten::mul", "[[3136, 12, 8, 8], []]", 12, 0.002408448,
     9.187507629394531, 60.543701171875},
    {T, "aten::add", "[[128, 197, 768], [1, 197, 768], []]", 1, 0.019365888,
     74.16357421875, 53.98291015625},
    {T, "aten::copy_", "[[1, 196, 128, 768], [1, 196, 128, 768], []]", 1,
     0.019267584, 73.5, 51.743896484375},
    {T, "aten::copy_", "[[1, 8, 1, 1, 1, 768], [1, 8, 1, 1, 1, 768], []]", 12,
     6.144e-06, 0.0234375, 41.664306640625},
    {T, "aten::upsample_nearest1d", "[[1, 768, 8], [], []]", 1, -1, 0,
     6.303955078125},
    {T, "aten::addmm", "[[400], [1, 768], [768, 400], [], []]", 1, 0.0006148,
     0.58892822265625, 5.055908203125},
    {T, "aten::copy_", "[[1, 400], [1, 400], []]", 1, 4e-07,
     0.00152587890625, 2.783935546875},
#undef T
#define T "16_owlv2_h100"
    {T, "aten::_softmax", "[[16, 5185, 5185], [], []]", 120, -1, 0,
     262422.46728515625},
    {T, "aten::bmm", "[[16, 5185, 64], [16, 64, 5185]]", 120, 55.0588928,
     840.6953430175781, 130015.70043945312},
    {T, "aten::bmm", "[[16, 5185, 5185], [16, 5185, 64]]", 120, 55.0588928,
     840.6953430175781, 99311.41186523438},
    {T, "aten::addmm", "[[1024], [5185, 1024], [1024, 1024], [], []]", 480,
     10.87904256, 22.255859375, 10485.1943359375},
    {T, "aten::copy_", "[[1, 5184, 768], [1, 5184, 768], []]", 5, 0.003981312,
     15.1875, 8133.55419921875},
    {T, "aten::addmm", "[[1024], [5185, 4096], [4096, 1024], [], []]", 120,
     43.50024192, 58.63671875, 7882.350830078125},
    {T, "aten::addmm", "[[4096], [5185, 1024], [1024, 4096], [], []]", 120,
     43.51617024, 58.642578125, 7000.659423828125},
    {T, "aten::mul", "[[1, 5185, 4096], [1, 5185, 4096]]", 120, 0.02123776,
     121.5234375, 5223.730712890625},
    {T, "aten::copy_", "[[1, 16, 5185, 64], [1, 16, 5185, 64], []]", 360,
     0.00530944, 20.25390625, 5038.033935546875},
    {T, "aten::sigmoid", "[[1, 5185, 4096]]", 120, 0.02123776, 81.015625,
     3988.49609375},
    {T, "aten::layer_norm", "[[1, 5185, 1024], [], [1024], [1024], [], []]",
     250, 0.026553344, 20.265625, 3701.08056640625},
    {T, "aten::mul", "[[1, 5185, 4096], []]", 120, 0.02123776,
     81.01563262939453, 3687.3251953125},
    {T, "aten::copy_", "[[1, 72, 72, 1024], [1, 72, 72, 1024], []]", 5,
     0.005308416, 20.25, 2338.7607421875},
    {T, "aten::copy_", "[[1, 5185, 1024], [1, 5185, 1024], []]", 5, 0.00530944,
     20.25390625, 2324.394287109375},
    {T, "aten::add", "[[1, 5185, 1024], [1, 5185, 1024], []]", 245, 0.00530944,
     30.380859375, 2317.359130859375},
    {T, "aten::copy_", "[[1, 5185, 16, 64], [1, 5185, 16, 64], []]", 120,
     0.00530944, 20.25390625, 1873.832763671875},
    {T, "aten::copy_", "[[1, 3, 1008, 1008], [1, 3, 1008, 1008], []]", 5,
     0.003048192, 11.6279296875, 1627.9521484375},
    {T, "aten::addmm", "[[768], [5, 768], [768, 768], [], []]", 240,
     0.00590208, 1.14111328125, 1579.853515625},
    {T, "aten::convolution",
     "[[1, 3, 1008, 1008], [1024, 3, 14, 14], [], [], [], [], [], [], []]", 5,
     6.242697216, 17.08740234375, 1350.803955078125},
    {T, "aten::mul", "[[1, 5185, 1024], []]", 120, 0.00530944,
     20.25391387939453, 934.8056640625},
    {T, "aten::addmm", "[[768], [5, 3072], [3072, 768], [], []]", 60,
     0.0235968, 4.5380859375, 525.840087890625},
    {T, "aten::copy_", "[[1, 12, 5, 64], [1, 12, 5, 64], []]", 180, 3.84e-06,
     0.0146484375, 457.912109375},
    {T, "aten::layer_norm", "[[1, 5, 768], [], [768], [768], [], []]", 125,
     2.3808e-05, 0.0234375, 451.14013671875},
    {T, "aten::addmm", "[[1024], [5184, 1024], [1024, 1024], [], []]", 20,
     10.876944384, 22.251953125, 431.96435546875},
    {T, "aten::addmm", "[[3072], [5, 768], [768, 3072], [], []]", 60,
     0.02360832, 4.54248046875, 422.845703125},
    {T, "aten::add", "[[1, 12, 5, 5], [1, 1, 5, 5], []]", 120, 3e-07,
     0.0011920928955078125, 287.135009765625},
    {T, "aten::cat", "[[[1, 1, 1024], [1, 5184, 1024]], []]", 5, -1, 0,
     219.805908203125},
    {T, "aten::index_select", "[[5185, 1024], [], [5185]]", 5, -1, 0,
     195.071044921875},
    {T, "aten::add", "[[1, 5, 768], [1, 5, 768], []]", 125, 3.84e-06,
     0.02197265625, 187.74658203125},
    {T, "aten::bmm", "[[12, 5, 64], [12, 64, 5]]", 60, 3.84e-05,
     0.01522064208984375, 185.697509765625},
    {T, "aten::gelu", "[[1, 5184, 1024], []]", 20, -1, 0, 176.7685546875},
    {T, "aten::bmm", "[[12, 5, 5], [12, 5, 64]]", 60, 3.84e-05,
     0.01522064208984375, 167.423828125},
    {T, "aten::copy_", "[[1, 5, 12, 64], [1, 5, 12, 64], []]", 60, 3.84e-06,
     0.0146484375, 163.1708984375},
    {T, "aten::addmm", "[[1], [5184, 1024], [1024, 1], [], []]", 15,
     0.010622016, 10.136842727661133, 118.271484375},
    {T, "aten::_softmax", "[[12, 5, 5], [], []]", 60, -1, 0,
     115.748779296875},
    {T, "aten::sigmoid", "[[1, 5, 3072]]", 60, 1.536e-05, 0.05859375,
     105.02197265625},
    {T, "aten::mul", "[[1, 5, 3072], []]", 60, 1.536e-05, 0.05860137939453125,
     94.080322265625},
    {T, "aten::mul", "[[1, 5, 3072], [1, 5, 3072]]", 60, 1.536e-05,
     0.087890625, 89.14208984375},
    {T, "aten::addmm", "[[768], [5184, 1024], [1024, 768], [], []]", 5,
     8.157708288, 19.22021484375, 86.781982421875},
    {T, "aten::mul", "[[1, 5, 768], []]", 60, 3.84e-06, 0.01465606689453125,
     86.493408203125},
    {T, "aten::layer_norm", "[[1, 5184, 1024], [], [1024], [1024], [], []]", 5,
     0.026548224, 20.26171875, 70.462890625},
    {T, "aten::mul", "[[1, 5184, 1024], [1, 5184, 1024]]", 5, 0.005308416,
     30.375, 65.40673828125},
    {T, "aten::div", "[[1, 5184, 768], [1, 5184, 1]]", 5, 0.003981312,
     15.1973876953125, 57.631103515625},
    {T, "aten::addmm", "[[4], [5184, 1024], [1024, 4], [], []]", 5,
     0.042488064, 10.172370910644531, 56.542724609375},
    {T, "aten::linalg_vector_norm", "[[1, 768], [], [], [], []]", 10, -1, 0,
     31.74267578125},
    {T, "aten::index_select", "[[49408, 768], [], [5]]", 5, -1, 0,
     28.159912109375},
    {T, "aten::div", "[[1, 768], [1, 1]]", 10, 7.68e-07, 0.0029315948486328125,
     26.68701171875},
    {T, "aten::index_select", "[[16, 768], [], [5]]", 5, -1, 0,
     26.463134765625},
    {T, "aten::linalg_vector_norm", "[[1, 5184, 768], [], [], [], []]", 5, -1,
     0, 24.703857421875},
    {T, "aten::bmm", "[[1, 5184, 768], [1, 768, 1]]", 5, 0.007962624,
     7.6051025390625, 23.615234375},
    {T, "aten::mm", "[[1, 768], [768, 1]]", 5, 1.536e-06,
     0.0029315948486328125, 23.326416015625},
    {T, "aten::index", "[[1, 5, 768], []]", 5, -1, 0, 22.176025390625},
    /* 0.19775390625 there, as if the sum were fp32: it is written over the
     * bf16. */
    {T, "aten::add_", "[[1, 5184, 4], [5184, 4], []]", 5, 2.0736e-05,
     0.158203125, 22.14404296875},
    {T, "aten::copy_", "[[5184, 4], [5184, 4], []]", 5, 2.0736e-05,
     0.158203125, 20.2548828125},
    {T, "aten::layer_norm", "[[1, 1024], [], [1024], [1024], [], []]", 5,
     1.1264e-05, 0.015625, 20.128173828125},
    {T, "aten::mm", "[[1, 768], [768, 768]]", 5, 0.001179648, 1.1279296875,
     18.78369140625},
    {T, "aten::argmax", "[[1, 5], [], []]", 5, -1, 0, 18.527099609375},
    {T, "aten::mm", "[[1, 1024], [1024, 768]]", 5, 0.001572864, 1.50341796875,
     17.91796875},
    {T, "aten::copy_", "[[1, 2], [1, 2], []]", 10, 2e-09, -1, 17.440185546875},
    {T, "aten::linalg_vector_norm", "[[1, 1, 768], [], [], [], []]", 5, -1, 0,
     15.936279296875},
    {T, "aten::copy_", "[[1, 5184, 4], [1, 5184, 4], []]", 5, 2.0736e-05,
     0.0791015625, 14.718505859375},
    {T, "aten::where", "[[1, 1, 1], [], [1, 5184, 1]]", 5, -1, 0,
     14.657470703125},
    {T, "aten::div", "[[1, 1, 768], [1, 1, 1]]", 5, 7.68e-07,
     0.0029315948486328125, 14.56005859375},
    {T, "aten::copy_", "[[1, 5184, 1], [1, 5184, 1], []]", 5, 5.184e-06,
     0.03955078125, 14.49609375},
    {T, "aten::copy_", "[[1, 5184, 1], [1, 5184, 1], []]", 5, 5.184e-06,
     0.0296630859375, 13.984619140625},
    {T, "aten::copy_", "[[1, 5184], [1, 5184], []]", 5, 5.184e-06,
     0.019775390625, 13.471923828125},
    {T, "aten::copy_", "[[1, 5, 768], [1, 5, 768], []]", 5, 3.84e-06,
     0.0146484375, 13.406982421875},
    {T, "aten::copy_", "[[1, 1024], [1, 1024], []]", 5, 1.024e-06, 0.00390625,
     13.344970703125},
    {T, "aten::copy_", "[[1, 1, 5, 5], [1, 1, 5, 5], []]", 5, 2.5e-08,
     0.0002384185791015625, 12.222900390625},
    {T, "aten::copy_", "[[1, 1, 768], [1, 1, 768], []]", 5, 7.68e-07,
     0.0029296875, 11.90380859375},
    {T, "aten::copy_", "[[1, 768], [1, 768], []]", 5, 7.68e-07, 0.0029296875,
     11.90380859375},
    {T, "aten::lt", "[[5], [5, 1]]", 5, -1, 0, 10.686767578125},
    {T, "aten::eq", "[[1, 1, 1], []]", 5, -1, 0, 10.04833984375},
    {T, "aten::gt", "[[1, 1], []]", 5, -1, 0, 9.2470703125},
    {T, "aten::sigmoid", "[[1, 5184, 4]]", 5, 2.0736e-05, 0.0791015625,
     8.89599609375},
    {T, "aten::add", "[[1, 1, 1], [], []]", 5, 1e-09, 1.1444091796875e-05,
     8.799072265625},
    {T, "aten::copy_", "[[1, 1, 5, 5], [1, 1, 5, 5], []]", 5, 2.5e-08, -1,
     8.76904296875},
    {T, "aten::copy_", "[[1, 5], [1, 5], []]", 5, 5e-09, -1, 8.64013671875},
    {T, "aten::elu", "[[1, 5184, 1], [], [], []]", 5, -1, 0, 8.479248046875},
    {T, "aten::exp", "[[]]", 5, -1, 0, 8.447265625},
    {T, "aten::add", "[[1, 5184, 1], [], []]", 5, 5.184e-06,
     0.01978302001953125, 8.03125},
    {T, "aten::copy_", "[[1, 5], [1, 5], []]", 10, 5e-09, 7.62939453125e-05,
     7.968505859375},
    {T, "aten::add", "[[1, 5184, 1], [1, 5184, 1], []]", 5, 5.184e-06,
     0.0296630859375, 7.872314453125},
    {T, "aten::add", "[[5], [], []]", 5, 5e-09, 8.392333984375e-05,
     7.744140625},
    {T, "aten::masked_fill_", "[[5, 5], [5, 5], []]", 5, -1, 0, 7.45361328125},
    {T, "aten::mul", "[[1, 5184, 1], [1, 5184, 1]]", 5, 5.184e-06,
     0.0296630859375, 7.424560546875},
    {T, "aten::add", "[[1, 5184, 1], [], []]", 5, 5.184e-06,
     0.01978302001953125, 7.2646484375},
    {T, "aten::masked_fill_", "[[1, 1, 5, 5], [1, 1, 5, 5], []]", 5, -1, 0,
     7.1337890625},
    {T, "aten::arange", "[[], [], [], [0]]", 5, -1, 0, 7.10400390625},
    {T, "aten::sub", "[[], [1, 1, 5, 5], []]", 5, -1, 0, 7.0400390625},
    {T, "aten::copy_", "[[5, 5], [5, 5], []]", 5, 2.5e-08,
     0.0001430511474609375, 7.0087890625},
    {T, "aten::fill_", "[[5, 5], []]", 5, -1, 0, 7.0078125},
    {T, "aten::mul", "[[1, 1], []]", 5, 1e-09, 5.7220458984375e-06, 7.0078125},
    {T, "aten::copy_", "[[1, 1, 5, 5], [1, 1, 5, 5], []]", 5, 2.5e-08,
     9.5367431640625e-05, 6.68798828125},
    {T, "aten::arange", "[[], [], [], [0]]", 5, -1, 0, 6.17626953125},
    {T, "aten::fill_", "[[], []]", 5, -1, 0, 5.984375},
#undef T
};

/* "[[5, 2], []]" of "bf16[5, 2]/[1, 5], 1": what TraceLens shows. */
static const char *dims_of(const char *inputs, char *dims)
{
    char *to = dims;
    int depth = 0;
    bool any = false, strides = false;
    *to++ = '[';
    for (const char *at = inputs;; at++) {
        if (depth == 0 && *at == '[' && at[1] != '[' &&
            (at == inputs || at[-1] == ' '))
            strides = true; /* a value, as it has no type */
        depth += *at == '[';
        if (depth == 0 && (*at == ',' || *at == '\0')) {
            to = any ? to : strcpy(to, "[]") + 2;
            if (*at == '\0')
                break;
            to = strcpy(to, ", ") + 2;
            any = strides = false;
        } else if (depth == 0) {
            strides |= *at == '/';
        } else if (!strides) {
            any = true;
            *to++ = *at;
        }
        depth -= *at == ']';
    }
    strcpy(to, "]");
    return dims;
}

/* The row with these inputs and this time, and not another one: half a
 * nanosecond a call. */
static const struct tp_roof_row *find(const struct tp_trace *trace, size_t i)
{
    const struct tp_roof_row *found = NULL;
    for (size_t j = 0; j < trace->roofline.count; j++) {
        const struct tp_roof_row *row = &trace->roofline.rows[j];
        char dims[512];
        if (strcmp(row->op, expected[i].op) ||
            strcmp(dims_of(row->inputs, dims), expected[i].dims) ||
            fabs(row->device_us - expected[i].us) >
                0.0005 * (double)expected[i].count)
            continue;
        cr_expect_null(found, "two rows for %s %s", row->op, row->inputs);
        found = row;
    }
    return found;
}

static void check_trace(const char *name, const char *file, size_t all)
{
    char path[200];
    struct tp_trace trace;
    size_t rows = 0;
    snprintf(path, sizeof path, "%s/%s", name, file);
    trace_file_read(path, &trace);
    cr_assert_eq(tp_trace_roofline(&trace, NULL), TP_OK);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (strcmp(expected[i].trace, name))
            continue;
        const struct tp_roof_row *row = find(&trace, i);
        cr_assert_not_null(row, "%s: no row %s %s of %g us", name,
                           expected[i].op, expected[i].dims, expected[i].us);
        rows++;
        cr_expect_eq(row->count, expected[i].count, "%s %s", row->op,
                     row->inputs);
        if (expected[i].gflops < 0)
            continue;
        cr_expect_float_eq(row->flops / 1e9, expected[i].gflops,
                           1e-12 * expected[i].gflops, "%s %s: %.17g", row->op,
                           row->inputs, row->flops);
        if (expected[i].mb < 0)
            continue;
        cr_expect_float_eq(row->bytes / 1048576, expected[i].mb,
                           1e-12 * expected[i].mb, "%s %s: %.17g", row->op,
                           row->inputs, row->bytes);
    }
    cr_expect(rows == all && trace.roofline.count == all,
              "%zu rows, of %zu", rows, trace.roofline.count);
    cr_expect_str_eq(trace.device.name, "H100 SXM");
    trace_file_close(&trace);
}

Test(trace_roofline, tracelens_bert)
{
    check_trace("15_bert_h100", "gaunernst_bert-small-uncased__1016001.json.gz",
                16);
}

Test(trace_roofline, tracelens_timesformer)
{
    check_trace("24_h100_timesformer",
                "facebook_timesformer-base-finetuned-k400__1016002.json.gz",
                42);
}

Test(trace_roofline, tracelens_owlv2)
{
    check_trace("16_owlv2_h100",
                "google_owlv2-large-patch14-ensemble__1016001.json.gz", 96);
}

/* --- by hand ------------------------------------------------------------ */

#define HEAD(device)                                                          \
    "{\"deviceProperties\": [{\"id\": 0, \"name\": \"" device "\"}], "     \
    "\"traceEvents\": [\n"
#define OP(name, ts, dur, args)                                               \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"" name "\", "           \
    "\"pid\": 1, \"tid\": 1, \"ts\": " #ts ", \"dur\": " #dur                 \
    ", \"args\": {" args "}},\n"
#define RUN(kernel, id, ts, dur, more)                                        \
    "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "                   \
    "\"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1, \"ts\": " #ts              \
    ", \"dur\": 1, \"args\": {\"correlation\": " #id "}},\n"                  \
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"" kernel                \
    "\", \"pid\": 0, \"tid\": 7, \"ts\": " #ts "0, \"dur\": " #dur            \
    ", \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": " #id more   \
    "}},\n"
#define TAIL "{}]}"
#define MM "\"Input Dims\": [[1024, 2048], [2048, 512]], \"Input type\": "

static const struct tp_roof_row *only_row(struct tp_trace *trace,
                                          const char *json)
{
    trace_text_read(json, trace);
    cr_assert_eq(tp_trace_roofline(trace, NULL), TP_OK);
    cr_assert_eq(trace->roofline.count, 1);
    return &trace->roofline.rows[0];
}

/* 2 * 1024 * 2048 * 512 FLOP in 10 us on an A100: 214.7 TFLOP/s of 312. */
Test(trace_roofline, roof_of_a_product)
{
    struct tp_trace trace;
    const struct tp_roof_row *row = only_row(
        &trace,
        HEAD("NVIDIA A100-SXM4-80GB")
            OP("aten::mm", 10, 20, MM "[\"c10::Half\", \"c10::Half\"]")
                RUN("ampere_fp16_s16816gemm_fp16_128x128", 1, 12, 10,
                    ", \"blocks per SM\": 0.5, "
                    "\"est. achieved occupancy %\": 25") TAIL);
    cr_expect_str_eq(trace.device.name, "A100 SXM 80GB");
    cr_expect_str_eq(row->kind, "gemm");
    cr_expect_str_eq(row->precision, "fp16");
    cr_expect_str_eq(row->tensor_cores, "yes");
    cr_expect_str_eq(row->bound, "compute");
    cr_expect_float_eq(row->tflops, 2147483648. / 10 / 1e6, 1e-9);
    cr_expect_float_eq(row->gbps, 2 * (2097152. + 1048576 + 524288) / 10e3,
                       1e-9);
    cr_expect_float_eq(row->roof_us, 2147483648. / 312e6, 1e-9);
    cr_expect_float_eq(row->roof, row->roof_us / 10, 1e-12);
    cr_expect_float_eq(row->above_us, 10 - row->roof_us, 1e-9);
    cr_expect_float_eq(row->sm_efficiency, 50, 1e-9);
    cr_expect_float_eq(row->occupancy, 25, 1e-9);
    cr_expect_eq(row->alignment, 64);
    cr_expect_float_eq(row->share, 1, 1e-12);
    trace_file_close(&trace);
}

/* The same faster than an A100 can be, and a sum of two tensors that may have
 * lain in its cache, or are too large for that. */
Test(trace_roofline, faster_than_the_roof)
{
#define SUM(n, us)                                                            \
    HEAD("NVIDIA A100-SXM4-80GB")                                             \
    OP("aten::add", 10, 20,                                                   \
       "\"Input Dims\": [[" #n "], [" #n "], []], \"Input type\": "           \
       "[\"float\", \"float\", \"Scalar\"]")                                  \
    RUN("vectorized_elementwise_kernel", 1, 12, us, "") TAIL
#define PRODUCT(us)                                                           \
    HEAD("NVIDIA A100-SXM4-80GB")                                             \
    OP("aten::mm", 10, 20, MM "[\"c10::Half\", \"c10::Half\"]")               \
    RUN("ampere_fp16_s16816gemm_fp16_128x128", 1, 12, us, "") TAIL
/* 64 of 3x3 over 56x56, 64 pictures: 14.8 GFLOP, in 500 us */
#define CONVOLVE(kernel)                                                      \
    HEAD("NVIDIA A100-SXM4-80GB")                                             \
    OP("aten::convolution", 10, 20,                                           \
       "\"Input Dims\": [[64, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], "  \
       "[], [], []], \"Input type\": [\"float\", \"float\", \"\", "           \
       "\"ScalarList\", \"ScalarList\", \"ScalarList\", \"Scalar\", "         \
       "\"ScalarList\", \"Scalar\"], \"Concrete Inputs\": [\"\", \"\", "      \
       "\"\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"False\", \"[0, 0]\", "    \
       "\"1\"]")                                                              \
    RUN(kernel, 1, 12, 500, "") TAIL
    static const struct {
        const char *json, *doubt;
        double roof;
    } cases[] = {
        {PRODUCT(10), "", 0.688},
        {PRODUCT(6.7), "", 1.027}, /* clocks and rounding */
        {PRODUCT(5), "inputs", 1.377},
        {CONVOLVE("volta_scudnn_128x64_relu"), "inputs", 1.518},
        {CONVOLVE("volta_scudnn_winograd_128x128_tile148t"), "algorithm",
         1.518},
        {SUM(1000000, 6), "", 0.981},
        {SUM(1000000, 3), "cache", 1.962},     /* 12 MB */
        {SUM(100000000, 300), "inputs", 1.962}, /* 1.2 GB */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tp_trace trace;
        const struct tp_roof_row *row = only_row(&trace, cases[i].json);
        cr_expect_str_eq(row->doubt, cases[i].doubt, "%zu: %s, %g", i,
                         row->doubt, row->roof);
        cr_expect_float_eq(row->roof, cases[i].roof, 0.001, "%zu: %g", i,
                           row->roof);
        trace_file_close(&trace);
    }
#undef SUM
#undef PRODUCT
#undef CONVOLVE
}

/* fp32 has the roof of fp32, or of TF32 where tensor cores were used. */
Test(trace_roofline, precision_of_fp32)
{
    struct tp_trace trace;
    const struct tp_roof_row *row = only_row(
        &trace, HEAD("NVIDIA A100-SXM4-80GB")
                    OP("aten::mm", 10, 20, MM "[\"float\", \"float\"]")
                        RUN("ampere_sgemm_128x64_nn", 1, 12, 200, "") TAIL);
    cr_expect_str_eq(row->precision, "fp32");
    cr_expect_str_eq(row->tensor_cores, "no");
    cr_expect_float_eq(row->roof_us, 2147483648. / 19.5e6, 1e-9);
    trace_file_close(&trace);
    row = only_row(&trace,
                   HEAD("NVIDIA A100-SXM4-80GB")
                       OP("aten::mm", 10, 20, MM "[\"float\", \"float\"]")
                           RUN("cutlass_80_tensorop_s1688gemm_128x128", 1, 12,
                               200, "") TAIL);
    cr_expect_str_eq(row->precision, "tf32");
    cr_expect_float_eq(row->roof_us, 2147483648. / 156e6, 1e-9);
    trace_file_close(&trace);
}

/* Whole microseconds may be none at all: no rate, no share. */
Test(trace_roofline, no_time)
{
    struct tp_trace trace;
    const struct tp_roof_row *row = only_row(
        &trace, HEAD("NVIDIA A100-SXM4-80GB")
                    OP("aten::mm", 10, 20, MM "[\"float\", \"float\"]")
                        RUN("ampere_sgemm_128x64_nn", 1, 12, 0, "") TAIL);
    cr_expect(isnan(row->roof) && isnan(row->tflops) && isnan(row->gbps));
    cr_expect(row->above_us == 0 && row->flops > 0);
    trace_file_close(&trace);
}

/* A device that nobody knows has no roof; one that was named has. */
Test(trace_roofline, roofs_of_the_user)
{
    static const char json[] = HEAD("Test GPU")
        OP("aten::mm", 10, 20, MM "[\"float\", \"float\"]")
            RUN("some_kernel", 1, 12, 200, "") TAIL;
    struct tp_trace trace;
    struct tp_error err = {0};
    struct tp_roof_choice choice = {0};
    const struct tp_roof_row *row = only_row(&trace, json);
    cr_expect_str_eq(trace.device.name, "");
    cr_expect(isnan(row->roof_us) && isnan(row->roof) && row->tflops > 0);
    cr_expect_str_eq(row->bound, "");
    trace_file_close(&trace);
    cr_assert_eq(tp_roof_choose(&choice, "a100 sxm 80gb", &err), TP_OK);
    cr_assert_eq(tp_roof_set(&choice, "fp32=10", &err), TP_OK);
    cr_assert_eq(tp_roof_set(&choice, "bandwidth=1000", &err), TP_OK);
    trace_text_read(json, &trace);
    trace.roofs = choice;
    cr_assert_eq(tp_trace_roofline(&trace, NULL), TP_OK);
    cr_expect_float_eq(trace.roofline.rows[0].roof_us, 2147483648. / 10e6,
                       1e-9);
    cr_expect_eq(trace.device.tflops[TP_PRECISION_BF16], 312);
    trace_file_close(&trace);
    cr_expect_eq(tp_roof_choose(&choice, "A100", &err), TP_E_USAGE);
    cr_expect_eq(tp_roof_set(&choice, "fp99=1", &err), TP_E_USAGE);
    cr_expect_eq(tp_roof_set(&choice, "fp16", &err), TP_E_USAGE);
    cr_expect_eq(tp_roof_set(&choice, "fp16=-1", &err), TP_E_USAGE);
    cr_expect_eq(tp_roof_set(&choice, "fp16=nan", &err), TP_E_USAGE);
}

/* Names that drivers give; of several rows the one that is meant. */
Test(trace_roofline, names_of_devices)
{
    static const char *const names[][2] = {
        {"Tesla V100-DGXS-32GB", "V100 SXM"},
        {"Tesla V100-PCIE-16GB", "V100 PCIe"},
        {"NVIDIA A100-SXM4-40GB", "A100 40GB"},
        {"NVIDIA A100 80GB PCIe", "A100 PCIe 80GB"},
        {"NVIDIA H100 80GB HBM3", "H100 SXM"},
        {"NVIDIA H100 PCIe", "H100 PCIe"},
        {"NVIDIA H100 NVL", "H100 NVL"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA H200 NVL", "H200 NVL"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA H20", "H20"},
        {"NVIDIA B200", "B200"},
        {"NVIDIA GB200", "GB200"},
        {"NVIDIA B300 SXM6 AC", "B300"},
        {"NVIDIA GB300", "GB300"},
        {"AMD Instinct MI308X", "MI308X"},
        {"AMD Instinct MI250X", "MI250X"},
        {"AMD Instinct MI300X", "MI300X"},
        {"AMD Instinct MI355X", "MI355X"},
        {"NVIDIA L4", "L4"},
        {"NVIDIA L40S", "L40S"},
        {"NVIDIA RTX A4000", ""},
        {"", ""}};
    const struct tp_roof_choice nothing = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_str_eq(tp_roof_of(names[i][0], &nothing).name, names[i][1],
                         "%s", names[i][0]);
    for (const struct tp_device_roof *row = tp_device_roofs; row->name; row++)
        cr_expect(row->gbps > 0 && row->vector_tflops > 0 &&
                  row->tflops[TP_PRECISION_FP16] > 0 && *row->source);
}

/* Dense TFLOP/s of bf16 and GB/s as tables of others have them: torchtitan's
 * get_peak_flops, Lightning's throughput.py, KernelBench's gpu_specs.py,
 * verda.com (B200, B300), notebookcheck.net (MI100), a dealer (L40). */
Test(trace_roofline, peaks_as_others_have_them)
{
    static const struct {
        const char *name;
        double bf16, gbps;
    } rows[] = {
        {"NVIDIA A100-SXM4-40GB", 312, 1555},
        {"NVIDIA A100 80GB PCIe", 312, 1935},
        {"NVIDIA A100-SXM4-80GB", 312, 2039},
        {"NVIDIA A10", 125, 600},
        {"NVIDIA H100 80GB HBM3", 989, 3350},
        {"NVIDIA H100 PCIe", 756, 2000},
        {"NVIDIA H100 NVL", 835, 3900},
        {"NVIDIA H200", 989, 4800},
        {"NVIDIA H20", 148, 4000},
        {"NVIDIA B200", 2250, 7700},
        {"NVIDIA B300 SXM6 AC", 2250, 7700},
        {"NVIDIA GB300", 2500, 8000},
        {"NVIDIA L40S", 362.05, 864},
        {"NVIDIA L40", 181.05, 864},
        {"NVIDIA L4", 121, 300},
        {"NVIDIA A40", 149.67, 695.8},
        {"NVIDIA GeForce RTX 4090", 165.15, 1008},
        {"AMD Instinct MI100", 92.3, 1230},
        {"AMD Instinct MI210", 181, 1638},
        {"AMD Instinct MI250X", 191.5, 1638},
        {"AMD Instinct MI300A", 980.6, 5300},
        {"AMD Instinct MI300X", 1307.4, 5300},
        {"AMD Instinct MI308X", 232, 5300},
        {"AMD Instinct MI325X", 1307.4, 6000},
        {"AMD Instinct MI355X", 2516.6, 8000},
    };
    const struct tp_roof_choice nothing = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tp_device_roof roof = tp_roof_of(rows[i].name, &nothing);
        const double bf16 = roof.tflops[TP_PRECISION_BF16];
        cr_expect(fabs(bf16 / rows[i].bf16 - 1) < 0.005, "%s: %g",
                  rows[i].name, bf16);
        cr_expect(fabs(roof.gbps / rows[i].gbps - 1) < 0.005, "%s: %g",
                  rows[i].name, roof.gbps);
    }
}

/* Kernels in a chain are told by size and stream; the longest stays. What
 * optimizers launch is counted apart. */
Test(trace_roofline, fusions)
{
#define BIG "\"Input Dims\": [[1000, 1000], []], \"Input type\": [\"float\", " \
            "\"Scalar\"]"
#define SMALL "\"Input Dims\": [[10, 10], []], \"Input type\": [\"float\", " \
              "\"Scalar\"]"
    struct tp_trace trace;
    trace_text_read(
        HEAD("NVIDIA H200") OP("aten::mul", 10, 5, BIG) RUN("a", 1, 11, 10, "")
            OP("aten::gelu", 20, 5, BIG) RUN("b", 2, 21, 30, "")
                OP("aten::add", 30, 5, SMALL) RUN("c", 3, 31, 5, "")
                    OP("aten::mul", 40, 5, BIG) RUN("a", 4, 41, 10, "")
                        OP("aten::cat", 50, 5, BIG) RUN("d", 5, 51, 10, "")
        "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
        "\"Optimizer.step#SGD.step\", \"pid\": 1, \"tid\": 1, \"ts\": 60, "
        "\"dur\": 30},\n"
            OP("aten::mul", 61, 5, BIG) RUN("a", 6, 62, 10, "")
                OP("aten::mul", 70, 5, BIG)
                    RUN("multi_tensor_apply_kernel", 7, 71, 10, "") TAIL,
        &trace);
    cr_assert_eq(tp_trace_roofline(&trace, NULL), TP_OK);
    cr_assert_eq(trace.fusions.count, 1);
    cr_expect_str_eq(trace.fusions.rows[0].ops, "aten::mul, aten::gelu");
    cr_expect_eq(trace.fusions.rows[0].elements, 1e6);
    cr_expect_eq(trace.fusions.rows[0].count, 1);
    cr_expect_float_eq(trace.fusions.rows[0].device_us, 40, 1e-9);
    cr_expect_float_eq(trace.fusions.rows[0].saved_us, 10, 1e-9);
    cr_assert_eq(trace.optimizers.count, 1);
    const struct tp_optimizer_row *row = &trace.optimizers.rows[0];
    cr_expect_str_eq(row->name, "Optimizer.step#SGD.step");
    cr_expect(row->count == 1 && row->device_events == 2 &&
              row->many_tensor_events == 1);
    cr_expect_float_eq(row->device_us, 20, 1e-9);
    cr_expect_float_eq(row->idle_us, 80, 1e-9); /* 620 + 10 to 710 */
    trace_file_close(&trace);
}
