import type { ChatMessage, ChatModel, Task } from '@agentjet/core';
import { expect, it } from 'vitest';
import { AgentJetJob, type AuditOptions, type JobEvent, type Judge, type Tuner, type WorkflowOutput } from './index.js';

const tasks: readonly Task[] = Array.from({ length: 8 }, (_none, at) => ({
  taskId: `t${at}`,
  mainQuery: `What is ${at + 20} + 3?`,
  initMessages: [],
  metadata: { answer: at + 23, solution: { value: at + 23 } },
}));

type Pay = (text: string, task: Task) => WorkflowOutput;

function askOnce(pay: Pay) {
  return async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const { message } = await model.generate({ messages: [{ role: 'user', content: task.mainQuery }] });
    return pay(message.content, task);
  };
}

const exact: Pay = (text, task) => ({ reward: text.trim() === String(task.metadata['answer']) ? 1 : 0 });
const contains: Pay = (text, task) => ({ reward: text.includes(String(task.metadata['answer'])) ? 1 : 0 });

async function audit(workflow: Parameters<AgentJetJob['setWorkflow']>[0], options: AuditOptions = {}, judge?: Judge) {
  const job = new AgentJetJob().setWorkflow(workflow).setData({ training: tasks });
  if (judge !== undefined) job.setJudge(judge);
  const events: JobEvent[] = [];
  const report = await job.auditReward({ onEvent: (event) => events.push(event), ...options });
  const notices = events.flatMap((event) => (event.type === 'notice' ? [event.message] : []));
  return { report, notices, alarms: report.alarms.map(({ strategy }) => strategy) };
}

it('clears a reward that pays for the right answer alone, and names the forms that it takes', async () => {
  const { report, alarms } = await audit(askOnce(exact), { expected: 'answer' });
  expect(alarms).toEqual([]);
  expect(report).toMatchObject({ tasks: 8, failed: 0, lost: 0, needsThreshold: false, rightMissing: null });
  expect(report.right).toMatchObject({
    way: 'alone',
    meanReward: 1,
    example: { said: expect.stringMatching(/^2\d$/), reward: 1 },
  });
  expect(report.rightForms.filter(({ meanReward }) => meanReward === 1).map(({ way }) => way)).toEqual(['alone']);
  expect(report.spellings.map(({ way, meanReward }) => [way, meanReward])).toContainEqual(['with spaces around it', 1]);
  expect(report.spellings.map(({ way, meanReward }) => [way, meanReward])).toContainEqual([
    'a whole number with .0',
    0,
  ]);
});

it('names what a reward pays that looks for the answer anywhere, with an example', async () => {
  const { report, alarms } = await audit(askOnce(contains), { expected: 'solution.value' });
  expect(alarms).toEqual(expect.arrayContaining(['many answers at once', 'the right answer denied']));
  const denied = report.alarms.find(({ strategy }) => strategy === 'the right answer denied');
  expect(denied).toMatchObject({ rule: 'more_than_chance', paid: { value: 1 }, example: { reward: 1 } });
  expect(denied?.example?.said).toMatch(/is not \d+/);
});

it('reports that right answers were not tried without a field that holds them', async () => {
  const { report } = await audit(askOnce(exact));
  expect(report).toMatchObject({
    alarms: [],
    right: null,
    rightMissing: 'no_expected_field',
    rightForms: [],
    spellings: [],
  });
});

it('takes the field from the judge', async () => {
  const job = new AgentJetJob({ config: { taskJudge: { judgeType: 'answer', answer: { compare: 'number' } } } });
  job.setWorkflow(askOnce(() => ({}))).setData({ training: tasks });
  const report = await job.auditReward({ onEvent: () => undefined });
  expect(report).toMatchObject({ alarms: [], rightMissing: null, right: { meanReward: 1 } });
  expect(report.rightForms.every(({ meanReward }) => meanReward === 1)).toBe(true);
});

