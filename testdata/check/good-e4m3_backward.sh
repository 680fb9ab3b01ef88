#!/bin/bash
# A format of its own for gradients, or a scale for each block of values.
torchrun pretrain_gpt.py --bf16 --fp8-format hybrid
torchrun pretrain_gpt.py --bf16 --fp8-format e4m3 --fp8-recipe mxfp8
torchrun pretrain_gpt.py --bf16 --fp8-format e4m3 --fp8-recipe $RECIPE
