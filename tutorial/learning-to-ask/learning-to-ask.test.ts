import { openScriptedEpisode } from '@agentjet/rollout/testing';
import { describe, expect, it } from 'vitest';
import { findTopic, topicNames, topics } from './ailments.js';
import { AskWorkflow } from './ask-workflow.js';
import { FactsJudge, RuleJudge } from './judges.js';
import { drawTasks, type Patient } from './patients.js';

const patient: Patient = {
  ailment: 'knee',
  opening: 'My knee hurts. I fell off a bike.',
  hidden: ['sport', 'work', 'since'],
  facts: {
    fall: 'I fell off a bike.',
    sport: 'I do judo.',
    work: 'I work as a cook.',
    since: 'It began on Monday.',
  },
};
const task = { taskId: 'a', mainQuery: patient.opening, initMessages: [], metadata: patient };

async function consult(...replies: readonly string[]) {
  const { tuner, engine } = openScriptedEpisode({ replies, trainableTargets: ['doctor'] });
  return { output: await new AskWorkflow().execute(task, tuner), engine };
}

it('understands each question, and no other', () => {
  for (const name of topicNames) expect(findTopic(topics[name].question)).toBe(name);
  expect(findTopic('How are you?')).toBeUndefined();
});

it('lets the patient answer the first question of a turn, and the doctor remember it', async () => {
  const { output, engine } = await consult(
    'Do you do sport? What is your work?',
    'What is your work?',
    'Do you have pets?',
  );
  expect(engine.requests).toHaveLength(3);
  expect(engine.requests[1]?.text).toContain('I do judo.');
  expect(engine.requests[1]?.text).not.toContain('cook');
  expect(engine.requests[2]?.text).toContain('I work as a cook.');
  const judged = new RuleJudge().judge(task, output);
  expect(judged).toMatchObject({ isSuccess: false, parts: { facts_found: 2 / 3, one_question: 2 / 3 } });
  expect(judged.reward).toBeCloseTo(2 / 3 - 1 / 6);
  expect(new FactsJudge().judge(task, output).reward).toBeCloseTo(2 / 3);
});

it('gives all to a doctor who asks for what matters, one thing at a time', async () => {
  const { output } = await consult('Do you do sport?', 'What is your work?', 'When did it begin?');
  expect(new RuleJudge().judge(task, output)).toMatchObject({ reward: 1, isSuccess: true });
});

describe('patients', () => {
  it('hide three of the four facts that matter', () => {
    for (const { mainQuery, metadata } of drawTasks('training', { seed: 1, count: 200 })) {
      const { hidden, facts } = metadata as Patient;
      expect(hidden).toHaveLength(3);
      for (const [topic, fact] of Object.entries(facts))
        expect(mainQuery.includes(fact)).toBe(!hidden.some((each) => each === topic));
    }
  });

  it('of evaluation are not patients of training', () => {
    const training = new Set(
      drawTasks('training', { seed: 1, count: 1024 }).map(({ metadata }) => JSON.stringify(metadata)),
    );
    for (const { metadata } of drawTasks('evaluation', { seed: 1, count: 100 }))
      expect(training.has(JSON.stringify(metadata))).toBe(false);
  });
});
