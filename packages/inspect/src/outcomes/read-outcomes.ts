import { readTurnRecords } from '@agentjet/context-tracker';
import {
  openRunFolder,
  type EpisodeIndex,
  type OutcomeInWords,
  type EpisodeRow,
  type RecordedEpisode,
  type RunFolder,
} from '@agentjet/run-folder';
import type { Tokenizer } from '@agentjet/tokenizer';
import { loadRunTokenizer } from '../episode/run-tokenizer.js';

/** The outcome of an episode in words, with its row of the index. */
export type ShownOutcome = { readonly row: EpisodeRow; readonly outcome: OutcomeInWords };

/**
 * Reads what episodes were asked and what came of them. Records of older versions do not hold the last answer; it is
 * then decoded from the tokens, if the tokenizer of the run can be read.
 */
export class OutcomeReader {
  readonly index: EpisodeIndex;
  readonly #run: RunFolder;
  #tokenizer: Promise<Tokenizer | undefined> | undefined;

  private constructor(run: RunFolder, index: EpisodeIndex) {
    this.#run = run;
    this.index = index;
  }

  /** Throws BackboneError `run_folder` if the folder is not that of a run. */
  static async open(runDir: string): Promise<OutcomeReader> {
    const run = await openRunFolder(runDir);
    return new OutcomeReader(run, await run.openIndex());
  }

  readEvaluations(): ReturnType<RunFolder['readEvaluations']> {
    return this.#run.readEvaluations();
  }

  async read(row: EpisodeRow): Promise<ShownOutcome> {
    const outcome = await this.index.readOutcome(row);
    if (outcome.answered !== undefined || row.calls === 0) return { row, outcome };
    const answered = await this.#decode(row);
    return { row, outcome: answered === undefined ? outcome : { ...outcome, answered } };
  }

  async #decode(row: EpisodeRow): Promise<string | undefined> {
    this.#tokenizer ??= loadRunTokenizer(this.#run);
    const tokenizer = await this.#tokenizer;
    const ids = tokenizer && lastAnswerOf(await this.index.read(row));
    if (tokenizer === undefined || ids === undefined) return undefined;
    const decoder = tokenizer.createStreamDecoder();
    const text = ids.map((id) => decoder.push(id)).join('') + decoder.flush();
    const special = tokenizer.specialTokens?.find((token) => token !== '' && text.endsWith(token)) ?? '';
    const answer = text.slice(0, text.length - special.length).trim();
    return answer === '' ? undefined : answer;
  }
}

/** The tokens of the last call that has any. */
function lastAnswerOf({ turns, samples }: RecordedEpisode): readonly number[] | undefined {
  if (!Array.isArray(turns)) return undefined;
  const turn = readTurnRecords(turns).findLast(({ sample }) => sample !== null);
  if (turn === undefined || turn.sample === null) return undefined;
  return samples[turn.sample]?.ids.slice(turn.promptTokens, turn.promptTokens + turn.generatedTokens);
}
