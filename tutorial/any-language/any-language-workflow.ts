import path from 'node:path';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { directions, FrozenLake, type LakeMap } from '../frozen-lake/frozen-lake.js';
import { type ForeignAgent, ProgramPool } from './foreign-agent.js';

const maxMoves = 10;

/** A program walks across the lake of tutorial 1. It gets only an OpenAI address, a key and a model name. */
abstract class AnyLanguageWorkflow extends Workflow {
  protected abstract readonly programs: ProgramPool;

  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const lake = new FrozenLake(task.metadata['map'] as LakeMap);
    const endpoint = tuner.asOpenAIEndpoint({ agentName: 'walker' });
    await this.programs.walk(endpoint, tuner.signal, (agent) => walkLake(lake, agent));
    const isSuccess = lake.state === 'goal';
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}

async function walkLake(lake: FrozenLake, agent: ForeignAgent): Promise<void> {
  for (let move = 0; move < maxMoves && lake.state === 'walking'; move++) {
    const answer = await agent.ask(lake.describe());
    const direction = directions.find((known) => known === answer.trim());
    if (direction === undefined) return;
    lake.step(direction);
  }
}

const beside = (file: string): string => path.join(import.meta.dirname, file);
const pythons = new ProgramPool([process.env['AJET_PYTHON'] ?? 'python3', beside('agent.py')]);
const bashes = new ProgramPool(['bash', beside('agent.sh')]);

/** Needs python3 (or what AJET_PYTHON names) with `pip install openai`. */
export class PythonWorkflow extends AnyLanguageWorkflow {
  protected readonly programs = pythons;
}

/** Needs bash and curl. */
export class BashWorkflow extends AnyLanguageWorkflow {
  protected readonly programs = bashes;
}
