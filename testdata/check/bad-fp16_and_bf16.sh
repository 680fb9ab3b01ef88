#!/bin/bash
# Both, in one command, and through a variable.
PRECISION="--fp16 True" # HERE
torchrun train.py --bf16 True $PRECISION
python train.py --lr 1e-4 \
    --output_dir out --bf16 --seed 1 \
    --fp16 # HERE
