import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { NodeOutcome } from '../../nodes/run-commands.js';
import { run as runJob } from '../../nightly/nodes.js';
import type { BenchOptions, BenchResult, OptionTexts } from '../bench.js';

/**
 * Do `npm start` and `npm test` pass without a warning on every Node that we support? The job `.ci/nightly nodes`
 * measures this, and this benchmark prints the result that the job has kept, with its commit. It runs the job if there
 * is no result, or with `--fresh` (an hour).
 */

type Nodes = Readonly<Record<string, NodeOutcome>>;
type Kept = { readonly commit: string; readonly date: string; readonly nodes: Nodes };

const file = path.resolve(import.meta.dirname, '../../nightly/results/nodes.json');

export const optionTexts: OptionTexts = { '--fresh': 'runs the job again, which takes an hour' };

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  if (existsSync(file) && !args.includes('--fresh')) {
    const { commit, date, nodes } = JSON.parse(readFileSync(file, 'utf8')) as Kept;
    report(`Measured at commit ${commit} on ${date} by \`.ci/nightly nodes\`; --fresh measures again.`);
    return { summary: summarize(nodes), details: { measured_at: { commit, date } } };
  }
  const { summary, details } = await runJob((soFar) => report(soFar.summary));
  const nodes = details['nodes'];
  if (nodes === undefined) throw new Error(summary);
  return { summary: summarize(nodes as Nodes), details: { nodes } };
}

function summarize(nodes: Nodes): BenchResult['summary'] {
  return Object.fromEntries(
    Object.entries(nodes).map(([major, { passed, failed, warnings }]) => [major, { passed, failed, warnings }]),
  );
}
