// Streams, promises, synchronous calls and worker threads.
const fs = require("fs");
const zlib = require("zlib");
const { Worker, isMainThread, workerData } = require("worker_threads");

if (!isMainThread) {
  fs.writeFileSync(`worker${workerData}`, "y".repeat(50000 * (workerData + 1)));
} else {
  main();
}

async function main() {
  const descriptor = fs.openSync("random", "w+");
  for (let i = 0; i < 400; i++) fs.writeSync(descriptor, `${i};`.padEnd(16), (i * 31 % 400) * 16);
  let sum = 0;
  for (let i = 0; i < 400; i++) {
    const piece = Buffer.alloc(16);
    fs.readSync(descriptor, piece, 0, 16, i * 16);
    sum += i * parseInt(piece.toString());
  }
  fs.closeSync(descriptor);
  console.log(sum);
  await Promise.all([...Array(20).keys()].map((i) => fs.promises.writeFile(`file${i}`, "z".repeat(i * 1000))));
  await require("stream/promises").pipeline(
    fs.createReadStream("random"), zlib.createGzip(), fs.createWriteStream("random.gz"));
  fs.appendFileSync("random", "end");
  fs.copyFileSync("random", "copy");
  await Promise.all([0, 1, 2].map((n) => new Promise((done) =>
    new Worker(__filename, { workerData: n }).on("exit", done))));
  console.log(fs.readdirSync(".").sort().join(" "));
  console.log(require("child_process").execSync("cat file3 | wc -c").toString());
}
