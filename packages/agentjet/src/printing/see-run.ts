import path from 'node:path';
import { quoteForShell } from '@agentjet/core';

type Environment = Readonly<Record<string, string | undefined>>;

/** The studio's port in the command for a tunnel. It is fixed, because both machines need the same port. */
const tunnelPort = 8710;

/** Returns the command that shows a run in a browser and, on a remote host, also the command for the tunnel. */
export function showCommand(runDir: string, env: Environment = process.env): string {
  const command = `see it ajet studio ${quoteForShell(showPath(runDir))}`;
  const tunnel = describeTunnel(tunnelPort, env);
  return tunnel === undefined ? command : `${command} --port ${tunnelPort}\ntunnel ${tunnel}   (on your machine)`;
}

/** Returns the command for a tunnel to a port of this machine, or undefined if the user did not come over SSH. */
export function describeTunnel(port: number, env: Environment = process.env): string | undefined {
  const [, , address, sshPort] = env['SSH_CONNECTION']?.split(' ') ?? [];
  if (address === undefined) return undefined;
  const user = env['USER'] ?? env['LOGNAME'];
  const host = user === undefined ? address : `${user}@${address}`;
  return `ssh -N -L ${port}:127.0.0.1:${port} ${sshPort === '22' || sshPort === undefined ? '' : `-p ${sshPort} `}${quoteForShell(host)}`;
}

/** Returns the relative path if it is shorter. */
export function showPath(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.length < file.length && relative !== '' ? relative : file;
}
