#!/bin/bash
# All patterns one after the other. Add what your site wants: queue, time.
# flux: --job-name=iotune-train
# flux: --nodes=$nodes
# flux: --output=iotune-train.txt

export IOTUNE_MPIRUN="$${IOTUNE_MPIRUN:-flux run}"
for pattern in $patterns; do
  $command --pattern "$$pattern"
done
