import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { ClusterResult } from '../../nightly/kubernetes/play-in-cluster.js';

/** Reads what the nightly job `kubernetes` kept, and the commit that it played. Says why if there is nothing. */

const kept = path.join(import.meta.dirname, '..', '..', 'nightly', 'results', 'kubernetes.json');

type Kept = Omit<ClusterResult, 'summary'> & {
  /** The line of the job, which is the summary as JSON. */
  readonly summary: string;
  readonly passed: boolean;
  readonly date: string;
  readonly commit: string;
};

export function readCluster(file = kept): { readonly summary: object | string; readonly details: object } {
  if (!existsSync(file)) return { summary: '`.ci/nightly kubernetes` has kept no result', details: {} };
  const { summary, passed, date, commit, episodes, finished, kinds } = JSON.parse(readFileSync(file, 'utf8')) as Kept;
  const { api_server, faults, wrong_rewards, left } = JSON.parse(summary) as ClusterResult['summary'];
  return {
    summary: { api_server, faults, wrong_rewards, left },
    details: { passed, date, commit, episodes, finished, kinds },
  };
}
