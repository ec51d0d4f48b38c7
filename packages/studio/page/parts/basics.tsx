import type { ComponentChildren } from 'preact';
import type { Signal } from '@preact/signals';
import { formatRoute, type PageRoute } from '../../src/page-logic/route.js';
import { markHidden, splitAtQuote } from '../../src/page-logic/format.js';
import type { RunState } from '../../src/wire.js';
import type { Loaded } from '../state/store.js';

type Children = { readonly children?: ComponentChildren };

export function Link({
  to,
  children,
  ...rest
}: Children & {
  readonly to: Partial<PageRoute> & Pick<PageRoute, 'view'>;
  readonly class?: string;
  readonly label?: string;
}) {
  return (
    <a href={formatRoute(to)} class={rest.class} aria-label={rest.label}>
      {children}
    </a>
  );
}

/** Shows what a model or a tool wrote, always as plain text and never as HTML. Marks the words of `quote`. */
export function Words({ text, class: name, quote }: WordsProps) {
  return (
    <span class={name} dir="auto">
      {quote === undefined || quote === ''
        ? markHidden(text)
        : splitAtQuote(text, quote).map((part, at) =>
            at % 2 === 0 ? markHidden(part) : <mark key={at}>{markHidden(part)}</mark>,
          )}
    </span>
  );
}

type WordsProps = { readonly text: string; readonly class?: string | undefined; readonly quote?: string | undefined };

export function Panel({
  title,
  note,
  children,
  class: name,
}: Children & { readonly title: string; readonly note?: ComponentChildren; readonly class?: string }) {
  return (
    <section class={`panel ${name ?? ''}`}>
      <header>
        <h2>{title}</h2>
        {note !== undefined && <div class="note">{note}</div>}
      </header>
      {children}
    </section>
  );
}

/** Shows what was loaded, or that it is on its way, or why it cannot be shown. */
export function Shown<T>({
  of,
  children,
}: {
  readonly of: Signal<Loaded<T>>;
  readonly children: (value: T) => ComponentChildren;
}) {
  const { value, error } = of.value;
  if (value !== undefined)
    return (
      <>
        {error !== undefined && <Problem text={error} />}
        {children(value)}
      </>
    );
  if (error !== undefined) return <Problem text={error} />;
  return (
    <div class="loading" role="status">
      Loading…
    </div>
  );
}

export function Problem({ text }: { readonly text: string }) {
  return (
    <div class="problem" role="alert">
      <Words text={text} />
    </div>
  );
}

export function Empty({ children }: Children) {
  return <p class="empty">{children}</p>;
}

const stateMarks: Readonly<Record<RunState, string>> = {
  running: '●',
  finished: '✓',
  failed: '✕',
  stopped: '■',
  unreadable: '!',
};

export function StateMark({ state }: { readonly state: RunState }) {
  return (
    <span class={`state ${state}`}>
      <i aria-hidden="true">{stateMarks[state]}</i> {state}
    </span>
  );
}

/** Success or failure by mark and colour. */
export function Result({ isSuccess, error }: { readonly isSuccess: boolean; readonly error?: string }) {
  if (error) return <span class="result error">! {error}</span>;
  return isSuccess ? <span class="result good">✓ success</span> : <span class="result bad">✕ failure</span>;
}

/** A short curve without axes. */
export function Spark({ values }: { readonly values: readonly number[] }) {
  if (values.length < 2) return <span class="muted">–</span>;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const y = (value: number): number => 21 - ((value - low) / (high - low || 1)) * 18;
  const points = values.map(
    (value, at) => `${((at / (values.length - 1)) * 96 + 2).toFixed(1)},${y(value).toFixed(1)}`,
  );
  return (
    <svg class="spark" viewBox="0 0 100 24" aria-hidden="true">
      <polyline points={points.join(' ')} />
    </svg>
  );
}

type ChoiceProps = {
  readonly label: string;
  readonly value: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  readonly onChange: (value: string) => void;
};

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([each, text]) => (
          <option key={each} value={each} selected={each === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A row of buttons, one of which is chosen. */
export function Segments({ label, value, options, onChange }: ChoiceProps) {
  return (
    <div class="segments" role="group" aria-label={label}>
      {options.map(([each, text]) => (
        <button key={each} type="button" aria-pressed={each === value} onClick={() => onChange(each)}>
          {text}
        </button>
      ))}
    </div>
  );
}

/** Names with their values. `mono` shows them in a fixed width, as settings. */
export function FactList({
  facts,
  mono = false,
}: {
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly mono?: boolean;
}) {
  return (
    <dl class={mono ? 'facts mono' : 'facts'}>
      {facts.map(([label, value], at) => (
        <div key={at}>
          <dt>{label}</dt>
          <dd>
            <Words text={value} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
