import { existsSync } from 'node:fs';
import { describeTunnel } from 'agentjet/printing';

const loopback = /^(127\.|localhost$|::1$)/;

type Listening = { readonly url: string; readonly host: string; readonly port: number };

/** Returns the address of a studio and who can reach it. On a remote host, adds the command that opens a tunnel. */
export function describeStudio(folder: string, { url, host, port }: Listening): readonly string[] {
  const tunnel = loopback.test(host) ? describeTunnel(port) : undefined;
  return [
    `Studio over the runs in ${folder}: ${url}`,
    ...(loopback.test(host)
      ? []
      : [`It listens on ${host}: other machines can read these runs if they have this address and its token.`]),
    ...(tunnel === undefined ? [] : [`From your machine: ${tunnel}, then open the same address.`]),
  ];
}

/** Returns the default folder of runs if it exists here. */
export const usualRuns = (): string => (existsSync('saved_experiments') ? 'saved_experiments' : '.');
