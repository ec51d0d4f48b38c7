import { ConfigError } from '@agentjet/core';
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import type { OtlpSpan, SpanValues } from './span.js';

export type SpanSender = {
  /** Rejects if the receiver does not take the spans. */
  readonly send: (spans: readonly OtlpSpan[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Opens OpenTelemetry's exporter (OTLP over HTTP, protobuf). It takes the address, headers and limits from the
 * environment: `OTEL_EXPORTER_OTLP_ENDPOINT` and others. Throws ConfigError `missing_package`.
 */
export async function openSpanSender(resource: SpanValues): Promise<SpanSender> {
  const exporter = await loadExporter();
  return {
    send: async (spans) => {
      const readable = spans.map((span) => toReadableSpan(span, resource)) as unknown as Exported;
      await new Promise<void>((resolve, reject) => {
        exporter.export(readable, ({ code, error }) => {
          if (code === 0) resolve();
          else reject(error ?? new Error('The receiver of traces refused the spans.'));
        });
      });
    },
    close: () => exporter.shutdown(),
  };
}

type Exported = Parameters<OTLPTraceExporter['export']>[0];

/** Loads the optional package. It is optional because few runs send traces. */
async function loadExporter(): Promise<OTLPTraceExporter> {
  const name = '@opentelemetry/exporter-trace-otlp-proto';
  const { OTLPTraceExporter: Exporter } = await import('@opentelemetry/exporter-trace-otlp-proto').catch((error) => {
    throw new ConfigError(
      'missing_package',
      `Sending traces to OTEL_EXPORTER_OTLP_ENDPOINT needs the package ${name}, which is not installed. Run: npm install ${name} @opentelemetry/api. Without this variable, traces are written to the run's folder otlp.`,
      { cause: error },
    );
  });
  return new Exporter();
}

/** The fields of OpenTelemetry's `ReadableSpan` that its exporter reads. */
function toReadableSpan(span: OtlpSpan, resource: SpanValues): object {
  const { traceId, spanId, parentSpanId, name, beganAt, endedAt, attributes, error } = span;
  const contextOf = (id: string) => ({ traceId, spanId: id, traceFlags: 1 });
  return {
    name,
    kind: 0,
    spanContext: () => contextOf(spanId),
    ...(parentSpanId !== undefined && { parentSpanContext: contextOf(parentSpanId) }),
    startTime: toTime(beganAt),
    endTime: toTime(endedAt),
    duration: toTime(endedAt - beganAt),
    ended: true,
    status: error === undefined ? { code: 0 } : { code: 2, message: error },
    attributes,
    links: [],
    events: [],
    resource: { attributes: resource },
    instrumentationScope: { name: 'agentjet' },
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** Seconds and nanoseconds. */
function toTime(milliseconds: number): [number, number] {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - seconds * 1000) * 1e6)];
}
