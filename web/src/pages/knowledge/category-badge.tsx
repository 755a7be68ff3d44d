// What kind of event it is.
import { Badge } from '@mantine/core';
import type { Category } from './words.ts';
import { categoryWords } from './words.ts';

export function CategoryBadge({ category }: { readonly category: string }) {
  return (
    <Badge component="span" size="sm" variant="default" tt="none" fw={500}>
      {categoryWords[category as Category] ?? category}
    </Badge>
  );
}
