// The models in the order in which they are asked.
import { Anchor, Progress, Table, Text } from '@mantine/core';
import { Link } from 'wouter';
import type { ModelAnswer } from '../../../../src/http/contract.ts';
import { Wide } from '../../parts/wide.tsx';
import { coolingCause, ModelState, percent, seconds } from './model-state.tsx';

export function ModelTable({ models }: { readonly models: readonly ModelAnswer[] }) {
  return (
    <Wide label="Models, the best first">
      <Table highlightOnHover verticalSpacing="xs" miw={720}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Model</Table.Th>
            <Table.Th>State</Table.Th>
            <Table.Th w={140}>Score</Table.Th>
            <Table.Th ta="right">Success</Table.Th>
            <Table.Th ta="right">Requests</Table.Th>
            <Table.Th ta="right">Answers in</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {models.map((model) => (
            <Row key={model.id} model={model} />
          ))}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

function Row({ model }: { readonly model: ModelAnswer }) {
  const cause = coolingCause(model);
  const score = model.effective_reliability_score;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor component={Link} href={`/models/${model.id}`} fw={600} size="sm">
          {model.name}
        </Anchor>
        <Text size="xs" c="dimmed">
          {model.provider}
        </Text>
      </Table.Td>
      <Table.Td>
        <ModelState model={model} />
        {cause === null ? null : (
          <Text size="xs" c="dimmed" maw={260} truncate="end" title={cause}>
            {cause}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Text size="sm">{score.toFixed(2)}</Text>
        <Progress value={score * 100} size="xs" aria-label={`Score of ${model.name}`} />
      </Table.Td>
      <Table.Td ta="right">{model.request_count === 0 ? '–' : percent(model.success_rate)}</Table.Td>
      <Table.Td ta="right">{model.request_count}</Table.Td>
      <Table.Td ta="right">{seconds(model.average_response_time)}</Table.Td>
    </Table.Tr>
  );
}
