#!/bin/bash
# A dynamic scale; one of bf16, where nothing overflows; one that is unknown.
python run.py --fp16 --loss_scale 0
python run.py --fp16 --initial-loss-scale 65536
python run.py --bf16 --loss-scale 1
python run.py --fp16 --loss-scale $SCALE
