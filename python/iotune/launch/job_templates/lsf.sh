#!/bin/bash
# One task of the array trains one pattern. Add what your site wants: project, queue, time.
#BSUB -J "iotune-train[1-$count]"
#BSUB -n $ranks
#BSUB -R "span[ptile=$ranks_per_node]"
#BSUB -o iotune-train-%I.txt

patterns=($patterns)
exec $command --pattern "$${patterns[$$((LSB_JOBINDEX - 1))]}"
