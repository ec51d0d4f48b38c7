/**
 * Does the next prompt continue exactly the ids that the model generated? Random conversations (odd JSON, escapes,
 * unknown keys, parallel calls, thinking, blanks, emoji, broken call blocks, unknown tools) go through the agent loop
 * of each framework, with our native model and with the framework's own client over HTTP. Half of them are streamed.
 */
import { startEndpointServer } from '@agentjet/endpoint';
import type { EndpointHost } from '@agentjet/rollout';
import { anthropicAgent } from './agents/anthropic.js';
import { aiSdkAgent } from './agents/ai-sdk.js';
import { googleAgent } from './agents/google.js';
import { langgraphAgent } from './agents/langgraph.js';
import { openaiAgent } from './agents/openai.js';
import { openaiAgentsAgent } from './agents/openai-agents.js';
import { reactAgent } from './agents/react.js';
import type { FidelityAgent } from './agent.js';
import { type BenchOptions, type BenchResult, numberOption, type OptionTexts } from '../bench.js';
import { measure } from './measure.js';

/** Shares are 0..1, or null if the framework has no client. */
export type FidelityResult = Readonly<Record<string, FrameworkFidelity>>;
export type FrameworkFidelity = {
  /** The number of transitions that were measured for each of the ways. */
  readonly transitions: number;
  readonly native: number;
  /**
   * The share with a template that removes thinking from earlier turns, as Qwen3's does. Each question then begins a
   * new branch.
   */
  readonly native_unedited: number;
  readonly http: number | null;
  /**
   * The share over HTTP if the model sees exactly what the framework sends back. It shows how much the tracker repairs.
   */
  readonly http_as_sent: number | null;
  readonly wrong_splices: number;
};

export const optionTexts: OptionTexts = {
  '--transitions <n>': 'transitions for each adapter; default 2000',
  '--seed <n>': 'default 1',
};

export async function run({ report, args }: BenchOptions): Promise<BenchResult> {
  const settings = { transitions: numberOption(args, '--transitions', 2000), seed: numberOption(args, '--seed', 1) };
  const result = await benchFidelity({ ...settings, onFramework: (name) => report(`measuring ${name}`) });
  report(formatFidelity(result));
  return { summary: result, details: settings };
}

type Options = { readonly transitions?: number; readonly seed?: number; readonly onFramework?: (name: string) => void };
type Settings = { readonly transitions: number; readonly seed: number; readonly host: EndpointHost };

export async function benchFidelity({
  transitions = 2000,
  seed = 1,
  onFramework = () => {},
}: Options = {}): Promise<FidelityResult> {
  const host = await startEndpointServer();
  const settings = { transitions, seed, host };
  const result: Record<string, FrameworkFidelity> = {};
  const add = async <M>(agent: FidelityAgent<M>): Promise<void> => {
    onFramework(agent.name);
    result[agent.name] = await measureBoth(agent, settings);
  };
  try {
    await add(reactAgent);
    await add(openaiAgent);
    await add(anthropicAgent);
    await add(googleAgent);
    await add(langgraphAgent);
    await add(aiSdkAgent);
    await add(openaiAgentsAgent);
    return result;
  } finally {
    await host.close();
  }
}

async function measureBoth<M>(agent: FidelityAgent<M>, settings: Settings): Promise<FrameworkFidelity> {
  const native = await measure(agent, 'native', settings);
  const unedited = await measure(agent, 'native_unedited', { ...settings, transitions: settings.transitions / 4 });
  const http = agent.overHttp === undefined ? undefined : await measure(agent, 'http', settings);
  const asSent =
    agent.overHttp === undefined
      ? undefined
      : await measure(agent, 'http_as_sent', { ...settings, transitions: settings.transitions / 4 });
  return {
    transitions: native.transitions,
    native: native.kept / native.transitions,
    native_unedited: unedited.kept / unedited.transitions,
    http: http === undefined ? null : http.kept / http.transitions,
    http_as_sent: asSent === undefined ? null : asSent.kept / asSent.transitions,
    wrong_splices:
      native.wrongSplices + unedited.wrongSplices + (http?.wrongSplices ?? 0) + (asSent?.wrongSplices ?? 0),
  };
}

export function formatFidelity(result: FidelityResult): string {
  const percent = (share: number | null): string => (share === null ? '-' : `${(100 * share).toFixed(2)} %`);
  const rows = Object.entries(result).map(([name, row]) => [
    name,
    String(row.transitions),
    percent(row.native),
    percent(row.native_unedited),
    percent(row.http),
    percent(row.http_as_sent),
    String(row.wrong_splices),
  ]);
  const table = [
    ['framework', 'transitions', 'native', 'unedited', 'over HTTP', 'HTTP, as sent', 'wrong splices'],
    ...rows,
  ];
  const widths = table[0]?.map((_cell, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
