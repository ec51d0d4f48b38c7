import {
  lineOf,
  type Flying,
  type Host,
  type Ledger,
  type LedgerRecord,
  type PolicyLine,
  type RecordIndex,
  type Store,
  type StoreWriter,
} from '@agentjet/ledger';
import { RecoveryBudget } from '@agentjet/core';
import type { WeightsState } from '@agentjet/run/loop';
import { CallGate } from './call-gate.js';
import type { AttemptLengths } from './attempt-lengths.js';
import type { WantedCheckpoint } from './checkpoint-orders.js';
import type { Changes } from './changes.js';
import type { ClientLives } from './client-lives.js';
import type { SwarmSettings } from './settings.js';
import type { Revisions } from './revisions.js';
import type { StragglerNotice } from './straggler-notice.js';
import type { TaskPort, TrainerPort } from './trainer-port.js';

/** What the parts of one swarm share. It lives from a recovery to the next failure of the store. */
export type SharedContext = {
  readonly host: Host;
  readonly ledger: Ledger;
  readonly store: Store;
  readonly writer: StoreWriter;
  /** Where calls and ends are in the store. */
  readonly records: RecordIndex;
  readonly changes: Changes;
  readonly tasks: TaskPort;
  readonly lives: ClientLives;
  readonly lengths: AttemptLengths;
  readonly stragglers: StragglerNotice;
  /** The process is about to end: no place is given away, and what is open waits for the next one. */
  readonly intake: { isClosing: boolean };
  readonly revisions: Revisions;
  /** While one is under way no policy makes a step. `sinceMs`: on the clock of the leases, when its present revision began. */
  readonly evaluation: {
    isRunning: boolean;
    /** When its patience began, on the lease clock. */
    sinceMs: number;
    /** When its first group was opened. A client may open it, and end it, before the loop looks. */
    beganMs: number | undefined;
  };
  /** Sends a notice to the operator. */
  readonly notice: (message: string) => void;
};

/** The swarm as one of its policies sees it. What concerns the run as a whole is the same for all. */
export type SwarmContext = SharedContext & {
  /** All of them. The steps of the first one say when an evaluation is due. */
  readonly policies: readonly SwarmContext[];
  readonly policy: string;
  /** How far its weights are, as the ledger has it. */
  readonly line: PolicyLine;
  readonly settings: SwarmSettings;
  readonly trainer: TrainerPort;
  readonly gate: CallGate;
  readonly weights: WeightsState;
  readonly health: PolicyHealth;
  /** Checkpoints that an operator asked for, by the ids of the operations. */
  readonly wanted: Map<string, WantedCheckpoint>;
  /** Of the steps since the newest checkpoint. */
  readonly recovery: RecoveryBudget;
  /** The oldest step that a recovery may have to begin with. */
  oldestStep: number;
};

/** How a policy of several is that failed. */
export type PolicyHealth = {
  /** Its engine is dead: its training ends with this error. */
  broken: unknown;
  /** Why it stopped, and the repair; undefined while it is opened again by itself. */
  problem: string | undefined;
  /** Since when its calls have had no answer. */
  downSinceMs: number | undefined;
  /** An operator wants it back. */
  isWanted: boolean;
};

/** One of the models of a swarm. */
export type SwarmPolicy = {
  readonly name: string;
  readonly trainer: TrainerPort;
  /** Opens its model again after it died. */
  readonly reopen?: () => Promise<void>;
  /** What concerns the run as a whole is that of the first policy. */
  readonly settings: SwarmSettings;
};

/** Throws TypeError for no policies. Calls wait until the weights are open. */
export function createContexts(shared: SharedContext, policies: readonly SwarmPolicy[]): SwarmContext {
  const contexts: SwarmContext[] = [];
  for (const { name, trainer, settings } of policies) {
    const gate = new CallGate(shared.host.now);
    void gate.hold('weights');
    if (shared.ledger.state.operation.isPaused) void gate.hold('paused');
    contexts.push({
      ...shared,
      policies: contexts,
      policy: name,
      line: lineOf(shared.ledger.state, name),
      settings,
      trainer,
      gate,
      weights: { version: -1, phase: 'recovering', doneStep: -1 },
      health: { broken: undefined, problem: undefined, downSinceMs: undefined, isWanted: false },
      wanted: new Map(),
      recovery: new RecoveryBudget((settings.recoveryBudgetMs ?? Infinity) / 1000),
      oldestStep: 0,
    });
  }
  const [lead] = contexts;
  if (lead === undefined) throw new TypeError('A swarm needs a policy.');
  return lead;
}

/** The ledger as the batches of this policy see it now. */
export const flyingOf = ({ ledger, policy }: Pick<SwarmContext, 'ledger' | 'policy'>): Flying => ledger.of(policy);

/** Appends, and waits until what was appended survives the end of the machine. */
export async function appendSynced(
  { ledger, writer }: Pick<SharedContext, 'ledger' | 'writer'>,
  ...records: readonly LedgerRecord[]
): Promise<void> {
  ledger.append(...records);
  await writer.synced();
}

/** All steps of it are decided. */
export const isComplete = ({ line, settings }: SwarmContext): boolean => line.step >= settings.maxSteps;

/** A policy of several that stopped, or that has not come back for a while: the others do not wait for it. */
export function isDown({ host, weights, health }: Pick<SwarmContext, 'host' | 'weights' | 'health'>): boolean {
  if (health.downSinceMs === undefined) return false;
  return weights.phase === 'failed' || host.now() - health.downSinceMs > patienceMs;
}

/** A model that is opened again and makes some steps again is there before. */
const patienceMs = 60_000;

/** Throws the error with which the policy's engine died. */
export function requireEngine({ health }: Pick<SwarmContext, 'health'>): void {
  if (health.broken !== undefined) throw health.broken;
}

/** Whether the run has several policies, which records then name. */
export const hasPolicies = ({ policies }: SwarmContext): boolean => policies.length > 1;
