import { expect, it } from 'vitest';
import { runProgram } from './run-program.js';

const server = 'http://127.0.0.1:9';

it.each([
  [{}, '--inside needs --conf <file.yaml>'],
  [{ conf: 'a.yaml', folder: '.' }, '--inside and --folder exclude each other'],
  [{ conf: 'a.yaml', reward: 'echo 1' }, '--inside and --reward exclude each other'],
])('a program inside of its environment is refused with %j', async (flags, message) => {
  await expect(runProgram({ server, keys: false, inside: true, ...flags }, ['agent'])).rejects.toThrow(message);
});
