/* SPDX-License-Identifier: MIT */
#include "replay/operators.h"

#include <string.h>

#include "replay/point_math.h"
#include "replay/point_slope.h"

/* Of one and two elements; MAP has a slope of the same name, FLAT has none. */
#define POINT(names, signature, operands, function)                        \
    {                                                                      \
        names, signature, tp_run_point, tp_point_##function, operands, "", \
            tp_back_point, tp_slope_##function                             \
    }
#define FLAT(names, signature, operands, function)                         \
    {                                                                      \
        names, signature, tp_run_point, tp_point_##function, operands, "", \
            NULL, NULL                                                     \
    }
#define ONE(names, function) POINT(names, "input", 1, function)
#define TWO(names, function) POINT(names, "input,other", 2, function)
#define ZERO(names, function)                                     \
    {                                                             \
        names, "input", tp_run_point, tp_point_##function, 1, "", \
            tp_back_point, tp_slope_none                          \
    }
#define ONE_FLAT(names, function) FLAT(names, "input", 1, function)
#define TWO_FLAT(names, function) FLAT(names, "input,other", 2, function)
/* A kernel, also with its backward (BOTH) or parameters (WITH). */
#define BOTH(names, signature, run, back)              \
    {                                                  \
        names, signature, run, NULL, 0, "", back, NULL \
    }
#define PLAIN(names, signature, run)                   \
    {                                                  \
        names, signature, run, NULL, 0, "", NULL, NULL \
    }
#define WITH(names, signature, run, parameters)                \
    {                                                          \
        names, signature, run, NULL, 0, parameters, NULL, NULL \
    }
/* A kernel with both. */
#define FULL(names, signature, run, parameters, back)          \
    {                                                          \
        names, signature, run, NULL, 0, parameters, back, NULL \
    }
/* A reduction or loss by a function of two elements. */
#define PAIR(names, signature, run, function)                         \
    {                                                                 \
        names, signature, run, tp_point_##function, 2, "", NULL, NULL \
    }

static const char to_parts[] = "input,dims*";
static const char over_axes[] = "input,dim,keepdim";
static const char over_windows[] = "input,kernel_size,stride,padding,dilation";
static const char by_index[] = "input,dim,index";

