import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { unpackTurns, type PackedTurns } from '@agentjet/context-tracker';
import { LmdbStore } from '@agentjet/ledger';
import { createScriptedEngine, type ScriptedRequest } from '@agentjet/rollout/testing';
import { SwarmServer } from '@agentjet/swarm-server';
import { testSettings } from '@agentjet/swarm-server/testing';
import { pythonOf } from '../../../.ci/python-environment.mjs';
import { chatTokenizer, openSteadyModel } from '../../bench/swarm/steady-run.js';
import { pythonPath } from '../clients/python-driver.js';
import { lastLine } from '../../releases/run-node.js';

export const frameworks = ['autogen', 'crewai', 'langchain', 'smolagents'] as const;
export type Framework = (typeof frameworks)[number];

export const folderOf = (framework: Framework): string => path.join(import.meta.dirname, framework);

/** The outcome of one episode of a framework. */
export type AgentOutcome = {
  readonly completed: number;
  readonly answers: readonly string[];
  readonly calls: number;
  /** Answers that did not continue the tokens of earlier ones, by cause. */
  readonly forks: Readonly<Record<string, number>>;
  /** The prompts that the model read, with special tokens. */
  readonly prompts: readonly string[];
  /** The states of the episodes at the server. */
  readonly states: readonly string[];
  readonly rewards: readonly (number | null)[];
};

/**
 * Plays a model that calls the tool and gives the answer after it has read the result. smolagents also wants the answer
 * as a tool call. With `tool_choice: required`, the server has already written the beginning of the call.
 */
function reply({ text }: ScriptedRequest): string {
  const isBegun = text.endsWith(begun);
  const call = (name: string, args: string): string =>
    `${isBegun ? '' : begun} "${name}", "arguments": ${args}}\n</tool_call>`;
  const told = text.slice(text.indexOf('What is 2 + 3?'));
  if (!/<tool_response>|Observation/.test(told)) return call('add', '{"a":  2, "b": 3}');
  return isBegun ? call('final_answer', '{"answer": "It is 5."}') : 'It is 5.';
}

const begun = '<tool_call>\n{"name":';

/** Runs one episode of an agent in Python, through `clients/python`, with a server that has its ledger on disk. */
export async function runAgent(framework: Framework): Promise<AgentOutcome> {
  const dir = await mkdtemp(path.join(tmpdir(), `swarm-${framework}-`));
  const engine = createScriptedEngine({ chatTokenizer, replies: reply });
  const server = await SwarmServer.start({
    openStore: () => LmdbStore.open(path.join(dir, 'ledger')),
    openModel: (records) => openSteadyModel(dir, records, { engine }),
    settings: { ...testSettings, numPlaces: 1 },
  });
  try {
    const script = path.join(import.meta.dirname, 'agents.py');
    const { stdout } = await promisify(execFile)(pythonOf(folderOf(framework)), [script, framework, server.url], {
      cwd: dir,
      timeout: 2 * 60_000,
      env: {
        ...process.env,
        PYTHONPATH: pythonPath,
        PYTHONDONTWRITEBYTECODE: '1',
        AJET_SWARM_KEY: server.firstKey ?? '',
        HOME: dir,
        LANGSMITH_TRACING: 'false',
        OTEL_SDK_DISABLED: 'true',
        CREWAI_DISABLE_TELEMETRY: 'true',
        CREWAI_TRACING_ENABLED: 'false',
      },
    });
    const said = JSON.parse(lastLine(stdout)) as Pick<AgentOutcome, 'completed' | 'answers'>;
    const { records, ledger } = server.swarm?.context ?? {};
    const episodes = [...(ledger?.state.episodes.values() ?? [])];
    const turns = episodes.flatMap(({ episodeId }) => {
      const ended = records?.end(episodeId)?.content as Ended | undefined;
      return ended === undefined ? [] : unpackTurns(ended.turns);
    });
    const forks: Record<string, number> = {};
    for (const { fork } of turns) if (typeof fork === 'string') forks[fork] = (forks[fork] ?? 0) + 1;
    return {
      completed: said.completed,
      answers: said.answers,
      calls: turns.length,
      forks,
      prompts: engine.requests.map(({ text }) => text),
      states: episodes.map(({ state }) => state),
      rewards: episodes.map(({ reward }) => reward),
    };
  } finally {
    await server.close();
    await rm(dir, { recursive: true, force: true });
  }
}

/** smolagents writes its tool calls into the next prompt in a different form, so the second answer begins a new row. */
const forksOf: Partial<Record<Framework, AgentOutcome['forks']>> = { smolagents: { edited: 1 } };

/**
 * Returns what is wrong. There must be one tool call, an answer that continues the same tokens, and the reward at the
 * server.
 */
export function complaintsAbout(framework: Framework, outcome: AgentOutcome): readonly string[] {
  const { prompts: _prompts, ...found } = outcome;
  const wanted: typeof found = {
    completed: 1,
    answers: ['It is 5.'],
    calls: 2,
    forks: forksOf[framework] ?? {},
    states: ['pooled'],
    rewards: [1],
  };
  const show = (of: typeof found, key: keyof typeof found): string => JSON.stringify(of[key]);
  return (Object.keys(wanted) as (keyof typeof found)[])
    .filter((key) => show(found, key) !== show(wanted, key))
    .map((key) => `${key}: ${show(found, key)} instead of ${show(wanted, key)}`);
}

type Ended = { readonly turns: PackedTurns };
