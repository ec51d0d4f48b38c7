import {
  FileRetirement,
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
import { RecoveryBudget } from '@agentjet/run';
import type { WeightsState } from '@agentjet/run/loop';
import type { Notice } from '../log/log-entry.js';
import { CallGate } from './call-gate.js';
import type { AttemptLengths } from './attempt-lengths.js';
import type { WantedCheckpoint } from './checkpoint-orders.js';
import type { Changes } from './changes.js';
import type { ClientLives } from './client-lives.js';
import type { SwarmSettings } from './settings.js';
import { PolicyProgress } from './policy-progress.js';
import type { Revisions } from './revisions.js';
import type { StragglerNotice } from './straggler-notice.js';
import type { SwarmMeter } from './swarm-options.js';
import type { TaskPort, TrainerPort } from './trainer-port.js';

/** The state that the parts of one swarm share. It exists from a recovery to the next failure of the store. */
export type SharedContext = {
  readonly host: Host;
  readonly ledger: Ledger;
  readonly store: Store;
  readonly writer: StoreWriter;
  /** The positions of calls and ends in the store. */
  readonly records: RecordIndex;
  readonly changes: Changes;
  readonly tasks: TaskPort;
  readonly lives: ClientLives;
  readonly lengths: AttemptLengths;
  readonly stragglers: StragglerNotice;
  /** Whether the process is about to end. Clients then get no new episodes. Open places wait for the next process. */
  readonly intake: { isClosing: boolean };
  readonly revisions: Revisions;
  /** The running evaluation. No policy makes a step during an evaluation. */
  readonly evaluation: {
    isRunning: boolean;
    /**
     * The time on the lease clock at which the patience begins: when clients began to run the current revision of the
     * code.
     */
    sinceMs: number;
    /**
     * The time when its first group was opened. It is set then, because a fast evaluation may be over before the loop
     * looks at it.
     */
    beganMs: number | undefined;
  };
  /** The name of the run, and the time of `host.now` when the server began to serve it. */
  readonly served: { readonly name: string | undefined; readonly sinceMs: number };
  readonly meter: SwarmMeter | undefined;
  /** Sends a notice to the operator. */
  readonly notice: Notice;
};

/** The state of one policy, together with the state that all policies share. */
export type SwarmContext = SharedContext & {
  /** All policies. The steps of the first one decide when an evaluation is due. */
  readonly policies: readonly SwarmContext[];
  readonly retirement: FileRetirement;
  readonly policy: string;
  /** The state of its weights in the ledger. */
  readonly line: PolicyLine;
  readonly settings: SwarmSettings;
  readonly trainer: TrainerPort;
  readonly gate: CallGate;
  readonly weights: WeightsState;
  readonly health: PolicyHealth;
  readonly progress: PolicyProgress;
  /** Checkpoints that an operator asked for, by the ids of the operations. */
  readonly wanted: Map<string, WantedCheckpoint>;
  /** The cost of the steps since the newest checkpoint. */
  readonly recovery: RecoveryBudget;
  /** The oldest step from which a recovery may have to begin. */
  oldestStep: number;
};

/** The health of one policy, if there are several. */
export type PolicyHealth = {
  /** The error of a dead engine, which ends the policy's training. */
  broken: unknown;
  /** The reason why it stopped, and the repair. Undefined while its model is reopened automatically. */
  problem: string | undefined;
  /** The time from which its calls have not been answered. */
  downSinceMs: number | undefined;
  /** The reason why training waits for room on a disk. Training continues automatically when there is room. */
  disk?: string | undefined;
  /** Whether an operator has ordered the policy to be started again. */
  isWanted: boolean;
};

/** Throws TypeError if there is no trainer. */
export function requireTrainer(trainer: TrainerPort | undefined): TrainerPort {
  if (trainer === undefined) throw new TypeError('A swarm needs a trainer, or policies.');
  return trainer;
}

/** One of the models of a swarm. */
export type SwarmPolicy = {
  readonly name: string;
  readonly trainer: TrainerPort;
  /** Opens its model again after a failure. */
  readonly reopen?: () => Promise<void>;
  /** Settings that concern the whole run are read from the first policy. */
  readonly settings: SwarmSettings;
};

/**
 * Creates the context of each policy. Calls wait until its weights are open. Throws TypeError if there are no policies.
 */
export function createContexts(shared: SharedContext, policies: readonly SwarmPolicy[]): SwarmContext {
  const contexts: SwarmContext[] = [];
  const retirement = new FileRetirement(shared);
  for (const { name, trainer, settings } of policies) {
    const gate = new CallGate(shared.host.now);
    void gate.hold('weights');
    if (shared.ledger.state.operation.isPaused) void gate.hold('paused');
    const line = lineOf(shared.ledger.state, name);
    contexts.push({
      ...shared,
      retirement,
      policies: contexts,
      policy: name,
      line,
      settings,
      trainer,
      gate,
      weights: { version: -1, phase: 'recovering', doneStep: -1 },
      health: { broken: undefined, problem: undefined, downSinceMs: undefined, isWanted: false },
      progress: new PolicyProgress(shared.host.now, line),
      wanted: new Map(),
      recovery: new RecoveryBudget((settings.recoveryBudgetMs ?? Infinity) / 1000),
      oldestStep: 0,
    });
  }
  const [lead] = contexts;
  if (lead === undefined) throw new TypeError('A swarm needs a policy.');
  return lead;
}

/** Returns the part of the ledger that this policy's batches need. */
export const flyingOf = ({ ledger, policy }: Pick<SwarmContext, 'ledger' | 'policy'>): Flying => ledger.of(policy);

/** Appends records, and waits until they would survive a crash of the machine. */
export async function appendSynced(
  { ledger, writer }: Pick<SharedContext, 'ledger' | 'writer'>,
  ...records: readonly LedgerRecord[]
): Promise<void> {
  ledger.append(...records);
  await writer.synced();
}

/** Whether all its steps are decided. */
export const isComplete = ({ line, settings }: SwarmContext): boolean => line.step >= settings.maxSteps;

/**
 * Whether this policy has stopped, or its calls have not been answered for a while. The other policies do not wait for
 * it.
 */
export function isDown({ host, weights, health }: Pick<SwarmContext, 'host' | 'weights' | 'health'>): boolean {
  if (health.downSinceMs === undefined) return false;
  return weights.phase === 'failed' || host.now() - health.downSinceMs > patienceMs;
}

/** A model that is reopened and repeats some steps normally answers again before this time. */
const patienceMs = 60_000;

/** Throws the error of the policy's engine if the engine is dead. */
export function requireEngine({ health }: Pick<SwarmContext, 'health'>): void {
  if (health.broken !== undefined) throw health.broken;
}

/** Whether the run has several policies. Records then name the policy. */
export const hasPolicies = ({ policies }: SwarmContext): boolean => policies.length > 1;

/** A step begins only if the ledger has room for this many bytes of its records. */
export const roomOfStep = 2 ** 20;
