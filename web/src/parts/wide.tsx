// Horizontal scroll container for wide tables, reachable by keyboard.
import { ScrollArea, Table, VisuallyHidden } from '@mantine/core';
import type { ReactNode } from 'react';

export function Wide({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <ScrollArea
      type="auto"
      scrollbarSize={8}
      offsetScrollbars="present"
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}
    >
      {children}
    </ScrollArea>
  );
}

/** Header of a column of buttons, for screen readers only. */
export function ActionsHeader() {
  return (
    <Table.Th>
      <VisuallyHidden>Actions</VisuallyHidden>
    </Table.Th>
  );
}
