// Cooldowns of a model by key.
import type { Model } from '../../../../src/api/models.ts';
import { Code } from '@mantine/core';
import { Section } from '../../components/states.tsx';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { Until } from '../../components/time.tsx';

const columns: readonly Column<Model['cooldowns'][number]>[] = [
  { title: 'Key', cell: ({ key_id: key }) => (key === '*' ? 'all keys' : <Code>{key}</Code>) },
  { title: 'Ends', cell: ({ until }) => <Until at={until} over="now" /> },
  {
    title: 'Cause',
    cell: ({ cause, reason, source }) => (
      <>
        {cause}
        {reason === null ? null : <Detail>{reason}</Detail>}
        <Detail isNarrowOnly>{source}</Detail>
      </>
    ),
  },
  { title: 'Source', isWideOnly: true, cell: ({ source }) => source },
];

export function Cooldowns({ cooldowns }: Pick<Model, 'cooldowns'>) {
  if (cooldowns.length === 0) return null;
  return (
    <Section title="Cooldowns">
      <DataTable
        label="Cooldowns"
        columns={columns}
        rows={cooldowns}
        keyOf={({ key_id: key, cause }) => `${key} ${cause}`}
      />
    </Section>
  );
}
