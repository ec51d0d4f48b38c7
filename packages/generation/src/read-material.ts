import { createHash } from 'node:crypto';
import path from 'node:path';
import { ConfigError, TaskError, sha256 } from '@agentjet/core';
import { findFiles, TaskFile, type Fields } from '@agentjet/data/tables';
import type { AnsweredQuestion } from './questions.js';
import { readDocument } from './documents/read-document.js';
import { splitChunks, type Chunk } from './split-chunks.js';

/** The material for tasks of one side. */
export type SideMaterial =
  | { readonly kind: 'chunks'; readonly chunks: readonly Chunk[]; readonly examples: readonly AnsweredQuestion[] }
  | { readonly kind: 'examples'; readonly examples: readonly AnsweredQuestion[] };

/** `evaluation` is null if that side has no material. */
export type Material = { readonly training: SideMaterial; readonly evaluation: SideMaterial | null };

type MaterialOptions = {
  readonly documentReader: { readonly documentPath: readonly string[]; readonly chunkSize: number };
  readonly queryReader: { readonly filePath: string | null; readonly fields: Fields };
  readonly evaluation: number;
  readonly onNotice: (message: string) => void;
};

/**
 * Reads documents and examples, and puts each on one side by the hash of its content. Material of evaluation tasks is
 * never used for training tasks, even after documents were added.
 */
export async function readMaterial(options: MaterialOptions): Promise<Material> {
  const { documentReader, queryReader, evaluation } = options;
  const examples = queryReader.filePath === null ? [] : await readExamples(queryReader.filePath, options);
  const [trainingExamples, otherExamples] = divide(examples, ({ question }) => question, evaluation);
  if (documentReader.documentPath.length === 0)
    return {
      training: { kind: 'examples', examples: needed(trainingExamples, 'examples', evaluation) },
      evaluation: otherExamples.length === 0 ? null : { kind: 'examples', examples: otherExamples },
    };
  const documents = await readDocuments(documentReader.documentPath, options.onNotice);
  const [training, others] = divide(documents, ({ text }) => text, evaluation);
  const toSide = (some: readonly Document[]): SideMaterial => ({
    kind: 'chunks',
    chunks: some.flatMap(({ name, text }) => splitChunks(name, text, documentReader.chunkSize)),
    examples: trainingExamples,
  });
  return {
    training: toSide(needed(training, 'documents', evaluation)),
    evaluation: others.length === 0 ? null : toSide(others),
  };
}

type Document = { readonly name: string; readonly text: string };

async function readDocuments(
  patterns: readonly string[],
  onNotice: (message: string) => void,
): Promise<readonly Document[]> {
  const files = [...new Set((await Promise.all(patterns.map(findFiles))).flat())].sort();
  const documents = new Map<string, Document>();
  for (const file of files) {
    const text = await readDocument(file);
    const sum = sha256(text);
    if (documents.has(sum)) onNotice(`${file} has the same text as ${documents.get(sum)?.name}, and is left out.`);
    else documents.set(sum, { name: path.basename(file), text });
  }
  return [...documents.values()];
}

async function readExamples(
  file: string,
  { queryReader: { fields }, onNotice }: MaterialOptions,
): Promise<readonly AnsweredQuestion[]> {
  const opened = await TaskFile.open(file, {
    fields,
    idPrefix: path.basename(file),
    firstRow: 0,
    limit: null,
    onNotice,
    onProgress: () => undefined,
  });
  const rows = Array.from({ length: opened.index.size }, (_, row) => row);
  return Promise.all(
    rows.map(async (row) => {
      const { taskId, mainQuery, metadata } = await opened.taskAt(row);
      if (mainQuery === '') throw new TaskError('bad_task', `${opened.placeOf(row)}: an example needs main_query.`);
      const { answer } = metadata;
      const isAnswer = typeof answer === 'string' || typeof answer === 'number';
      return { id: taskId, question: mainQuery, answer: isAnswer ? String(answer) : null };
    }),
  );
}

/** Divides items by the hash of their content. */
function divide<T>(
  all: readonly T[],
  contentOf: (one: T) => string,
  share: number,
): readonly [training: readonly T[], evaluation: readonly T[]] {
  const isEvaluation = (one: T): boolean =>
    createHash('sha256').update(contentOf(one)).digest().readUInt32BE(0) / 2 ** 32 < share;
  return [all.filter((one) => !isEvaluation(one)), all.filter(isEvaluation)];
}

function needed<T>(some: readonly T[], noun: string, share: number): readonly T[] {
  if (some.length > 0) return some;
  throw new ConfigError(
    'no_tasks',
    `All ${noun} were chosen for evaluation, because data_generation.evaluation=${share} divides them by their content. Add ${noun}, or choose a smaller share.`,
  );
}
