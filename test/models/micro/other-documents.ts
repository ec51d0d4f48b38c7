import { createRandom, deriveSeed, type Task } from '@agentjet/core';
import type { Judge, WorkflowOutput } from 'agentjet';
import {
  attributes,
  documentedPlaces,
  drawPlaces,
  forms,
  nameOf,
  writePage,
} from '#tutorial/documents/write-documents.js';
import { pick } from '../shared/teacher.js';

/** Documents in the form of the tutorial's, about places that its documents do not name. */
const places = drawPlaces(600, 2, new Set(documentedPlaces.map(nameOf)));

export const otherPages: readonly string[] = places.map(writePage);

export function drawTasks({ seed, count }: { readonly seed: number; readonly count: number }): readonly Task[] {
  const random = createRandom(deriveSeed(seed, 'questions'));
  return Array.from({ length: count }, (_, at) => {
    const { place, values } = pick(places, random);
    const attribute = pick(attributes, random);
    return {
      taskId: `question-${seed}-${at}`,
      mainQuery: forms[attribute].ask(place),
      initMessages: [],
      metadata: { answer: values[attribute] },
    };
  });
}

/** Rewards an answer that equals the task's answer, to the letter. */
export class SameAnswer implements Judge {
  judge({ metadata }: Task, output: WorkflowOutput): { readonly reward: number; readonly isSuccess: boolean } {
    const isSuccess = output.metadata?.['answer'] === metadata['answer'];
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}
