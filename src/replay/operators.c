/* SPDX-License-Identifier: MIT */
#include "replay/operators.h"

#include <string.h>

#include "replay/point_math.h"

/* Of one, two and three elements. */
#define ONE(names, function)                                     \
    {                                                            \
        names, "input", tp_run_point, tp_point_##function, 1, "" \
    }
#define TWO(names, function)                                           \
    {                                                                  \
        names, "input,other", tp_run_point, tp_point_##function, 2, "" \
    }
#define PLAIN(names, signature, run)       \
    {                                      \
        names, signature, run, NULL, 0, "" \
    }

static const char to_parts[] = "input,dims*";
static const char over_axes[] = "input,dim,keepdim";
static const char over_windows[] = "input,kernel_size,stride,padding,dilation";
static const char by_index[] = "input,dim,index";

const struct tp_operator tp_operators[] = {
    /* elementwise */
    {"add", "input,other,alpha", tp_run_add, tp_point_add, 2, ""},
    {"radd", "input,other", tp_run_add, tp_point_add, 2, ""},
    {"sub subtract", "input,other,alpha", tp_run_add, tp_point_subtract, 2, ""},
    {"rsub", "input,other,alpha", tp_run_add, tp_point_reversed_subtract, 2,
     ""},
    TWO("mul multiply rmul", multiply),
    {"div divide truediv true_divide", "input,other", tp_run_divide,
     tp_point_divide, 2, ""},
    TWO("rtruediv rdiv", reversed_divide),
    TWO("floor_divide floordiv", divide_down),
    {"pow", "input,exponent", tp_run_point, tp_point_power, 2, ""},
    TWO("rpow", reversed_power),
    TWO("maximum", maximum),
    TWO("minimum", minimum),
    TWO("remainder mod", remainder),
    TWO("fmod", fmod),
    TWO("atan2 arctan2", atan2),
    TWO("eq", equal),
    TWO("ne not_equal", unequal),
    TWO("lt less", less),
    TWO("le less_equal", at_most),
    TWO("gt greater", greater),
    TWO("ge greater_equal", at_least),
    TWO("logical_and", and),
    TWO("logical_or", or),
    TWO("logical_xor", xor),
    ONE("neg negative", negative),
    ONE("abs absolute", abs),
    ONE("sign sgn", sign),
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
    ONE("reciprocal", reciprocal),
    ONE("floor", floor),
    ONE("ceil", ceil),
    ONE("trunc fix", trunc),
    ONE("logical_not", not ),
    ONE("isnan", isnan),
    ONE("isinf", isinf),
    ONE("isfinite", isfinite),
    {"gelu", "input", tp_run_gelu, tp_point_gelu, 1, ""},
    {"lerp", "input,end,weight", tp_run_point, tp_point_lerp, 3, ""},
    {"where", "condition,input,other", tp_run_point, tp_point_where, 3, ""},
    {"masked_fill", "input,mask,value", tp_run_point, tp_point_fill, 3, ""},
    {"clamp clip", "input,min,max", tp_run_clamp, tp_point_clamp, 3, ""},
    {"clamp_min", "input,min", tp_run_point, tp_point_maximum, 2, ""},
    {"clamp_max", "input,max", tp_run_point, tp_point_minimum, 2, ""},
    {"addcmul", "input,tensor1,tensor2", tp_run_addc, tp_point_add_product, 3,
     ""},
    {"addcdiv", "input,tensor1,tensor2", tp_run_addc, tp_point_add_quotient, 3,
     ""},

    /* products */
    {"linear", "input,weight,bias", tp_run_linear, NULL, 0, "weight,bias"},
    {"bilinear", "input1,input2,weight,bias", tp_run_bilinear, NULL, 0,
     "weight,bias"},
    PLAIN("matmul mm bmm mv dot vdot", "input,other", tp_run_matmul),
    PLAIN("rmatmul", "input,other", tp_run_reversed_matmul),
    PLAIN("outer ger", "input,vec2", tp_run_outer),
    PLAIN("einsum", "equation,operands*", tp_run_einsum),
    PLAIN("addmm", "input,mat1,mat2", tp_run_addmm),
    PLAIN("baddbmm", "input,batch1,batch2", tp_run_baddbmm),
    PLAIN("addbmm", "input,batch1,batch2", tp_run_addbmm),
    PLAIN("addmv", "input,mat,vec", tp_run_addmv),
    PLAIN("addr", "input,vec1,vec2", tp_run_addr),
    {"conv1d conv2d conv3d", "input,weight,bias,stride,padding,dilation,groups",
     tp_run_conv, NULL, 0, "weight,bias"},
    PLAIN("scaled_dot_product_attention",
          "query,key,value,attn_mask,dropout_p,is_causal,scale,enable_gqa",
          tp_run_attention),

    /* norms, softmax, losses */
    {"layer_norm", "input,normalized_shape,weight,bias,eps", tp_run_layer_norm,
     NULL, 0, "weight,bias"},
    {"rms_norm", "input,normalized_shape,weight,eps", tp_run_rms_norm, NULL, 0,
     "weight"},
    {"group_norm", "input,num_groups,weight,bias,eps", tp_run_group_norm, NULL,
     0, "weight,bias"},
    {"batch_norm",
     "input,running_mean,running_var,weight,bias,training,momentum,eps",
     tp_run_batch_norm, NULL, 0, "running_mean,running_var,weight,bias"},
    PLAIN("softmax", "input,dim", tp_run_softmax),
    PLAIN("log_softmax", "input,dim", tp_run_log_softmax),
    PLAIN("cross_entropy",
          "input,target,weight,size_average,ignore_index,reduce,reduction,"
          "label_smoothing",
          tp_run_cross_entropy),
    PLAIN("nll_loss",
          "input,target,weight,size_average,ignore_index,reduce,reduction",
          tp_run_nll),
    {"mse_loss", "input,target,size_average,reduce,reduction", tp_run_pair_loss,
     tp_point_squared_difference, 2, ""},
    {"l1_loss", "input,target,size_average,reduce,reduction", tp_run_pair_loss,
     tp_point_difference, 2, ""},

    /* reductions */
    PLAIN("sum", over_axes, tp_run_sum),
    PLAIN("mean", over_axes, tp_run_sum),
    PLAIN("norm", "input,p,dim,keepdim", tp_run_norm),
    PLAIN("var", "input,dim,unbiased,keepdim", tp_run_variance),
    PLAIN("std", "input,dim,unbiased,keepdim", tp_run_variance),
    PLAIN("cumsum", "input,dim", tp_run_cumsum),
    PLAIN("logsumexp", over_axes, tp_run_logsumexp),
    {"max amax", over_axes, tp_run_extreme, tp_point_maximum, 2, ""},
    {"min amin", over_axes, tp_run_extreme, tp_point_minimum, 2, ""},
    {"all", over_axes, tp_run_extreme, tp_point_and, 2, ""},
    {"any", over_axes, tp_run_extreme, tp_point_or, 2, ""},

    /* movement */
    PLAIN("reshape view flatten unflatten squeeze unsqueeze contiguous clone "
          "detach to float half bfloat16 double int long bool type type_as "
          "view_as reshape_as ravel",
          to_parts, tp_run_same),
    PLAIN("transpose swapaxes swapdims", "input,dim0,dim1", tp_run_transpose),
    PLAIN("t", "input", tp_run_transpose),
    PLAIN("permute", to_parts, tp_run_permute),
    PLAIN("expand expand_as broadcast_to", to_parts, tp_run_expand),
    PLAIN("repeat tile", to_parts, tp_run_repeat),
    PLAIN("cat concat concatenate", "tensors,dim", tp_run_cat),
    PLAIN("stack", "tensors,dim", tp_run_stack),
    PLAIN("split chunk tensor_split", "input,sizes,dim", tp_run_split),
    PLAIN("unbind", "input,dim", tp_run_split),
    PLAIN("zeros zeros_like", "size*", tp_run_constant),
    PLAIN("ones ones_like", "size*", tp_run_constant),
    PLAIN("full full_like", "size,fill_value", tp_run_constant),
    PLAIN("arange", "start,end,step", tp_run_arange),
    {"embedding", "input,weight,padding_idx,max_norm", tp_run_embedding, NULL,
     0, "weight"},
    PLAIN("gather", by_index, tp_run_gather),
    PLAIN("index_select", by_index, tp_run_index_select),
    PLAIN("narrow", "input,dim,start,length", tp_run_narrow),
    PLAIN("select", by_index, tp_run_narrow),
    PLAIN("tril", "input,diagonal", tp_run_triangle),
    PLAIN("triu", "input,diagonal", tp_run_triangle),
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
