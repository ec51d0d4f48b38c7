import { run as runBench } from '../bench/doors/bench.js';
import type { NightlyOutcome } from './nightly-job.js';

/** Tries our packages in the projects that people have: types, package managers, bundlers, test runners, mistakes. */
export async function run(): Promise<NightlyOutcome> {
  const report = (line: string): void => console.log(line);
  const { summary } = await runBench({ report, args: [], waitUntilQuiet: async () => undefined });
  const { projects, install_mb: megabytes } = summary as {
    readonly projects: Readonly<Record<string, string>>;
    readonly install_mb: number;
  };
  const failed = Object.entries(projects).filter(([, outcome]) => outcome !== 'ok');
  const names = failed.map(([name]) => name).join(', ');
  return {
    passed: failed.length === 0 && megabytes <= 150,
    summary: `${Object.keys(projects).length - failed.length} projects work${names === '' ? '' : `, not: ${names}`}; npm install agentjet brings ${megabytes} MB`,
    details: summary,
  };
}
