#!/bin/bash
torchrun pretrain_gpt.py --bf16 --fp8-format e4m3 # HERE
torchrun pretrain_gpt.py --fp8-format e4m3 --fp8-recipe tensorwise # HERE
