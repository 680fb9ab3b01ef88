#!/bin/bash
# Megatron in fp16, whose gradients are summed in fp16.
GPUS=${GPUS:-8}
MODEL_ARGS=(
    --num-layers 24
    --hidden-size 2048
    --fp16 # HERE
)
TRAIN_ARGS="--micro-batch-size 4 --train-iters 500000 --lr $LR"
torchrun --nproc_per_node $GPUS pretrain_gpt.py \
    "${MODEL_ARGS[@]}" $TRAIN_ARGS --save $CHECKPOINTS
