# SPDX-License-Identifier: MIT
# What the scripts of a folder tell of each other: each case, and the same
# without what lowers it.
need jq
severities() {
    tprof-analyze check "$@" --format json |
        jq -r '.findings[] | select(.rule == "bce" or .rule == "softmax_dtype")
               | "\(.file) \(.rule) \(.severity)"'
}
package() {
    mkdir "$1"
    printf 'import torch.nn.functional as F\ndef f_loss(x, y):\n%s\n' \
        '    return F.binary_cross_entropy(x, y)' > "$1/losses.py"
}

echo "-- a training loop without mixed precision"
package fp32
printf 'def fit(loss):\n    loss.backward()\n' > fp32/fit.py
severities fp32
severities fp32/losses.py
severities fp32/losses.py fp32/fit.py

echo "-- another package beside it changes nothing"
package mixed
printf 'import torch\ndef fit(loss, use_amp):\n    loss.backward()\n%s\n' \
    '    if use_amp: pass' > mixed/fit.py
severities fp32 mixed

echo "-- what is evidence of mixed precision in its place, and what is none"
package words
for text in 'x = autocast()' 's = GradScaler()' 'amp.initialize(m)' \
    'Trainer(precision="16-mixed")' 'Trainer(precision="32")' \
    'TrainingArguments(fp16=True)' 'TrainingArguments(fp16=False)' \
    'if args.fp16: pass' 'm.half()' 'm = half(m)' \
    'm.to(torch.bfloat16)' 'kinds = {12: np.float16}' \
    'use_apex: bool' 'def fit(model, use_amp=False): pass' \
    'f(use_amp=use_amp)' 'f(amp=use_amp)' 'x = "half fp16 autocast"' \
    'y = float16.convert_float_to_float16(y)' 'self.mixed_5b = f()'; do
    printf 'loss.backward()\n%s\n' "$text" > words/fit.py
    echo "$(severities words | cut -d' ' -f3): $text"
done

echo "-- autocast is left out for that loss"
package chosen
cat > chosen/fit.py << 'END'
import torch
def fit(model):
    context = torch.autocast("cuda")
    if model.loss == "bce":
        context = None
END
severities chosen
sed -i 's/"bce"/"mse"/' chosen/fit.py
severities chosen

echo "-- a softmax where the package trains under autocast"
mkdir soft
cat > soft/model.py << 'END'
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x.softmax(-1)
def to_fp16(x):
    return x.half()
END
severities soft
printf 'import torch\nwith torch.autocast("cuda"):\n    f()\n' > soft/fit.py
severities soft

echo "-- a package that loads weights and never trains"
package serves
cat > serves/use.py << 'END'
import torch
def use(model, weights, x):
    model.load_state_dict(weights)
    with torch.no_grad():
        return model(x)
END
severities serves
printf 'def make(model):\n    return Optimizer(model.optimizer)\n' \
    > serves/fit.py
severities serves

echo "-- what matters only where something trains"
mkdir alone
cat > alone/use.py << 'END'
import torch
import torch.nn.functional as F
torch.set_default_dtype(torch.float16)
torch.set_float32_matmul_precision("medium")
x = model(torch.load("x.pt"))
print(F.cross_entropy(F.softmax(x, 1, torch.float32), y))
print(F.binary_cross_entropy_with_logits(torch.sigmoid(x), y))
def entropy(x):
    y = torch.sigmoid(x).log() + torch.softmax(x, 0, torch.float32).log()
    return x.exp().sum(1).log() + y
END
of_alone() {
    tprof-analyze check alone --format json |
        jq -r '.findings[] | "\(.line) \(.rule) \(.severity)"'
}
of_alone
for text in 'class Net(torch.nn.Module): pass' 'o = optimizer()' \
    'import os, lightning' 'from runs import train' 'x.backward()' \
    'scores = DiceLoss()'; do
    echo "$text"
    echo "$text" > alone/more.py
    of_alone | cut -d' ' -f1,3 | tr '\n' ' '
    echo
done
