import { BackboneError } from '@agentjet/core';
import type { LedgerGroup, LeftOut, ManifestRecord } from '@agentjet/ledger';
import type { RunFolder } from '@agentjet/run-folder';
import type { OptimizerStep, StepChanges, StepEnd, StepStart, TrainingGroup, TrainOutcome } from '@agentjet/trainer';
import { toManifestSteps } from '../records/manifest-steps.js';
import { toLeftOut } from '../served/to-left-out.js';
import { rateAt, type RatePlan } from '../training/rate-plan.js';
import { toRates } from '../training/train-settings.js';
import type { RunLedger } from './run-ledger.js';
import { openGroups, storeGroups, type StoredStep } from './stored-step.js';

/**
 * What an ordinary run writes down so that a crash costs no sampling: every finished episode, and before each step the manifest of
 * everything that the step is computed from. A resumed run makes the steps after its checkpoint again from that, and goes on with the
 * episodes that had finished.
 */
export class RecordedRun {
  readonly ledger: RunLedger;
  readonly #folder: RunFolder;
  readonly #rates: RatePlan;
  /** Steps that were decided before this process began, and are made again. */
  readonly #redo: ReadonlyMap<number, ManifestRecord>;
  readonly #older: ReadonlySet<string>;
  #retiring: Promise<void> = Promise.resolve();

  constructor(parts: RecordedParts) {
    this.ledger = parts.ledger;
    this.#folder = parts.folder;
    this.#rates = parts.rates;
    this.#redo = parts.redo;
    this.#older = parts.older;
  }

  /** The last step that was decided. */
  get lastStep(): number {
    return this.ledger.state.step;
  }

