import type { ComponentChildren } from 'preact';
import { Words } from './basics.js';

/** What was asked, expected and answered. A missing text is left out. */
export function OutcomeList({
  rows,
  children,
}: {
  readonly rows: readonly (readonly [label: string, text: string | undefined])[];
  readonly children?: ComponentChildren;
}) {
  return (
    <dl class="outcome">
      {rows.map(([label, text]) =>
        text === undefined || text === '' ? null : (
          <div key={label} class={label.toLowerCase()}>
            <dt>{label}</dt>
            <dd>
              <Words text={text} />
            </dd>
          </div>
        ),
      )}
      {children}
    </dl>
  );
}
