import { rm } from 'node:fs/promises';
import { toErrorMessage, type Backbone, type CommonConfig, type ConfigDifference } from '@agentjet/core';
import { LedgerError, StoreError, type ManifestRecord } from '@agentjet/ledger';
import type { StepContent } from '@agentjet/run';
import { type Checkpoint, type RunFolder, recordedOf } from '@agentjet/run-folder';
import { noteArithmetic, repeatsAsBefore } from '@agentjet/models';
import { RecordedRun } from './recorded-run.js';
import { RunLedger } from './run-ledger.js';

export type RecordedRunOptions = {
  readonly config: CommonConfig;
  readonly folder: RunFolder;
  readonly backbone: Pick<Backbone, 'arithmetic' | 'capabilities' | 'policyVersion'>;
  /** Undefined if the run is new. */
  readonly checkpoint: Checkpoint | undefined;
  /** True if the user chose the checkpoint, so that later steps are void. */
  readonly isChosen: boolean;
  /** The settings that differ from before. */
  readonly changes: readonly ConfigDifference[];
  readonly onNotice: (message: string) => void;
};

/**
 * Opens the run's ledger and brings it to the step from which the run continues. Resolves with undefined if the
 * configuration turns recording off, or if recording is not possible. Rejects with BackboneError if recording fails.
 */
export async function openRecordedRun(options: RecordedRunOptions): Promise<RecordedRun | undefined> {
  const { config, folder, onNotice } = options;
  const dir = recordedOf(folder.dir, config.swarm.storeDir);
  if (!config.rollout.record) {
    // Remove the old ledger. It describes steps that this run samples anew, so `ajet swarm verify` would report wrong
    // episodes.
    await rm(dir, { recursive: true, force: true });
    return undefined;
  }
  const ledger = await RunLedger.open(dir, config, options).catch((error: unknown) => {
    const reason = whyUnavailable(error);
    if (reason === undefined) throw error;
    onNotice(
      `Episodes are not recorded: ${reason} After a crash, --resume samples the steps since the last checkpoint again.`,
    );
    return undefined;
  });
  if (ledger === undefined) return undefined;
  try {
    const repeats = await repeatsAsBefore(options.backbone, folder);
    settle(ledger, options);
    await ledger.synced();
    await noteArithmetic(options.backbone, folder);
    return new RecordedRun({ places: ledger, folder, repeatsExactly: repeats });
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

/** Returns the reason why a run continues without recording, or undefined if recording is required. */
function whyUnavailable(error: unknown): string | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  const isAvailable = cause instanceof LedgerError || (cause instanceof StoreError && cause.code !== 'file_system');
  return isAvailable ? undefined : toErrorMessage(cause);
}

/** Keys whose changes do not affect episodes. */
const changesNoSampling = /^trainer_common\.(optim\.|total_)/;

/** Brings the ledger to the step from which the run continues. Recorded steps after the checkpoint are repeated. */
function settle(ledger: RunLedger, options: RecordedRunOptions): void {
  const { isChosen, changes, onNotice } = options;
  const from = options.checkpoint?.state.step ?? 0;
  const { state } = ledger;
  concludeUpTo(ledger, from);
  if (state.step < from) {
    ledger.startAnew('superseded', {}, from + 1); // the steps in between were made without recording
    ledger.ledger.append({ kind: 'checkpoint', step: from });
    return;
  }
  const steps = Array.from({ length: state.step - from }, (_none, index) => from + 1 + index);
  const isWhole =
    steps.every((step) => state.manifests.has(step)) &&
    isOfVersion(state.manifests.get(from + 1), options.backbone.policyVersion);
  if (steps.length > 0 && (isChosen || !isWhole)) {
    if (!isChosen) onNotice(`The steps after step ${from} are sampled again: they were not recorded as a whole.`);
    ledger.ledger.append({ kind: 'rewound', toStep: from }, { kind: 'incarnation', value: state.incarnation + 1 });
    ledger.startAnew('rewound', {}, from + 1);
    return;
  }
  const sampling = changes.filter(({ key }) => !changesNoSampling.test(key));
  if (sampling.length > 0) ledger.startAnew('superseded', namesOf(sampling), state.step + 1);
  if (steps.length > 0) onNotice(`Repeating steps ${from + 1} to ${state.step} from their recorded tokens.`);
}

/** Records that all steps up to `step` are done. A complete checkpoint of `step` proves it. */
function concludeUpTo(ledger: RunLedger, step: number): void {
  const { manifests, outcomes } = ledger.state;
  for (const manifest of manifests.values())
    for (const index of manifest.step <= step ? manifest.optimizerSteps.keys() : [])
      if (outcomes.get(manifest.step)?.[index] === undefined)
        ledger.ledger.conclude(manifest.step, index, { isApplied: true });
}

const isOfVersion = (manifest: ManifestRecord | undefined, policyVersion: number): boolean =>
  manifest === undefined || (manifest.content as StepContent).policyVersion === policyVersion;

const namesOf = (changes: readonly ConfigDifference[]): Readonly<Record<string, unknown>> =>
  Object.fromEntries(changes.map(({ key, after }) => [key, after ?? null]));
