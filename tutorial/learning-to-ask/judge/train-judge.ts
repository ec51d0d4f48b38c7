import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom, deriveSeed, type Task } from '@agentjet/core';
import { asModel } from '@agentjet/react';
import { AgentJetJob, openTunedModel } from 'agentjet';
import { consult } from '../consultation.js';
import { drawTasks, type Patient, type Split } from '../patients.js';
import { ScriptedPatient } from '../scripted-patient.js';
import { type Consultation, drawConsultation, gradeLines } from './draw-consultation.js';
import { drawCopy, drawHiddenCopy, type Lesson, toGrading, toVerdictLesson } from './lessons.js';

/**
 * Makes the judge: micro learns to repeat codes, then to grade consultations of the training split as the rule does. Writes it to
 * `<out>/model`, and to `<out>/labelled.jsonl` consultations of the evaluation split with the points of the rule, for `ajet judge`.
 */

const numCopies = 40_000;
const numHidden = 16_000;
const numGraded = 30_000;
const numVerdicts = 15_000;
const numServed = 10_000;
/** The number of labelled consultations. micro is the doctor in half of them. */
const numLabelled = 200;

const write = (file: string, lines: readonly object[]): Promise<void> =>
  writeFile(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);

/** Draws `count` consultations with at most 1000 patients. */
function drawConsultations(split: Split, { seed, count }: { readonly seed: number; readonly count: number }) {
  const random = createRandom(deriveSeed(seed, 'consultations', split));
  return repeat(drawTasks(split, { seed, count: Math.min(count, 1000) }), count).map((task) =>
    drawConsultation(task, random),
  );
}

/** Repeats the items, `count` in all. */
function repeat<T>(items: readonly T[], count: number): readonly T[] {
  const rounds = Array.from({ length: Math.ceil(count / items.length) }, () => items);
  return rounds.flat().slice(0, count);
}

/** Returns micro's questions to the patients of the evaluation split. */
async function recordConsultations(tasks: readonly Task[], seed: number): Promise<readonly Consultation[]> {
  const tuned = await openTunedModel('micro', { maxTokens: 32, seed });
  try {
    const doctor = asModel(tuned, { agentName: 'doctor' });
    const consultations: Consultation[] = [];
    for (const task of tasks) {
      const patient = new ScriptedPatient(task.metadata as Patient);
      consultations.push({ task, lines: await consult(task.mainQuery, { doctor, patient }) });
    }
    return consultations;
  } finally {
    await tuned.close();
  }
}

function toLabelled({ task, lines }: Consultation): object {
  const { points } = gradeLines(lines);
  const answer = lines.join('\n');
  const { taskId: task_id, mainQuery: main_query } = task;
  const label = { score: points, is_success: points === lines.length };
  return { task_id, main_query, answer, output_metadata: { answer }, ...label };
}

/** Resolves to the folder of the model that has imitated the examples. */
async function imitate(model: string, lessons: readonly Lesson[], { name, out, seed, settings }: Course) {
  const transcripts = path.join(out, `${name}.jsonl`);
  await write(transcripts, lessons);
  const job = new AgentJetJob().loadJobFromYaml(path.join(import.meta.dirname, 'judge.yaml'), [
    `model.path=${model}`,
    `sft.transcripts=${transcripts}`,
    `experiment_name=${name}`,
    `experiment_dir=${path.join(out, 'runs')}`,
    `trainer_common.seed=${seed}`,
    ...settings,
  ]);
  const { modelDir } = await job.sft();
  if (modelDir === null) throw new Error(`The lessons ${name} left no checkpoint.`);
  return modelDir;
}

type Place = { readonly out: string; readonly seed: number };
type Course = Place & { readonly name: string; readonly settings: readonly string[] };

async function writeLabelled({ out, seed }: Place): Promise<void> {
  const count = numLabelled / 2;
  const said = await recordConsultations(drawTasks('evaluation', { seed, count }), seed);
  await write(
    path.join(out, 'labelled.jsonl'),
    [...said, ...drawConsultations('evaluation', { seed, count })].map(toLabelled),
  );
}

/**
 * The four runs: codes and consultations alone; codes in questions, with some verdicts; verdicts; and verdicts on
 * questions as a server shows them.
 */
async function trainJudge(place: Place): Promise<string> {
  const { seed } = place;
  const random = createRandom(deriveSeed(seed, 'codes'));
  const served = await Promise.all(drawConsultations('training', { seed, count: numGraded }).map(toVerdictLesson));
  const verdicts = served.map(({ messages }) => ({ messages }));
  const copies = Array.from({ length: numCopies }, () => drawCopy(random));
  const hidden = verdicts.slice(0, numHidden).map((verdict) => drawHiddenCopy(verdict, random));
  const of = (name: string, batchSize: number) => ({ ...place, name, settings: [`sft.batch_size=${batchSize}`] });
  const first = await imitate('micro', [...copies, ...verdicts.map(toGrading)], of('parts', 64));
  const second = await imitate(first, [...hidden, ...verdicts.slice(0, numHidden / 2)], of('hidden', 48));
  const third = await imitate(second, verdicts.slice(0, numVerdicts), of('verdicts', 24));
  return imitate(third, served.slice(numVerdicts, numVerdicts + numServed), of('served', 24));
}

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: 'saved_experiments/judge' },
    seed: { type: 'string', default: '1' },
  },
});
const place = { out: path.resolve(values.out), seed: Number(values.seed) };
await mkdir(place.out, { recursive: true });
await writeLabelled(place);
const model = path.join(place.out, 'model');
await rm(model, { recursive: true, force: true });
await cp(await trainJudge(place), model, { recursive: true });
for (const name of ['trainer_state', 'state.json']) // only a resumed training needs these files
  await rm(path.join(model, name), { recursive: true, force: true });
console.log(`The judge is ${model}.`);
