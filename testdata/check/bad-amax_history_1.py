# SPDX-License-Identifier: MIT
from transformer_engine.common.recipe import DelayedScaling

how = DelayedScaling(amax_history_len=1)  # HERE
