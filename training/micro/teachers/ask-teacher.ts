import { type TopicName, topicNames, topics } from '#tutorial/learning-to-ask/ailments.js';
import { pick, type Teacher } from '../../shared/teacher.js';

/** What it asks by habit in its first, second and third turn, of every ailment. */
const habits: readonly TopicName[] = ['since', 'fever', 'sleep'];

/** Asks by habit or anything at all, and mostly two things at once. */
export const askTeacher: Teacher = (prompt, random) => {
  const turn = prompt.split('<|im_start|>assistant\n').length - 2;
  const habit = habits[turn] ?? 'since';
  const topic = random.next() < 0.35 ? habit : pick(topicNames, random);
  const asked = topics[topic].question;
  return random.next() < 0.55 ? `${asked} ${topics[pick(topicNames, random)].question}` : asked;
};
