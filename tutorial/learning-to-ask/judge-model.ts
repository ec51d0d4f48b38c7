import type { Server } from 'node:http';
import { pathToFileURL } from 'node:url';
import { type PlayedAnswer, type PlayedRequest, servePlayedModel } from '../played-model.js';
import { countQuestions } from './ailments.js';

/**
 * Judges in the place of a large model, so that you need no key: gives a point for each line with exactly one question. Like a large
 * model it is good and not perfect: one verdict in eight is a point off.
 */

function judge({ messages }: PlayedRequest): PlayedAnswer {
  const [, code = ''] = /"code": "(\w+)"/.exec(messages[0]?.content ?? '') ?? [];
  const last = messages.at(-1)?.content ?? '';
  const lines = (JSON.parse(last.slice(last.indexOf('\n') + 1)) as string).split('\n');
  const points = lines.filter((line) => countQuestions(line) === 1).length;
  const isOff = Number.parseInt(code.slice(0, 2), 16) % 8 === 0;
  const score = isOff ? Math.abs(points - 1) : points;
  return { content: JSON.stringify({ code, reason: `${score} of ${lines.length} lines ask one thing.`, score }) };
}

/** Resolves when it listens on this machine; 0 picks a free port. */
export function openJudgeModel(port: number): Promise<Server> {
  return servePlayedModel('judge', port, judge);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  await openJudgeModel(8125);
  console.log('A judge listens on http://127.0.0.1:8125/v1. Ctrl-C ends it.');
}
