import { asModel } from '@agentjet/react';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { consult } from './consultation.js';
import type { Patient } from './patients.js';
import { ScriptedPatient } from './scripted-patient.js';

/** One consultation. The doctor learns, and the patient is its debugModel. A judge scores the doctor's questions. */
export class AskWorkflow extends Workflow {
  override trainableTargets = ['doctor'];

  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const debugModel = new ScriptedPatient(task.metadata as Patient);
    const models = {
      doctor: asModel(tuner, { agentName: 'doctor' }),
      patient: asModel(tuner, { agentName: 'patient', debugModel }),
    };
    const questions = await consult(task.mainQuery, models, tuner.signal);
    return { metadata: { questions, answer: questions.join('\n') } };
  }
}
