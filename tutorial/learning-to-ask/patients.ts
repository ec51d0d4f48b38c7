import { createRandom, deriveSeed, type Random } from '@agentjet/core';
import type { Task, TaskReader } from 'agentjet';
import { type AilmentName, ailmentNames, ailments, tell, type TopicName, topics } from './ailments.js';

/** A patient states one of four facts at the start, and the others only if asked. */
export type Patient = {
  readonly ailment: AilmentName;
  /** The statement at the start. */
  readonly opening: string;
  /** Three of the four facts that matter. */
  readonly hidden: readonly TopicName[];
  readonly facts: Readonly<Partial<Record<TopicName, string>>>;
};

export function pick<T>(items: readonly T[], random: Random): T {
  const item = items[random.int(items.length)];
  if (item === undefined) throw new RangeError('Cannot pick from an empty list.');
  return item;
}

function drawPatient(random: Random): Patient {
  const ailment = pick(ailmentNames, random);
  const { complaints, matters }: { readonly complaints: readonly string[]; readonly matters: readonly TopicName[] } =
    ailments[ailment];
  const facts = Object.fromEntries(
    matters.map((topic) => [topic, tell(topic, pick<string>(topics[topic].values, random))]),
  );
  const told = pick(matters, random);
  return {
    ailment,
    opening: `${pick(complaints, random)} ${facts[told]}`,
    hidden: matters.filter((topic) => topic !== told),
    facts,
  };
}

export type Split = 'training' | 'evaluation';

/**
 * The facts of a patient decide whether it is for training or, one in eight, for evaluation, so no draw can mix them.
 */
export function splitOf({ opening, facts }: Patient): Split {
  return deriveSeed(0, 'patients', JSON.stringify([opening, facts])) % 8 === 0 ? 'evaluation' : 'training';
}

/** Returns different patients of one split. The same seed gives the same patients. */
export function drawTasks(
  split: Split,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly Task[] {
  const random = createRandom(deriveSeed(seed, 'patients', split));
  const patients = new Map<string, Patient>();
  while (patients.size < count) {
    const patient = drawPatient(random);
    if (splitOf(patient) === split) patients.set(JSON.stringify(patient), patient);
  }
  return [...patients.values()].map((patient, at) => ({
    taskId: `${split}-${seed}-${at}`,
    mainQuery: patient.opening,
    initMessages: [],
    metadata: patient,
  }));
}

/** The YAML files name these readers. */
export const patientTasks: TaskReader = {
  async *trainingTasks() {
    yield* drawTasks('training', { seed: 1, count: 1024 });
  },
  async *evaluationTasks() {
    yield* drawTasks('evaluation', { seed: 1, count: 100 });
  },
};
