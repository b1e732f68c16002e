#!/bin/bash
# tools.sh FOLDER: common programs on files of the folder. What it prints is the same everywhere.
set -u
cd "$1" || exit 1
check() { "${@:2}" && echo "$1 ok" || echo "$1 differs"; }

seq 1 20000 > numbers
sort -R --random-source=numbers numbers > shuffled
sort -n shuffled > sorted
check sort cmp sorted numbers
sort -n -S 20k -T . shuffled -o sorted
check "sort with temporary files" cmp sorted numbers
split -n 4 numbers part. && cat part.* | cmp - numbers && echo "split ok"
tar cf all.tar numbers shuffled && mkdir out && tar xf all.tar -C out
check tar cmp out/numbers numbers
gzip -k numbers && gzip -t numbers.gz && zcat numbers.gz | cmp - numbers && echo "gzip ok"
cp -a numbers copy
check cp cmp copy numbers
rm copy
sed -i s/1/one/ shuffled
grep -c one shuffled
dd if=numbers of=pieces bs=777 2> /dev/null
check dd cmp pieces numbers
dd if=/dev/zero of=pieces bs=100 seek=5 count=1 conv=notrunc 2> /dev/null
cmp pieces numbers | head -1
truncate -s 5000 pieces && stat -c '%s %F' pieces
truncate -s +100 pieces && tail -c 100 pieces | tr -d '\0' | wc -c
tee copy < numbers > /dev/null
check tee cmp copy numbers
mv copy moved && mv moved numbers && wc -l numbers
chmod 640 numbers && touch -d 2001-02-03 numbers && stat -c '%A %y' numbers | cut -c 1-21
ls | tr '\n' ' '
find . -type f | sort | tr '\n' ' '
install -m 600 numbers installed && stat -c %A installed
rm -f installed && [ ! -e installed ] && echo gone
ln numbers hard 2> /dev/null
rm -f hard
ln -s numbers soft && wc -l < soft && readlink soft
python3 - << 'END'
import mmap, os, shutil, sqlite3, tempfile, zipfile
base = sqlite3.connect("base.db")
base.execute("create table t(a, b)")
base.executemany("insert into t values(?, ?)", [(i, str(i)) for i in range(5000)])
base.commit()
base.execute("delete from t where a % 2")
base.commit()
base.execute("vacuum")
base.close()
base = sqlite3.connect("base.db")
print(base.execute("select count(*), sum(a) from t").fetchone())
print(base.execute("pragma integrity_check").fetchone())
base.close()
with zipfile.ZipFile("all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.write("numbers")
print(zipfile.ZipFile("all.zip").testzip())
with tempfile.NamedTemporaryFile(dir=".") as file:
    file.write(b"x" * 10000)
    file.flush()
    print(os.path.getsize(file.name))
with open("numbers", "rb") as file:
    for access in (mmap.ACCESS_READ, mmap.ACCESS_COPY):
        with mmap.mmap(file.fileno(), 0, access=access) as memory:
            print(memory[:4], len(memory))
shutil.copyfile("numbers", "again")
print(open("again").read() == open("numbers").read())
os.remove("base.db"), os.remove("all.zip"), os.remove("numbers.gz")
os.remove("all.tar")
END
