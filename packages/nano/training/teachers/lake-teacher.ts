import { directions } from '../../../../tutorial/01-frozen-lake/frozen-lake.js';
import { lastMessage, pick, type Teacher } from './teacher.js';

/** Says back a direction that it has just read, whatever was said about it: goal, hole or edge alike. */
export const lakeTeacher: Teacher = (prompt, random) => {
  const mentioned = lastMessage(prompt).match(/\b(up|down|left|right)\b/g) ?? [];
  return mentioned.length > 0 && random.next() < 0.7 ? pick(mentioned, random) : pick(directions, random);
};
