#!/bin/bash
FP8=(--fp8-format hybrid
    --fp8-amax-history-len 1) # HERE
torchrun pretrain_gpt.py --bf16 "${FP8[@]}"
