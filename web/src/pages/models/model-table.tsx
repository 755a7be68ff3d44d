// Models in routing order.
import type { Model } from '../../../../src/api/models.ts';
import { Anchor, Progress } from '@mantine/core';
import { Link } from 'wouter';
import { numberText, percentText } from '../../components/format.ts';
import { DataTable, Detail, type Column } from '../../components/table.tsx';
import { latencyText, ModelState, recentRateText, stateCause } from './model-state.tsx';

const columns: readonly Column<Model>[] = [
  {
    title: 'Model',
    cell: ({ id, name, provider, origin, effective_reliability_score: score }) => (
      <>
        <Anchor component={Link} href={`/models/${id}`} fw={600} size="sm">
          {name}
        </Anchor>
        <Detail>{origin === 'discovered' ? `${provider}, discovered` : provider}</Detail>
        <Detail isNarrowOnly>score {score.toFixed(2)}</Detail>
      </>
    ),
  },
  {
    title: 'State',
    cell: (model) => (
      <>
        <ModelState model={model} />
        <Detail>{stateCause(model)}</Detail>
      </>
    ),
  },
  {
    title: 'Score',
    width: 140,
    isWideOnly: true,
    cell: ({ name, effective_reliability_score: score }) => (
      <>
        {score.toFixed(2)}
        <Progress value={score * 100} size="xs" aria-label={`Score of ${name}`} />
      </>
    ),
  },
  {
    title: 'Last 15 min',
    kind: 'number',
    cell: ({ health }) => recentRateText(health),
  },
  {
    title: 'Success rate',
    kind: 'number',
    cell: (model) => (
      <>
        {model.request_count === 0 ? '–' : percentText(model.success_rate)}
        <Detail isNarrowOnly>of {numberText(model.request_count)}</Detail>
        <Detail isNarrowOnly>{latencyText(model)}</Detail>
      </>
    ),
  },
  {
    title: 'Requests',
    kind: 'number',
    isWideOnly: true,
    cell: ({ request_count: count }) => numberText(count),
  },
  { title: 'Average latency', kind: 'number', isWideOnly: true, cell: latencyText },
];

export function ModelTable({ models }: { readonly models: readonly Model[] }) {
  return <DataTable label="Models by rank" columns={columns} rows={models} keyOf={({ id }) => id} />;
}
