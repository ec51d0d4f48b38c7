/** A small server of the Tinker API over any Backbone, on the loopback only. `faults` makes it misbehave. */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseJsonObject, toErrorMessage, type Backbone, type JsonObject } from '@agentjet/core';
import type { Faults } from './faults.js';
import { readRowRequest, writeAnswer } from './proto-server.js';
import { ServedModel, type AdamParams, type Datum, type Distortion } from './served-model.js';
import { writeTar } from './write-tar.js';

export type TinkerServerOptions = {
  /** Returns a new backbone with the same initial weights each time. */
  readonly open: () => Promise<Backbone>;
  readonly apiKey?: string;
  readonly contextLength?: number;
  /** Defaults to one. */
  readonly models?: readonly string[];
  /** The forms of rows that it takes. Defaults to `both`. */
  readonly wire?: 'json' | 'protobuf' | 'both';
  /** The content of the archive. Default: the files that the backbone saves. */
  readonly archive?: ReadonlyMap<string, Buffer>;
};

type Body = JsonObject & { readonly model_id: string; readonly seq_id: number; readonly request_id: string };
type Sampler = { readonly model: string; readonly backbone: Backbone };

const keptSamplers = 4;
const protobuf = 'application/x-protobuf';

class HttpError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class TinkerServer {
  readonly faults: Faults = {};
  /** Closes every connection without an answer. */
  isDead = false;
  /** Called with each request that is never answered. */
  onHang: () => void = () => undefined;
  /** Routes in the order in which they were asked for. */
  readonly requests: string[] = [];
  /** For each `load_weights`, whether the request included the optimizer. */
  readonly loads: { readonly path: string; readonly optimizer: boolean }[] = [];
  /** How many times gradients and steps were computed. */
  readonly computed = { forward_backward: 0, optim_step: 0 };
  readonly #options: TinkerServerOptions;
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sessions = new Map<string, number>();
  readonly #models = new Map<string, ServedModel>();
  readonly #samplers = new Map<string, Sampler>();
  readonly #futures = new Map<string, { readonly route: string; readonly result: Promise<JsonObject> }>();
  readonly #submitted = new Map<string, JsonObject>();
  readonly #states = new Map<string, string>();
  #root = '';
  #count = 0;

  private constructor(options: TinkerServerOptions) {
    this.#options = options;
  }

