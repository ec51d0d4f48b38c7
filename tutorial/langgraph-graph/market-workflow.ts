import { asModel } from '@agentjet/langgraph';
import { ChatOpenAI } from '@langchain/openai';
import { type Task, type Tuner, Workflow, type WorkflowOutput } from 'agentjet';
import { answerNote, createDesk, type Decision, type Request } from './desk.js';
import { openWriterServer } from './writer-server.js';

/** Answers one note. The clerk learns. The writer is the ChatOpenAI of the application. */
export class MarketWorkflow extends Workflow {
  async execute(task: Task, tuner: Tuner): Promise<WorkflowOutput> {
    const untrained = { model: 'gpt-4o-mini', apiKey: 'none', configuration: { baseURL: await openWriterServer() } };
    const desk = createDesk((agentName) => asModel(tuner, { agentName, debugModel: new ChatOpenAI(untrained) }));
    let numAsked = 0;
    const decide = ({ figure }: Request): Decision => {
      numAsked++;
      return /^\d+$/.test(figure) ? 'send' : 'refuse';
    };
    const { figure, reply } = await answerNote(desk, task.mainQuery, { decide, signal: tuner.signal });
    const isSuccess = Number(figure) === task.metadata['answer'] && reply.includes(figure);
    return {
      reward: isSuccess ? 1 : 0,
      isSuccess,
      metadata: { figure, reply },
      logMetrics: { keeper_asked: numAsked },
    };
  }
}
