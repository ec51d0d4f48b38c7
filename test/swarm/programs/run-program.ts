import { mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Task, WorkflowOutput } from '@agentjet/core';
import { LmdbStore } from '@agentjet/ledger';
import type { Tuner } from '@agentjet/rollout';
import { createScriptedEngine } from '@agentjet/rollout/testing';
import { createProgramWorkflow, routeModels, SwarmClient } from '@agentjet/swarm-client';
import { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { chatTokenizer, openSteadyModel } from '../../bench/swarm/steady-run.js';
import { answer, query, reply, word, type Program } from './programs.js';
import { startRecorder, type Exchange } from './recorder.js';

/** The outcome of one episode of a program. */
export type ProgramOutcome = {
  readonly exchanges: readonly Exchange[];
  readonly output: WorkflowOutput | undefined;
  /**
   * Calls that are trained, the rows that they make, and answers that did not continue the tokens of earlier ones, by
   * cause.
   */
  readonly trained: {
    readonly calls: number;
    readonly samples: number;
    readonly forks: Readonly<Record<string, number>>;
  };
  readonly states: readonly string[];
  readonly rewards: readonly (number | null)[];
};

/** Runs one episode of a program of `bin`, a folder of programs, with a server that has its ledger on disk. */
export async function runProgram(program: Program, bin: string): Promise<ProgramOutcome> {
  const dir = await mkdtemp(path.join(tmpdir(), 'swarm-program-'));
  const folder = path.join(dir, 'folder');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'a.txt'), `${word}\n`);
  const engine = createScriptedEngine({
    chatTokenizer,
    contextLength: 2_000_000,
    replies: (request) => reply(program, request),
  });
  const server = await SwarmServer.start({
    openStore: () => LmdbStore.open(path.join(dir, 'ledger')),
    openModel: (records) => openSteadyModel(dir, records, { engine }),
    settings: { ...testSettings, numPlaces: 1 },
  });
  const stop = new AbortController();
  const exchanges: Exchange[] = [];
  let output: WorkflowOutput | undefined;
  let episodeId = '';
  const workflow = createProgramWorkflow({
    command: path.join(bin, program.command),
    args: program.args,
    folder,
    protocol: program.isAcp === true ? 'acp' : undefined,
    reward: `grep -q '${answer}' && echo 1 || echo 0`,
  });
  try {
    const swarm = new SwarmClient({ url: server.url, key: server.firstKey });
    const task = { taskId: 'word', mainQuery: query, initMessages: [], metadata: {} };
    await swarm.run(
      async (given: Task, tuner: Tuner) => {
        episodeId = tuner.episodeId;
        const { baseUrl, ...endpoint } = tuner.asOpenAIEndpoint({ agentName: 'agent' });
        const recorder = await startRecorder(baseUrl.replace(/\/v1$/, ''));
        try {
          const asOpenAIEndpoint = () => ({ ...endpoint, baseUrl: `${recorder.url}/v1` });
          output = await workflow(given, { ...tuner, asOpenAIEndpoint });
          return output;
        } finally {
          exchanges.push(...recorder.exchanges);
          await recorder.close();
        }
      },
      {
        tasks: [task],
        parallel: 1,
        timeoutSeconds: 240,
        wrapModel: routeModels((program.untrained ?? []).map((pattern) => ({ pattern }))),
        signal: stop.signal,
        onEvent: ({ type }) => {
          if (type === 'episode_ended') stop.abort(); // the batch is never full, so without this the run would wait
        },
      },
    );
    const { records, ledger } = server.swarm?.context ?? {};
    const episode = ledger?.state.episodes.get(episodeId);
    const episodes = episode === undefined ? [] : [episode];
    const ended = records?.end(episodeId)?.content;
    const { calls = 0, samples = 0, forks = {} } = (ended as Ended | undefined)?.stats ?? {};
    return {
      exchanges,
      output,
      trained: { calls, samples, forks },
      states: episodes.map(({ state }) => state),
      rewards: episodes.map(({ reward }) => reward),
    };
  } finally {
    await server.close();
    await rm(dir, { recursive: true, force: true });
  }
}

/**
 * Returns what is wrong. There must be one tool call, an answer that continues the same tokens, and the reward at the
 * server.
 */
export function complaintsAbout(outcome: ProgramOutcome): readonly string[] {
  const found = {
    answer: String(outcome.output?.metadata?.['answer']).includes(answer),
    statuses: [...new Set(outcome.exchanges.map(({ status }) => status))],
    trained: outcome.trained,
    states: outcome.states,
    rewards: outcome.rewards,
  };
  const wanted: typeof found = {
    answer: true,
    statuses: [200],
    trained: { calls: 2, samples: 1, forks: {} },
    states: ['pooled'],
    rewards: [1],
  };
  return (Object.keys(wanted) as (keyof typeof found)[])
    .filter((key) => JSON.stringify(found[key]) !== JSON.stringify(wanted[key]))
    .map((key) => `${key}: ${JSON.stringify(found[key])} instead of ${JSON.stringify(wanted[key])}`);
}

type Ended = { readonly stats?: Partial<ProgramOutcome['trained']> };
