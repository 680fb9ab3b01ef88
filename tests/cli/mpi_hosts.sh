# SPDX-License-Identifier: MIT
# Two hosts that share a file system and nothing else but a wire: network
# namespaces with names of their own, joined by TCP. The results are those of
# one process, of tensors and of traces, and a file on the other host is read
# there.
mpi_program
need h5dump
need ip
need unshare
one=tp$$a two=tp$$b
remove()
{
    ip netns del $one 2> /dev/null
    ip netns del $two 2> /dev/null
}
trap remove EXIT
{
    ip netns add $one && ip netns add $two &&
        ip link add name wire netns $one type veth peer name wire netns $two &&
        ip -n $one address add 10.213.7.1/24 dev wire &&
        ip -n $two address add 10.213.7.2/24 dev wire &&
        ip -n $one link set wire up && ip -n $two link set wire up &&
        ip -n $one link set lo up && ip -n $two link set lo up
} 2> why || skip "no network namespaces: $(head -n 1 why)"

# on HOST COMMAND...: there
cat > on << END
#!/bin/sh
case \$1 in
*.1) space=$one name=first ;;
*.2) space=$two name=second ;;
esac
shift
exec ip netns exec \$space unshare --uts sh -c "hostname \$name; \$*"
END
chmod +x on
hosts()
{
    ./on 10.213.7.1 mpirun --allow-run-as-root -n 4 --map-by node \
        --host 10.213.7.1:2,10.213.7.2:2 \
        --mca plm_rsh_agent "$PWD/on" --mca pml ob1 \
        --mca btl tcp,self --mca btl_tcp_if_include wire \
        --mca oob_tcp_if_include wire --mca osc ^ucx "$@"
}
hosts hostname > names 2> err || skip "mpirun does not reach the other host"
LC_ALL=C sort names | uniq -c

mkdir in
some_logs in 40
must cp -R "$srcdir/testdata/checkpoints" in/
tprof-analyze --tensor_dir in --output_dir draw --no_plots > text
mv draw alone
hosts "$mpi_program" --tensor_dir in --output_dir draw --no_plots --jobs 1 \
    > text 2> err
echo "exit $?"
grep tprof-analyze: err
mv draw together
same alone together
tprof-analyze trace "$srcdir/testdata/traces/own/ranks" --output_dir draw \
    --no_plots > text
mv draw one
hosts "$mpi_program" trace "$srcdir/testdata/traces/own/ranks" \
    --output_dir draw --no_plots --jobs 1 > text 2> err
echo "exit $?"
mv draw two
same one two
