#!/bin/bash
# One at a time, or one that is switched off; a sentence that names both.
if [ "$1" = bf16 ]; then
    ARGS="--bf16"
else
    ARGS="--fp16"
fi
torchrun train.py $ARGS
torchrun train.py --bf16 True --fp16 False
case $MODE in
half) PRECISION=--fp16 ;;
*) PRECISION=--bf16 ;;
esac
torchrun train.py $PRECISION
[ -n "$HALF" ] && MORE=--fp16
torchrun train.py --bf16 $MORE
echo "never --fp16 --bf16"
for option in --fp16 --bf16; do
    torchrun train.py $option
done
cat << END
torchrun train.py --fp16 --bf16
END
