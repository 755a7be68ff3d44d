// The table of every page: scrolls sideways if it must, reachable by keyboard, with fewer columns on phones.
import { ScrollArea, Table, Text, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';
import { useIsNarrow } from './narrow.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** `number`: right-aligned. `actions`: buttons, right-aligned, with a title for screen readers only. */
  readonly kind?: 'number' | 'actions';
  /** Not on phones, where another cell may show its content. */
  readonly isWideOnly?: boolean;
  readonly width?: number;
}

export interface DataTableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
}

export function DataTable<T>({ label, columns, rows, keyOf }: DataTableProps<T>) {
  const isNarrow = useIsNarrow();
  const shown = columns.filter(({ isWideOnly = false }) => !(isNarrow && isWideOnly));
  return (
    <ScrollArea
      type="auto"
      scrollbarSize={8}
      offsetScrollbars="present"
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}
    >
      <Table verticalSpacing={6} highlightOnHover {...(isNarrow ? { horizontalSpacing: 6 } : {})}>
        <Table.Thead>
          <Table.Tr>
            {shown.map(({ title, kind, width }, index) => (
              <Table.Th
                key={title}
                ta={kind === undefined ? undefined : 'right'}
                w={isNarrow ? undefined : width}
                // Names break anywhere, but not after a few letters.
                miw={index === 0 ? 120 : undefined}
              >
                {kind === 'actions' ? <VisuallyHidden>{title}</VisuallyHidden> : title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)}>
              {shown.map(({ title, kind, cell }) => (
                <Table.Td
                  key={title}
                  ta={kind === undefined ? undefined : 'right'}
                  // On wide screens columns are at least as wide as their longest word.
                  style={{ overflowWrap: isNarrow ? 'anywhere' : 'break-word' }}
                >
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea>
  );
}

export interface DetailProps {
  readonly children: ReactNode;
  /** Shown only on phones, where the column of this content is hidden. */
  readonly isNarrowOnly?: boolean;
}

/** Second line of a cell. */
export function Detail({ children, isNarrowOnly = false }: DetailProps) {
  const isNarrow = useIsNarrow();
  if (isNarrowOnly && !isNarrow) return null;
  return (
    <Text size="xs" c="dimmed" component="div">
      {children}
    </Text>
  );
}
