/** Exact powers of ten: a double represents them up to 10^22. */
const powers = Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

/** The number of digits that are kept, which is the precision of a float32. */
const digits = 7;
/** A product this close to the middle of two integers may be rounded to the wrong one. */
const unsure = 1e-6;

/**
 * Rounds to seven digits. The result is `Number(value.toPrecision(7))` to the last bit, but much faster: an integer of
 * seven digits divided by an exact power of ten is the double nearest to the decimal number. Values for which this is
 * not certain are formatted.
 */
export function shortenNumber(value: number): number {
  if (value === 0) return 0;
  const size = Math.abs(value);
  const power = powers[digits - 1 - Math.floor(Math.log10(size))];
  if (power === undefined) return Number(value.toPrecision(digits));
  const scaled = size * power;
  const whole = Math.floor(scaled);
  const rest = scaled - whole;
  if (whole < 1e6 || whole >= 1e7 || Math.abs(rest - 0.5) < unsure) return Number(value.toPrecision(digits));
  const short = (rest < 0.5 ? whole : whole + 1) / power;
  return value < 0 ? -short : short;
}
