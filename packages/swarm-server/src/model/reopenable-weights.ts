import type { ServedPolicy } from '../served/served-run.js';
import type { ServedWeights } from '../served/served-weights.js';

/** The weights of a policy whose model may fail and be opened again while other policies continue. */
export class ReopenableWeights implements ServedWeights {
  readonly #open: () => Promise<Opened>;
  readonly #onGone: OnGone;
  #current: ServedWeights;
  #isClosed = false;

  private constructor(open: () => Promise<Opened>, current: ServedWeights, onGone: OnGone) {
    this.#open = open;
    this.#onGone = onGone;
    this.#current = current;
    this.#watch(current);
  }

  /** `onGone` is called with the reason whenever the process of a model ends by itself. */
  static async open(policy: Pick<ServedPolicy, 'openWeights'>, onGone: OnGone): Promise<ReopenableWeights> {
    const open = (): Promise<Opened> => openOnce(policy);
    return new ReopenableWeights(open, (await open()).weights, onGone);
  }

  /** Opens the model again with the weights of `model.path`; load a checkpoint afterwards. */
  async reopen(): Promise<void> {
    await this.#current.close().catch(() => undefined); // the model has failed, so an error of `close` does not matter
    const { weights, isShared } = await this.#open();
    this.#current = weights;
    this.#watch(weights);
    if (this.#isClosed && !isShared) await weights.close();
  }

  #watch(weights: ServedWeights): void {
    const { gone } = weights;
    gone?.addEventListener('abort', () => {
      if (this.#current === weights && !this.#isClosed) this.#onGone(gone.reason);
    });
  }

  get policy(): ServedWeights['policy'] {
    return this.#current.policy;
  }

  get gone(): AbortSignal | undefined {
    return this.#current.gone;
  }

  get repeatsExactly(): boolean {
    return this.#current.repeatsExactly;
  }

  settle: ServedWeights['settle'] = () => this.#current.settle();
  policyVersion: ServedWeights['policyVersion'] = () => this.#current.policyVersion();
  recipe: ServedWeights['recipe'] = (changes) => this.#current.recipe(changes);
  prepare: ServedWeights['prepare'] = (groups, recipe) => this.#current.prepare(groups, recipe);
  ratesOf: ServedWeights['ratesOf'] = (recipe, at) => this.#current.ratesOf(recipe, at);
  checkpoints: ServedWeights['checkpoints'] = () => this.#current.checkpoints();
  load: ServedWeights['load'] = (step) => this.#current.load(step);
  save: ServedWeights['save'] = (step) => this.#current.save(step);
  removeCheckpoint: ServedWeights['removeCheckpoint'] = (step) => this.#current.removeCheckpoint(step);

  /**
   * Closes the model. It does not wait for a model that is being reopened: that model is closed as soon as it is open.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#current.close();
  }
}

type OnGone = (reason: unknown) => void;

type Opened = {
  readonly weights: ServedWeights;
  /** Whether another owner shares the weights and closes them. */
  readonly isShared: boolean;
};

/**
 * Models that are being opened. A caller may give up while a worker starts. The next caller then waits for the same
 * opening.
 */
const pending = new WeakMap<object, { readonly opening: Promise<ServedWeights>; numWaiting: number }>();

async function openOnce(policy: Pick<ServedPolicy, 'openWeights'>): Promise<Opened> {
  const entry = pending.get(policy) ?? { opening: policy.openWeights(), numWaiting: 0 };
  pending.set(policy, entry);
  entry.numWaiting++;
  try {
    const weights = await entry.opening;
    return { weights, isShared: entry.numWaiting > 1 };
  } finally {
    entry.numWaiting--;
    if (pending.get(policy) === entry) pending.delete(policy);
  }
}
