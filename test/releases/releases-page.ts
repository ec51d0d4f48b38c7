import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { wilsonInterval } from '@agentjet/core/success';
import { median } from '../bench/bench.js';
import type { CellResult, SeedResult } from './cell-result.js';
import { listVersions, readResults } from './store.js';

/** Makes `RELEASES.md` from the kept results, with a row for each cell and version, newest version first. */

const two = (value: number): string => value.toFixed(2);

function range(seeds: readonly SeedResult[], of: (seed: SeedResult) => number | null): string {
  const values = seeds.flatMap((seed) => of(seed) ?? []);
  if (values.length === 0) return '-';
  return `${two(median(values))} (${two(Math.min(...values))} to ${two(Math.max(...values))})`;
}

/** Shows the range of a success rate and the 95% interval of its median, from the number of held-out tasks. */
function rangeWithInterval(seeds: readonly SeedResult[], of: (seed: SeedResult) => number | null): string {
  const rates = seeds.flatMap((seed) => of(seed) ?? []);
  const numTasks = Math.max(...seeds.map(({ outcomes }) => Object.keys(outcomes).length));
  if (rates.length === 0 || numTasks === 0) return range(seeds, of);
  const { low, high } = wilsonInterval(median(rates), numTasks);
  return `${range(seeds, of)} [${two(low)}, ${two(high)}]`;
}

function row({ version, tutorial, backbone, model, date, commit, seeds, failed = [] }: CellResult): string {
  const cells = [
    version,
    tutorial,
    backbone,
    model,
    rangeWithInterval(seeds, (seed) => seed.success_before),
    rangeWithInterval(seeds, (seed) => seed.success_after ?? seed.success_mean_last_20),
    range(seeds, (seed) => seed.area_under_curve),
    failed.length === 0 ? String(seeds.length) : `${seeds.length} of ${seeds.length + failed.length}`,
    date,
    commit,
  ];
  return `| ${cells.join(' | ')} |`;
}

export function formatReleases(results: readonly CellResult[]): string {
  return `# Releases

Does each tutorial still learn, as well and as fast as before? \`npm run releases\` fills this page from the files in
\`results\`; \`npm run releases -- --gate\` compares the present code with them. Success is the share of the held-out tasks;
each figure is the median of the seeds, with the smallest and the largest in parentheses. Brackets hold the 95% interval of this
median, from the number of held-out tasks (Wilson). Seeds that ended with an error are counted, but have no
figures. The area is the mean training success over all steps.

| version | tutorial | backbone | model | before | after | area | seeds | date | commit |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${results.map(row).join('\n')}
`;
}

/** Returns all kept results, in the order of the page. */
export function readAllResults(): readonly CellResult[] {
  return listVersions()
    .toReversed()
    .flatMap((version) => readResults(version));
}

export const releasesPage = path.join(import.meta.dirname, 'RELEASES.md');

export function writeReleasesPage(): void {
  writeFileSync(releasesPage, formatReleases(readAllResults()));
}
