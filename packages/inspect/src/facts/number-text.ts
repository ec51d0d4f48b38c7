/** Formats 12345 as 12,345. */
export function formatInteger(value: number): string {
  return value.toLocaleString('en-US');
}

/** Formats [0, 1, 2, 3, 7] as `0-3, 7`. `mark` is put before each number. */
export function formatRanges(numbers: readonly number[], mark = ''): string {
  const ranges: [number, number][] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges
    .map(([first, last]) => (first === last ? `${mark}${first}` : `${mark}${first}-${mark}${last}`))
    .join(', ');
}
