# SPDX-License-Identifier: MIT
# The processes of an MPI job give the results of one, however many they are,
# whatever they read: single files, checkpoints of several, damaged ones.
mpi_program
need h5dump
mkdir in
for part in logs checkpoints checkpoint_faults quantised msprobe torch; do
    must cp -R "$srcdir/testdata/$part" in/
done
analyse()
{
    "$@" --tensor_dir in --output_dir draw --no_plots > text 2> err
    echo "exit $?"
}
analyse tprof-analyze --jobs 2
mv draw alone
ranks_alike 1 2 3 5
grep -c $'\x1b' text # what is no terminal gets no colours and links
analyse ranks 2 --jobs 2
mv draw together
same alone together
