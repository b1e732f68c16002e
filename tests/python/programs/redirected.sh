#!/bin/bash
# redirected.sh FOLDER: files as stdin and stdout of programs and of the shell itself.
cd "$1" || exit 1
{ seq 3; echo builtin; seq 2; } > a
cat a
wc -l < a
seq 2 >> a
echo end >> a
cat a
sort < a | head -3
while read -r line; do echo -n "$line,"; done < a
echo
tee b < a > /dev/null
cmp a b && echo same
python3 -c 'print("python")' >> a
tail -2 a
stat -c %s a
awk '{n++} END {print n}' a
awk '{print > "c"}' a
cmp a c && echo same
exec 3<> a
read -r -u 3 line
echo "$line"
echo over >&3
exec 3>&-
head -3 a
sed -i 2d a
cat a
cat > d << END
here
END
cat d
printf 'x%.0s' {1..5000} > e
stat -c %s e
: > e
stat -c %s e
dd if=a of=f bs=7 conv=notrunc 2> /dev/null
cmp a f && echo same
(echo 1; ls /nowhere) > both 2>&1
wc -l < both
ls -l | awk '{print $5, $9}'
