import path from 'node:path';
import { asModel } from '@agentjet/react';
import type { Task, Tuner, WorkflowOutput } from 'agentjet';
import { look } from './agent.js';
import { type Library, readLibrary } from './library.js';

type LookUp = (task: Task, tuner: Tuner) => Promise<WorkflowOutput>;

/** The agent in a library. It returns no reward: the judge `answer` compares what it says. */
export function lookUpIn(library: Library): LookUp {
  return async (task, tuner) => {
    const model = asModel(tuner, { agentName: 'reader' });
    return { metadata: { answer: await look(task.mainQuery, { model, library }, tuner.signal) } };
  };
}

/** documents.yaml names this workflow. */
export const lookUp = lookUpIn(readLibrary(path.join(import.meta.dirname, 'documents')));
