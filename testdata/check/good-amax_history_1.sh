#!/bin/bash
# A history, or a recipe that has none.
torchrun pretrain_gpt.py --fp8-format hybrid --fp8-amax-history-len 1024
torchrun pretrain_gpt.py --fp8-format hybrid --fp8-amax-history-len 1 \
    --fp8-recipe tensorwise
