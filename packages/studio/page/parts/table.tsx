import type { ComponentChildren } from 'preact';

type NumberColumn = { readonly number: string };

/** The head of a column. Numbers are aligned to the right. */
export type Column = ComponentChildren | NumberColumn;

const isNumberColumn = (column: Column): column is NumberColumn =>
  typeof column === 'object' && column !== null && 'number' in column;

/** A column of numbers. */
export const number = (name: string): NumberColumn => ({ number: name });

type TableProps = {
  readonly columns: readonly Column[];
  /** Further classes of the table. */
  readonly look?: string;
  /** The rows. */
  readonly children: ComponentChildren;
};

export function Table({ columns, look, children }: TableProps) {
  return (
    <table class={look === undefined ? 'table' : `table ${look}`}>
      <thead>
        <tr>
          {columns.map((column, at) =>
            isNumberColumn(column) ? (
              <th key={at} scope="col" class="num">
                {column.number}
              </th>
            ) : (
              <th key={at} scope="col">
                {column}
              </th>
            ),
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

/** A table that scrolls sideways in a narrow window. */
export function WideTable({ label, ...table }: TableProps & { readonly label: string }) {
  return (
    <div class="scroll-x" tabIndex={0} role="region" aria-label={label}>
      <Table {...table} />
    </div>
  );
}
