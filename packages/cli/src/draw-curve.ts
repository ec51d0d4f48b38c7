import { mean } from '@agentjet/core';
const blocks = '▁▂▃▄▅▆▇█';

/**
 * Draws values as a line of blocks, from the lowest to the highest value. More values than `width` are averaged, so that
 * the line always shows the whole run. Returns an empty string for fewer than two values.
 */
export function drawCurve(values: readonly number[], width: number): string {
  if (values.length < 2) return '';
  const numBlocks = Math.min(width, values.length);
  const means = Array.from({ length: numBlocks }, (_, at) => {
    const from = Math.floor((at * values.length) / numBlocks);
    const part = values.slice(from, Math.floor(((at + 1) * values.length) / numBlocks));
    return mean(part);
  });
  const low = Math.min(...means);
  const range = Math.max(...means) - low;
  const levelOf = (value: number): number =>
    range === 0 ? 0 : Math.round(((value - low) / range) * (blocks.length - 1));
  return means.map((value) => blocks.charAt(levelOf(value))).join('');
}
