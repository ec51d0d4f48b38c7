/** A model of a session on a server. Every request that changes the model has the next sequence number. */

import type { JsonObject, OptimizerOverrides } from '@agentjet/core';
import { idleOptimizer } from '../idle-optimizer.js';
import { cutIntoRequests, protocolError, readLogprobs, type Encoding, type RowData } from './row-data.js';
import type { TinkerClient, TinkerFuture } from './tinker-client.js';

/** The settings of one optimizer step. */
export type AdamOptions = Required<OptimizerOverrides>;

/** This step leaves the weights unchanged, and Adam's moments hold only this gradient. */
export const probeAdam: AdamOptions = { ...idleOptimizer, beta1: 0, beta2: 0 };

export class RemoteModel {
  readonly id: string;
  readonly #client: TinkerClient;
  #sequence = 0;
  #samplers = 0;

  constructor(client: TinkerClient, id: string) {
    this.#client = client;
    this.id = id;
  }

  /** Returns logprobs of the targets of each row, shape [T - 1], in order. */
  async forward(rows: readonly Int32Array[]): Promise<Float64Array[]> {
    return await this.#send(toForward(rows), forwardLoss);
  }

  /** Adds the gradient of these rows. Returns logprobs as `forward` does. */
  async forwardBackward(rows: readonly RowData[], encoding: Encoding): Promise<Float64Array[]> {
    return await this.#send(rows, { loss: lossOf(encoding), isForward: false });
  }

