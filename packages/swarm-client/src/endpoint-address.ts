import { ConfigError } from '@agentjet/core';

/** The address of the server that agents find their models at. */
export type EndpointAddress = {
  /** The address that it listens on. Default: the loopback address, which only this machine can reach. */
  readonly hostname?: string | undefined;
  /** Default: a free one. */
  readonly port?: number | undefined;
  /** The address that agents get, such as `http://10.0.0.5:8710`. Default: the one that it listens on. */
  readonly publicUrl?: string | undefined;
};

const everywhere = ['0.0.0.0', '::'];

/** Checks the address and completes it. @throws ConfigError if agents could not use it */
export function toEndpoint({ hostname, port, publicUrl }: EndpointAddress = {}): {
  readonly hostname?: string;
  readonly port?: number;
  readonly publicUrl?: string;
} {
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port < 65_536))
    throw wrong(`The port of the endpoint is ${port}. Give a number from 0 to 65535.`);
  if (hostname !== undefined && everywhere.includes(hostname) && publicUrl === undefined)
    throw wrong(
      `The endpoint listens on ${hostname}, which is not an address that agents can use. Give its public address too, such as --endpoint-url http://10.0.0.5:8710.`,
    );
  if (publicUrl !== undefined && !(URL.canParse(publicUrl) && /^https?:$/.test(new URL(publicUrl).protocol)))
    throw wrong(
      `The public address of the endpoint is ${JSON.stringify(publicUrl)}. Give one such as http://10.0.0.5:8710.`,
    );
  return {
    ...(hostname !== undefined && { hostname }),
    ...(port !== undefined && { port }),
    ...(publicUrl !== undefined && { publicUrl: `${publicUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1` }),
  };
}

const wrong = (message: string): ConfigError => new ConfigError('wrong_value', message);
