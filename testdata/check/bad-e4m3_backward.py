# SPDX-License-Identifier: MIT
from transformer_engine.common import recipe

how = recipe.DelayedScaling(fp8_format=recipe.Format.E4M3)  # HERE
