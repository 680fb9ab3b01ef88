# SPDX-License-Identifier: MIT
# What is asked of a check: by [tool.tprof] of pyproject.toml and by options,
# which win; tests are left out; SARIF.
need jq
found()
{
    tprof-analyze check "$@" | sed -n 's/^File: //p; /left out/p'
}
mkdir -p p/src/legacy p/tests p/deep/er q
for file in src/a.py src/legacy/b.py tests/c.py test_d.py d_test.py \
    conftest.py deep/er/e.py latest.py; do
    echo 'x.half()' > p/$file
done
echo "-- tests"
found p
found p --include_tests
found p/tests/c.py
cp p/test_d.py q && tprof-analyze check q; echo "only tests: $?"
tprof-analyze check p --format json | jq -c '[.scripts, .tests_left_out]'

echo "-- a table"
cat > p/pyproject.toml << 'END'
[build-system]
requires = ["setuptools"]

[tool.tprof]
exclude = ["src/legacy", "er/"] # of others
fail_on = "high"
lang = "zh"
include_tests = true
END
tprof-analyze check p/src; echo "status $?"
found p/deep p/src/legacy/b.py # named: read
found p --include_tests --lang en
tprof-analyze check p/src --fail_on none --lang en > /dev/null
echo "options win: $?"
(cd p/src && tprof-analyze check . --lang en | head -n 1)
echo "-- the nearest one"
echo '[tool.tprof]' > p/src/pyproject.toml
tprof-analyze check p/src/a.py > /dev/null; echo "status $?"
echo '[tool.other]' > p/src/pyproject.toml
tprof-analyze check p/src/a.py > /dev/null; echo "status $?"
printf '[tool.tprof]\nselect = ["half_cal"]\n' > p/src/pyproject.toml
(cd p && tprof-analyze check src 2>&1 | sed 's/: .*p.src/: DIR/'
printf '[tool.tprof]\nselect = "bce\n' > src/pyproject.toml
tprof-analyze check src 2>&1 | sed 's/: .*p.src/: DIR/')
rm p/src/pyproject.toml p/pyproject.toml

echo "-- targets"
cp "$srcdir/testdata/check/bad-static_loss_scale.sh" .
tprof-analyze check bad-static_loss_scale.sh --target fp16 | grep -c Line
tprof-analyze check bad-static_loss_scale.sh --target bf16

echo "-- SARIF"
mkdir s
printf 's = "\303\251"; x.half()\n' > 's/a b.py'
printf 'x.half()\nx.half()\n  y = (\n' > s/c.py
cp "$srcdir/testdata/check/cells.ipynb" s
tprof-analyze check ./s --format sarif > log 2> err
echo "status $?"; grep -c c.py err
jq -c '[."$schema" != null, .version, (.runs | length)],
    (.runs[0] | [.tool.driver.name, .columnKind]),
    (.runs[0] as $run | $run.results[] |
        [.ruleId, .level, $run.tool.driver.rules[.ruleIndex].id == .ruleId,
         (.locations[0].physicalLocation |
             .artifactLocation.uri, .region.startLine, .region.startColumn)]),
    (.runs[0].results | map(.partialFingerprints["line/v1"]) |
        [length, (unique | length)]),
    (.runs[0].invocations[0].toolExecutionNotifications[] |
        [.level, .locations[0].physicalLocation.region.startLine])' log
jq -r '.runs[0].results[3].message.text' log
sed -i '1i # a line more' 's/a b.py'
tprof-analyze check ./s --format sarif 2> err |
    jq -c --slurpfile old log '[.runs[0].results[0].partialFingerprints ==
        $old[0].runs[0].results[0].partialFingerprints]'
