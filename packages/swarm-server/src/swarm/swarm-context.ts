import type { Host, Ledger, LedgerRecord, RecordIndex, Store, StoreWriter } from '@agentjet/ledger';
import type { CallGate } from './call-gate.js';
import type { Changes } from './changes.js';
import type { ClientLives } from './client-lives.js';
import type { SwarmSettings } from './settings.js';
import type { TaskPort, TrainerPort } from './trainer-port.js';

/** What the parts of one swarm share. It lives from a recovery to the next failure of the store. */
export type SwarmContext = {
  readonly host: Host;
  readonly ledger: Ledger;
  readonly store: Store;
  readonly writer: StoreWriter;
  /** Where calls and ends are in the store. */
  readonly records: RecordIndex;
  readonly gate: CallGate;
  readonly changes: Changes;
  readonly settings: SwarmSettings;
  readonly trainer: TrainerPort;
  readonly tasks: TaskPort;
  readonly lives: ClientLives;
  readonly weights: { version: number; phase: 'recovering' | 'waiting' | 'updating' | 'saving' | 'failed' };
  /** Checkpoints that an operator asked for, by the ids of the operations; null: it failed. */
  /** How long the steps since the newest checkpoint took. */
  sinceSavedMs: number;
  readonly wanted: Map<string, 'accepted' | 'done' | 'failed'>;
  /** The process is about to end: no place is given away, and what is open waits for the next one. */
  readonly intake: { isClosing: boolean };
  /** Revision of the agent code that was claimed with last, by share. */
  readonly newest: Map<string, string>;
};

/** Appends, and waits until what was appended survives the end of the machine. */
export async function appendSynced(
  { ledger, writer }: SwarmContext,
  ...records: readonly LedgerRecord[]
): Promise<void> {
  ledger.append(...records);
  await writer.synced();
}
