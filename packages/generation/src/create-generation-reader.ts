import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isJsonObject, parseJsonObject, replaceFile, TaskError, type Task, sha256 } from '@agentjet/core';
import { createSplitReader, once, openFiles, tellProgress, type Fields, type SideRows } from '@agentjet/data/tables';
import { openEmbedder, openModelClient, systemModelHost, type ModelHost } from '@agentjet/model-client';
import { toClientOptions, type ModelSection } from '@agentjet/model-client/settings';
import type { DroppedTasks, TaskReader } from '@agentjet/rollout/inputs';
import type { ProposalChecks } from './check-proposal.js';
import { generateFromChunks, generateFromExamples, type Generated } from './generate-tasks.js';
import type { Meaning } from './known-meanings.js';
import { promptVersion, type AnsweredQuestion } from './questions.js';
import { readMaterial, type Material, type SideMaterial } from './read-material.js';

export type GenerationOptions = {
  readonly documentReader: { readonly documentPath: readonly string[]; readonly chunkSize: number };
  readonly queryReader: { readonly filePath: string | null; readonly fields: Fields };
  readonly taskNum: number;
  readonly evaluation: number;
  readonly model: ModelSection;
  readonly checks: ProposalChecks;
  readonly similarity: number;
  /** Without a name, embeddings are not used. */
  readonly embeddings: Pick<ModelSection, 'name' | 'baseUrl' | 'keys' | 'backupKeys'> & { readonly similarity: number };
  /** The folder that keeps answers of the model and finished tasks. */
  readonly dir: string;
  readonly seed: number;
  readonly onNotice: (message: string) => void;
  /** Stops the work. Answers that the model has given are kept. */
  readonly signal?: AbortSignal | undefined;
  /** The connection to models, which tests replace. */
  readonly host?: ModelHost;
};

type Side = 'training' | 'evaluation';

/**
 * Makes tasks with a model, but only once: finished tasks are kept under a key of everything that they depend on. Each
 * answer of the model is kept as it arrives, so that stopped work continues without repeating a request.
 */
export function createGenerationReader(options: GenerationOptions): TaskReader {
  const readOnce = once(() => readMaterial(options));
  const openEvaluation = once(() => openEvaluationSide(options, readOnce));
  /** Evaluation tasks are made first, so that no training task repeats one. */
  const openTraining = async (): Promise<SideRows> => {
    const known = options.evaluation === 0 ? [] : await questionsOf(await openEvaluation());
    return openSide(options, { side: 'training', material: (await readOnce()).training, known });
  };
  const onProgress = tellProgress(options.onNotice);
  return createSplitReader(
    { training: openTraining, evaluation: options.evaluation === 0 ? null : openEvaluation },
    {
      split: { evaluation: 0, by: 'content' },
      allowOverlap: false,
      duplicates: 'keep',
      similarity: options.similarity,
      onNotice: options.onNotice,
      onProgress,
    },
  );
}

async function openEvaluationSide(
  options: GenerationOptions,
  readOnce: () => Promise<Material>,
): Promise<SideRows | null> {
  const { evaluation } = await readOnce();
  if (evaluation !== null) return openSide(options, { side: 'evaluation', material: evaluation, known: [] });
  options.onNotice(
    `No document or example was chosen for evaluation (data_generation.evaluation=${options.evaluation}), so there are no evaluation tasks. Give more of them, or a larger share.`,
  );
  return null;
}

async function questionsOf(side: SideRows | null): Promise<readonly string[]> {
  if (side === null) return [];
  const rows = Array.from({ length: side.rows.size }, (_, row) => row);
  return Promise.all(rows.map(async (row) => (await side.rows.taskAt(row)).mainQuery));
}

type Wanted = {
  readonly side: Side;
  readonly material: SideMaterial;
  /** Questions that must not be asked again. */
  readonly known: readonly string[];
};

async function openSide(options: GenerationOptions, wanted: Wanted): Promise<SideRows> {
  const { side } = wanted;
  const count = side === 'training' ? options.taskNum : Math.max(1, Math.round(options.taskNum * options.evaluation));
  const key = keyOf(options, wanted, count);
  const file = path.join(options.dir, `${side}-${key}.jsonl`);
  const kept = await readKept(file);
  const dropped = kept ?? (await generateFile(file, { options, ...wanted, count }));
  const rows = await openFiles(file, [file], {
    kind: 'data_generation',
    revision: key,
    fields: {},
    limit: null,
    idPrefix: () => side,
    onNotice: options.onNotice,
    onProgress: () => undefined,
  });
  return { ...rows, dropped };
}

