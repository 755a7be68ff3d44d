// Recent attempts of a model.
import type { ModelExplanation } from '../../../../src/api/models.ts';
import { Badge, Table, Title } from '@mantine/core';
import { Empty } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';

export function Attempts({ attempts }: { readonly attempts: ModelExplanation['recent_attempts'] }) {
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Recent attempts
      </Title>
      {attempts.length === 0 ? (
        <Empty title="No attempts yet" />
      ) : (
        <Wide label="Recent attempts">
          <Table verticalSpacing={4} miw={560}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>When</Table.Th>
                <Table.Th>Outcome</Table.Th>
                <Table.Th ta="right">Status</Table.Th>
                <Table.Th ta="right">Duration</Table.Th>
                <Table.Th ta="right">Tokens</Table.Th>
                <Table.Th>Caller</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {attempts.map((attempt) => (
                <Table.Tr key={`${attempt.request_id} ${attempt.at}`}>
                  <Table.Td>
                    <Ago at={attempt.at} />
                  </Table.Td>
                  <Table.Td>
                    <Badge
                      variant="light"
                      tt="none"
                      color={attempt.outcome === 'success' ? 'teal' : 'orange'}
                    >
                      {attempt.outcome}
                    </Badge>
                  </Table.Td>
                  <Table.Td ta="right">{attempt.status ?? '–'}</Table.Td>
                  <Table.Td ta="right">{Math.round(attempt.duration_ms)} ms</Table.Td>
                  <Table.Td ta="right">{attempt.prompt_tokens + attempt.completion_tokens}</Table.Td>
                  <Table.Td>{attempt.caller}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Wide>
      )}
    </section>
  );
}
