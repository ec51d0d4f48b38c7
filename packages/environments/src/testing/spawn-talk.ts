import { spawn } from 'node:child_process';
import type { Box, BoxTalk } from '@agentjet/sandbox/boxes';

/** Runs a command on this machine in the place of a box. */
export const spawnTalk: Box['talk'] = ([program = '', ...args], { env }): BoxTalk => {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'], env: { ...process.env, ...env } });
  child.stdin.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (status) => resolve(`exit code ${status}`));
  });
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await ended;
  };
  return { stdin: child.stdin, stdout: child.stdout, ended, close };
};
