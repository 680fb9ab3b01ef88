# SPDX-License-Identifier: MIT
# Findings of a trace beside the scripts of its run: frames of Python name the
# function that waits, and the check what in it does.
event()
{
    printf ',\n{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,' \
        "$1" "$2" "$3" "$4" "$5"
    printf '"dur":%s,"args":{%s}}' "$6" "$7"
}
trace()
{
    printf '{"deviceProperties":[{"id":0,"name":"G"}],"traceEvents":[\n'
    printf '{"ph":"M","name":"process_name","pid":1,"tid":1,"ts":0,'
    printf '"args":{"name":"python"}}'
    event "$1" "${2-run/train.py(7): step}" 1 1 0 100000 ''
    event python_function 'torch/nn/module.py(1): _call_impl' 1 1 10 90000 ''
    for at in 1000 31000 61000; do
        event cpu_op aten::item 1 1 $at 29000 ''
        event cuda_runtime cudaLaunchKernel 1 1 $((at + 10)) 10 \
            "\"correlation\":$at"
        event kernel k 0 7 $((at + 30)) 50 \
            "\"device\":0,\"stream\":7,\"correlation\":$at"
        event cuda_runtime cudaStreamSynchronize 1 1 $((at + 100)) 28000 \
            "\"correlation\":$((at + 1))"
    done
    event cuda_runtime cudaLaunchKernel 1 1 95000 10 '"correlation":9'
    event kernel k 0 7 95030 50 '"device":0,"stream":7,"correlation":9'
    printf ']}\n'
}
said()
{
    tprof-analyze trace a.pt.trace.json --no_plots --quiet --format json "$@" |
        tr '\n' ' ' | grep -o ' [0-9]* x cudaStreamSynchronize[^"]*'
}
mkdir -p run sub empty
cat >run/train.py <<'EOF'
import torch


def other(x):
    return x.item()

@torch.compile
def step(model, optimizer, batches):
    for batch in batches:
        loss = model(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
EOF
trace python_function >a.pt.trace.json
echo "-- no scripts"
said
echo "-- the function, and what the check says of it"
said --scripts run
echo "-- a name of record_function"
trace user_annotation >a.pt.trace.json
said --scripts run
echo "-- a function without findings"
trace python_function 'run/train.py(4): other' >a.pt.trace.json
said --scripts run
echo "-- two scripts that may be meant"
trace python_function 'train.py(7): step' >a.pt.trace.json
cp run/train.py sub
said --scripts .
echo "-- no script, no directory, no findings"
tprof-analyze trace a.pt.trace.json --scripts empty; echo "status $?"
tprof-analyze trace a.pt.trace.json a.pt.trace.json --compare --scripts run
echo "status $?"
