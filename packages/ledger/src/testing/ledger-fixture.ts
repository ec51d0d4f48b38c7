import { Ledger } from '../ledger.js';
import type { LedgerRecord } from '../records.js';
import type { LedgerRules } from '../rules.js';

/**
 * Creates a ledger on a clock that only `pass` moves. Also returns every record that the ledger wrote and every running
 * attempt that it dropped.
 */
export function createTestLedger(rules: Partial<LedgerRules> = {}) {
  let now = 0;
  let numClaims = 0;
  const records: LedgerRecord[] = [];
  const cut: string[] = [];
  const ledger = new Ledger({
    rules,
    now: () => now,
    journal: (added) => records.push(...added),
    onDrop: ({ episodeId, reason }) => cut.push(`${episodeId} ${reason}`),
  });
  const claim = (groupId: string, place: number, leaseMs?: number): string => {
    const episodeId = `${groupId}/${place}/${numClaims++}`;
    ledger.claim({ groupId, place }, { episodeId, seed: place, ...(leaseMs !== undefined && { leaseMs }) });
    return episodeId;
  };
  return {
    ledger,
    records,
    cut,
    claim,
    /** Claims the place and ends the attempt at once. */
    run: (groupId: string, place: number, status: 'completed' | 'failed' | 'outage', reward: number | null = 1) => {
      const episodeId = claim(groupId, place);
      ledger.end(episodeId, { status, reward });
      return episodeId;
    },
    pass: (ms: number) => {
      now += ms;
      ledger.expire();
    },
  };
}
