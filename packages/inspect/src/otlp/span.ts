import { sha256 } from '@agentjet/core';

/** A span of OpenTelemetry, before it is written in a form of OTLP. */
export type OtlpSpan = {
  /** 32 hexadecimal digits. The spans of an episode share it. */
  readonly traceId: string;
  /** 16 hexadecimal digits. The same span gets the same id if it is sent again. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** Milliseconds since 1970. */
  readonly beganAt: number;
  readonly endedAt: number;
  readonly attributes: SpanValues;
  /** The message of an error. */
  readonly error?: string;
};

export type SpanValues = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export const toTraceId = (name: string): string => sha256(name).slice(0, 32);

export const toSpanId = (traceId: string, place: string): string => sha256(`${traceId} ${place}`).slice(0, 16);

/** Whether an episode is among this share of all episodes. The same episode is always chosen or always left out. */
export function isChosenForExport(episodeId: string, share: number): boolean {
  return Number.parseInt(sha256(episodeId).slice(0, 12), 16) < share * 2 ** 48;
}
