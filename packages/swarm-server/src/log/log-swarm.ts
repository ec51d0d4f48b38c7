import type { Swarm } from '../swarm/swarm.js';
import type { SwarmMeter } from '../swarm/swarm-options.js';
import type { Log } from './log-entry.js';
import { requestIdHeader, requestIdOf } from './log-failure.js';
import { toLogEntry, toStepEntry } from './log-records.js';

/** Logs the records of a swarm until it ends. */
export function logRecords(swarm: Swarm, log: Log): void {
  swarm.listen({
    onEntries: (entries) => {
      for (const { record } of entries) {
        const entry = toLogEntry(record, swarm.context.ledger.state);
        if (entry !== undefined) log(entry);
      }
    },
    onTick: () => undefined,
    onClose: () => undefined,
  });
}

/** Returns a meter that also logs each step. */
export function withLog(meter: SwarmMeter, log: Log | undefined): SwarmMeter {
  if (log === undefined) return meter;
  return {
    ...meter,
    onStep: (policy, step) => {
      meter.onStep(policy, step);
      log(toStepEntry(policy, step));
    },
  };
}

type Call = {
  readonly request: Request;
  readonly telemetry: { readonly noteCallStatus: (status: number) => void };
  readonly log: Log | undefined;
};

/** Counts the answer of a model call, and logs it if the server failed. */
export async function noteCall(
  answer: Response | Promise<Response>,
  { request, telemetry, log }: Call,
): Promise<Response> {
  const response = await answer;
  const { status } = response;
  telemetry.noteCallStatus(status);
  if (status < 500 || log === undefined) return response;
  const { pathname } = new URL(request.url);
  const episode = pathname.split('/')[2];
  const id = requestIdOf(request.headers.get(requestIdHeader) ?? undefined);
  log({ level: 'warn', message: `The model call ${pathname} was answered with ${status}`, episode, request: id });
  return response;
}