  /** Groups of the steps that are made again, in their order. They are read when they are asked for. */
  *redoneGroups(): Generator<readonly TrainingGroup[]> {
    for (const manifest of this.#redo.values()) yield openGroups(manifest, this.ledger);
  }

  /** The decision to train: nothing of the step is made before it is on the disk. Returns what a repeated step follows. */
  beforeStep = async (start: StepStart): Promise<StepChanges | undefined> => {
    await this.#retiring;
    const { step, policyVersion, groups } = start;
    const known = this.#redo.get(step);
    if (known !== undefined) return this.#asDecided(known.content as StoredStep, start);
    const sampled = this.#sampledFor(step);
    const trained = groups
      .filter(({ episodes }) => episodes.length > 0)
      .map(({ groupId }) => this.ledger.groupIdOf(groupId, { purpose: 'train', step }));
    this.#dropOthers(sampled, { trained, groups, step });
    const isOnPolicy = trained.every((id) => this.#isOfTheseWeights(id));
    const content: StoredStep = {
      policyVersion,
      optimizer: this.#rates.optimizer,
      isOnPolicy,
      groups: storeGroups(groups, { step, ledger: this.ledger, endOf: this.#endsOf(sampled) }),
    };
    const nameOf = (groupId: string): string => this.ledger.groupIdOf(groupId, { purpose: 'train', step });
    const optimizerSteps = toManifestSteps(
      start.optimizerSteps.map((ids) => ids.map(nameOf)),
      trained,
    );
    this.ledger.ledger.assign(
      trained.map((id) => this.ledger.ledger.group(id)),
      { content, optimizerSteps },
    );
    await this.ledger.synced();
    return isOnPolicy ? undefined : { isOnPolicy };
  };

  /** An optimizer step of a step was made. */
  afterOptimizerStep = ({ step, leftOut }: Pick<StepStart, 'step' | 'leftOut'>, index: number): void => {
    const manifest = this.ledger.state.manifests.get(step);
    const isKnown = this.ledger.state.outcomes.get(step)?.[index] !== undefined;
    if (manifest === undefined || isKnown) return;
    const left = index === 0 ? this.#toLeftOut(manifest, leftOut) : [];
    this.ledger.ledger.conclude(step, index, { isApplied: true, leftOut: left });
  };

  /** The step is made: no token of its weights is sampled, and no checkpoint begun, before that is on the disk. */
  afterStep = async ({ state: { step }, leftOut }: Pick<StepEnd, 'state' | 'leftOut'>): Promise<void> => {
    this.afterOptimizerStep({ step, leftOut }, 0); // one that trains nothing has no optimizer step to tell of
    await this.ledger.synced();
  };

  #toLeftOut(manifest: ManifestRecord, leftOut: StepStart['leftOut']): readonly LeftOut[] {
    const names = this.#namesIn(manifest);
    return leftOut.flatMap((each) => {
      const episodeId = names.get(each.episodeId);
      return episodeId === undefined ? [] : [toLeftOut({ ...each, episodeId })];
    });
  }

  /** What of the ledger only this checkpoint's predecessor needs is removed in the background. */
  noteCheckpoint = (step: number): void => {
    this.ledger.ledger.append({ kind: 'checkpoint', step });
    const work = async (): Promise<void> => {
      const steps = await this.#folder.checkpoints.steps();
      await this.ledger.retire(steps.length < 2 ? 0 : (steps.at(-2) ?? 0)); // the newest may turn out not to be whole
    };
    this.#retiring = work();
    this.#retiring.catch(() => undefined); // told before the next step
  };

  /** The episodes of an evaluation are done with: they are kept until a checkpoint covers it. */
  noteEvaluation = async (step: number): Promise<void> => {
    const { state, ledger } = this.ledger;
    const isOpen = ({ purpose, evaluates, fate }: LedgerGroup): boolean =>
      purpose === 'evaluation' && evaluates === step && fate === undefined;
    const groupIds = [...state.groups.values()].filter(isOpen).map(({ groupId }) => groupId);
    if (state.evaluations.has(step) && groupIds.length === 0) return;
    ledger.append({ kind: 'evaluation', step, groupIds, restsOn: groupIds.length });
    await this.ledger.committed();
  };

  /** A step that was refused is not decided any more: the resumed run samples it anew, with settings that may have been repaired. */
  noteOutcome = async ({ status, state, ...outcome }: TrainOutcome): Promise<void> => {
    if (status !== 'failed' || !('error' in outcome) || this.ledger.state.step <= state.step) return;
    if (!(outcome.error instanceof BackboneError && outcome.error.code === 'non_finite_gradient')) return;
    this.ledger.ledger.append({ kind: 'rewound', toStep: state.step });
    this.ledger.startAnew('rewound', {}, state.step + 1);
    await this.ledger.synced().catch(() => undefined); // the first error is the one to tell
  };

  close = async (): Promise<void> => {
    await this.#retiring.catch(() => undefined);
    await this.ledger.close();
  };

  #asDecided(
    { optimizer, isOnPolicy, policyVersion }: StoredStep,
    { step, policyVersion: present }: Pick<StepStart, 'step' | 'policyVersion'>,
  ): StepChanges | undefined {
    if (policyVersion !== present)
      throw new BackboneError(
        'redo_impossible',
        `A step that has to be made again was decided for weights of version ${policyVersion}, and these are of version ${present}. Go back with --from to a checkpoint.`,
      );
    const plan = { ...this.#rates, optimizer };
    const isSame = JSON.stringify(plan) === JSON.stringify(this.#rates);
    if (isSame && isOnPolicy) return undefined;
    return {
      ...(!isSame && { optimizer: (at: OptimizerStep) => toRates(optimizer, rateAt(plan, { ...at, step })) }),
      ...(!isOnPolicy && { isOnPolicy }),
    };
  }

  /** The ledger's groups of a batch, also those that others have replaced. */
  #sampledFor(step: number): readonly LedgerGroup[] {
    const prefix = this.ledger.groupIdOf('', { purpose: 'train', step });
    return [...this.ledger.state.groups.values()].filter(
      ({ groupId, purpose }) => purpose === 'train' && groupId.startsWith(prefix),
    );
  }

  #dropOthers(
    sampled: readonly LedgerGroup[],
    {
      trained,
      groups,
      step,
    }: { readonly trained: readonly string[]; readonly groups: readonly TrainingGroup[]; readonly step: number },
  ): void {
    const stale = new Set(
      groups
        .filter(({ report }) => (report?.staleEpisodes ?? 0) > 0)
        .map(({ groupId }) => this.ledger.groupIdOf(groupId, { purpose: 'train', step })),
    );
    for (const { groupId, fate } of sampled)
      if (fate === undefined && !trained.includes(groupId))
        this.ledger.ledger.dropGroup(groupId, stale.has(groupId) ? 'stale' : 'nothing_to_train');
  }

  /** The ledger's ids of the episodes of these groups that have ended, by the ids that the step gave them. */
  #endsOf(sampled: readonly LedgerGroup[]): (episodeId: string) => string | undefined {
    const groups = new Set(sampled.map(({ groupId }) => groupId));
    const ends = new Map<string, string>();
    for (const { groupId, episodeId, claimId, end } of this.ledger.state.episodes.values())
      if (end !== undefined && groups.has(groupId)) ends.set(claimId.slice(groupId.length + 1), episodeId);
    return (episodeId) => ends.get(episodeId);
  }

  /** The ledger's ids of the episodes in a manifest, by the ids that the step gave them. */
  #namesIn({ groups }: ManifestRecord): ReadonlyMap<string, string> {
    const { episodes } = this.ledger.state;
    return new Map(
      groups.flatMap((group) =>
        group.episodes.map(({ episodeId }) => {
          const { claimId = '' } = episodes.get(episodeId) ?? {};
          return [claimId.slice(group.groupId.length + 1), episodeId] as const;
        }),
      ),
    );
  }

  #isOfTheseWeights(groupId: string): boolean {
    return this.ledger.ledger.membersOf(groupId).every(({ episodeId }) => !this.#older.has(episodeId));
  }
}

export type RecordedParts = {
  readonly ledger: RunLedger;
  readonly folder: RunFolder;
  /** As it is configured now. */
  readonly rates: RatePlan;
  readonly redo: ReadonlyMap<number, ManifestRecord>;
  /** Finished episodes of steps that are not decided, sampled by weights that were made again since and may differ. */
  readonly older: ReadonlySet<string>;
};
