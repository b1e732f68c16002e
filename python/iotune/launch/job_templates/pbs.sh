#!/bin/bash
# One task of the array trains one pattern. Add what your site wants: project, queue, walltime.
#PBS -N iotune-train
#PBS -J 0-$last
#PBS -l select=$nodes:ncpus=$ranks_per_node:mpiprocs=$ranks_per_node
#PBS -j oe

cd "$$PBS_O_WORKDIR" || exit 1
patterns=($patterns)
exec $command --pattern "$${patterns[$$PBS_ARRAY_INDEX]}"
