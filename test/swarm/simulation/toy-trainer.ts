import { deriveSeed } from '@agentjet/core';
import type { ManifestGroup, ManifestRecord, Outcome } from '@agentjet/ledger';
import type { StepPlan } from '@agentjet/run/loop';
import type { TrainerPort } from '@agentjet/swarm-server/swarm';
import type { Life } from './life.js';

/**
 * A trainer whose weights are a list of everything that was ever applied to them, with a hash chain over it. So a test
 * can check exactly that each episode was trained once, and in order.
 */
export type ToyWeights = {
  readonly step: number;
  readonly hash: number;
  readonly last: AppliedStep | undefined;
};

type AppliedStep = {
  readonly step: number;
  readonly index: number;
  readonly episodeIds: readonly string[];
  readonly before: AppliedStep | undefined;
};

/**
 * Checkpoints, which continue to exist when a process ends. If writing a checkpoint was interrupted, the checkpoint is
 * not whole.
 */
export class ToyCheckpoints {
  readonly kept = new Map<number, { readonly weights: ToyWeights; isWhole: boolean }>([
    [0, { weights: { step: 0, hash: 1, last: undefined }, isWhole: true }],
  ]);
}

const mostRepeats = 1000;

export class ToyTrainer implements TrainerPort {
  readonly repeatsExactly: boolean;
  readonly #life: Life;
  readonly #checkpoints: ToyCheckpoints;
  readonly #onCheckpoint: () => void;
  #weights: ToyWeights = { step: 0, hash: 1, last: undefined };
  #published: ToyWeights | undefined;
  /** How often in a row the same step was published. */
  #numRepeats = 0;

  constructor(life: Life, checkpoints: ToyCheckpoints, options: ToyTrainerOptions) {
    this.#life = life;
    this.#checkpoints = checkpoints;
    this.repeatsExactly = options.repeatsExactly;
    this.#onCheckpoint = options.onCheckpoint;
  }

  /** The weights that answer calls. */
  get published(): ToyWeights | undefined {
    return this.#published;
  }

  checkpoints = async (): Promise<readonly number[]> =>
    [...this.#checkpoints.kept].filter(([, { isWhole }]) => isWhole).map(([step]) => step);

  load = async (step: number): Promise<void> => {
    await this.#life.wait(this.#life.world.about(50));
    const found = this.#checkpoints.kept.get(step);
    if (found?.isWhole !== true) throw new Error(`There is no whole checkpoint of step ${step}.`);
    this.#weights = found.weights;
  };

  optimize = async (manifest: ManifestRecord, index: number, known: Outcome | undefined): Promise<Outcome> => {
    const { world } = this.#life;
    await this.#life.wait(world.about(30));
    const outcome = known ?? this.#draw(manifest);
    if (outcome.isApplied) this.#weights = apply(this.#weights, { manifest, index, leftOut: outcome.leftOut ?? [] });
    this.#weights = { ...this.#weights, step: manifest.step };
    return { isApplied: outcome.isApplied, leftOut: outcome.leftOut ?? [] };
  };

  /** Throws if a loop publishes one step without end, which would block this process. */
  publish = async (step: number): Promise<void> => {
    this.#numRepeats = this.#published?.step === step ? this.#numRepeats + 1 : 0;
    if (this.#numRepeats === mostRepeats) throw new Error(`Step ${step} was published ${mostRepeats} times in a row.`);
    this.#published = { ...this.#weights, step };
  };

  save = async (step: number): Promise<void> => {
    const weights = { ...this.#weights, step };
    this.#checkpoints.kept.set(step, { weights, isWhole: false });
    this.#onCheckpoint();
    await this.#life.wait(this.#life.world.about(80));
    this.#checkpoints.kept.set(step, { weights, isWhole: true });
    this.#onCheckpoint();
  };

  removeCheckpoint = async (step: number): Promise<void> => {
    this.#checkpoints.kept.delete(step);
  };

  /** Plans two optimizer steps for a batch. About every third batch is trained in two passes. */
  plan = (groups: readonly ManifestGroup[]): StepPlan => {
    const groupIds = groups.map(({ groupId }) => groupId);
    const halves = [0, 1].map((half) => groupIds.filter((_id, position) => position % 2 === half));
    const isTwice = deriveSeed(0, ...groupIds) % 3 === 0;
    const steps = (isTwice ? [...halves, ...halves] : halves).filter((ids) => ids.length > 0);
    return { optimizerSteps: steps.length > 0 ? steps : [[]] };
  };

  /**
   * Draws the outcome of an optimizer step. Some steps are refused, and some batches have an episode that is too long.
   */
  #draw(manifest: ManifestRecord): Outcome {
    const ids = manifest.groups.flatMap(({ episodes }) => episodes.map(({ episodeId }) => episodeId));
    const [episodeId] = ids;
    const isLong = deriveSeed(manifest.step, ...ids) % 20 === 0 && episodeId !== undefined;
    return {
      isApplied: !this.#life.world.chance(0.08),
      leftOut: isLong ? [{ episodeId, reason: 'too_long' }] : [],
    };
  }
}

type ToyTrainerOptions = { readonly repeatsExactly: boolean; readonly onCheckpoint: () => void };

type Applied = {
  readonly manifest: ManifestRecord;
  readonly index: number;
  readonly leftOut: readonly { readonly episodeId: string }[];
};

function apply(weights: ToyWeights, { manifest, index, leftOut }: Applied): ToyWeights {
  const held = manifest.groups.filter(({ groupId }) => manifest.optimizerSteps[index]?.includes(groupId));
  const left = new Set(leftOut.map(({ episodeId }) => episodeId));
  const episodes = held.flatMap((group) => group.episodes).filter(({ episodeId }) => !left.has(episodeId));
  const text = episodes.map(({ episodeId, reward }) => `${episodeId}=${reward}`).join();
  const content = `${manifest.step}.${index} ${manifest.configRevision} ${text}`;
  const episodeIds = episodes.map(({ episodeId }) => episodeId);
  return {
    step: manifest.step,
    hash: deriveSeed(weights.hash, content),
    last: { step: manifest.step, index, episodeIds, before: weights.last },
  };
}
