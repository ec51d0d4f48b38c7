import type { Scene } from './contract.js';

/** Answers that are surely wrong, and answers by chance. */

/** Returns a wrong answer of the same kind: the answer of another task, or one that is made up. */
export function wrongAnswer({ answer, answers, random }: Scene): string {
  if (answer === undefined) return madeUpNumber;
  const others = otherAnswers({ answer, answers });
  return others[random.int(others.length)] ?? makeUp(answer)[0] ?? madeUpNumber;
}

/** An answer that no task is likely to have. */
const madeUpNumber = '7319042';

/** Returns up to `count` wrong answers with the right one among them, neither first nor last. */
export function hideAmongWrong(scene: Scene, count: number): readonly string[] {
  const { answer = madeUpNumber, random } = scene;
  const wrong = wrongAnswers(scene, count - 1);
  const at = 1 + random.int(wrong.length - 1);
  return [...wrong.slice(0, at), answer, ...wrong.slice(at)];
}

/** Returns at least two different wrong answers. */
function wrongAnswers(scene: Scene, count: number): readonly string[] {
  const { answer = madeUpNumber, random } = scene;
  const others = [...otherAnswers(scene)];
  for (let last = others.length - 1; last > 0; last--) {
    const pick = random.int(last + 1);
    [others[last], others[pick]] = [others[pick] ?? '', others[last] ?? ''];
  }
  return [...new Set([...others, ...makeUp(answer)])]
    .filter((each) => !isSame(each, answer))
    .slice(0, Math.max(2, count));
}

function otherAnswers({ answer, answers }: Pick<Scene, 'answer' | 'answers'>): readonly string[] {
  return [...new Set(answers)].filter((each) => answer === undefined || !isSame(each, answer));
}

/** Returns wrong answers that no task needs to have: other numbers, or words that do not contain the answer. */
function makeUp(answer: string): readonly string[] {
  const value = toNumber(answer);
  if (Number.isFinite(value)) return [1, -1, 2, 10, -3].map((step) => String(value + step));
  const words = ['something else', 'unknown', 'nobody', '0'];
  return words.filter((word) => !word.includes(answer.trim().toLowerCase()));
}

const toNumber = (text: string): number => (text.trim() === '' ? Number.NaN : Number(text));

function isSame(one: string, other: string): boolean {
  const plain = (text: string): string => text.trim().toLowerCase();
  return plain(one) === plain(other) || toNumber(one) === toNumber(other);
}
