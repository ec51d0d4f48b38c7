import { deriveSeed, type Task, sha256 } from '@agentjet/core';
import { NearDuplicates } from '@agentjet/data/tables';
import { ModelRefusal, readStrings, type ModelAnswer, type ModelQuestion } from '@agentjet/model-client';
import type { DroppedTasks } from '@agentjet/rollout/inputs';
import { findFault, type ProposalChecks } from './check-proposal.js';
import { KnownMeanings, type Meaning } from './known-meanings.js';
import { askForQuestion, askForVariation, type AnsweredQuestion, type Proposal, type Sampling } from './questions.js';
import type { Chunk } from './split-chunks.js';

/**
 * Makes tasks from chunks of documents, or from examples. The model is asked about each source in turn, with the
 * questions so far, and again with another seed in each round. This ends when there are enough tasks or no new ones
 * arrive. Answers are used in the order of their sources, not in the order in which they arrive, so the same answers
 * give the same tasks.
 */

/** Rejects with Outage if the model cannot be reached. The client keeps the answers that have arrived. */
export type Ask = (question: ModelQuestion) => Promise<ModelAnswer>;

export type GenerateOptions = {
  /** The number of tasks to make. */
  readonly count: number;
  /** Questions that must not be repeated. */
  readonly known: readonly string[];
  readonly seed: number;
  readonly sampling: Sampling;
  readonly checks: ProposalChecks;
  /** A question repeats an earlier one if they have at least this share of their runs of three words in common. */
  readonly similarity: number;
  /** Compares the meanings of questions. Null: only words are compared. */
  readonly meaning: Meaning | null;
  /** The number of sources that are asked at the same time. */
  readonly parallel: number;
  readonly ask: Ask;
  readonly onProgress: (share: number) => void;
};

export type Generated = { readonly tasks: readonly Task[]; readonly dropped: readonly DroppedTasks[] };

/** A chunk or an example. */
type Source = {
  readonly idPrefix: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  propose(asked: readonly string[], seed: number): Promise<Proposal | undefined>;
  findFault(proposal: Proposal, seed: number): Promise<string | undefined>;
};

/** The number of rounds without a new task after which the work ends. */
const dryRounds = 2;
const mostRounds = 50;
const numExamples = 3;

/** Makes questions about the chunks, each with its evidence. `examples` show the style. */
export function generateFromChunks(
  chunks: readonly Chunk[],
  examples: readonly AnsweredQuestion[],
  options: GenerateOptions,
): Promise<Generated> {
  const { ask, checks, sampling } = options;
  const sources = chunks.map(
    ({ text, document, at }): Source => ({
      idPrefix: document,
      metadata: { document, chunk: at },
      propose: async (asked, seed) => {
        const shown = pick(examples, seed);
        const answer = await ask(askForQuestion(text, { asked, examples: shown }, { ...sampling, seed }));
        return readStrings(answer.text, ['question', 'answer', 'evidence']);
      },
      findFault: (proposal, seed) => findFault(proposal, text, { checks, sampling, seed, ask }),
    }),
  );
  return generate(sources, options.known, options);
}

/** Makes variations of the examples. Each task names its example. */
export function generateFromExamples(
  examples: readonly AnsweredQuestion[],
  options: GenerateOptions,
): Promise<Generated> {
  const sources = examples.map(
    (example): Source => ({
      idPrefix: 'variation',
      metadata: { example: example.id },
      propose: async (asked, seed) => {
        const answer = await options.ask(askForVariation(example, asked, { ...options.sampling, seed }));
        const read = readStrings(answer.text, ['question', 'answer']);
        return read === undefined ? undefined : { ...read, evidence: '' };
      },
      findFault: async () => undefined,
    }),
  );
  return generate(sources, [...options.known, ...examples.map(({ question }) => question)], options);
}

class Collected {
  readonly tasks: Task[] = [];
  readonly #faults = new Map<string, string[]>();
  readonly #near: NearDuplicates;
  readonly #meanings: KnownMeanings | null;