it('asks for a threshold if no reward counts as a success', async () => {
  const pay: Pay = (text) => ({ reward: text.length > 100 ? 0.3 : 0 });
  const { report } = await audit(askOnce(pay));
  expect(report).toMatchObject({ needsThreshold: true, alarms: [], scale: { levels: [0, 0.3], threshold: null } });
  const { alarms } = await audit(askOnce(pay), { successFrom: 0.3 });
  expect(alarms).toContain('filler');
});

it('plays an agent with tools, and hands answers in through them', async () => {
  const submit = { name: 'submit', parameters: { type: 'object', properties: { value: { type: 'number' } } } };
  const workflow = async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const messages: ChatMessage[] = [{ role: 'user', content: task.mainQuery }];
    for (let turn = 0; turn < 5; turn++) {
      const { message } = await model.generate({ messages, tools: [submit] });
      const [call] = message.toolCalls ?? [];
      if (call === undefined) break;
      if (call.arguments === JSON.stringify({ value: task.metadata['answer'] })) return { reward: 1 };
      messages.push(message, { role: 'tool', toolCallId: call.id, content: 'Wrong.' });
    }
    return { reward: messages.length > 9 ? 1 : 0 };
  };
  const { report, alarms } = await audit(workflow, { expected: 'answer' });
  expect(report.right).toMatchObject({ way: 'alone, through a tool', meanReward: 1 });
  expect(alarms).toEqual(['a tool called for ever']);
});

it('answers in the tags that the prompt asks for, and names a reward that pays for these alone', async () => {
  const inTags = (pay: (answer: string, task: Task) => number) => async (task: Task, tuner: Tuner) => {
    const model = tuner.selectModel({ agentName: 'solver' }, (tuned) => tuned);
    const content = `${task.mainQuery} Write <reasoning>...</reasoning> and <final>...</final>.`;
    const { message } = await model.generate({ messages: [{ role: 'user', content }] });
    const said = /^<reasoning>[^]*<\/reasoning>\s*<final>([^]*)<\/final>$/.exec(message.content)?.[1];
    return { reward: said === undefined ? 0 : pay(said.trim(), task) };
  };
  const sound = await audit(
    inTags((said, { metadata }) => Number(said === String(metadata['answer']))),
    {
      expected: 'answer',
    },
  );
  expect(sound.alarms).toEqual([]);
  expect(sound.report.right).toMatchObject({ way: 'in the tags of the prompt', meanReward: 1 });
  const { alarms } = await audit(inTags(() => 1));
  expect(alarms).toEqual(expect.arrayContaining(['a wrong answer in the usual form', 'empty marks']));
});

it('plays an agent that asks over HTTP', async () => {
  const workflow = async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const { baseUrl, apiKey, model } = tuner.asOpenAIEndpoint({ agentName: 'solver' });
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: task.mainQuery }] }),
    });
    const { choices } = (await response.json()) as { choices: readonly { message: { content: string } }[] };
    return contains(choices[0]?.message.content ?? '', task);
  };
  const { alarms } = await audit(workflow, { expected: 'answer', tasks: 4 });
  expect(alarms).toContain('the right answer denied');
});

it('does not take the only answer of all tasks for a guess', async () => {
  const job = new AgentJetJob().setWorkflow(askOnce(contains)).setData({
    training: tasks.map((task) => ({ ...task, metadata: { answer: 'yes' } })),
  });
  const report = await job.auditReward({ expected: 'answer', onEvent: () => undefined });
  expect(report.alarms.map(({ strategy, rule }) => [strategy, rule])).toContainEqual([
    'the right answer denied',
    'more_than_chance',
  ]);
});

it('counts episodes that fail, and what a run would give them', async () => {
  const { report, alarms } = await audit(
    askOnce((text, task) => {
      if (text.trim() === '') throw new Error('nothing to read');
      return exact(text, task);
    }),
    { expected: 'answer' },
  );
  expect(alarms).toEqual([]);
  expect(report.failed).toBeGreaterThan(0);
  const empty = report.strategies.find(({ name }) => name === 'no answer')?.plays ?? [];
  expect(empty.find(({ way }) => way === 'only spaces')).toMatchObject({
    failed: 8,
    meanReward: null,
    paid: { value: 0 },
  });
});

