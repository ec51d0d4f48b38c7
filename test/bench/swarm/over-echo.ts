import { median } from '../bench.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from './requests.js';
import { ServerProcess } from './server-process.js';
import { claim, Conversation, end, endBody, postTasks, wordsOf } from './swarm-load.js';

/** Measures the processor time of a claim, an end and a call, and of a bare echo of the same bytes. */

/** If an echo takes longer, the machine is too busy for a result. */
const quietEchoMs = 5;
const system = wordsOf(2000);

/**
 * After this number of rounds, most code is compiled. An end has then been answered about as often as an echo after six
 * rounds.
 */
const warmRounds = 18;
const episodesPerRound = 400;

export const round = (value: number, digits = 3): number => Number(value.toFixed(digits));

type Over = { readonly claim: number; readonly end: number; readonly call: number };

/**
 * Milliseconds of processor time per request, of one round. `call` is the additional time of a call in comparison with
 * a call of an ordinary run.
 */
type Round = Over & {
  readonly echo: Over;
  readonly swarmCall: number;
  readonly ordinaryCall: number;
  readonly echoP99Ms: number;
};

type EchoOptions = {
  readonly rounds: number;
  readonly isAnyLoad: boolean;
  readonly report: (line: string) => void;
};

export async function measureOverEcho(dir: string, { rounds, isAnyLoad, report }: EchoOptions) {
  const servers = await RequestServers.start(dir);
  const measured: Round[] = [];
  try {
    await servers.warm();
    for (let tries = 0; measured.length < rounds && tries < 4 * rounds; tries++) {
      const one = await servers.measure();
      const isQuiet = one.echoP99Ms <= quietEchoMs;
      report(`round ${tries + 1}: ${JSON.stringify(rounded(one))}${isQuiet ? '' : ' (busy)'}`);
      if (isQuiet || isAnyLoad) measured.push(one);
    }
  } finally {
    await servers.kill();
  }
  const busy = `The echo's p99 was above ${quietEchoMs} ms in all rounds: the machine is too busy. Stop other work, or pass --any-load.`;
  const ratios =
    measured.length === 0
      ? { claim: null, end: null, call: null, too_busy: busy }
      : {
          claim: round(median(measured.map(({ claim: ms, echo }) => ms / echo.claim))),
          end: round(median(measured.map(({ end: ms, echo }) => ms / echo.end))),
          call: round(median(measured.map(({ call, echo }) => call / echo.call))),
        };
  return { ratios, details: { concurrency, rounds: measured, is_any_load: isAnyLoad } };
}

const rounded = (values: Round): unknown =>
  JSON.parse(JSON.stringify(values, (_key, value: unknown) => (typeof value === 'number' ? round(value) : value)));

type Servers = Readonly<Record<'echo' | 'endpoint' | 'swarm', ServerProcess>>;

/** The servers that get the same requests. */
class RequestServers {
  readonly #requests = new Requests(concurrency);
  readonly #servers: Servers;

  private constructor(servers: Servers) {
    this.#servers = servers;
  }

  static async start(dir: string): Promise<RequestServers> {
    const open = (kind: keyof Servers): Promise<ServerProcess> => ServerProcess.start(kind, dir);
    return new RequestServers({
      echo: await open('echo'),
      endpoint: await open('endpoint'),
      swarm: await open('swarm'),
    });
  }

  /** Posts the tasks, and makes rounds until most code is compiled. */
  async warm(): Promise<void> {
    await postTasks(this.#requests, this.#servers.swarm.url, 2000);
    for (let warm = 0; warm < warmRounds; warm++) await this.measure();
  }

  measure = (): Promise<Round> => measureRound(this.#requests, this.#servers, episodesPerRound);

  async kill(): Promise<void> {
    this.#requests.close();
    for (const server of Object.values(this.#servers)) await server.kill();
  }
}

/** Requests in flight at the same time, from as many clients over as many connections. */
const concurrency = 64;
const callsPerEpisode = 4;
/** An echo is so short that an equal number of them would take too little time to be measured well. */
const echoesPerRequest = 4;

/**
 * Runs the same episodes at the swarm and at the endpoint of an ordinary run, and an echo of the same size before each
 * part of them. For a claim the echo has the size of the answer, which is larger than its request. For an end and a
 * call it has the size of the body.
 */
async function measureRound(requests: Requests, { echo, endpoint, swarm }: Servers, count: number): Promise<Round> {
  const numbers = Array.from({ length: count }, (_none, index) => index);
  const perRequest = async (server: ServerProcess, work: () => Promise<unknown>, of = count): Promise<number> => {
    const { cpuMs } = await server.usage();
    await work();
    return ((await server.usage()).cpuMs - cpuMs) / of;
  };
  const echoNumbers = Array.from({ length: count * echoesPerRequest }, (_none, index) => index);
  const sendEchoes = (body: string): Promise<number> =>
    perRequest(
      echo,
      () => inParallel(echoNumbers, concurrency, () => requests.send(`${echo.url}/echo`, body)),
      echoNumbers.length,
    );
  const echoP99Ms = await measureP99(requests, echo);
  const echoClaim = await sendEchoes(JSON.stringify({ episodes: [await claim(requests, swarm.url)] }));
  const claimed: Awaited<ReturnType<typeof claim>>[] = [];
  const claimMs = await perRequest(swarm, async () => {
    claimed.push(...(await inParallel(numbers, concurrency, () => claim(requests, swarm.url))));
  });
  const talk = async (all: readonly Conversation[]): Promise<void> => {
    for (let call = 0; call < callsPerEpisode; call++)
      await inParallel(all, concurrency, (one) => one.ask('What is 6 times 7?'));
  };
  const own = claimed.map(({ base_url, key }) => new Conversation(requests, `${base_url}/main/v1`, { key, system }));
  const swarmCall = await perRequest(swarm, () => talk(own), count * callsPerEpisode);
  const echoCall = await sendEchoes(own[0]?.body ?? '');
  const ordinaryCall = await perRequest(
    endpoint,
    async () => {
      const opened = await endpoint.openEpisodes(count);
      await talk(opened.map(({ url, key }) => new Conversation(requests, url, { key, system })));
    },
    count * callsPerEpisode,
  );
  await endpoint.openEpisodes(0); // ends the earlier episodes, as an end does in the swarm
  const echoEnd = await sendEchoes(JSON.stringify(endBody(1)));
  const endMs = await perRequest(swarm, () => inParallel(claimed, concurrency, (one) => end(requests, swarm.url, one)));
  const echoes = { claim: echoClaim, call: echoCall, end: echoEnd };
  return {
    echo: echoes,
    claim: claimMs,
    end: endMs,
    call: swarmCall - ordinaryCall,
    swarmCall,
    ordinaryCall,
    echoP99Ms,
  };
}

/** Measures the time of single echoes, one after another. */
async function measureP99(requests: Requests, { url }: ServerProcess): Promise<number> {
  const latencies: number[] = [];
  for (let index = 0; index < 100; index++) {
    const start = performance.now();
    await requests.send(`${url}/echo`, JSON.stringify(endBody(1)));
    latencies.push(performance.now() - start);
  }
  return latencies.toSorted((a, b) => a - b)[98] ?? Infinity;
}
