/**
 * The process whose endpoint is attacked. It opens and ends scripted episodes as the parent asks. It reports model
 * calls, the longest stall of its event loop in CPU time, and memory after a collection of garbage.
 */
import { readdirSync } from 'node:fs';
import { startEndpointServer } from '@agentjet/endpoint';
import { openScriptedEpisode, type ScriptedEpisode } from '@agentjet/rollout/testing';
import { watchStalls } from './watch-stalls.js';

export type HostRequest =
  | { readonly kind: 'open' }
  | { readonly kind: 'end'; readonly episode: number }
  | { readonly kind: 'report' };
export type HostAnswer = {
  readonly episode?: number;
  readonly baseUrl?: string;
  readonly apiKey?: string;
  readonly calls: number;
  readonly longestStallMs: number;
  readonly rssMb: number;
  /** The memory of JavaScript: objects on the heap, and buffers outside of it. */
  readonly heldMb: number;
  readonly files: number;
};

const server = await startEndpointServer();
const episodes = new Map<number, ScriptedEpisode>();
const stalls = watchStalls();
let opened = 0;
let calls = 0;

function open(): Pick<HostAnswer, 'episode' | 'baseUrl' | 'apiKey'> {
  const reply = () => {
    calls++;
    return 'Certainly. Here is an answer of a few words, as models give them.';
  };
  const episode = openScriptedEpisode({ replies: reply, endpointHost: server, contextLength: 32_768 });
  episodes.set(++opened, episode);
  const { baseUrl, apiKey } = episode.tuner.asOpenAIEndpoint({ agentName: 'solver' });
  return { episode: opened, baseUrl, apiKey };
}

function end(number: number): void {
  episodes.get(number)?.finish();
  episodes.delete(number);
}

const countFiles = (): number => (process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0);

function answer(request: HostRequest): HostAnswer {
  if (request.kind === 'end') end(request.episode);
  // Collect garbage if Node was started with --expose-gc. A process that gets hostile requests is started without it,
  // because a collection would count as a stall.
  if (request.kind === 'report') globalThis.gc?.();
  const access = request.kind === 'open' ? open() : {};
  const { rss, heapUsed, external } = process.memoryUsage();
  const memory = { rssMb: rss / 2 ** 20, heldMb: (heapUsed + external) / 2 ** 20 };
  return { ...access, ...memory, calls, longestStallMs: stalls.longestMs(), files: countFiles() };
}

process.on('message', (request: HostRequest) => process.send?.(answer(request)));
process.on('disconnect', () => process.exit());
process.send?.(answer({ kind: 'report' }));
