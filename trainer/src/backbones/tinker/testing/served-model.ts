import type { Backbone, JsonObject, TreePack } from '@agentjet/core';

/** A row's request, as the Tinker API writes it. */
export type Datum = {
  readonly model_input: { readonly chunks: readonly { readonly tokens: readonly number[] }[] };
  readonly loss_fn_inputs: Readonly<Record<string, { readonly data: readonly number[] }>>;
};

export type AdamParams = Readonly<
  Record<'learning_rate' | 'beta1' | 'beta2' | 'eps' | 'weight_decay' | 'grad_clip_norm', number>
>;

/** Changes the coefficients of a row, one of `numRows`, as a server would. */
export type Distortion = (coefficients: readonly number[], loss: string, numRows: number) => readonly number[];

type PendingRow = { readonly ids: readonly number[]; readonly coefficients: readonly number[] };

/**
 * A model of a server over a Backbone. A cross entropy is an `sft` batch, and its gradients wait for the optimizer
 * step.
 */
export class ServedModel {
  readonly backbone: Backbone;
  isUsed = false;
  #pending: PendingRow[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(backbone: Backbone) {
    this.backbone = backbone;
  }

  /** Runs requests in the order in which they came. */
  enqueue<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(run);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async forward(data: readonly Datum[]): Promise<number[][]> {
    const rows = data.map((datum) => ({ ids: Int32Array.from(idsOf(datum)) }));
    return (await this.backbone.logprobs(rows)).map((row) => Array.from(row.subarray(1)));
  }

  async forwardBackward(data: readonly Datum[], loss: string, distort: Distortion): Promise<number[][]> {
    const logprobs = await this.forward(data);
    for (const [index, datum] of data.entries()) {
      const asked = coefficientsOf(datum, loss, logprobs[index] ?? []);
      this.#pending.push({ ids: idsOf(datum), coefficients: distort(asked, loss, data.length) });
    }
    return logprobs;
  }

  /** With `averagesRows` the gradient is the mean over the rows instead of the sum. */
  async optimStep(adam: AdamParams, averagesRows: boolean): Promise<JsonObject> {
    const rows = this.#pending;
    this.#pending = [];
    const scale = averagesRows ? 1 / Math.max(rows.length, 1) : 1;
    const { gradNorm } = await this.backbone.trainStep({
      packs: rows.map((row) => toPack(row, scale)),
      loss: { kind: 'sft' },
      optimizer: {
        learningRate: adam.learning_rate,
        beta1: adam.beta1,
        beta2: adam.beta2,
        epsilon: adam.eps,
        weightDecay: adam.weight_decay,
        maxGradNorm: adam.grad_clip_norm,
      },
    });
    return { metrics: gradNorm === null ? {} : { 'test/grad_norm': gradNorm } };
  }
}

function tensor(datum: Datum, name: string): readonly number[] {
  const found = datum.loss_fn_inputs[name]?.data;
  if (found === undefined) throw new Error(`loss_fn_inputs lack ${name}`);
  return found;
}

function idsOf(datum: Datum): number[] {
  const inputs = datum.model_input.chunks.flatMap(({ tokens }) => tokens);
  return [...inputs, tensor(datum, 'target_tokens').at(-1) ?? -1];
}

/** Returns the factor of -logprob: the weight for a cross entropy, or ratio * advantage for importance sampling. */
function coefficientsOf(datum: Datum, loss: string, logprobs: readonly number[]): readonly number[] {
  if (loss === 'cross_entropy') return tensor(datum, 'weights');
  if (loss !== 'importance_sampling') throw new Error(`unknown loss ${loss}`);
  const behaviour = tensor(datum, 'logprobs');
  return tensor(datum, 'advantages').map(
    (advantage, at) => advantage * Math.exp((logprobs[at] ?? 0) - (behaviour[at] ?? 0)),
  );
}

function toPack({ ids, coefficients }: PendingRow, scale: number): TreePack {
  const each = Int32Array.from(coefficients.keys());
  const zeros = new Float32Array(coefficients.length);
  return {
    ids: Int32Array.from(ids),
    positions: Int32Array.from(ids.keys()),
    ends: new Int32Array(ids.length).fill(ids.length),
    predictors: each,
    targets: Int32Array.from(ids.slice(1)),
    terms: {
      pair: each,
      sequence: new Int32Array(coefficients.length),
      weights: Float32Array.from(coefficients, (value) => value * scale),
      advantages: zeros,
      logprobs: zeros,
    },
    rowTokens: ids.length,
  };
}
