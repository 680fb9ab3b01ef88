#!/bin/bash
SCALE=1024
COMMON=(
    --fp16
    --loss-scale $SCALE # HERE
)
torchrun train.py "${COMMON[@]}"
python run.py --fp16 --loss_scale=128 # HERE
