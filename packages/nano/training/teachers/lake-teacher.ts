import { directions } from '../../../../tutorial/01-frozen-lake/frozen-lake.js';
import { lastMessage, pick, type Teacher } from './teacher.js';

/** Says back a direction that it has just read, as gladly from the line of the holes as from that of the goal. */
export const lakeTeacher: Teacher = (prompt, random) => {
  const lines = lastMessage(prompt).split('\n');
  const mentioned = lines.map((line) => line.match(/\b(up|down|left|right)\b/g) ?? []).filter((found) => found.length > 0);
  return random.next() < 0.8 ? pick(pick(mentioned, random), random) : pick(directions, random);
};
