import { directions } from '#tutorial/01-frozen-lake/frozen-lake.js';
import { lastMessage, pick, type Teacher } from './teacher.js';

/** Prefers ice under its feet most of the time, and has no idea of where to go. */
export const lakeTeacher: Teacher = (prompt, random) => {
  const lines = lastMessage(prompt).split('\n');
  const ice = lines.filter((line) => line.includes('ice'));
  const line = pick(ice.length > 0 && random.next() < 0.8 ? ice : lines, random);
  return directions.find((direction) => line.startsWith(direction)) ?? directions[0];
};
