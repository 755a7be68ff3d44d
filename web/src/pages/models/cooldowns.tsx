// Cooldowns of a model by key.
import type { Model } from '../../../../src/api/models.ts';
import { Code, Table, Text, Title } from '@mantine/core';
import { Until } from '../../parts/time.tsx';
import { Wide } from '../../parts/wide.tsx';

export function Cooldowns({ cooldowns }: Pick<Model, 'cooldowns'>) {
  if (cooldowns.length === 0) return null;
  return (
    <section>
      <Title order={2} size="h4" mb="xs">
        Cooldowns
      </Title>
      <Wide label="Cooldowns">
        <Table verticalSpacing={4} miw={480}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Key</Table.Th>
              <Table.Th>Ends</Table.Th>
              <Table.Th>Cause</Table.Th>
              <Table.Th>Source</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {cooldowns.map(({ key_id: key, until, cause, source, reason }) => (
              <Table.Tr key={`${key} ${cause}`}>
                <Table.Td>{key === '*' ? 'all keys' : <Code>{key}</Code>}</Table.Td>
                <Table.Td>
                  <Until at={until} over="now" />
                </Table.Td>
                <Table.Td>
                  {cause}
                  {reason === null ? null : (
                    <Text size="xs" c="dimmed">
                      {reason}
                    </Text>
                  )}
                </Table.Td>
                <Table.Td>{source}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Wide>
    </section>
  );
}