/** Returns a key of everything that the tasks depend on. */
function keyOf(options: GenerationOptions, wanted: Wanted, count: number): string {
  const { model, checks, similarity, embeddings, seed } = options;
  const { name, baseUrl, temperature, maxTokens } = model;
  const meaning = embeddings.name === null ? [] : [[embeddings.name, embeddings.baseUrl, embeddings.similarity]];
  const parts = [
    promptVersion,
    name,
    baseUrl,
    temperature,
    maxTokens,
    checks,
    similarity,
    seed,
    count,
    wanted,
    ...meaning,
  ];
  return sha256(JSON.stringify(parts)).slice(0, 16);
}

type Job = Wanted & { readonly options: GenerationOptions; readonly count: number };

async function generateFile(file: string, job: Job): Promise<readonly DroppedTasks[]> {
  const { tasks, dropped } = await generate(job);
  const { options, side, count } = job;
  if (tasks.length === 0) throw nothingMade(side, dropped);
  if (tasks.length < count)
    options.onNotice(
      `Only ${tasks.length} of ${count} ${side} tasks could be made from the material; the others repeated earlier ones or failed a check (tasks.json).`,
    );
  await mkdir(options.dir, { recursive: true });
  const lines = tasks.map(({ taskId, mainQuery, metadata }) =>
    JSON.stringify({ task_id: taskId, main_query: mainQuery, metadata }),
  );
  await writeFile(`${file}.dropped.json`, `${JSON.stringify({ dropped })}\n`);
  await replaceFile(file, `${lines.join('\n')}\n`);
  return dropped;
}

async function generate({ options, side, material, known, count }: Job): Promise<Generated> {
  const { model, dir, host = systemModelHost, onNotice } = options;
  const answers = path.join(dir, 'answers.jsonl');
  const client = await openModelClient(toClientOptions(model, 'task_reader.data_generation.model', answers), host);
  const signal = options.signal ?? new AbortController().signal;
  const tell = tellProgress(onNotice);
  const parts = {
    count,
    known,
    seed: options.seed,
    sampling: { temperature: model.temperature, maxTokens: model.maxTokens },
    checks: options.checks,
    similarity: options.similarity,
    meaning: await openMeaning(options, signal),
    parallel: model.maxConcurrent,
    ask: (question: Parameters<typeof client.ask>[0]) => client.ask(question, signal),
    onProgress: (share: number) => tell(`making ${side} tasks`, share),
  };
  return material.kind === 'chunks'
    ? generateFromChunks(material.chunks, material.examples, parts)
    : withExamples(side, material.examples, await generateFromExamples(material.examples, parts));
}

async function openMeaning(options: GenerationOptions, signal: AbortSignal): Promise<Meaning | null> {
  const { similarity, ...embeddings } = options.embeddings;
  if (embeddings.name === null) return null;
  const key = 'task_reader.data_generation.embeddings';
  const vectors = path.join(options.dir, 'vectors.jsonl');
  const embedder = await openEmbedder(toClientOptions({ ...options.model, ...embeddings }, key, vectors), options.host);
  return { similarity, embed: (texts) => embedder.embed(texts, signal) };
}

/** Adds the examples that were set aside for evaluation, because they are tasks themselves. */
function withExamples(side: Side, examples: readonly AnsweredQuestion[], made: Generated): Generated {
  if (side === 'training') return made;
  const tasks = examples.flatMap(({ id, question, answer }): readonly Task[] =>
    answer === null
      ? []
      : [{ taskId: `example/${id}`, mainQuery: question, initMessages: [], metadata: { answer, example: id } }],
  );
  return { ...made, tasks: [...tasks, ...made.tasks] };
}

function nothingMade(side: Side, dropped: readonly DroppedTasks[]): TaskError {
  const [worst] = dropped.toSorted((left, right) => right.count - left.count);
  const why = worst === undefined ? '' : ` Most often (${worst.count} times): ${worst.reason}.`;
  return new TaskError('no_tasks', `The model made no valid ${side} task.${why} Try another model or other documents.`);
}

/** Returns what was left out when the file was made, or undefined if it was not made yet. */
async function readKept(file: string): Promise<readonly DroppedTasks[] | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  const noted = parseJsonObject(await readFile(`${file}.dropped.json`, 'utf8').catch(() => '{}'));
  const dropped: unknown = isJsonObject(noted) ? noted['dropped'] : undefined;
  return Array.isArray(dropped) ? (dropped as readonly DroppedTasks[]) : [];
}
