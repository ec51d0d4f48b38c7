import { formatShare } from '@agentjet/core';
import type { LedgerRecord, LedgerState } from '@agentjet/ledger';
import type { NewestStep } from '../swarm/policy-progress.js';
import type { LogEntry } from './log-entry.js';

/** Log lines about the records of a swarm: failures, orders of operators, checkpoints, evaluations and steps. */

/** Episodes that are dropped for these reasons were lost. All other drops are decisions of the server. */
const losses: ReadonlySet<string> = new Set(['lease_expired', 'outage', 'replay_mismatch', 'machine_restarted']);

/** Returns the log line about a committed record, or undefined if the record needs none. */
export function toLogEntry(record: LedgerRecord, { episodes }: Pick<LedgerState, 'episodes'>): LogEntry | undefined {
  switch (record.kind) {
    case 'end': {
      if (record.status === 'completed') return undefined;
      const error = errorOf(record.content);
      const message = `The episode ended as ${record.status}${error === undefined ? '' : `: ${error}`}`;
      return { level: 'warn', message, ...idsOf(record.episodeId, episodes) };
    }
    case 'drop':
      if (!losses.has(record.reason)) return undefined;
      return { level: 'warn', message: `The episode was lost: ${record.reason}`, ...idsOf(record.episodeId, episodes) };
    case 'checkpoint':
      return { level: 'info', message: `The checkpoint of step ${record.step} is saved`, policy: record.policy };
    case 'evaluation':
      return {
        level: 'info',
        message: `The evaluation after step ${record.step} is over: it rests on ${record.restsOn} tasks`,
        policy: record.policy,
      };
    case 'audit':
      return {
        level: 'info',
        message: `Order of an operator: ${record.what} ${JSON.stringify(record.detail)}`,
        key: record.by,
      };
    default:
      return undefined;
  }
}

/** Returns the log line about a step that was made now. */
export function toStepEntry(policy: string, { step, reward, success, episodes, seconds = 0 }: NewestStep): LogEntry {
  const succeeded = success === undefined ? '' : `, success ${formatShare(success)}`;
  const message = `Step ${step} is made in ${seconds.toFixed(1)} s: ${episodes} episodes, reward ${reward.toFixed(3)}${succeeded}`;
  return { level: 'info', message, policy };
}

function idsOf(episode: string, episodes: LedgerState['episodes']): Pick<LogEntry, 'episode' | 'client'> {
  return { episode, client: episodes.get(episode)?.client };
}

/** Returns the error of an end as text. The content of a record has no type. */
function errorOf(content: unknown): string | undefined {
  const { error } = (content ?? {}) as { readonly error?: { readonly code?: unknown; readonly message?: unknown } };
  return typeof error?.message === 'string' ? `${String(error.code)}: ${error.message}` : undefined;
}
