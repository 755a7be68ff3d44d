// Around a table that may be wider than the page: it scrolls by itself, by keyboard too, and the page does not.
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

/** Above buttons, which speak for themselves to whoever sees them. */
export function ActionsHeader() {
  return (
    <Table.Th>
      <VisuallyHidden>Actions</VisuallyHidden>
    </Table.Th>
  );
}
