/** The tool of Codex: a command that adds two numbers, and writes down which. */
import { appendFileSync } from 'node:fs';

const [a, b] = process.argv.slice(2).map(Number);
appendFileSync('sums.jsonl', `${JSON.stringify({ a, b })}\n`);
console.log(a + b);
