#!/bin/bash
# One task of the array trains one pattern. Add what your site wants: account, partition, time.
#SBATCH --job-name=iotune-train
#SBATCH --array=0-$last
#SBATCH --ntasks=$ranks
#SBATCH --nodes=$nodes
#SBATCH --output=iotune-train-%a.txt

patterns=($patterns)
export IOTUNE_MPIRUN="$${IOTUNE_MPIRUN:-srun}"
exec $command --pattern "$${patterns[$$SLURM_ARRAY_TASK_ID]}"
