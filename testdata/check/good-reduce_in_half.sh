#!/bin/bash
# The same with sums in fp32; bf16, where they are in fp32 anyway; options that
# are not known; a server, which has no gradients; DeepSpeed, which sums itself.
ARGS="--fp16 --micro-batch-size 4 --train-iters 500000"
torchrun pretrain_gpt.py $ARGS --accumulate-allreduce-grads-in-fp32
torchrun pretrain_gpt.py --bf16 --micro-batch-size 4 --train-iters 500000
torchrun pretrain_gpt.py $ARGS $EXTRA_ARGS
torchrun pretrain_gpt.py $ARGS "$@"
python server.py --fp16 --tensor-model-parallel-size 2 --micro-batch-size 1
deepspeed pretrain_gpt.py $ARGS --deepspeed --deepspeed_config ds.json
if [ "$SUMS" = fp32 ]; then
    ARGS="$ARGS --accumulate-allreduce-grads-in-fp32"
fi
torchrun pretrain_gpt.py $ARGS
