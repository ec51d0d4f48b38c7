import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { createTinyBackbone } from '@agentjet/trainer/testing';
import { BackboneError, defineBackbone, setting, z, type Backbone } from 'agentjet';

/**
 * The tiny model as a backbone of a real run. Its samples depend only on seed and weights, and its training only on the
 * batch, to the last digit. With `ahead`, each batch is sampled by the oldest weights that its step allows, so the
 * result does not depend on timing.
 */

type Engine = Backbone['engine'];

const optimizer = {
  learningRate: 0,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradNorm: 0,
  schedule: 'constant',
  warmupSteps: 0,
  totalSteps: 1,
} as const;

export const golden = defineBackbone({
  name: 'golden',
  summary: 'the tiny model, with mishaps',
  section: z.strictObject({
    ahead: setting(
      z.int().min(0),
      0,
      'batches that are sampled ahead; the n-th step then trains the tasks of its place in the file',
    ),
    nan_at: setting(
      z.int().nullable(),
      null,
      'the optimizer step whose gradient is not finite, unless GOLDEN_HEALED is set',
    ),
  }),
  capabilities: {
    takes: 'packs',
    repeatsSeed: true,
    reportsGradNorm: true,
    losses: ['policy', 'sft', 'kl', 'entropy'],
    streams: true,
  },
  async open({ ahead, nanAt }, { config, modelDir, optimizer: configured }) {
    const vocabulary = await readVocabulary(modelDir);
    const create = () =>
      createTinyBackbone({
        shape: { vocabSize: vocabulary.size, width: 4 },
        seed: config.trainerCommon.seed,
        optimizer: configured ?? optimizer,
        contextLength: config.rollout.maxModelLen,
        modelDir,
      });
    const { trainBatchSize } = config.data;
    const backbone = withMishaps(create(), nanAt);
    if (ahead === 0) return backbone;
    const stepOf = (ids: Int32Array): number | undefined => {
      const task = Number(/Say (\d+)/.exec([...ids].map((id) => vocabulary.get(id) ?? '').join(''))?.[1]);
      return task < 100 ? Math.floor(task / trainBatchSize) + 1 : undefined;
    };
    return sampledAhead(backbone, { ahead, create, stepOf, totalSteps: config.trainerCommon.totalTrainingSteps ?? 0 });
  },
});

/** Characters by id. */
async function readVocabulary(modelDir: string): Promise<ReadonlyMap<number, string>> {
  const read = async (name: string) => JSON.parse(await readFile(path.join(modelDir, name), 'utf8')) as unknown;
  const { model } = (await read('tokenizer.json')) as { model: { vocab: Record<string, number> } };
  const { vocab_size: size } = (await read('config.json')) as { vocab_size: number };
  const characters = new Map(Object.entries(model.vocab).map(([token, id]) => [id, token.replace('Ġ', ' ')]));
  return new Map(Array.from({ length: size }, (_, id) => [id, characters.get(id) ?? '']));
}

/**
 * Kills the process at the point that GOLDEN_DIE_AT names: `decided 3` before the third optimizer step, `trained 3`
 * after it, `saving 3` before its checkpoint.
 */
function dieIfAsked(point: string): void {
  if (process.env['GOLDEN_DIE_AT'] === point) process.kill(process.pid, 'SIGKILL');
}

function change(backbone: Backbone, changes: Partial<Backbone>): Backbone {
  return new Proxy(backbone, {
    get(target, name) {
      const value: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function withMishaps(backbone: Backbone, nanAt: number | null): Backbone {
  return change(backbone, {
    async trainStep(batch, options) {
      const next = backbone.policyVersion + 1;
      dieIfAsked(`decided ${next}`);
      if (next === nanAt && process.env['GOLDEN_HEALED'] === undefined)
        throw new BackboneError('non_finite_gradient', 'The gradient norm is NaN.');
      const metrics = await backbone.trainStep(batch, options);
      dieIfAsked(`trained ${next}`);
      return metrics;
    },
    async save(dir) {
      dieIfAsked(`saving ${backbone.policyVersion}`);
      await backbone.save(dir);
    },
  });
}

type Ahead = {
  readonly ahead: number;
  readonly totalSteps: number;
  readonly create: () => Backbone;
  /** Gives the step of a training prompt, or undefined for the prompt of an evaluation. */
  readonly stepOf: (promptIds: Int32Array) => number | undefined;
};

const versionDir = (version: number): string => path.resolve('versions', String(version));

/** Makes one optimizer step for each batch. Weights are kept in files, so that a resumed process also has them. */
function sampledAhead(backbone: Backbone, { ahead, totalSteps, create, stepOf }: Ahead): Backbone {
  const samplers = new Map<number, Promise<Engine>>();
  const load = async (version: number): Promise<Engine> => {
    const sampler = create();
    if (version > 0) await sampler.load(versionDir(version));
    return sampler.engine;
  };
  const begun = new BegunSteps();
  const engine: Engine = {
    contextLength: backbone.engine.contextLength,
    async generate(request) {
      const step = stepOf(request.promptIds);
      if (step === undefined) return backbone.engine.generate(request);
      begun.note(step);
      const version = Math.max(0, step - 1 - ahead);
      const sampler = samplers.get(version) ?? load(version);
      samplers.set(version, sampler);
      return (await sampler).generate(request);
    },
  };
  return change(backbone, {
    engine,
    async trainStep(batch, options) {
      const next = backbone.policyVersion + 1;
      await begun.reached(Math.min(next + ahead, totalSteps));
      const metrics = await backbone.trainStep(batch, options);
      await backbone.save(versionDir(next));
      return metrics;
    },
  });
}

const patienceMs = 30_000;

/** The steps whose batches have begun to be sampled. */
class BegunSteps {
  #newest = 0;
  readonly #waiting = new Set<() => void>();

  note(step: number): void {
    this.#newest = Math.max(this.#newest, step);
    for (const wake of this.#waiting) wake();
  }

  /**
   * Waits until the batch of a step is begun. In a resumed run it does not wait, because the batch may have ended
   * before the kill. Rejects if nothing is sampled ahead.
   */
  async reached(step: number): Promise<void> {
    if (process.env['GOLDEN_RESUMED'] !== undefined) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`The batch of step ${step} was not begun ahead.`)), patienceMs);
      const look = (): void => {
        if (this.#newest < step) return;
        this.#waiting.delete(look);
        clearTimeout(timer);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }
}
