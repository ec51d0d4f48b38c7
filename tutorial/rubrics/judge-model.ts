import type { Server } from 'node:http';
import { pathToFileURL } from 'node:url';
import { type PlayedRequest, servePlayedModel } from '../played-model.js';

/**
 * This OpenAI-compatible server replaces a large model, so you need no API key. It proposes criteria and scores by
 * them. It does not know the shop's rule: some of its criteria are useless, and its scores are rough.
 */

type Criterion = { readonly name: string; readonly text: string; readonly score: (answer: string) => number };

const criteria: readonly Criterion[] = [
  {
    name: 'order number',
    text: 'Good: it names the number of the order. Bad: it only speaks of the purchase.',
    score: (answer) => (/\d{4}/.test(answer) ? 9 : 1),
  },
  {
    name: 'next step',
    text: 'Good: it says what will happen and when. Bad: the customer does not know what comes next.',
    score: (answer) => (/Monday|tomorrow|Friday|noon/.test(answer) ? 9 : 2),
  },
  {
    name: 'brevity',
    text: 'Good: it comes to the point. Bad: it is long.',
    score: (answer) => Math.max(0, 10 - Math.floor(answer.length / 40)),
  },
  {
    name: 'greeting',
    text: 'Good: it greets the customer. Bad: it begins without a greeting.',
    score: (answer) => (/^(Hello|Thank|Dear|Hi)/.test(answer) ? 8 : 3),
  },
  {
    name: 'empathy',
    text: 'Good: it shows feeling for the customer. Bad: it is cold.',
    score: (answer) => (/sorry|satisfaction|patience/.test(answer) ? 9 : 3),
  },
];

/**
 * Gives the criteria if the system message asks for them, and otherwise the scores of the answer in the last message.
 */
function judge(messages: PlayedRequest['messages']): object {
  const system = messages[0]?.content ?? '';
  const last = messages.at(-1)?.content ?? '';
  const [, code] = /"code": "(\w+)"/.exec(system) ?? [];
  if (code === undefined) return { criteria: criteria.map(({ name, text }) => ({ name, text })) };
  const answer = JSON.parse(last.slice(last.indexOf('\n') + 1)) as string;
  const asked = [...system.matchAll(/^([a-z_0-9]+): /gm)].map((match) => match[1] ?? '');
  const scores = asked.map((name) => {
    const known = criteria.find((each) => each.name.replaceAll(' ', '_') === name);
    return [name, known?.score(answer) ?? 5] as const;
  });
  return { code, reason: 'By each criterion.', scores: Object.fromEntries(scores) };
}

/** Resolves when it listens on this machine. Port 0 picks a free port. */
export function openJudgeServer(port: number): Promise<Server> {
  return servePlayedModel('judge', port, ({ messages }) => ({ content: JSON.stringify(judge(messages)) }));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openJudgeServer(8126);
  console.log('A judge listens on http://127.0.0.1:8126/v1. Ctrl-C ends it.');
}
