import { openAppworld } from '../appworld/appworld-environment.js';
import type { CounterWorld } from './counter-world.js';
import { startFaultyHttp, type HttpAnswer, type HttpRequest } from './faulty-http.js';
import type { RequestKind } from './faults.js';
import type { StartWorld } from './world-server.js';

const kinds: Readonly<Record<string, RequestKind>> = {
  '/initialize': 'open',
  '/execute': 'act',
  '/task_completed': 'evaluate',
  '/evaluate': 'evaluate',
  '/close': 'close',
};

/** Simulates AppWorld's environment servers: each has one world, and a new world replaces it. */
export function startAppworldWorld(servers: number): StartWorld {
  return async (world, plan) => {
    const started = await Promise.all(
      Array.from({ length: servers }, (_, at) => {
        const server = new StandIn(world, `world-${at}`);
        const asForeign = (): HttpAnswer => output({ task_id: 'another', instruction: 'another' });
        return startFaultyHttp({ kindOf: ({ path }) => kinds[path], handle: server.answer, plan, asForeign });
      }),
    );
    const urls = started.map(({ url }) => url);
    return {
      environment: openAppworld({ urls, datasets: null, experimentName: 'suite', maxInteractions: null }),
      close: async () => {
        for (const { close } of started) await close();
      },
    };
  };
}

class StandIn {
  readonly #world: CounterWorld;
  readonly #name: string;
  #id = '';
  #taskId = '';
  #opened = 0;

  constructor(world: CounterWorld, name: string) {
    this.#world = world;
    this.#name = name;
  }

  answer = ({ path, body }: HttpRequest): HttpAnswer => {
    const taskId = String(body['task_id']);
    if (path === '/initialize') return this.#initialize(taskId);
    if (taskId !== this.#taskId) return { status: 500, body: 'Internal Server Error' };
    if (path === '/close') this.#world.end(this.#id);
    if (path === '/close') return output(null);
    const score = this.#world.score(this.#id);
    if (score === undefined) return { status: 500, body: 'Internal Server Error' };
    if (path === '/task_completed') return output(score >= 1);
    if (path === '/evaluate') return output(report(score));
    const result = this.#world.apply(this.#id, String(body['code']));
    if (result === undefined || result.count < 0) return { status: 422, body: { detail: 'not Python' } };
    return output(result.text);
  };

  #initialize(taskId: string): HttpAnswer {
    if (taskId === 'unknown') return { status: 422, body: { detail: 'There is no task "unknown".' } };
    this.#world.end(this.#id); // the previous world is replaced
    this.#taskId = taskId;
    this.#id = `${this.#name}-${this.#opened++}`;
    return output({ task_id: taskId, instruction: this.#world.begin(this.#id, { taskId }) });
  }
}

const output = (value: unknown): HttpAnswer => ({ status: 200, body: { output: value } });

function report(score: number): object {
  const numPassed = Math.min(5, Math.round(score * 5));
  return {
    success: numPassed === 5,
    num_tests: 5,
    passes: Array.from({ length: numPassed }, () => ({})),
    failures: [],
  };
}