  constructor({ similarity, meaning }: Pick<GenerateOptions, 'similarity' | 'meaning'>, most: number) {
    this.#near = new NearDuplicates(similarity, most);
    this.#meanings = meaning && new KnownMeanings(meaning);
  }

  /** Call this before `isNew` for these texts. */
  async prepare(texts: readonly string[]): Promise<void> {
    await this.#meanings?.prepare(texts);
  }

  drop(reason: string, example: string): void {
    this.#faults.set(reason, [...(this.#faults.get(reason) ?? []), example]);
  }

  /** Returns whether the text is new, and stores it if it is new. */
  isNew(text: string): boolean {
    return this.#near.add(text.toLowerCase()) === undefined && (this.#meanings?.add(text) ?? true);
  }

  get dropped(): readonly DroppedTasks[] {
    return [...this.#faults].map(([reason, examples]) => ({
      reason,
      count: examples.length,
      examples: examples.slice(0, numExamples),
    }));
  }
}

async function generate(
  sources: readonly Source[],
  known: readonly string[],
  options: GenerateOptions,
): Promise<Generated> {
  const { count, parallel, seed } = options;
  const collected = new Collected(options, known.length + mostRounds * sources.length);
  await collected.prepare(known);
  for (const text of known) collected.isNew(text);
  const asked = sources.map((): string[] => []);
  for (let [round, dry] = [0, 0]; round < mostRounds && dry < dryRounds && collected.tasks.length < count; round++) {
    const before = collected.tasks.length;
    for (let from = 0; from < sources.length && collected.tasks.length < count; from += parallel) {
      const indices = sources.slice(from, from + parallel).map((_, at) => from + at);
      const tried = indices.map((at) => trySource(sources[at], asked[at] ?? [], deriveSeed(seed, at, round)));
      const outcomes = await Promise.all(tried);
      await collected.prepare(
        outcomes.flatMap(({ proposal, fault }) => (proposal && !fault ? [proposal.question] : [])),
      );
      for (const [at, outcome] of outcomes.entries()) {
        const source = sources[indices[at] ?? 0];
        if (source === undefined || collected.tasks.length >= count) continue;
        keep(collected, source, outcome);
        if (outcome.proposal !== undefined) asked[indices[at] ?? 0]?.push(outcome.proposal.question);
      }
      options.onProgress(collected.tasks.length / count);
    }
    dry = collected.tasks.length === before ? dry + 1 : 0;
  }
  return { tasks: collected.tasks, dropped: collected.dropped };
}

type Outcome = { readonly proposal: Proposal | undefined; readonly fault: string | undefined };

async function trySource(source: Source | undefined, asked: readonly string[], seed: number): Promise<Outcome> {
  try {
    const proposal = await source?.propose(asked, seed);
    if (source === undefined || proposal === undefined)
      return { proposal: undefined, fault: 'the answer of the model does not have the requested form' };
    return { proposal, fault: await source.findFault(proposal, seed) };
  } catch (error) {
    if (error instanceof ModelRefusal) return { proposal: undefined, fault: 'the model refused the request' };
    throw error;
  }
}

function keep(collected: Collected, source: Source, { proposal, fault }: Outcome): void {
  if (fault !== undefined || proposal === undefined)
    return collected.drop(fault ?? 'no answer', proposal?.question ?? source.idPrefix);
  if (!collected.isNew(proposal.question)) return collected.drop('it repeats an earlier question', proposal.question);
  const { question, answer, evidence } = proposal;
  const hash = sha256(JSON.stringify([source.metadata, question])).slice(0, 12);
  collected.tasks.push({
    taskId: `${source.idPrefix}/${hash}`,
    mainQuery: question,
    initMessages: [],
    metadata: { answer, ...(evidence !== '' && { evidence }), ...source.metadata },
  });
}

/** Returns a few examples, which depend on the seed. */
function pick(examples: readonly AnsweredQuestion[], seed: number): readonly AnsweredQuestion[] {
  const start = examples.length === 0 ? 0 : seed % examples.length;
  return [...examples.slice(start), ...examples.slice(0, start)].slice(0, 3);
}
