import { readFileSync } from 'node:fs';
import path from 'node:path';

/** An episode as `record.ts` keeps it. */
export type RecordedEpisode = {
  readonly episodeId: string;
  readonly rows: readonly { readonly agentName: string; readonly ids: readonly number[] }[];
  /** Row, prompt tokens and generated tokens of each model call. */
  readonly calls: readonly (readonly [row: number, promptTokens: number, generatedTokens: number])[];
};

/** One model call: the prompt of the engine, and what it sampled. */
export type Call = {
  readonly episodeId: string;
  readonly agentName: string;
  readonly prompt: readonly number[];
  readonly answer: readonly number[];
};

export const recordedFile = path.join(import.meta.dirname, 'werewolves.json');

export function readRecordedEpisodes(): readonly RecordedEpisode[] {
  return JSON.parse(readFileSync(recordedFile, 'utf8')) as readonly RecordedEpisode[];
}

export function toCalls({ episodeId, rows, calls }: RecordedEpisode): readonly Call[] {
  return calls.flatMap(([row, prompt, generated]) => {
    const { agentName, ids } = rows[row] ?? { agentName: '', ids: [] };
    return [{ episodeId, agentName, prompt: ids.slice(0, prompt), answer: ids.slice(prompt, prompt + generated) }];
  });
}