const struct tp_operator tp_operators[] = {
    /* elementwise */
    POINT("add radd", "input,other,alpha=1", 3, add),
    POINT("sub subtract", "input,other,alpha=1", 3, subtract),
    POINT("rsub", "input,other,alpha=1", 3, reversed_subtract),
    TWO("mul multiply rmul", multiply),
    {"div divide truediv true_divide", "input,other", tp_run_divide,
     tp_point_divide, 2, "", tp_back_divide, tp_slope_divide},
    TWO("rtruediv rdiv", reversed_divide),
    TWO_FLAT("floor_divide floordiv", divide_down),
    POINT("pow", "input,exponent", 2, power),
    TWO("rpow", reversed_power),
    TWO("maximum", maximum),
    TWO("minimum", minimum),
    TWO("remainder mod", remainder),
    TWO("fmod", fmod),
    TWO("atan2 arctan2", atan2),
    TWO("fmax", fmax),
    TWO("fmin", fmin),
    TWO("hypot", hypot),
    TWO("logaddexp", log_add),
    TWO_FLAT("rfloordiv", reversed_divide_down),
    TWO_FLAT("rmod", reversed_remainder),
    TWO_FLAT("bitwise_and and", bits_and),
    TWO_FLAT("bitwise_or or ror", bits_or),
    TWO_FLAT("bitwise_xor xor rxor", bits_xor),
    {"bitwise_not invert", "input", tp_run_invert, tp_point_flipped, 1, "",
     NULL, NULL},
    FLAT("fill", "input,value", 2, second),
    TWO_FLAT("eq", equal),
    TWO_FLAT("ne not_equal", unequal),
    TWO_FLAT("lt less", less),
    TWO_FLAT("le less_equal", at_most),
    TWO_FLAT("gt greater", greater),
    TWO_FLAT("ge greater_equal", at_least),
    TWO_FLAT("logical_and", and),
    TWO_FLAT("logical_or", or),
    TWO_FLAT("logical_xor", xor),
    ONE("neg negative", negative),
    ONE("abs absolute", abs),
    ZERO("sign sgn", sign),
    ONE("square", square),
    ONE("sqrt", sqrt),
    ONE("rsqrt", rsqrt),
    ONE("exp", exp),
    ONE("exp2", exp2),
    ONE("expm1", expm1),
    ONE("log", log),
    ONE("log2", log2),
    ONE("log10", log10),
    ONE("log1p", log1p),
    ONE("sin", sin),
    ONE("cos", cos),
    ONE("tan", tan),
    ONE("tanh", tanh),
    ONE("erf", erf),
    ONE("sigmoid", sigmoid),
    ONE("silu swish", silu),
    ONE("relu", relu),
    ONE("asin arcsin", asin),
    ONE("acos arccos", acos),
    ONE("atan arctan", atan),
    ONE("sinh", sinh),
    ONE("cosh", cosh),
    ONE("asinh arcsinh", asinh),
    ONE("acosh arccosh", acosh),
    ONE("atanh arctanh", atanh),
    ONE("erfc", erfc),
    POINT("leaky_relu", "input,negative_slope=0.01", 2, leaky_relu),
    POINT("elu", "input,alpha=1", 2, elu),
    ONE("selu", selu),
    POINT("celu", "input,alpha=1", 2, celu),
    POINT("softplus", "input,beta=1,threshold=20", 3, softplus),
    ONE("logsigmoid log_sigmoid", log_sigmoid),
    ONE("mish", mish),
    POINT("hardtanh", "input,min_val=-1,max_val=1", 3, hardtanh),
    ONE("relu6", relu6),
    ONE("hardsigmoid", hardsigmoid),
    ONE("hardswish", hardswish),
    ONE_FLAT("softsign", softsign),
    ONE_FLAT("tanhshrink", tanhshrink),
    POINT("hardshrink", "input,lambd=0.5", 2, hardshrink),
    POINT("softshrink", "input,lambd=0.5", 2, softshrink),
    POINT("threshold", "input,threshold,value", 3, threshold),
    ONE("reciprocal", reciprocal),
    ZERO("round", round),
    {"frac", "input", tp_run_point, tp_point_frac, 1, "", tp_back_point,
     tp_slope_one},
    ZERO("floor", floor),
    ZERO("ceil", ceil),
    ZERO("trunc fix", trunc),
    ONE_FLAT("logical_not", not ),
    ONE_FLAT("isnan", isnan),
    ONE_FLAT("isinf", isinf),
    ONE_FLAT("isfinite", isfinite),
    {"gelu", "input", tp_run_gelu, tp_point_gelu, 1, "", tp_back_gelu,
     tp_slope_gelu},
    POINT("lerp", "input,end,weight", 3, lerp),
    POINT("where", "condition,input,other", 3, where),
    POINT("masked_fill", "input,mask,value", 3, fill),
    POINT("clamp clip", "input,min=nan,max=nan", 3, clamp),
    {"clamp_min", "input,min", tp_run_point, tp_point_maximum, 2, "",
     tp_back_point, tp_slope_clamp_min},
    {"clamp_max", "input,max", tp_run_point, tp_point_minimum, 2, "",
     tp_back_point, tp_slope_clamp_max},
    POINT("addcmul", "input,tensor1,tensor2,value=1", 4, add_product),
    POINT("addcdiv", "input,tensor1,tensor2,value=1", 4, add_quotient),

    /* products */
    FULL("linear", "input,weight,bias", tp_run_linear, "weight,bias",
         tp_back_linear),
    WITH("bilinear", "input1,input2,weight,bias", tp_run_bilinear,
         "weight,bias"),
    BOTH("matmul mm bmm mv dot vdot", "input,other", tp_run_matmul,
         tp_back_matmul),
    BOTH("rmatmul", "input,other", tp_run_reversed_matmul,
         tp_back_reversed_matmul),
    BOTH("outer ger", "input,vec2", tp_run_outer, tp_back_outer),
    BOTH("einsum", "equation,operands*", tp_run_einsum, tp_back_view),
    BOTH("addmm", "input,mat1,mat2", tp_run_addmm, tp_back_addmm),
    BOTH("baddbmm", "input,batch1,batch2", tp_run_baddbmm, tp_back_baddbmm),
    BOTH("addbmm", "input,batch1,batch2", tp_run_addbmm, tp_back_addbmm),
    BOTH("addmv", "input,mat,vec", tp_run_addmv, tp_back_addmv),
    BOTH("addr", "input,vec1,vec2", tp_run_addr, tp_back_addr),
    FULL("conv1d conv2d conv3d",
         "input,weight,bias,stride,padding,dilation,groups", tp_run_conv,
         "weight,bias", tp_back_conv),
    FULL("conv_transpose1d conv_transpose2d conv_transpose3d",
         "input,weight,bias,stride,padding,output_padding,groups,dilation",
         tp_run_conv, "weight,bias", tp_back_conv),
    PLAIN("scaled_dot_product_attention",
          "query,key,value,attn_mask,dropout_p,is_causal,scale,enable_gqa",
          tp_run_attention),

    /* norms, softmax, losses */
    WITH("layer_norm", "input,normalized_shape,weight,bias,eps",
         tp_run_layer_norm, "weight,bias"),
    WITH("rms_norm", "input,normalized_shape,weight,eps", tp_run_rms_norm,
         "weight"),
    WITH("group_norm", "input,num_groups,weight,bias,eps", tp_run_group_norm,
         "weight,bias"),
    WITH("batch_norm",
         "input,running_mean,running_var,weight,bias,training,momentum,eps",
         tp_run_batch_norm, "running_mean,running_var,weight,bias"),
    PLAIN("softmax", "input,dim", tp_run_softmax),
    PLAIN("log_softmax", "input,dim", tp_run_log_softmax),
    PLAIN("cross_entropy",
          "input,target,weight,size_average,ignore_index,reduce,reduction,"
          "label_smoothing",
          tp_run_cross_entropy),
    PLAIN("nll_loss",
          "input,target,weight,size_average,ignore_index,reduce,reduction",
          tp_run_nll),
    PAIR("mse_loss", "input,target,size_average,reduce,reduction",
         tp_run_pair_loss, squared_difference),
    PAIR("l1_loss", "input,target,size_average,reduce,reduction",
         tp_run_pair_loss, difference),

    /* reductions */
    BOTH("sum", over_axes, tp_run_sum, tp_back_sum),
    BOTH("mean", over_axes, tp_run_sum, tp_back_sum),
    PLAIN("norm", "input,p,dim,keepdim", tp_run_norm),
    PLAIN("var", "input,dim,unbiased,keepdim", tp_run_variance),
    PLAIN("std", "input,dim,unbiased,keepdim", tp_run_variance),
    PLAIN("cumsum", "input,dim", tp_run_cumsum),
    PLAIN("logsumexp", over_axes, tp_run_logsumexp),
    PAIR("max amax", over_axes, tp_run_extreme, maximum),
    PAIR("min amin", over_axes, tp_run_extreme, minimum),
    PAIR("all", over_axes, tp_run_extreme, and),
    PAIR("any", over_axes, tp_run_extreme, or),

    /* movement */
    BOTH("reshape view unflatten squeeze unsqueeze clone view_as reshape_as",
         to_parts, tp_run_same, tp_back_same),
    {"flatten ravel contiguous to float half bfloat16 double type type_as",
     to_parts, tp_run_same, NULL, 0, "", tp_back_convert, NULL},
    PLAIN("detach int long bool", to_parts, tp_run_same),
    BOTH("transpose swapaxes swapdims", "input,dim0,dim1", tp_run_transpose,
         tp_back_move),
    BOTH("t", "input", tp_run_transpose, tp_back_move),
    BOTH("permute", to_parts, tp_run_permute, tp_back_move),
    BOTH("expand expand_as broadcast_to", to_parts, tp_run_expand,
         tp_back_move),
    BOTH("repeat tile", to_parts, tp_run_repeat, tp_back_move),
    BOTH("cat concat concatenate", "tensors,dim", tp_run_cat, tp_back_move),
    BOTH("stack", "tensors,dim", tp_run_stack, tp_back_move),
    BOTH("split chunk tensor_split", "input,sizes,dim", tp_run_split,
         tp_back_move),
    BOTH("unbind", "input,dim", tp_run_split, tp_back_move),
    PLAIN("zeros zeros_like", "size*", tp_run_constant),
    PLAIN("ones ones_like", "size*", tp_run_constant),
    PLAIN("full full_like", "size,fill_value", tp_run_constant),
    PLAIN("arange", "start,end,step", tp_run_arange),
    {"embedding", "input,weight,padding_idx,max_norm", tp_run_embedding, NULL,
     0, "weight", tp_back_embedding, NULL},
    BOTH("gather", by_index, tp_run_gather, tp_back_move),
    BOTH("index_select", by_index, tp_run_index_select, tp_back_move),
    BOTH("narrow", "input,dim,start,length", tp_run_narrow, tp_back_move),
    BOTH("select", by_index, tp_run_narrow, tp_back_move),
    BOTH("tril", "input,diagonal", tp_run_triangle, tp_back_move),
    BOTH("triu", "input,diagonal", tp_run_triangle, tp_back_move),
    PLAIN("topk", "input,k,dim,largest,sorted", tp_run_topk),
    PLAIN("sort", "input,dim,descending", tp_run_topk),

    /* pooling */
    PLAIN("max_pool1d", over_windows, tp_run_max_pool),
    PLAIN("max_pool2d", over_windows, tp_run_max_pool),
    PLAIN("max_pool3d", over_windows, tp_run_max_pool),
    PLAIN("adaptive_avg_pool1d", "input,output_size", tp_run_adaptive_average),
    PLAIN("adaptive_avg_pool2d", "input,output_size", tp_run_adaptive_average),

    /* random, and not set */
    PLAIN("dropout dropout1d dropout2d dropout3d alpha_dropout "
          "feature_alpha_dropout bernoulli multinomial normal uniform random "
          "rand randn randint randperm rand_like randn_like randint_like "
          "exponential rrelu gumbel_softmax",
          "input", NULL),
    PLAIN("empty empty_like new_empty empty_strided new_empty_strided "
          "empty_with_format",
          "", NULL),
    {.names = NULL}};

