import sys, tempfile, time
from pathlib import Path
from zoo.zoo_cage import Cage, Missing
from zoo.zoo_compare import differences
from zoo.zoo_table import read_table
names=set(sys.argv[1:])
for entry in read_table():
    for mpi in entry.mpi or ("",):
        if names and entry.name not in names: continue
        with tempfile.TemporaryDirectory(prefix="iotune-", dir="/dev/shm") as b, tempfile.TemporaryDirectory(prefix="zoo-") as s:
            try:
                cage=Cage(entry,mpi,Path("/root/g55/iotune_stub"),Path(s),Path(b))
                cage.prepare()
                bare=cage.run("bare 1")
                if bare.status!=0: raise Missing(f"bare {bare.status}")
            except Missing as m:
                print("MISSING",entry.name,mpi,str(m)[:150],flush=True); continue
            for arm in ("gathered memory","gathered log"):
                left=cage.arm(arm,1)
                d=differences(bare,left,entry,contents=True)
                print("FAULT" if d else "ok",entry.name,mpi,arm,d[:4],left.reported()[:2],flush=True)
