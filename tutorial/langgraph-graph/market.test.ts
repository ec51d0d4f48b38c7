import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { ChatOpenAI } from '@langchain/openai';
import { expect, it } from 'vitest';
import { callCalculator as call, problem as task } from '../math-agent/scripted-problem.js';
import { answerNote, createDesk, type Request } from './desk.js';
import { MarketWorkflow } from './market-workflow.js';
import { openWriterServer } from './writer-server.js';

async function work(...replies: readonly string[]) {
  const { tuner, engine } = openScriptedEpisode({ replies, trainableTargets: ['clerk'] });
  const output = await new MarketWorkflow().execute(task, tuner);
  return { ...output, numClerkCalls: engine.requests.length };
}

it('pays the clerk for the right figure, which the writer sends without asking', async () => {
  expect(await work(call('12-7'), '5')).toMatchObject({
    isSuccess: true,
    reward: 1,
    metadata: { figure: '5', reply: 'Thank you for your note: the figure is 5.' },
    logMetrics: { keeper_asked: 0 },
    numClerkCalls: 2,
  });
});

it('asks the keeper about a large figure, and resumes without another call of the clerk', async () => {
  expect(await work(call('12*7'), '84')).toMatchObject({
    isSuccess: false,
    metadata: { figure: '84', reply: 'Thank you for your note: the figure is 84.' },
    logMetrics: { keeper_asked: 1 },
    numClerkCalls: 2,
  });
});

it('sends nothing that the keeper refuses', async () => {
  expect(await work(call('7/12'), '0.58')).toMatchObject({
    reward: 0,
    metadata: { figure: '0.58', reply: '' },
    logMetrics: { keeper_asked: 1 },
  });
});

it('lets the clerk calculate as often as it likes, up to the limit of the graph', async () => {
  expect(await work(call('12+7'), call('12-7'), '5')).toMatchObject({ isSuccess: true, numClerkCalls: 3 });
  await expect(work(...Array.from({ length: 20 }, () => call('1+1')))).rejects.toThrow('Recursion limit of 10');
});

it('is an agent without us too: both models from LangChain, the reply streamed', async () => {
  const model = new ChatOpenAI({ model: 'any', apiKey: 'none', configuration: { baseURL: await openWriterServer() } });
  const desk = createDesk(() => model);
  const asked: Request[] = [];
  const pieces: string[] = [];
  const { figure, reply } = await answerNote(desk, 'Note. Figure: 7', {
    decide: (request) => {
      asked.push(request);
      return 'send';
    },
    onText: (piece) => void pieces.push(piece),
  });
  expect(figure).toBe('Thank you for your note: the figure is 7.');
  expect(asked).toEqual([{ note: 'Note. Figure: 7', figure }]);
  expect(pieces.filter(Boolean)).toEqual(['Thank you for your note: ', 'the figure is ', `${figure}.`]);
  expect(reply).toBe(pieces.join(''));
});
