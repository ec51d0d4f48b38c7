import { AgentJetError } from '@agentjet/core';
import { LmdbStore, StoreError, verifyStore, type PolicyVerdict, type StoreVerdict } from '@agentjet/ledger';
import { findLedgerOfRun, hasLedger, type LedgerOfRun } from '@agentjet/run-folder';
import type { VerifyFlags } from '../swarm-program.js';

/** `ajet swarm verify` folds the ledger of a run and changes nothing. Returns 1 if the ledger contradicts itself. */
export async function verifyRunStore(run: string, { json = false }: VerifyFlags): Promise<number> {
  const verdict = await verdictOf(findStore(run).dir);
  console.log(json ? JSON.stringify(toReport(verdict)) : describe(verdict));
  return verdict.isSound ? 0 : 1;
}

async function verdictOf(dir: string): Promise<StoreVerdict> {
  try {
    const store = await LmdbStore.open(dir, { isReadOnly: true });
    try {
      return verifyStore(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreError && error.code === 'damaged') return { isSound: false, problem: error.message };
    throw error;
  }
}

export function findStore(run: string): LedgerOfRun {
  const found = findLedgerOfRun(run) ?? (hasLedger(run) ? ({ dir: run, name: 'ledger' } as const) : undefined);
  if (found !== undefined) return found;
  throw new AgentJetError(
    'no_ledger',
    `${run} has no ledger: there are no numbered .mdb files in the folder itself, in its folders "ledger" and "recorded", or in the swarm.store_dir of its config.yaml. Name the folder of a run.`,
  );
}

function describe(verdict: StoreVerdict): string {
  if (!verdict.isSound) return `The ledger is not sound. ${verdict.problem}`;
  const named = Object.entries(verdict.policies);
  if (named.length > 0) {
    const parts = named.map(([policy, found]) => `${policy}: ${describeAccount(found)}`);
    return [`The ledger is sound, with ${named.length} policies.`, ...parts].join('\n');
  }
  return `The ledger is sound: ${describeAccount(verdict)}`;
}

function describeAccount({ account, steps, incarnation }: PolicyVerdict): string {
  const { acknowledged, trained, assigned, pooled, unscored, evaluated, dropped, droppedByReason } = account;
  const reasons = Object.entries(droppedByReason).map(([reason, count]) => `${count} ${reason}`);
  return [
    `${steps} steps, incarnation ${incarnation}.`,
    `${acknowledged} acknowledged = ${trained} trained + ${assigned} assigned + ${pooled} pooled + ${unscored} unscored + ${evaluated} evaluated + ${dropped} dropped`,
    ...(reasons.length > 0 ? [`dropped: ${reasons.join(', ')}`] : []),
    `${account.running} running, ${account.unfinished} lost before they ended`,
  ].join('\n');
}

function toReport(verdict: StoreVerdict): Readonly<Record<string, unknown>> {
  if (!verdict.isSound) return { sound: false, problem: verdict.problem };
  const policies = Object.entries(verdict.policies).map(([policy, found]) => [policy, toAccount(found)] as const);
  return {
    sound: true,
    ...toAccount(verdict),
    ...(policies.length > 0 && { policies: Object.fromEntries(policies) }),
  };
}

function toAccount({ account, steps, incarnation }: PolicyVerdict): Readonly<Record<string, unknown>> {
  const { droppedByReason, ...counts } = account;
  return { steps, incarnation, ...counts, dropped_by_reason: droppedByReason };
}