  static async start(options: TinkerServerOptions): Promise<TinkerServer> {
    const server = new TinkerServer(options);
    server.#root = await mkdtemp(path.join(tmpdir(), 'agentjet-tinker-'));
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Forgets sessions, models and futures, like a restarted server. Saved states stay. */
  loseSessions(): void {
    for (const map of [this.#sessions, this.#models, this.#samplers, this.#futures, this.#submitted]) map.clear();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    for (const { backbone } of this.#samplers.values()) await backbone.close();
    for (const model of this.#models.values()) await model.enqueue(() => model.backbone.close());
    await rm(this.#root, { recursive: true, force: true });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = (request.url ?? '').replace('/api/v1/', '');
    this.requests.push(asked);
    if (this.isDead) return void request.socket.destroy();
    if (this.#isHanging(asked)) return this.onHang();
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { route, body } = this.#read(asked, Buffer.concat(chunks), request);
      this.#checkKey(request);
      this.#checkBusy();
      const answer = await this.#answer(route, body);
      if (this.faults.drops === route) {
        delete this.faults.drops;
        request.socket.destroy();
        return;
      }
      const message =
        this.#writesProtobuf(route, request) && !Buffer.isBuffer(answer) ? writeAnswer(answer) : undefined;
      const type =
        message !== undefined ? protobuf : Buffer.isBuffer(answer) ? 'application/x-tar' : 'application/json';
      response.setHeader('content-type', type);
      response.end(message ?? (Buffer.isBuffer(answer) ? answer : JSON.stringify(answer)));
    } catch (error) {
      response.statusCode = error instanceof HttpError ? error.status : 500;
      response.end(JSON.stringify({ detail: toErrorMessage(error) }));
    }
  }

  #read(route: string, bytes: Buffer, { headers }: IncomingMessage): { readonly route: string; readonly body: Body } {
    const { wire = 'both' } = this.#options;
    if (headers['content-type'] === protobuf && wire !== 'json') {
      const request = readRowRequest(bytes);
      return { route: request.route, body: request.body as Body };
    }
    const isRows = route === 'forward' || route === 'forward_backward';
    if (isRows && (wire === 'protobuf' || headers['content-type'] === protobuf))
      throw new HttpError(415, 'rows are not taken in this form');
    return { route, body: (parseJsonObject(bytes.toString('utf8')) ?? {}) as Body };
  }

  #writesProtobuf(route: string, { headers }: IncomingMessage): boolean {
    return route === 'retrieve_future' && headers.accept?.includes(protobuf) === true;
  }

  #checkKey({ headers }: IncomingMessage): void {
    const { apiKey } = this.#options;
    const shown = headers['x-api-key'];
    if (apiKey !== undefined && shown !== apiKey) throw new HttpError(401, `the key ${String(shown)} is not known`);
  }

  #isHanging(asked: string): boolean {
    const { hangs } = this.faults;
    return hangs !== undefined && (hangs.route ?? asked) === asked && hangs.times-- > 0;
  }

  #checkBusy(): void {
    const { busy } = this.faults;
    if (busy === undefined || busy.times === 0) return;
    busy.times -= 1;
    throw new HttpError(busy.status, 'busy');
  }

