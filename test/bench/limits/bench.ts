/**
 * What is the most that one server process of a swarm can do? Its ledger is one thread, so processor time is the limit.
 * The benchmark measures the processor time of a whole episode without calls, and of a model call, with a growing
 * number of clients, and that of a bare echo in the same run. Then it measures the memory of running episodes, and the
 * disk space of ended ones. The engine answers at once. Last, it serves a store with `--stored` episodes. It measures
 * the delay of the event loop while all routes are used, the time of a start after a kill, and the throughput of 1,000
 * clients compared with 64. `--only-stored` measures only this part.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';
import { serveManyEpisodes } from './many-episodes.js';
import { inParallel } from '../in-parallel.js';
import { Requests } from '../swarm/requests.js';
import { ServerProcess } from '../swarm/server-process.js';
import { claim, type Claimed, Conversation, end, endBody, postTasks, wordsOf } from '../swarm/swarm-load.js';

const callsPerEpisode = 4;
const system = wordsOf(2000);

export const optionTexts: OptionTexts = {
  '--stored <n>': 'stored episodes; default 1000000',
  '--only-stored': 'measures only the stored episodes',
  '--episodes <n>': 'episodes of the run; default 2000',
  '--held <n>': 'episodes that are held at a time; default 10000',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-limits-'));
  try {
    const stored = numberOption(args, '--stored', 1_000_000);
    if (args.includes('--only-stored')) {
      const summary = await serveManyEpisodes(path.join(dir, 'many'), stored, report);
      return { summary, details: {}, isPart: true };
    }
    const episodes = numberOption(args, '--episodes', 2000);
    const held = numberOption(args, '--held', 10_000);
    const rows: Row[] = [];
    for (const clients of [16, 64, 256, 1000]) {
      const row = await measure(path.join(dir, `clients-${clients}`), { clients, episodes });
      report(JSON.stringify(row));
      rows.push(row);
    }
    const memory = await holdEpisodes(path.join(dir, 'held'), held);
    report(JSON.stringify(memory));
    const many = await serveManyEpisodes(path.join(dir, 'many'), stored, report);
    const best = (of: (row: Row) => number): number => Math.max(...rows.map(of));
    return {
      summary: {
        ...many,
        episodes_per_second: best((row) => row.episodes_per_second),
        calls_per_second: best((row) => row.calls_per_second),
        echoes_per_second: best((row) => row.echoes_per_second),
        clients: rows.map(({ clients }) => clients),
        ...memory,
        bytes_per_episode: rows.at(-1)?.bytes_per_episode,
        bytes_per_call: rows.at(-1)?.bytes_per_call,
      },
      details: { rows, calls_per_episode: callsPerEpisode, call_bytes: system.length, episodes },
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/**
 * `..._per_second` is computed from processor time: it is the rate of a core that does nothing else. `wall_...` is the
 * rate by wall time, in which the clients also used the processors.
 */
type Row = {
  readonly clients: number;
  readonly echoes_per_second: number;
  readonly episodes_per_second: number;
  readonly calls_per_second: number;
  readonly wall_calls_per_second: number;
  readonly rss_mb: number;
  readonly bytes_per_episode: number;
  readonly bytes_per_call: number;
};

