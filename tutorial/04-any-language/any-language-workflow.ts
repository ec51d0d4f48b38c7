import path from 'node:path';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { directions, FrozenLake, type LakeMap } from '../01-frozen-lake/frozen-lake.js';
import { startForeignAgent } from './foreign-agent.js';

const maxMoves = 10;

/** The lake of tutorial 1, walked by a program that only knows an OpenAI address, a key and a model name. */
abstract class AnyLanguageWorkflow extends Workflow {
  protected abstract readonly command: readonly [string, ...string[]];

  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'walker' });
    const [command, ...args] = this.command;
    const environment = { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: apiKey, OPENAI_MODEL: model };
    const agent = startForeignAgent({ command, args, environment, signal: tuner.signal });
    const lake = new FrozenLake(task.metadata['map'] as LakeMap);
    try {
      for (let move = 0; move < maxMoves && lake.state === 'walking'; move++) {
        const answer = await agent.ask(lake.describe());
        const direction = directions.find((known) => known === answer.trim());
        if (direction === undefined) break;
        lake.step(direction);
      }
    } finally {
      await agent.close();
    }
    const isSuccess = lake.state === 'goal';
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}

const beside = (file: string): string => path.join(import.meta.dirname, file);

/** Needs python3 (or what AJET_PYTHON names) with `pip install openai`. */
export class PythonWorkflow extends AnyLanguageWorkflow {
  protected readonly command = [process.env['AJET_PYTHON'] ?? 'python3', beside('agent.py')] as const;
}

/** Needs bash and curl. */
export class BashWorkflow extends AnyLanguageWorkflow {
  protected readonly command = ['bash', beside('agent.sh')] as const;
}
