import type { Random } from '@agentjet/core';
import {
  ailmentNames,
  ailments,
  tell,
  type TopicName,
  topicNames,
  topics,
} from '#tutorial/learning-to-ask/ailments.js';
import { pick, type Teacher } from '../../shared/teacher.js';

/** The questions that the teacher asks by habit in its first, second and third turn, about every ailment. */
const habits: readonly TopicName[] = ['since', 'fever', 'sleep'];

const isTold = (topic: TopicName, prompt: string): boolean =>
  topics[topic].values.some((value) => prompt.includes(tell(topic, value)));

/** Returns the facts of the patient's complaint that matter and have not been said yet. */
function findHidden(prompt: string): readonly TopicName[] {
  const name = ailmentNames.find((each) => ailments[each].complaints.some((complaint) => prompt.includes(complaint)));
  if (name === undefined) throw new RangeError('The patient has none of the ailments of the tutorial.');
  return ailments[name].matters.filter((topic) => !isTold(topic, prompt));
}

/**
 * Chooses a topic of the patient's hidden facts in one of four cases, and otherwise a topic by habit or at random.
 * Reinforcement learning cannot strengthen a topic that a model never asks about.
 */
function chooseTopic(prompt: string, random: Random): TopicName {
  const turn = prompt.split('<|im_start|>assistant\n').length - 2;
  const chance = random.next();
  if (chance < 0.35) return habits[turn] ?? 'since';
  return pick(chance < 0.6 ? findHidden(prompt) : topicNames, random);
}

/** Mostly asks two things at once. */
export const askTeacher: Teacher = (prompt, random) => {
  const asked = topics[chooseTopic(prompt, random)].question;
  return random.next() < 0.55 ? `${asked} ${topics[pick(topicNames, random)].question}` : asked;
};