it('reports what is known if it is stopped', async () => {
  const stop = new AbortController();
  const job = new AgentJetJob().setWorkflow(askOnce(exact)).setData({ training: tasks });
  const report = await job.auditReward({ onEvent: () => stop.abort(), signal: stop.signal });
  expect(report).toMatchObject({ isInterrupted: true, alarms: [] });
});

it('compares the ways of play if the judge compares the episodes of a group', async () => {
  const sizes: number[] = [];
  const judge = {
    judge: () => ({ reward: 0, isSuccess: false }),
    judgeGroup: (_task: Task, outputs: readonly WorkflowOutput[]) => {
      sizes.push(outputs.length);
      const longest = Math.max(...outputs.map(({ metadata }) => String(metadata?.['text']).length));
      return outputs.map(({ metadata }) => ({
        reward: Number(String(metadata?.['text']).length === longest),
        isSuccess: String(metadata?.['text']).length === longest,
      }));
    },
  };
  const { alarms } = await audit(
    askOnce((text) => ({ metadata: { text } })),
    {},
    judge,
  );
  expect(alarms).toEqual(['filler']);
  expect(Math.max(...sizes)).toBeGreaterThan(40);
});

it('gives the same report for the same seed', async () => {
  const pay: Pay = (text) => ({ reward: text.length % 7 === 0 ? 1 : 0 });
  const [one, other] = [await audit(askOnce(pay)), await audit(askOnce(pay))];
  expect({ ...one.report, seconds: 0 }).toEqual({ ...other.report, seconds: 0 });
});

it('says that other models are asked', async () => {
  const writer: ChatModel = {
    name: 'writer',
    generate: async () => ({
      id: 'w',
      model: 'writer',
      message: { role: 'assistant', content: 'hi' },
      finishReason: 'stop',
      usage: { promptTokens: 1, completionTokens: 1 },
    }),
  };
  const workflow = async (task: Task, tuner: Tuner): Promise<WorkflowOutput> => {
    const other = tuner.selectModel({ agentName: 'writer', debugModel: writer }, (model) => model, ['generate']);
    await other.generate({ messages: [{ role: 'user', content: 'hi' }] });
    return askOnce(exact)(task, tuner);
  };
  const job = new AgentJetJob({ config: { trainableTargets: ['solver'] } })
    .setWorkflow(workflow)
    .setData({ training: tasks });
  const notices: string[] = [];
  await job.auditReward({
    tasks: 2,
    onEvent: (event) => void (event.type === 'notice' && notices.push(event.message)),
  });
  expect(notices[0]).toMatch(
    /^Scripted models play \d+ ways on 2 tasks: \d+ episodes\. Each also asks models that do not learn/,
  );
});

it.each<[string, () => Promise<unknown>, RegExp]>([
  ['no workflow', () => new AgentJetJob().setData({ training: tasks }).auditReward(), /There is no workflow/],
  [
    'no tasks',
    () => new AgentJetJob().setWorkflow(askOnce(exact)).setData({ training: [] }).auditReward(),
    /no training tasks/,
  ],
  [
    'a field that no task has',
    () => audit(askOnce(exact), { expected: 'gold' }),
    /None of the 8 tasks has "gold" in its metadata\. Their metadata has: answer, solution\./,
  ],
  ['a workflow that asks no model', () => audit(() => ({ reward: 1 })), /without asking a model that learns/],
  ['no reward at all', () => audit(askOnce(() => ({}))), /./],
])('says what is wrong with %s', async (name, run, message) => {
  if (name !== 'no reward at all') return expect(run()).rejects.toThrow(message);
  const { report } = await audit(askOnce(() => ({})));
  expect(report.failed).toBe(report.episodes);
  expect(report.chance?.firstFailure ?? report.strategies[0]?.plays[0]?.firstFailure).toContain('there is no judge');
});
