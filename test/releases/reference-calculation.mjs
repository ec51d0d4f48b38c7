// This calculation is the reference for the speed of releases. It is a fixed amount of single-precision arithmetic and
// of creating objects in plain JavaScript, mixed about as in a training run on the CPU. It must never change, because
// the figures of older releases are ratios to its time.
const size = 192;
const fill = (seed) => Float32Array.from({ length: size * size }, (_, index) => Math.sin(index * seed));

function multiply(left, right, out) {
  for (let row = 0; row < size; row++)
    for (let column = 0; column < size; column++) {
      let sum = 0;
      for (let inner = 0; inner < size; inner++) sum += left[row * size + inner] * right[inner * size + column];
      out[row * size + column] = sum;
    }
}

let [a, b] = [fill(0.1), fill(0.7)];
let out = new Float32Array(size * size);
for (let round = 0; round < 240; round++) {
  multiply(a, b, out);
  const scale = 1 / Math.max(...out.subarray(0, size).map(Math.abs));
  [a, out] = [out.map((value) => value * scale), a];
}
const words = new Map();
for (let index = 0; index < 1_000_000; index++) {
  const word = `w${(index * 7919) % 50021}`;
  words.set(word, (words.get(word) ?? 0) + 1);
}
if (words.size !== 50021 || !Number.isFinite(a[0])) process.exitCode = 1;
