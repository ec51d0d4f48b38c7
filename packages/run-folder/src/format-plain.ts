/**
 * Formats a number of at most six significant digits as `toLocaleString('en-US', { maximumFractionDigits: 6 })` does,
 * such as "12,340.5". `toLocaleString` takes as long as all other work for a chart, so it formats only unusual numbers.
 */
export function formatPlain(value: number): string {
  const size = Math.abs(value);
  if (Object.is(value, -0) || !(size < 1e21) || (size > 0 && size < 1e-3))
    return value.toLocaleString('en-US', { maximumFractionDigits: 6 });
  const [whole = '', fraction] = String(value).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}
