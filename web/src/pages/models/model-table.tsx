// Models in routing order.
import type { Model } from '../../../../src/api/models.ts';
import { Anchor, Progress, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import { useIsNarrow } from '../../parts/narrow.ts';
import { Wide } from '../../parts/wide.tsx';
import { coolingCause, ModelState, percent, seconds } from './model-state.tsx';

export function ModelTable({ models }: { readonly models: readonly Model[] }) {
  const isNarrow = useIsNarrow();
  return (
    <Wide label="Models by rank">
      <Table highlightOnHover verticalSpacing="xs" {...(isNarrow ? { horizontalSpacing: 6 } : { miw: 720 })}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th>State</Table.Th>
            {isNarrow ? null : <Table.Th w={140}>Score</Table.Th>}
            <Table.Th ta="right">Success</Table.Th>
            {isNarrow ? null : (
              <>
                <Table.Th ta="right">Requests</Table.Th>
                <Table.Th ta="right">Latency (avg)</Table.Th>
              </>
            )}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {models.map((model) => (
            <Row key={model.id} model={model} isNarrow={isNarrow} />
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

function Row({ model, isNarrow }: { readonly model: Model; readonly isNarrow: boolean }) {
  const cause = coolingCause(model);
  const score = model.effective_reliability_score;
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>
        <Anchor component={Link} href={`/models/${model.id}`} fw={600} size="sm">
          {model.name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {model.provider}
          {isNarrow ? `, score ${score.toFixed(2)}` : ''}
        </Text>
      </Table.Td>
      <Table.Td>
        <ModelState model={model} />
        {cause === null ? null : (
          <Text size="xs" c="dimmed" maw={isNarrow ? 130 : 260} truncate="end" title={cause}>
            {cause}
          </Text>
        )}
      </Table.Td>
      {isNarrow ? null : (
        <Table.Td>
          <Text size="sm">{score.toFixed(2)}</Text>
          <Progress value={score * 100} size="xs" aria-label={`Score of ${model.name}`} />
        </Table.Td>
      )}
      <Table.Td ta="right">
        {model.request_count === 0 ? '–' : percent(model.success_rate)}
        {isNarrow ? (
          <Text size="xs" c="dimmed">
            {triedText(model)}
          </Text>
        ) : null}
      </Table.Td>
      {isNarrow ? null : (
        <>
          <Table.Td ta="right">{model.request_count}</Table.Td>
          <Table.Td ta="right">{seconds(model.average_response_time)}</Table.Td>
        </>
      )}
    </Table.Tr>
  );
}

/** Number of requests and average latency. */
function triedText({ request_count: count, average_response_time: time }: Model): string {
  if (count === 0) return 'no requests';
  return time === 0 ? `of ${count}` : `of ${count}, in ${seconds(time)}`.replaceAll(/(?<!,) /g, '\u00A0');
}
