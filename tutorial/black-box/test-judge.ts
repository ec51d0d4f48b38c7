import { randomUUID } from 'node:crypto';
import { openCodeRunner, SandboxError } from '@agentjet/sandbox';
import { Outage, type Judge } from 'agentjet';

/**
 * Runs the task's test on the program's version of code.js, in a sandbox. The test comes from the task, so a program
 * that edits its copy gains nothing. Code that ends early gains nothing either, because this program returns the
 * expected random word only after the test.
 */
const program = `
(() => {
  const { files, word } = JSON.parse(stdin);
  globalThis.load = (name) => void (0, eval)(files[name]);
  load('test.js');
  return word;
})()`;

const runner = openCodeRunner('javascript');

type Files = Readonly<Record<string, string>>;

/** black_box.yaml names this judge. */
export const passesTest: Judge = {
  async judge(task, { metadata }, { signal }) {
    const made = metadata?.['files'] as Files | undefined;
    const files = { ...(task.metadata['files'] as Files), 'code.js': made?.['code.js'] ?? '' };
    const word = randomUUID();
    try {
      const stdin = JSON.stringify({ files, word });
      const { value } = await runner.run(program, { language: 'javascript', limits: { seconds: 1 }, signal, stdin });
      return { reward: value === word ? 1 : 0, isSuccess: value === word };
    } catch (error) {
      if (error instanceof SandboxError) throw new Outage(error.message, { host: 'sandbox', cause: error });
      throw error;
    }
  },
};
