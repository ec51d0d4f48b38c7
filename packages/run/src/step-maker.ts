import { AgentJetError, BackboneError, type MetricValues } from '@agentjet/core';
import type { ManifestRecord, Outcome, LeftOut } from '@agentjet/ledger';
import type { MetricsRecord, RunFolder } from '@agentjet/run-folder';
import type { PreparedBatch, TrainingGroup } from '@agentjet/trainer';
import type { StepPlan } from './parts.js';
import type { StepRecipe, StepWeights } from './step-weights.js';

/** The fields that every manifest has in addition to its groups. */
export type StepContent = {
  readonly recipe: StepRecipe;
  /** The version of the weights before the step. */
  readonly policyVersion: number;
  /**
   * False if a token was sampled by weights that have been computed again since then, because the new weights may
   * differ in their last bits.
   */
  readonly isOnPolicy: boolean;
};

/** The groups of a step in the trainer's form, and their ids in the ledger. */
export type StepGroups = {
  readonly groups: readonly TrainingGroup[];
  /** Gives a group's id in the ledger. Default: the same id. */
  readonly groupIdOf?: (groupId: string) => string;
  /**
   * Gives an episode's id in the ledger, or undefined if the ledger does not have the episode. Default: the same id.
   */
  readonly episodeIdOf?: (episodeId: string) => string | undefined;
};

export type StepMakerOptions = {
  readonly weights: StepWeights;
  readonly folder: Pick<RunFolder, 'recordStep'>;
  /** Reads the groups of a step that was decided before. */
  readonly open: (manifest: ManifestRecord) => StepGroups | Promise<StepGroups>;
  /**
   * `fail`: a gradient that is not finite ends the run. `skip`: the optimizer step is skipped and the weights stay
   * unchanged.
   */
  readonly onRefused: 'fail' | 'skip';
};

/** Plans, trains and records steps. A repeated step reads the same tokens and follows the same recipe. */
export class StepMaker {
  readonly #options: StepMakerOptions;
  /** The step that was planned last, or is being trained. */
  #current: Current | undefined;

  constructor(options: StepMakerOptions) {
    this.#options = options;
  }

  /** Forgets the running step. Call it when other weights are loaded. */
  reset(): void {
    this.#current = undefined;
  }

  /** `groupIds` are the ledger's ids of all groups that the step trains. */
  plan(
    given: StepGroups,
    groupIds: readonly string[],
    { changes, isOnPolicy }: { readonly changes?: Readonly<Record<string, unknown>>; readonly isOnPolicy: boolean },
  ): StepPlan & { readonly content: StepContent } {
    const { weights } = this.#options;
    const recipe = weights.recipe(changes);
    const prepared = weights.prepare(given.groups, recipe);
    this.#current = { step: undefined, given, prepared };
    const { groupIdOf = (id) => id } = given;
    const steps = prepared.optimizerSteps.map((ids) => ids.map(groupIdOf));
    const content = { recipe, policyVersion: weights.policyVersion(), isOnPolicy };
    return { optimizerSteps: toManifestSteps(steps, groupIds), content };
  }

  /** Makes one optimizer step. `known` is its outcome if it was made before. */
  async optimize(manifest: ManifestRecord, index: number, known: Outcome | undefined): Promise<Outcome> {
    const { prepared, given } = await this.#find(manifest);
    const isApplied = await this.#apply(prepared, { manifest, index, known });
    const { episodeIdOf = (id) => id } = given;
    const leftOut = (index === 0 ? prepared.leftOut : []).flatMap((each) => {
      const episodeId = episodeIdOf(each.episodeId);
      return episodeId === undefined ? [] : [toLeftOut({ ...each, episodeId })];
    });
    return { isApplied, leftOut };
  }

