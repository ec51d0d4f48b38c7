import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { wilsonInterval } from '@agentjet/core/success';
import { median } from '../bench/bench.js';
import type { CellResult, SeedResult } from './cell-result.js';
import { type CellCurve, curvesDir, readCurves } from './curves.js';
import { drawCurves } from './draw-curves.js';
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

type Drawing = { readonly title: string; readonly file: string; readonly curves: readonly CellCurve[] };

/** The cells with more than one measured result. */
function drawingsOf(results: readonly CellResult[]): readonly Drawing[] {
  return [...readCurves(results)].flatMap(([file, curves]) => {
    const newest = curves.at(-1);
    if (newest === undefined || curves.length < 2) return [];
    return [{ title: `${newest.tutorial} on ${newest.backbone}`, file: file.replace('.json', '.svg'), curves }];
  });
}

const formatDrawing = ({ title, file, curves }: Drawing): string =>
  `![${title}: training success of ${curves.length} results](curves/${file})`;

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

## Curves

Each chart has the training success of every result of a tutorial that was kept, also of those that a newer one has replaced.
A curve is the median of its seeds after 5, 10, 20 and 40 steps and at the end, and the newest one is drawn first. Models and
settings changed between some results, so a difference can have several causes; \`--gate\` compares like with like.

${drawingsOf(results).map(formatDrawing).join('\n\n')}
`;
}

/** Returns all kept results, in the order of the page. */
export function readAllResults(): readonly CellResult[] {
  return listVersions()
    .toReversed()
    .flatMap((version) => readResults(version));
}

export const releasesPage = path.join(import.meta.dirname, 'RELEASES.md');

/** Writes the page and its charts. */
export function writeReleasesPage(): void {
  const results = readAllResults();
  mkdirSync(curvesDir, { recursive: true });
  for (const { title, file, curves } of drawingsOf(results))
    writeFileSync(path.join(curvesDir, file), drawCurves(title, curves));
  writeFileSync(releasesPage, formatReleases(results));
}
