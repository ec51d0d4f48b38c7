import { asModel } from '@agentjet/openai';
import type { Observation, Task, Tuner, WorkflowOutput } from 'agentjet';
import { work } from './agent.js';

const officePrompt = 'Do the job in JavaScript with contacts, mail, bank and calendar. Then call done().';
const appworldPrompt = [
  'Do the job of the person below in Python, a piece of code at a time. Print what you want to see.',
  "apis.api_docs.show_app_descriptions(), apis.api_docs.show_api_descriptions(app_name='...') and apis.api_docs.show_api_doc(app_name='...', api_name='...') say what there is.",
  'When it is done, call apis.supervisor.complete_task(), with answer=... if the job is a question.',
].join('\n');

/** Runs the agent in the world that the configuration names: our office, or AppWorld. The world gives the reward. */
export async function doJob(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
  const session = await tuner.openEnvironment(task);
  const { observation } = session;
  const client = asModel(tuner, { agentName: 'clerk' });
  const run = async (code: string) => {
    const { observation: seen, isDone } = await session.step(code);
    return { text: seen.text, isDone };
  };
  await work({ systemPrompt: promptFor(observation), text: observation.text, run }, client, tuner.signal);
  return {};
}

/** AppWorld gives more than the text of a job, such as the person for whom it is done. */
function promptFor({ data }: Observation): string {
  const { instruction, supervisor } = (data ?? {}) as { readonly instruction?: unknown; readonly supervisor?: unknown };
  if (instruction === undefined) return officePrompt;
  return supervisor === undefined ? appworldPrompt : `${appworldPrompt}\nSupervisor: ${JSON.stringify(supervisor)}`;
}
