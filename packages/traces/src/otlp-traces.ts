import { isJsonObject, type JsonObject } from '@agentjet/core';
import { textOf } from './exported-traces.js';
import { readSpans, type SpanAttributes, type Span } from './span-traces.js';
import type { Trace } from './trace.js';

/** Spans in OTLP as JSON. */

/** Returns whether a JSON value is an export of traces. */
export function isOtlp(value: unknown): value is JsonObject {
  return isJsonObject(value) && Array.isArray(value['resourceSpans'] ?? value['resource_spans']);
}

export function readOtlpTraces(value: JsonObject): readonly Trace[] {
  return readSpans(listSpans(value).map(readSpan));
}

function listSpans(value: JsonObject): readonly JsonObject[] {
  const inner = (each: unknown, ...names: readonly string[]): readonly JsonObject[] => {
    const found: unknown = isJsonObject(each) ? names.map((name) => each[name]).find(Array.isArray) : undefined;
    return Array.isArray(found) ? found.filter(isJsonObject) : [];
  };
  return inner(value, 'resourceSpans', 'resource_spans')
    .flatMap((resource) => inner(resource, 'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans'))
    .flatMap((scope) => inner(scope, 'spans'));
}

function readSpan(span: JsonObject): Span {
  return {
    trace: textOf(span['traceId'] ?? span['trace_id']) ?? '',
    id: textOf(span['spanId'] ?? span['span_id']) ?? '',
    name: textOf(span['name']) ?? '',
    attributes: readAttributes(span['attributes']),
  };
}

function readAttributes(list: unknown): SpanAttributes {
  if (!Array.isArray(list)) return {};
  const entries = list.filter(isJsonObject).flatMap(({ key, value }) => {
    return typeof key === 'string' ? [[key, readValue(value)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Reads an `AnyValue` of OTLP, in which integers are strings. */
function readValue(value: unknown): unknown {
  if (!isJsonObject(value)) return undefined;
  const { stringValue, intValue, doubleValue, boolValue, arrayValue, kvlistValue } = value;
  if (intValue !== undefined) return Number(intValue);
  if (isJsonObject(arrayValue) && Array.isArray(arrayValue['values'])) return arrayValue['values'].map(readValue);
  if (isJsonObject(kvlistValue)) return readAttributes(kvlistValue['values']);
  return stringValue ?? doubleValue ?? boolValue;
}