  /**
   * Does the same, but sends each request twice with one sequence number. A server that heeds sequence numbers adds the
   * gradient only once.
   */
  async forwardBackwardTwice(rows: readonly RowData[], encoding: Encoding): Promise<void> {
    const loss = lossOf(encoding);
    for (const request of cutIntoRequests(rows)) {
      this.#sequence += 1;
      const place = { modelId: this.id, sequence: this.#sequence, rows: request, loss, isForward: false };
      await this.#client.result(await this.#client.submitRows(place));
      await this.#client.result(await this.#client.submitRows(place));
    }
  }

  /**
   * Makes an optimizer step. Returns the norm of the gradient before clipping, or null if the server does not report
   * it.
   */
  async optimStep(adam: AdamOptions): Promise<number | null> {
    const answer = await this.#client.result(await this.#submitStep(adam));
    return readGradNorm(answer['metrics']);
  }

  /**
   * Returns the norm of each gradient, each before a step of rate 0. All requests are sent before the first is awaited.
   */
  async normsOf(gradients: readonly (readonly RowData[])[], encoding: Encoding): Promise<(number | null)[]> {
    const sent: { readonly gradient: SentRows; readonly step: TinkerFuture }[] = [];
    for (const rows of gradients) {
      const gradient = await this.#submitRows(rows, { loss: lossOf(encoding), isForward: false });
      sent.push({ gradient, step: await this.#submitStep(probeAdam) });
    }
    const norms: (number | null)[] = [];
    for (const { gradient, step } of sent) {
      await this.#logprobsOf(gradient);
      norms.push(readGradNorm((await this.#client.result(step))['metrics']));
    }
    return norms;
  }

  /**
   * Makes a step with the gradient of these rows alone, and returns their logprobs after it. All requests are sent
   * before the first is awaited.
   */
  async tryStep(rows: readonly RowData[], encoding: Encoding, learningRate: number): Promise<Float64Array[]> {
    const gradient = await this.#submitRows(rows, { loss: lossOf(encoding), isForward: false });
    const step = await this.#submitStep({ ...probeAdam, learningRate });
    const forward = await this.#submitRows(toForward(rows.map(({ ids }) => ids)), forwardLoss);
    await this.#logprobsOf(gradient);
    await this.#client.result(step);
    return await this.#logprobsOf(forward);
  }

  /** Keeps weights and optimizer on the server. Returns the path that `loadState` takes. */
  async saveState(name: string): Promise<string> {
    return readPath(await this.#call('save_weights', { path: name }), 'save_weights');
  }

  /** Servers accept this request only as the first one of a model. */
  async loadState(path: string, { withOptimizer }: { readonly withOptimizer: boolean }): Promise<void> {
    await this.#call('load_weights', { path, optimizer: withOptimizer });
  }

  /** Opens a sampling session that keeps the present weights. */
  async openSampler(): Promise<string> {
    this.#samplers += 1;
    const answer = await this.#call('save_weights_for_sampler', { sampling_session_seq_id: this.#samplers });
    const id = answer['sampling_session_id'];
    if (typeof id !== 'string') throw protocolError('save_weights_for_sampler gave no "sampling_session_id"');
    return id;
  }

  /** Downloads the weights as a tar, gzipped or not. */
  async download(name: string): Promise<Uint8Array> {
    await this.#call('save_weights_for_sampler', { path: name });
    const [model, checkpoint] = [this.id, name].map(encodeURIComponent);
    return await this.#client.download(`training_runs/${model}/checkpoints/${checkpoint}/archive`);
  }

  /** Asks the server to delete the model. Never rejects, because a server also deletes models that get no requests. */
  async unload(): Promise<void> {
    await this.#client.tell('unload_model', { model_id: this.id });
  }

  async #send(rows: readonly RowData[], how: RowLoss): Promise<Float64Array[]> {
    return await this.#logprobsOf(await this.#submitRows(rows, how));
  }

  async #submitRows(rows: readonly RowData[], how: RowLoss): Promise<SentRows> {
    const sent: { readonly rows: readonly RowData[]; readonly future: TinkerFuture }[] = [];
    for (const request of cutIntoRequests(rows)) {
      this.#sequence += 1;
      const place = { modelId: this.id, sequence: this.#sequence };
      sent.push({ rows: request, future: await this.#client.submitRows({ ...place, rows: request, ...how }) });
    }
    return sent;
  }

  async #logprobsOf(sent: SentRows): Promise<Float64Array[]> {
    const answers = await Promise.all(sent.map(({ future }) => this.#client.result(future)));
    return answers.flatMap((answer, index) => readLogprobs(answer, sent[index]?.rows ?? []));
  }

  async #submitStep(adam: AdamOptions): Promise<TinkerFuture> {
    return await this.#submit('optim_step', {
      adam_params: {
        learning_rate: adam.learningRate,
        beta1: adam.beta1,
        beta2: adam.beta2,
        eps: adam.epsilon,
        weight_decay: adam.weightDecay,
        grad_clip_norm: adam.maxGradNorm,
      },
    });
  }

  async #call(route: string, body: JsonObject): Promise<JsonObject> {
    return await this.#client.result(await this.#submit(route, body));
  }

  async #submit(route: string, body: JsonObject): Promise<TinkerFuture> {
    this.#sequence += 1;
    return await this.#client.submit(route, { model_id: this.id, seq_id: this.#sequence, ...body });
  }
}

type RowLoss = { readonly loss: string; readonly isForward: boolean };

/** Returns the results of one or several requests in the order of the rows. */
type SentRows = readonly { readonly rows: readonly RowData[]; readonly future: TinkerFuture }[];

const forwardLoss: RowLoss = { loss: 'cross_entropy', isForward: true };

const toForward = (rows: readonly Int32Array[]): RowData[] =>
  rows.map((ids) => ({ ids, inputs: { weights: new Float64Array(ids.length - 1).fill(1) } }));

const lossOf = (encoding: Encoding): string => (encoding === 'sums' ? 'cross_entropy' : 'importance_sampling');

/** Servers call it `grad_norm` with a prefix or suffix, such as `skyrl.ai/grad_norm` or `grad_norm:mean`. */
function readGradNorm(metrics: unknown): number | null {
  const found = Object.entries(metrics ?? {}).find(([name]) => /(^|[/.])grad_norm(:\w+)?$/.test(name));
  return typeof found?.[1] === 'number' ? found[1] : null;
}

function readPath(answer: JsonObject, route: string): string {
  const { path } = answer;
  if (typeof path !== 'string') throw protocolError(`${route} gave no "path"`);
  return path;
}
