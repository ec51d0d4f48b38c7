/**
 * Returns `base ** exponent` for a base of at least 0, computed only from products and square roots. IEEE 754 defines
 * the rounding of both, so the result is the same for every version of Node and every processor. The last digits of
 * V8's own power differ between Node 22 and Node 24. The relative error is at most (|exponent| + 60) * 2^-52.
 */
export function power(base: number, exponent: number): number {
  if (exponent < 0) return 1 / power(base, -exponent);
  const whole = Math.floor(exponent);
  return wholePower(base, whole) * rootPower(base, exponent - whole);
}

function wholePower(base: number, exponent: number): number {
  let result = 1;
  let square = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= square;
    square *= square;
  }
  return result;
}

/** Handles an exponent below 1. Each binary digit of the exponent needs one more square root. */
function rootPower(base: number, exponent: number): number {
  let result = 1;
  let root = base;
  for (let left = exponent; left > 0; left = (2 * left) % 1) {
    root = Math.sqrt(root);
    if (left >= 0.5) result *= root;
  }
  return result;
}