  async #answer(route: string, body: Body): Promise<JsonObject | Buffer> {
    const { models = ['tiny'], contextLength = 64 } = this.#options;
    const archive = /^training_runs\/([^/]+)\/checkpoints\/([^/]+)\/archive$/.exec(route);
    if (archive !== null) return await this.#archive(archive[1] ?? '', archive[2] ?? '');
    switch (route) {
      case 'get_server_capabilities':
        return { supported_models: models.map((name) => ({ model_name: name, max_context_length: contextLength })) };
      case 'create_session':
        return this.#openSession();
      case 'session_heartbeat':
        return this.#known(this.#sessions, body['session_id'], 'session') >= 0 ? { type: 'session_heartbeat' } : {};
      case 'retrieve_future':
        return await this.#retrieve(body.request_id);
      case 'unload_model':
        return this.#unload(body.model_id);
      case 'create_model':
        return await this.#createModel(body);
      case 'asample':
        if (this.faults.failsUnloaded === undefined)
          this.#known(this.#samplers, body['sampling_session_id'], 'sampling session');
        return this.#once(`sampler ${String(body['sampling_session_id'])} ${body.seq_id}`, route, () =>
          this.#sample(body),
        );
      default:
        return this.#submit(route, body);
    }
  }

  #known<Value>(map: ReadonlyMap<string, Value>, id: unknown, what: string): Value {
    const found = map.get(String(id));
    if (found === undefined) throw new HttpError(404, `unknown ${what} ${String(id)}`);
    return found;
  }

  #openSession(): JsonObject {
    const id = `session-${++this.#count}`;
    this.#sessions.set(id, 0);
    return { session_id: id };
  }

  /** Returns the same future for the same key, without computing the request again. */
  #once(key: string, route: string, run: () => Promise<JsonObject>): JsonObject {
    const known = this.#submitted.get(key);
    if (known !== undefined && this.faults.ignoresNumbers !== true) return known;
    const answer = { request_id: `future-${++this.#count}` };
    const result = run().catch((error: unknown) => ({ error: toErrorMessage(error), category: 'user' }));
    this.#futures.set(answer.request_id, { route, result });
    this.#submitted.set(key, answer);
    return answer;
  }

  async #retrieve(id: string): Promise<JsonObject> {
    const future = this.#futures.get(id);
    if (future === undefined) throw new HttpError(410, `future ${id} is gone`);
    const { full } = this.faults;
    if (full?.route === future.route && full.times-- > 0) return { type: 'try_again', queue_state: 'paused_capacity' };
    const result = await future.result;
    if (typeof result['error'] === 'string' && this.faults.failsUnloaded === 'status')
      throw new HttpError(400, result['error']);
    if (this.faults.forgets !== future.route) return result;
    delete this.faults.forgets;
    this.#futures.delete(id);
    throw new HttpError(410, `future ${id} is gone`);
  }

  async #createModel(body: Body): Promise<JsonObject> {
    const session = String(body['session_id']);
    const made = this.#known(this.#sessions, session, 'session');
    const key = `${session} ${String(body['model_seq_id'])}`;
    if (this.faults.onlyOneModel && made > 0 && !this.#submitted.has(key))
      throw new HttpError(400, 'this server holds one model');
    this.#sessions.set(session, made + 1);
    const id = this.#submitted.has(key) ? '' : `model-${++this.#count}`;
    return this.#once(key, 'create_model', async () => {
      const [shared] = this.faults.sharesModel ? this.#models.values() : [];
      this.#models.set(id, shared ?? new ServedModel(await this.#options.open()));
      return { model_id: id };
    });
  }

  #unload(id: string): JsonObject {
    if (this.faults.sharesModel) return { type: 'unload_model' };
    const model = this.#models.get(id);
    this.#models.delete(id);
    void model?.enqueue(() => model.backbone.close());
    return { type: 'unload_model' };
  }

  #submit(route: string, body: Body): JsonObject {
    const key = `${body.model_id} ${body.seq_id}`;
    if (this.faults.failsUnloaded !== undefined && !this.#models.has(body.model_id))
      return this.#once(key, route, () => Promise.reject(new Error(`Model ${body.model_id} not loaded`)));
    const model = this.#known(this.#models, body.model_id, 'model');
    return this.#once(key, route, () =>
      model.enqueue(async () => {
        const answer = await this.#compute(route, body, model);
        model.isUsed = true;
        return answer;
      }),
    );
  }

  async #compute(route: string, body: Body, model: ServedModel): Promise<JsonObject> {
    switch (route) {
      case 'forward':
        return this.#outputs(await model.forward(inputOf(body, 'forward_input').data));
      case 'forward_backward': {
        this.computed.forward_backward += 1;
        const { data, loss_fn: loss } = inputOf(body, 'forward_backward_input');
        const logprobs = await model.forwardBackward(data, loss, this.#distortion());
        const isBroken = this.faults.notANumber === true;
        delete this.faults.notANumber;
        return this.#outputs(isBroken ? logprobs.map((row) => row.map(() => Number.NaN)) : logprobs);
      }
      case 'optim_step': {
        this.computed.optim_step += 1;
        const answer = await model.optimStep(body['adam_params'] as AdamParams, this.faults.averages === true);
        return this.faults.hidesNorm ? { metrics: {} } : answer;
      }
      case 'save_weights':
        return await this.#saveState(body, model, 'weights');
      case 'load_weights':
        if (model.isUsed) throw new Error('only a new model can load weights');
        this.loads.push({ path: String(body['path']), optimizer: body['optimizer'] === true });
        await model.backbone.load(this.#known(this.#states, body['path'], 'path'));
        return { type: 'load_weights' };
      case 'save_weights_for_sampler':
        return typeof body['path'] === 'string'
          ? await this.#saveState(body, model, 'sampler_weights')
          : await this.#openSampler(body, model);
      default:
        throw new Error(`unknown route ${route}`);
    }
  }

  #distortion(): Distortion {
    if (this.faults.distort !== undefined) return this.faults.distort;
    if (this.faults.averages !== true) return (coefficients) => coefficients;
    return (coefficients, loss) => {
      const sum = coefficients.reduce((total, value) => total + value, 0);
      const by = loss === 'cross_entropy' ? Math.max(sum, 1e-9) : coefficients.length;
      return coefficients.map((value) => value / by);
    };
  }

  #outputs(logprobs: readonly (readonly number[])[]): JsonObject {
    const outputs = logprobs.map((data) => ({ logprobs: { data, dtype: 'float32', shape: [data.length] } }));
    return { loss_fn_outputs: this.faults.doubles ? [...outputs, ...outputs] : outputs, metrics: {} };
  }

  async #saveState(body: Body, model: ServedModel, folder: string): Promise<JsonObject> {
    const name = `tinker://${body.model_id}/${folder}/${String(body['path'])}`;
    const dir = path.join(this.#root, `state-${++this.#count}`);
    await model.backbone.save(dir);
    this.#states.set(name, dir);
    return { path: name };
  }

  /** The sampler gets a separate backbone, because the weights of the model's own backbone change later. */
  async #openSampler(body: Body, model: ServedModel): Promise<JsonObject> {
    const dir = path.join(this.#root, `sampler-${++this.#count}`);
    await model.backbone.save(dir);
    const backbone = await this.#options.open();
    await backbone.load(dir);
    const id = `sampler-${this.#count}`;
    this.#samplers.set(id, { model: body.model_id, backbone });
    const mine = [...this.#samplers].filter(([, sampler]) => sampler.model === body.model_id);
    for (const [old, sampler] of mine.slice(0, -keptSamplers)) {
      this.#samplers.delete(old);
      await sampler.backbone.close();
    }
    return { sampling_session_id: id };
  }

  async #sample(body: Body): Promise<JsonObject> {
    const sampler = this.#samplers.get(String(body['sampling_session_id']));
    if (sampler === undefined) throw new Error(`Model ${String(body['sampling_session_id'])} not loaded`);
    const { backbone } = sampler;
    if (this.faults.slowSamplesMs !== undefined) await sleep(this.faults.slowSamplesMs);
    const params = body['sampling_params'] as Readonly<Record<string, number>> & { readonly stop: readonly number[] };
    const prompt = (body['prompt'] as Datum['model_input']).chunks.flatMap(({ tokens }) => tokens);
    const completion = await backbone.engine.generate({
      promptIds: Int32Array.from(prompt),
      sampling: {
        temperature: params['temperature'] ?? 1,
        topP: params['top_p'] ?? 1,
        topK: Math.max(params['top_k'] ?? -1, 0),
        maxTokens: params['max_tokens'] ?? 1,
        seed: params['seed'] ?? 0,
        stopIds: params.stop,
      },
    });
    const { ids, logprobs, finishReason } = completion;
    const sequence = { tokens: [...ids], logprobs: [...logprobs], stop_reason: finishReason };
    return { sequences: this.faults.doubles ? [sequence, sequence] : [sequence] };
  }

  async #archive(model: string, name: string): Promise<Buffer> {
    const { archivesLater } = this.faults;
    if (archivesLater !== undefined && archivesLater.times-- > 0) throw new HttpError(503, 'not now');
    if (this.faults.keepsWeights) throw new HttpError(404, 'archives are not kept');
    const dir = this.#known(this.#states, `tinker://${model}/sampler_weights/${name}`, 'checkpoint');
    if (this.#options.archive !== undefined) return writeTar([...this.#options.archive]);
    const entries = await readdir(dir, { withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ name: file }) => file);
    return writeTar(
      await Promise.all(files.map(async (file) => [file, await readFile(path.join(dir, file))] as const)),
    );
  }
}

function inputOf(body: Body, key: string): { readonly data: readonly Datum[]; readonly loss_fn: string } {
  return body[key] as { readonly data: readonly Datum[]; readonly loss_fn: string };
}