/* --- finding -------------------------------------------------------------- */

/* add for add_, __add__ and __iadd__; an "i" of names such as isnan is theirs.
 */
static struct tp_msprobe_part bare_name(struct tp_msprobe_part name,
                                        bool *dunder)
{
    *dunder = name.length > 4 && !strncmp(name.at, "__", 2) &&
              !strncmp(name.at + name.length - 2, "__", 2);
    if (*dunder)
        return (struct tp_msprobe_part){name.at + 2, name.length - 4};
    if (name.length > 1 && name.at[name.length - 1] == '_')
        name.length--;
    return name;
}

static bool has_name(const char *names, const char *name, size_t length)
{
    for (const char *at = names; *at;) {
        const size_t size = strcspn(at, " ");
        if (size == length && !strncmp(at, name, length))
            return true;
        at += size + (at[size] == ' ');
    }
    return false;
}

static const struct tp_operator *find(const char *name, size_t length)
{
    for (const struct tp_operator *row = tp_operators; row->names; row++)
        if (has_name(row->names, name, length))
            return row;
    return NULL;
}

const struct tp_operator *tp_operator_of(struct tp_msprobe_part name)
{
    bool dunder;
    const struct tp_msprobe_part bare = bare_name(name, &dunder);
    const struct tp_operator *row = find(bare.at, bare.length);
    if (!row && dunder && bare.length > 1 && *bare.at == 'i')
        row = find(bare.at + 1, bare.length - 1);
    return row;
}
