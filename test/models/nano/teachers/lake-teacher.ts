import { type Direction, directions } from '#tutorial/frozen-lake/frozen-lake.js';
import { lastMessage, pick, type Teacher } from '../../shared/teacher.js';

const opposites: Readonly<Record<Direction, Direction>> = { up: 'down', down: 'up', left: 'right', right: 'left' };

/**
 * The probability of a random direction, the probability of walking straight ahead if the direction is not random, and
 * the probability of looking for the goal in all other cases.
 */
const slipRate = 0.1;
const habitRate = 0.5;
const goalRate = 0.2;

function directionOf(line: string): Direction {
  return directions.find((direction) => line.startsWith(direction)) ?? directions[0];
}

/** Returns the teacher's last answer, or undefined at the start. */
function findLast(prompt: string): Direction | undefined {
  const [, answer] = /.*<\|im_start\|>assistant\n(\w+)<\|im_end\|>/s.exec(prompt) ?? [];
  return directions.find((direction) => direction === answer);
}

/** Returns the lines of the first choice that leaves at least one line. */
function firstNonEmpty(...choices: readonly (readonly string[])[]): readonly string[] {
  return choices.find((lines) => lines.length > 0) ?? [];
}

/**
 * Often walks straight ahead, even against the edge, unless there is a hole ahead. Otherwise it walks onto any ice
 * without turning back, and sometimes it walks towards the goal. So the model learns everything that a good walker
 * needs, but its most likely answer is a bad one.
 */
export const lakeTeacher: Teacher = (prompt, random) => {
  const lines = lastMessage(prompt).split('\n');
  if (random.next() < slipRate) return directionOf(pick(lines, random));
  const ice = lines.filter((line) => line.includes('ice'));
  const last = findLast(prompt);
  const ahead = ice.filter((line) => last === undefined || directionOf(line) !== opposites[last]);
  if (random.next() < habitRate) {
    const straight = lines.filter((line) => directionOf(line) === last && !line.includes('hole'));
    return directionOf(firstNonEmpty(straight, ahead, ice, lines)[0] ?? '');
  }
  const closer = ahead.filter((line) => line.includes('closer'));
  const looksForGoal = random.next() < goalRate;
  return directionOf(pick(firstNonEmpty(looksForGoal ? closer : [], ahead, ice, lines), random));
};
