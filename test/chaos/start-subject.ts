import { fork, type ChildProcess } from 'node:child_process';
import path from 'node:path';
import type { Answer, Command } from './subject.js';

/** `hung` means no answer in time. `died` means that the process ended, with its output to stderr. */
type SubjectAnswer = Answer | { readonly hung: true } | { readonly died: string };

/** A process that carries out one command after another. If it hangs or ends, a new one is started. */
export type Subject = {
  readonly ask: (command: Command, limitMs: number) => Promise<SubjectAnswer>;
  readonly close: () => void;
};

type Running = { readonly child: ChildProcess; errors: string };

/** Native memory of closed models grows, so a process is replaced after this many commands. */
const commandsEach = 60;

async function start(): Promise<Running> {
  const child = fork(path.join(import.meta.dirname, 'subject.ts'), { silent: true });
  const running = { child, errors: '' };
  child.stdout?.resume();
  child.stderr?.on('data', (chunk: Buffer) => (running.errors = `${running.errors}${chunk.toString()}`.slice(-4000)));
  await new Promise((resolve, reject) => {
    child.once('message', resolve);
    child.once('exit', () => reject(new Error(`The process under attack did not start: ${running.errors}`)));
  });
  return running;
}

function exchange({ child }: Running, command: Command, limitMs: number): Promise<Answer | 'hung' | 'died'> {
  return new Promise((resolve) => {
    const settle = (answer: Answer | 'hung' | 'died'): void => {
      clearTimeout(timer);
      child.removeAllListeners('message').removeAllListeners('exit');
      resolve(answer);
    };
    const timer = setTimeout(() => settle('hung'), limitMs);
    child.once('message', (answer) => settle(answer as Answer));
    child.once('exit', () => settle('died'));
    child.send(command);
  });
}

export function createSubject(): Subject {
  let running: Running | undefined;
  let asked = 0;
  const close = (): void => {
    running?.child.kill('SIGKILL');
    running = undefined;
  };
  const ask = async (command: Command, limitMs: number): Promise<SubjectAnswer> => {
    if (asked++ % commandsEach === 0) close();
    running ??= await start();
    const { errors } = running;
    const answer = await exchange(running, command, limitMs);
    if (answer === 'hung' || answer === 'died') {
      const said = running.errors.slice(errors.length);
      close();
      return answer === 'hung' ? { hung: true } : { died: said };
    }
    return answer;
  };
  return { ask, close };
}
