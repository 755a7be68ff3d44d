// Badge with the category of an event.
import { Badge } from '@mantine/core';
import type { Category } from './labels.ts';
import { categoryLabels } from './labels.ts';

export function CategoryBadge({ category }: { readonly category: string }) {
  return (
    <Badge component="span" size="sm" variant="default" tt="none" fw={500}>
      {categoryLabels[category as Category] ?? category}
    </Badge>
  );
}
