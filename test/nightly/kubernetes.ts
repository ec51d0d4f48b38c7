import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { playInCluster } from './kubernetes/play-in-cluster.js';
import type { NightlyOutcome } from './nightly-job.js';

const setup = path.join(import.meta.dirname, '..', 'bench', 'harbor', 'setup.sh');

/** Plays tasks of Harbor in pods of a real API server, while its calls and its pods fail. Installs podman if it may. */
export async function run(): Promise<NightlyOutcome> {
  const made = spawnSync('sh', [setup], { encoding: 'utf8' });
  const [, file] = /^export CONTAINERS_CONF=(.*)$/m.exec(made.stdout) ?? [];
  if (file !== undefined) process.env['CONTAINERS_CONF'] = file;
  const result = await playInCluster({ episodes: 40, faultShare: 0.02, seed: 1, report: (line) => console.log(line) });
  if (typeof result === 'string')
    return { passed: true, isSkipped: true, summary: `There is no cluster: ${result}`, details: {} };
  const { summary, finished, episodes, notOutages } = result;
  const isRight = summary.wrong_rewards === 0 && summary.left === 0 && notOutages.length === 0;
  return {
    passed: isRight && finished >= episodes * 0.75,
    summary: JSON.stringify({ ...summary, finished, episodes }),
    details: result,
  };
}
