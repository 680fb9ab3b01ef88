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
static const char over_windows[] =
    "input,kernel_size,stride,padding=0,dilation=1,ceil_mode=0,"
    "return_indices=0";
static const char to_means[] =
    "input,kernel_size,stride,padding=0,ceil_mode=0,count_include_pad=1,"
    "divisor_override";
static const char to_size[] = "input,output_size";
static const char over_pairs[] = "input,target,size_average,reduce,reduction";
static const char by_index[] = "input,dim,index";
static const char by_index_source[] = "input,dim,index,source";

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
    ONE("silu", silu),
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
    ONE("logsigmoid", log_sigmoid),
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
    {"prelu", "input,weight", tp_run_prelu, tp_point_leaky_relu, 2, "weight",
     tp_back_prelu, tp_slope_prelu},
    BOTH("nan_to_num", "input,nan,posinf,neginf", tp_run_nan_to_num,
         tp_back_nan_to_num),
    BOTH("glu", "input,dim=-1", tp_run_glu, tp_back_glu),
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
    ONE_FLAT("isposinf", isposinf),
    ONE_FLAT("isneginf", isneginf),
    ONE_FLAT("signbit", signbit),
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
    FULL("bilinear", "input1,input2,weight,bias", tp_run_bilinear,
         "weight,bias", tp_back_bilinear),
    BOTH("matmul mm bmm mv dot vdot", "input,other", tp_run_matmul,
         tp_back_matmul),
    BOTH("rmatmul", "input,other", tp_run_reversed_matmul,
         tp_back_reversed_matmul),
    BOTH("outer ger", "input,vec2", tp_run_outer, tp_back_outer),
    BOTH("einsum", "equation,operands*", tp_run_einsum, tp_back_einsum),
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
    BOTH("scaled_dot_product_attention",
         "query,key,value,attn_mask,dropout_p=0,is_causal=0,scale,enable_gqa=0",
         tp_run_attention, tp_back_attention),

    /* fused operators of torch_npu */
    BOTH("npu_fusion_attention",
         "query,key,value,head_num,input_layout,pse,padding_mask,atten_mask,"
         "scale,keep_prob,pre_tockens,next_tockens,inner_precise,prefix,"
         "actual_seq_qlen,actual_seq_kvlen,sparse_mode",
         tp_run_npu_attention, tp_back_npu_attention),
    BOTH("npu_rotary_mul", "input,r1,r2,rotary_mode", tp_run_rotary,
         tp_back_rotary),
    BOTH("npu_swiglu", "input,dim", tp_run_swiglu, tp_back_swiglu),
    BOTH("npu_scaled_masked_softmax", "x,mask,scale,fixed_triu_mask",
         tp_run_scaled_softmax, tp_back_scaled_softmax),
    FULL("npu_grouped_matmul",
         "x,weight,bias,scale,offset,antiquant_scale,antiquant_offset,"
         "per_token_scale,group_list,activation_input,activation_quant_scale,"
         "activation_quant_offset,split_item,group_type,group_list_type,"
         "act_type",
         tp_run_grouped, "weight,bias", tp_back_grouped),
    FULL("npu_rms_norm", "input,gamma,epsilon", tp_run_npu_rms_norm, "gamma",
         tp_back_npu_rms_norm),

    /* norms, softmax, losses */
    FULL("layer_norm", "input,normalized_shape,weight,bias,eps",
         tp_run_layer_norm, "weight,bias", tp_back_layer_norm),
    FULL("rms_norm", "input,normalized_shape,weight,eps", tp_run_rms_norm,
         "weight", tp_back_rms_norm),
    FULL("group_norm", "input,num_groups,weight,bias,eps", tp_run_group_norm,
         "weight,bias", tp_back_group_norm),
    FULL("batch_norm",
         "input,running_mean,running_var,weight,bias,training=0,momentum,eps",
         tp_run_batch_norm, "running_mean,running_var,weight,bias",
         tp_back_batch_norm),
    FULL("instance_norm",
         "input,running_mean,running_var,weight,bias,use_input_stats=1,"
         "momentum,eps",
         tp_run_instance_norm, "running_mean,running_var,weight,bias",
         tp_back_view),
    BOTH("normalize", "input,p=2,dim=1,eps=1e-12", tp_run_normalize,
         tp_back_normalize),
    BOTH("cosine_similarity", "x1,x2,dim=1,eps=1e-8", tp_run_cosine,
         tp_back_cosine),
    BOTH("softmax", "input,dim", tp_run_softmax, tp_back_softmax),
    BOTH("softmin", "input,dim", tp_run_softmin, tp_back_softmax),
    BOTH("log_softmax", "input,dim", tp_run_log_softmax, tp_back_log_softmax),
    BOTH("cross_entropy",
         "input,target,weight,size_average,ignore_index,reduce,reduction,"
         "label_smoothing",
         tp_run_cross_entropy, tp_back_classes),
    BOTH("nll_loss",
         "input,target,weight,size_average,ignore_index,reduce,reduction",
         tp_run_nll, tp_back_classes),
    BOTH("mse_loss", over_pairs, tp_run_pair_loss, tp_back_pair_loss),
    BOTH("l1_loss", over_pairs, tp_run_pair_loss, tp_back_pair_loss),
    BOTH("smooth_l1_loss", "input,target,size_average,reduce,reduction,beta",
         tp_run_pair_loss, tp_back_pair_loss),
    BOTH("huber_loss", "input,target,reduction,delta,weight", tp_run_pair_loss,
         tp_back_pair_loss),
    BOTH("kl_div", "input,target,size_average,reduce,reduction,log_target",
         tp_run_pair_loss, tp_back_pair_loss),
    BOTH("binary_cross_entropy",
         "input,target,weight,size_average,reduce,reduction", tp_run_pair_loss,
         tp_back_pair_loss),
    BOTH("binary_cross_entropy_with_logits",
         "input,target,weight,size_average,reduce,reduction,pos_weight",
         tp_run_pair_loss, tp_back_pair_loss),

    /* reductions */
    BOTH("sum", over_axes, tp_run_sum, tp_back_sum),
    BOTH("mean", over_axes, tp_run_sum, tp_back_sum),
    BOTH("norm", "input,p,dim,keepdim", tp_run_norm, tp_back_norm),
    BOTH("vector_norm", "input,ord=2,dim,keepdim=0", tp_run_norm, tp_back_norm),
    PLAIN("_foreach_norm", "tensors,ord=2", tp_run_norms),
    BOTH("var", "input,dim,unbiased,keepdim", tp_run_variance,
         tp_back_variance),
    BOTH("std", "input,dim,unbiased,keepdim", tp_run_variance,
         tp_back_variance),
    BOTH("cumsum", "input,dim", tp_run_cumsum, tp_back_cumsum),
    BOTH("cumprod", "input,dim", tp_run_cumprod, tp_back_cumprod),
    BOTH("logsumexp", over_axes, tp_run_logsumexp, tp_back_logsumexp),
    BOTH("prod", over_axes, tp_run_prod, tp_back_prod),
    {"max amax", over_axes, tp_run_extreme, tp_point_maximum, 2, "",
     tp_back_extreme, tp_slope_maximum},
    {"min amin", over_axes, tp_run_extreme, tp_point_minimum, 2, "",
     tp_back_extreme, tp_slope_minimum},
    PAIR("argmax", over_axes, tp_run_arg, maximum),
    PAIR("argmin", over_axes, tp_run_arg, minimum),
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
    BOTH("movedim moveaxis", "input,source,destination", tp_run_movedim,
         tp_back_move),
    BOTH("expand expand_as broadcast_to", to_parts, tp_run_expand,
         tp_back_move),
    BOTH("repeat tile", to_parts, tp_run_repeat, tp_back_move),
    BOTH("cat concat concatenate", "tensors,dim=0", tp_run_cat, tp_back_move),
    BOTH("stack", "tensors,dim=0", tp_run_stack, tp_back_move),
    BOTH("split chunk tensor_split", "input,sizes,dim=0", tp_run_split,
         tp_back_move),
    BOTH("unbind", "input,dim=0", tp_run_split, tp_back_move),
    PLAIN("zeros zeros_like", "size*", tp_run_constant),
    PLAIN("ones ones_like", "size*", tp_run_constant),
    PLAIN("full full_like", "size,fill_value", tp_run_constant),
    PLAIN("one_hot", "input,num_classes=-1", tp_run_one_hot),
    PLAIN("arange", "start,end,step=1", tp_run_arange),
    {"embedding", "input,weight,padding_idx,max_norm", tp_run_embedding, NULL,
     0, "weight", tp_back_embedding, NULL},
    BOTH("gather", by_index, tp_run_gather, tp_back_move),
    BOTH("index_select", by_index, tp_run_index_select, tp_back_move),
    BOTH("narrow", "input,dim,start,length", tp_run_narrow, tp_back_move),
    BOTH("select", by_index, tp_run_narrow, tp_back_move),
    BOTH("tril", "input,diagonal=0", tp_run_triangle, tp_back_move),
    BOTH("triu", "input,diagonal=0", tp_run_triangle, tp_back_move),
    BOTH("masked_select", "input,mask", tp_run_masked_select, tp_back_move),
    BOTH("masked_scatter", "input,mask,source", tp_run_masked_scatter,
         tp_back_move),
    BOTH("scatter", "input,dim,index,src,reduce", tp_run_scatter,
         tp_back_scatter),
    BOTH("scatter_add", "input,dim,index,src", tp_run_scatter, tp_back_scatter),
    BOTH("index_add", by_index_source, tp_run_scatter, tp_back_scatter),
    BOTH("index_copy", by_index_source, tp_run_scatter, tp_back_scatter),
    BOTH("index_fill", "input,dim,index,value", tp_run_scatter,
         tp_back_scatter),
    BOTH("pad", "input,pad,mode=constant,value", tp_run_pad, tp_back_move),
    BOTH("constant_pad_nd", "input,pad,value=0", tp_run_pad, tp_back_move),
    BOTH("flip", to_parts, tp_run_flip, tp_back_move),
    BOTH("roll", "input,shifts,dims", tp_run_roll, tp_back_move),
    BOTH("repeat_interleave", "input,repeats,dim", tp_run_interleave,
         tp_back_interleave),
    BOTH("topk", "input,k,dim=-1,largest=1,sorted=1", tp_run_topk,
         tp_back_indexed),
    BOTH("sort", "input,dim=-1,descending=0", tp_run_topk, tp_back_indexed),
    PLAIN("argsort", "input,dim=-1,descending=0,stable=0", tp_run_argsort),
    BOTH("cummax", "input,dim", tp_run_running, tp_back_indexed),
    BOTH("cummin", "input,dim", tp_run_running, tp_back_indexed),
    BOTH("kthvalue", "input,k,dim=-1,keepdim=0", tp_run_kthvalue,
         tp_back_indexed),
    BOTH("median nanmedian", over_axes, tp_run_median, tp_back_extreme),

    /* pooling */
    BOTH("max_pool1d max_pool1d_with_indices", over_windows, tp_run_pool,
         tp_back_pool),
    BOTH("max_pool2d max_pool2d_with_indices", over_windows, tp_run_pool,
         tp_back_pool),
    BOTH("max_pool3d max_pool3d_with_indices", over_windows, tp_run_pool,
         tp_back_pool),
    BOTH("avg_pool1d", to_means, tp_run_pool, tp_back_pool),
    BOTH("avg_pool2d", to_means, tp_run_pool, tp_back_pool),
    BOTH("avg_pool3d", to_means, tp_run_pool, tp_back_pool),
    BOTH("adaptive_avg_pool1d", to_size, tp_run_pool, tp_back_pool),
    BOTH("adaptive_avg_pool2d", to_size, tp_run_pool, tp_back_pool),
    BOTH("adaptive_avg_pool3d", to_size, tp_run_pool, tp_back_pool),
    BOTH("adaptive_max_pool1d adaptive_max_pool1d_with_indices", to_size,
         tp_run_pool, tp_back_pool),
    BOTH("adaptive_max_pool2d adaptive_max_pool2d_with_indices", to_size,
         tp_run_pool, tp_back_pool),
    BOTH("adaptive_max_pool3d adaptive_max_pool3d_with_indices", to_size,
         tp_run_pool, tp_back_pool),
    BOTH("interpolate",
         "input,size,scale_factor,mode=nearest,align_corners,"
         "recompute_scale_factor,antialias",
         tp_run_interpolate, tp_back_interpolate),

    /* random, and not set */
    BOTH("dropout dropout1d dropout2d dropout3d",
         "input,p=0.5,training=1,inplace=0", NULL, tp_back_dropout),
    PLAIN("alpha_dropout feature_alpha_dropout bernoulli multinomial normal "
          "uniform random rand randn randint randperm rand_like randn_like "
          "randint_like "
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

bool tp_operator_is_ordered(struct tp_msprobe_part name)
{
    static const char others[] =
        "embedding instance_norm kl_div binary_cross_entropy_with_logits";
    return !has_name(others, name.at, name.length);
}
