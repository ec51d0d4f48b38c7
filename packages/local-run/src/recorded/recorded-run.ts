import { BackboneError } from '@agentjet/core';
import { contentOf } from '@agentjet/records';
import { defaultPolicy, type LedgerGroup, type ManifestRecord } from '@agentjet/ledger';
import type { Decided, Recorder, StepGroups, TrainOutcome } from '@agentjet/run';
import type { RunFolder } from '@agentjet/run-folder';
import type { TrainingGroup } from '@agentjet/trainer';
import type { RunLedger } from './run-ledger.js';
import { openGroups, storeGroups } from './stored-step.js';

/**
 * An ordinary run records every finished episode. Before each step, it records a manifest of everything that the step
 * is computed from. So no sampling is lost in a crash: a resumed run repeats the steps after its checkpoint from the
 * records, and keeps the finished episodes.
 */
export class RecordedRun implements Recorder {
  readonly places: RunLedger;
  readonly repeatsExactly: boolean;
  readonly #folder: RunFolder;
  /** The finished episodes of steps that an earlier process had not decided. */
  readonly #found: readonly string[];
  #older: ReadonlySet<string> | undefined;

  constructor({ places, folder, repeatsExactly }: RecordedParts) {
    this.places = places;
    this.repeatsExactly = repeatsExactly;
    this.#folder = folder;
    const pooled = [...places.state.episodes.values()].filter(({ state }) => state === 'pooled');
    this.#found = pooled.map(({ episodeId }) => episodeId);
  }

  get ledger(): RunLedger['ledger'] {
    return this.places.ledger;
  }

  get journal(): RunLedger {
    return this.places;
  }

  /** The last step that was decided. */
  get lastStep(): number {
    return this.places.state.step;
  }

  open = (manifest: ManifestRecord): readonly TrainingGroup[] => openGroups(manifest, this.places);

  decide = (step: number, groups: readonly TrainingGroup[]): Decided => {
    const sampled = this.#sampledFor(step);
    const trained = groups
      .filter(({ episodes }) => episodes.length > 0)
      .map(({ groupId }) => this.#nameOf(step, groupId));
    this.#dropOthers(sampled, { trained, groups, step });
    return {
      groups: trained.map((id) => this.ledger.group(id)),
      isOnPolicy: trained.every((id) => this.#isOfTheseWeights(id)),
      content: { groups: storeGroups(groups, { step, ledger: this.places, endOf: this.#endsOf(sampled) }) },
    };
  };

  namesOf = (step: number): Omit<StepGroups, 'groups'> => ({
    groupIdOf: (groupId) => this.#nameOf(step, groupId),
    episodeIdOf: (name) => this.#episodesOf(this.places.state.manifests.get(step)).get(name),
  });

  /**
   * Removes the records that are older than the second-newest checkpoint. Records that only this checkpoint needs are
   * kept, because the newest checkpoint may turn out to be incomplete.
   */
  retire = async (): Promise<void> => {
    const steps = await this.#folder.checkpoints.steps();
    await this.places.retire(steps.length < 2 ? 0 : (steps.at(-2) ?? 0));
  };

  /** Keeps the episodes of a finished evaluation until a checkpoint covers it. */
  noteEvaluation = async (step: number): Promise<void> => {
    const { state, ledger } = this.places;
    const isOpen = ({ purpose, evaluates, fate }: LedgerGroup): boolean =>
      purpose === 'evaluation' && evaluates === step && fate === undefined;
    const groupIds = [...state.groups.values()].filter(isOpen).map(({ groupId }) => groupId);
    if (state.evaluations.has(step) && groupIds.length === 0) return;
    ledger.append({ kind: 'evaluation', step, groupIds, restsOn: groupIds.length });
    await this.places.committed();
  };

  /**
   * Makes a refused step undecided again, so that the resumed run samples it again, possibly with repaired settings.
   */
  noteOutcome = async ({ status, state, ...outcome }: TrainOutcome): Promise<void> => {
    if (status !== 'failed' || !('error' in outcome) || this.places.state.step <= state.step) return;
    if (!(outcome.error instanceof BackboneError && outcome.error.code === 'non_finite_gradient')) return;
    this.ledger.append({ kind: 'rewound', toStep: state.step });
    this.places.startAnew('rewound', {}, state.step + 1);
    await this.places.synced().catch(() => undefined); // the first error is the one to report
  };

  close = (): Promise<void> => this.places.close();

  /** Returns the ledger's groups of a batch, including groups that were replaced by others. */
  #sampledFor(step: number): readonly LedgerGroup[] {
    const prefix = this.places.groupIdOf('', { purpose: 'train', step });
    return [...this.places.state.groups.values()].filter(
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
        .map(({ groupId }) => this.places.groupIdOf(groupId, { purpose: 'train', step })),
    );
    for (const { groupId, fate } of sampled)
      if (fate === undefined && !trained.includes(groupId))
        this.ledger.dropGroup(groupId, stale.has(groupId) ? 'stale' : 'nothing_to_train');
  }

  /** Returns a function that maps the id of an ended episode in the step to its id in the ledger. */
  #endsOf(sampled: readonly LedgerGroup[]): (episodeId: string) => string | undefined {
    const groups = new Set(sampled.map(({ groupId }) => groupId));
    const ends = new Map<string, string>();
    for (const { groupId, episodeId, claimId, end } of this.places.state.episodes.values())
      if (end !== undefined && groups.has(groupId)) ends.set(claimId.slice(groupId.length + 1), episodeId);
    return (episodeId) => ends.get(episodeId);
  }

  /** Maps the id that an episode of the manifest has in the step to its id in the ledger. */
  #episodesOf(manifest: ManifestRecord | undefined): ReadonlyMap<string, string> {
    const { episodes } = this.places.state;
    const members = (manifest?.groups ?? []).flatMap((group) =>
      group.episodes.map(({ episodeId }) => ({ groupId: group.groupId, episodeId })),
    );
    return new Map(
      members.map(({ groupId, episodeId }) => [
        (episodes.get(episodeId)?.claimId ?? '').slice(groupId.length + 1),
        episodeId,
      ]),
    );
  }

  #nameOf(step: number, groupId: string): string {
    return this.places.groupIdOf(groupId, { purpose: 'train', step });
  }

  #isOfTheseWeights(groupId: string): boolean {
    this.#older ??= findOlder(this.places, this.#found);
    const older = this.#older;
    return this.ledger.membersOf(groupId).every(({ episodeId }) => !older.has(episodeId));
  }
}

export type RecordedParts = {
  readonly places: RunLedger;
  readonly folder: RunFolder;
  readonly repeatsExactly: boolean;
};

/** Returns the episodes that were sampled from weights that have been computed again since then and may differ. */
function findOlder(places: RunLedger, episodeIds: readonly string[]): ReadonlySet<string> {
  const { incarnation, episodes } = places.state;
  const isOlder = (episodeId: string): boolean =>
    episodes.get(episodeId)?.state === 'pooled' &&
    contentOf(places.read(episodeId), defaultPolicy).incarnation !== incarnation;
  return new Set(incarnation === 0 ? [] : episodeIds.filter(isOlder));
}
