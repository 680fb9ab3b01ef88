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
