#!/bin/bash
# formats.sh FOLDER: programs with file formats of their own on files of the folder. What is not
# installed is left out. What it prints is the same everywhere.
set -u
cd "$1" || exit 1
export TZ=UTC HOME="$PWD" GIT_CONFIG_NOSYSTEM=1
check() { "${@:2}" && echo "$1 ok" || echo "$1 differs"; }
has() { command -v "$@" > /dev/null; }

cat > grid.cdl << 'END'
netcdf grid {
dimensions: time = UNLIMITED; y = 40; x = 50;
variables: double t(time, y, x); int time(time); t:units = "K";
data: time = 1, 2, 3;
}
END
if has ncgen nccopy ncdump; then
  ncgen -o classic.nc grid.cdl && ncgen -k nc4 -o four.nc grid.cdl && ncdump four.nc | head -20
  nccopy -k nc4 -d 5 -s classic.nc packed.nc && ncdump -hs packed.nc | grep -v SuperblockVersion
  nccopy -k classic packed.nc back.nc && ncdump back.nc > back.cdl
  nccopy -k classic four.nc four-back.nc
  ncdump -n back four-back.nc | cmp - back.cdl && echo "netCDF ok"
  ncgen -k nc4 -o again.nc back.cdl && ncdump -n back again.nc | cmp - back.cdl && echo "ncgen ok"
fi
if has ncks ncrcat && [ -e four.nc ]; then
  ncrcat -O -h four.nc four.nc six.nc && ncdump -v time six.nc | tail -3
  ncks -O -h -d y,3,9 six.nc part.nc && ncdump -h part.nc
  ncks -A -h -v time six.nc part.nc && ncdump -h part.nc | cksum
fi
if has h5repack h5dump h5diff h5copy && [ -e four.nc ]; then
  h5repack -f GZIP=3 -l CHUNK=1x8x8 four.nc repacked.h5
  h5diff four.nc repacked.h5 && echo "h5repack ok"
  h5dump -p -d /t repacked.h5 | cksum
  h5copy -i four.nc -o repacked.h5 -s /t -d /copy && h5ls -r repacked.h5
fi
if has sqlite3; then
  sqlite3 base.db "create table t(a integer primary key, b text); create index i on t(b);
    with recursive n(k) as (select 1 union all select k + 1 from n where k < 3000)
      insert into t select k, hex(k * 7919) from n;
    delete from t where a % 3 = 0; vacuum; pragma integrity_check; pragma journal_mode;"
  sqlite3 base.db "begin; update t set b = 'x' where a < 100; rollback;
    select count(*) from t where b = 'x'"
  for mode in truncate persist memory off; do
    sqlite3 base.db "pragma journal_mode = $mode;
      update t set b = '$mode' where a < 10; select max(b) from t"
  done
  sqlite3 base.db .dump | cksum
  sqlite3 base.db ".backup copy.db"
  sqlite3 copy.db "select sum(a) from t; pragma integrity_check"
fi
if has git; then
  export GIT_AUTHOR_DATE='2001-02-03 04:05:06 +0000'
  export GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
  git -c init.defaultBranch=main init -q repository && cd repository || exit 1
  git config user.name Some && git config user.email some@example.org
  seq 1000 > numbers && git add . && git commit -q -m first && sed -i s/5/five/ numbers
  git diff --stat && git commit -q -a -m second && git log --format='%H %s' && git status --short
  git checkout -q HEAD~1 && cksum numbers && git checkout -q main && git gc -q && git fsck
  git archive HEAD | cksum && git blame -s numbers | cksum
  cd .. && rm -rf repository
fi
mkdir -p tree/deep/deeper && : > tree/deep/deeper/empty
seq 3000 > tree/a && seq 70000 > tree/deep/b
tar czf tree.tar.gz --mtime=2001-02-03 --owner=0 --group=0 --sort=name tree && tar tzf tree.tar.gz
tar xzf tree.tar.gz --one-top-level=unpacked && diff -r tree unpacked/tree && echo "tar ok"
tar cf grown.tar tree/a && tar rf grown.tar tree/deep && tar tf grown.tar
tar df grown.tar && echo "tar r ok"
if has rsync; then
  rsync -a tree/ mirror/ && diff -r tree mirror && echo more >> tree/a && rm tree/deep/b
  rsync -a --delete tree/ mirror/ && diff -r tree mirror && echo "rsync ok"
  echo most >> tree/a && rsync -a --inplace --no-whole-file tree/ mirror/
  diff -r tree mirror && echo "in place ok"
fi
if has zip unzip; then
  zip -q -r -X all.zip tree && unzip -tq all.zip && zip -q -X all.zip grid.cdl
  unzip -p all.zip grid.cdl | cmp - grid.cdl && echo "zip ok"
  zip -q -d all.zip grid.cdl && unzip -l all.zip | tail -1 && rm all.zip
fi
for program in gzip bzip2 xz zstd; do
  has $program || continue
  $program -q -k -f tree/a && $program -t -q tree/a.*
  $program -q -d -c tree/a.* | cmp - tree/a && echo "$program ok"
  rm tree/a.*
done
cp -r tree other && echo changed >> other/a
diff -u --label a --label b tree/a other/a > a.patch
patch -s tree/a a.patch && check patch cmp tree/a other/a
python3 - << 'END'
import csv, dbm.dumb, gzip, json, pickle, shelve, tarfile, zipfile
with zipfile.ZipFile("p.zip", "w") as archive:
    archive.writestr("a", "text" * 1000, zipfile.ZIP_DEFLATED)
with zipfile.ZipFile("p.zip", "a") as archive:
    archive.write("grid.cdl")
    print(archive.namelist(), archive.testzip())
with gzip.open("p.gz", "wt") as file:
    file.write("line\n" * 5000)
with gzip.open("p.gz", "at") as file:
    file.write("more\n")
print(len(gzip.open("p.gz").read()))
with dbm.dumb.open("p.dbm", "n") as base:
    for i in range(500):
        base[str(i)] = str(i * i)
    del base["7"]
with dbm.dumb.open("p.dbm", "w") as base:
    base["500"] = "last"
    print(len(base), base["21"], base["500"])
with open("p.pickle", "wb+") as file:
    for i in range(3):
        pickle.dump({"i": list(range(i * 1000))}, file)
    file.seek(0)
    print([len(pickle.load(file)["i"]) for _ in range(3)])
with tarfile.open("p.tar", "w") as archive:
    archive.add("tree", filter=lambda one: None if one.name.endswith("b") else one)
print(sorted(tarfile.open("p.tar").getnames()))
END
# With times or drawn numbers inside.
rm -rf p.zip p.tar p.gz tree.tar.gz grown.tar a.patch repacked.h5 base.db-journal
