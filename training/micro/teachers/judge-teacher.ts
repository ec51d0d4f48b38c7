import { countQuestions } from '#tutorial/learning-to-ask/ailments.js';
import { lastMessage, type Teacher } from '../../shared/teacher.js';

const words = ['none', 'one', 'two'];

/** Counts the questions of each line, and gives the points. It judges well: the judge is not what learns. */
export const judgeTeacher: Teacher = (prompt) => {
  const [, code = ''] = /"code": "(\w+)"/.exec(prompt) ?? [];
  const [, written = '""'] = lastMessage(prompt).split('\n');
  const counts = (JSON.parse(written) as string).split('\n').map(countQuestions);
  const reason = counts.map((count) => words[count] ?? 'many').join(', ');
  const score = counts.filter((count) => count === 1).length;
  return JSON.stringify({ code, reason, score }).replaceAll('":', '": ').replaceAll(',"', ', "');
};
