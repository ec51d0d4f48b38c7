import type { OtlpSpan, SpanValues } from './span.js';

/** An export of traces in OTLP as JSON, which is one line of a file of OpenTelemetry's file exporter. */
export function toOtlpJson(spans: readonly OtlpSpan[], resource: SpanValues): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: toList(resource) },
        scopeSpans: [{ scope: { name: 'agentjet' }, spans: spans.map(toJson) }],
      },
    ],
  };
}

function toJson({ traceId, spanId, parentSpanId, name, beganAt, endedAt, attributes, error }: OtlpSpan): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId !== undefined && { parentSpanId }),
    name,
    kind: 1,
    startTimeUnixNano: toNanoseconds(beganAt),
    endTimeUnixNano: toNanoseconds(endedAt),
    attributes: toList(attributes),
    status: error === undefined ? {} : { code: 2, message: error },
  };
}

const toNanoseconds = (milliseconds: number): string => String(BigInt(Math.round(milliseconds * 1000)) * 1000n);

function toList(values: SpanValues): readonly object[] {
  return Object.entries(values).map(([key, value]) => ({ key, value: toValue(value) }));
}

function toValue(value: SpanValues[string]): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
}