async function measure(
  dir: string,
  { clients, episodes }: { readonly clients: number; readonly episodes: number },
): Promise<Row> {
  const requests = new Requests(clients);
  const [echo, swarm] = [await ServerProcess.start('echo', dir), await ServerProcess.start('swarm', dir)];
  const numbers = Array.from({ length: episodes }, (_none, index) => index);
  const timed = async (server: ServerProcess, work: () => Promise<unknown>): Promise<Timed> => {
    const [before, start] = [(await server.usage()).cpuMs, performance.now()];
    await work();
    const after = await server.usage();
    return { cpuMs: after.cpuMs - before, wallMs: performance.now() - start };
  };
  try {
    await postTasks(requests, swarm.url, 2000);
    const body = JSON.stringify(endBody(1));
    const sendEchoes = () => inParallel(numbers, clients, () => requests.send(`${echo.url}/echo`, body));
    const play = async (calls: number): Promise<{ readonly ends: Timed; readonly asked: Timed }> => {
      let claimed: readonly Claimed[] = [];
      const claims = await timed(swarm, async () => {
        claimed = await inParallel(numbers, clients, () => claim(requests, swarm.url));
      });
      const talks = claimed.map(
        ({ base_url, key }) => new Conversation(requests, `${base_url}/main/v1`, { key, system }),
      );
      const asked = await timed(swarm, async () => {
        for (let call = 0; call < calls; call++)
          await inParallel(talks, clients, (talk) => talk.ask('What is 6 times 7?'));
      });
      const ends = await timed(swarm, () => inParallel(claimed, clients, (one) => end(requests, swarm.url, one)));
      return { ends: { cpuMs: claims.cpuMs + ends.cpuMs, wallMs: claims.wallMs + ends.wallMs }, asked };
    };
    await sendEchoes(); // warms up, so that the code is compiled
    await play(1);
    const sizes = [sizeOf(dir)];
    const echoes = await timed(echo, sendEchoes);
    const { ends } = await play(0);
    sizes.push(sizeOf(dir));
    const { asked } = await play(callsPerEpisode);
    sizes.push(sizeOf(dir));
    const [start = 0, between = 0, done = 0] = sizes;
    const perEpisode = (between - start) / episodes;
    const { rssMb } = await swarm.usage();
    return {
      clients,
      echoes_per_second: perSecond(episodes, echoes.cpuMs),
      episodes_per_second: perSecond(episodes, ends.cpuMs),
      calls_per_second: perSecond(episodes * callsPerEpisode, asked.cpuMs),
      wall_calls_per_second: perSecond(episodes * callsPerEpisode, asked.wallMs),
      rss_mb: Math.round(rssMb),
      bytes_per_episode: Math.round(perEpisode),
      bytes_per_call: Math.round(((done - between) / episodes - perEpisode) / callsPerEpisode),
    };
  } finally {
    requests.close();
    await echo.kill();
    await swarm.kill();
  }
}

type Timed = { readonly cpuMs: number; readonly wallMs: number };

const perSecond = (count: number, ms: number): number => Math.round((1000 * count) / ms);

/** Returns the bytes that are really used on the disk, because the store creates its files with their full size. */
function sizeOf(dir: string): number {
  const files = readdirSync(dir, { recursive: true }).map((name) => statSync(path.join(dir, String(name))));
  return files.filter((stats) => stats.isFile()).reduce((sum, { blocks }) => sum + 512 * blocks, 0);
}

/**
 * Measures the memory of episodes that run at the same time, each with one call, and the longest stall of the server's
 * event loop until all of them run.
 */
async function holdEpisodes(dir: string, held: number) {
  const clients = 256;
  const requests = new Requests(clients);
  const swarm = await ServerProcess.start('swarm', dir);
  try {
    await postTasks(requests, swarm.url, 2000);
    await swarm.lookForStalls(); // stalls are measured only from here on, because measuring them takes processor time
    const before = (await swarm.usage()).rssMb;
    const numbers = Array.from({ length: held }, (_none, index) => index);
    await inParallel(numbers, clients, async () => {
      const { base_url, key } = await claim(requests, swarm.url);
      await new Conversation(requests, `${base_url}/main/v1`, { key, system }).ask('What is 6 times 7?');
    });
    const { rssMb, longestStallMs } = await swarm.usage();
    if (longestStallMs === 0) throw new Error('The server measured no stretch between two turns of its loop.');
    return {
      longest_stall_ms: Math.round(longestStallMs),
      running_episodes: held,
      rss_mb: Math.round(rssMb),
      kb_per_running_episode: Math.round((1024 * (rssMb - before)) / held),
    };
  } finally {
    requests.close();
    await swarm.kill();
  }
}