  /** Writes the metrics and the episodes of a step. Returns both. */
  async record(
    manifest: ManifestRecord,
    made: { readonly secondsSampling: number; readonly isAhead?: boolean; readonly more?: MetricValues },
  ): Promise<{ readonly metrics: MetricsRecord; readonly groups: readonly TrainingGroup[] }> {
    const { weights, folder } = this.#options;
    const { prepared, given } = await this.#find(manifest);
    const { step } = manifest;
    const { learningRate: plannedRate } = weights.ratesOf(recipeOf(manifest), { step, index: 0 }) ?? {};
    const planned = plannedRate !== undefined && { plannedRate };
    const metrics = await prepared.record(folder, { ...made, step, ...planned });
    this.#current = undefined;
    return { metrics, groups: given.groups };
  }

  async #apply(prepared: PreparedBatch, { manifest, index, known }: OneStep): Promise<boolean> {
    const { weights, onRefused } = this.#options;
    // This optimizer step was refused before, so the weights stay unchanged.
    if (known?.isApplied === false) return false;
    if (prepared.optimizerSteps.length === 0) return true; // there is nothing to train or to refuse
    const { isOnPolicy } = manifest.content as StepContent;
    const optimizer = weights.ratesOf(recipeOf(manifest), { step: manifest.step, index });
    const outcome = await prepared.optimize(index, { isOnPolicy, ...(optimizer !== undefined && { optimizer }) });
    if (outcome.isApplied) return true;
    if (onRefused === 'fail') throw outcome.error;
    if (known === undefined) return false;
    throw new AgentJetError(
      'redo_diverged',
      `Optimizer step ${manifest.step}.${index} succeeded before a restart, but its gradient is now not finite, because the weights have diverged. Go back to a checkpoint before step ${manifest.step} with --from.`,
    );
  }

  /**
   * Returns the prepared batch of a step. Planning and training share it, because the weights do not change in between.
   */
  async #find(manifest: ManifestRecord): Promise<Current> {
    const { step } = manifest;
    const found = this.#current;
    if (found !== undefined && (found.step ?? step) === step) {
      found.step = step;
      return found;
    }
    const { weights, open } = this.#options;
    requireVersion(manifest, weights.policyVersion());
    const given = await open(manifest);
    this.#current = { step, given, prepared: weights.prepare(given.groups, recipeOf(manifest)) };
    return this.#current;
  }
}

type Current = { step: number | undefined; readonly given: StepGroups; readonly prepared: PreparedBatch };

type OneStep = {
  readonly manifest: ManifestRecord;
  readonly index: number;
  readonly known: Outcome | undefined;
};

const recipeOf = ({ content }: ManifestRecord): StepRecipe => (content as StepContent).recipe;

function requireVersion({ step, content }: ManifestRecord, present: number): void {
  const { policyVersion } = content as StepContent;
  if (policyVersion === present) return;
  throw new BackboneError(
    'redo_impossible',
    `The run must repeat step ${step}, which was decided for weights of version ${policyVersion}, but the loaded weights have version ${present}. Go back to a checkpoint with --from.`,
  );
}

/**
 * Returns the optimizer steps of a manifest. Each group of the batch belongs to one optimizer step. Groups that are not
 * trained belong to the first optimizer step, and its outcome closes them in the ledger.
 */
function toManifestSteps(
  steps: readonly (readonly string[])[],
  groupIds: readonly string[],
): readonly (readonly string[])[] {
  const trained = new Set(steps.flat());
  const idle = groupIds.filter((groupId) => !trained.has(groupId));
  const [first = [], ...others] = steps;
  return [[...first, ...idle], ...others];
}

const reasons = {
  no_gradient: 'nothing_to_train',
  no_samples: 'nothing_to_train',
  non_finite: 'non_finite_gradient',
  stale: 'stale',
  overlong: 'too_long',
} as const;

/** The reason why a step does not train an episode, as a code of the ledger. */
const toLeftOut = ({ episodeId, reason }: PreparedBatch['leftOut'][number]): LeftOut => ({
  episodeId,
  reason: reasons[reason],
});
