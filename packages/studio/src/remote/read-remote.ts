import { isJsonObject, parseJsonObject, toErrorMessage, type JsonObject } from '@agentjet/core';

/** A server that the user started: a swarm, or a model. Its address comes from the command line, never from a page. */
export type Remote = { readonly url: string; readonly key?: string };

const maxAnswer = 2_000_000;
const waitMs = 3000;

/** Reads JSON from another server, or returns why it cannot. Follows no redirect, so no third server gets the key. */
export async function readRemote(
  { url, key }: Remote,
  place: string,
): Promise<{ readonly value: JsonObject } | { readonly problem: string }> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${place}`, {
      headers: { accept: 'application/json', ...bearerHeaders(key) },
      redirect: 'error',
      signal: AbortSignal.timeout(waitMs),
    });
    const text = (await response.text()).slice(0, maxAnswer);
    const value = parseJsonObject(text);
    if (!response.ok) return { problem: `${url} answered ${response.status}${sayError(value)}` };
    return value === undefined ? { problem: `${url}${place} did not answer with JSON.` } : { value };
  } catch (thrown) {
    return { problem: `${url} cannot be reached: ${sayCause(thrown)}` };
  }
}

export const bearerHeaders = (key: string | undefined): Readonly<Record<string, string>> =>
  key === undefined || key === '' ? {} : { authorization: `Bearer ${key}` };

export function sayCause(thrown: unknown): string {
  const { cause } = thrown instanceof Error ? thrown : { cause: undefined };
  return toErrorMessage(cause ?? thrown);
}

function sayError(value: JsonObject | undefined): string {
  const error = value?.['error'];
  const message = isJsonObject(error) ? error['message'] : (error ?? value?.['message']);
  return typeof message === 'string' ? `: ${message}` : '.';
}
