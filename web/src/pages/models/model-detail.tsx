// One model: figures, cooldowns, history, ranking explanation, recent attempts.
import type { ModelExplanation } from '../../../../src/api/models.ts';
import { Anchor, Card, Group, List, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { api } from '../../api/client.ts';
import { numberText, percentText } from '../../components/format.ts';
import { PageTitle, Section, Shown } from '../../components/states.tsx';
import { withLocalTimes } from '../../components/time-texts.ts';
import { Attempts } from './attempts.tsx';
import { Cooldowns } from './cooldowns.tsx';
import { ModelActions } from './model-actions.tsx';
import { ModelHistory } from './model-history.tsx';
import { latencyText, ModelState, recentRateText, stateCause } from './model-state.tsx';

export function ModelDetail({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['models', 'explain', id],
    queryFn: ({ signal }) => api('GET /api/v1/models/:id/explain', { params: { id }, signal }),
    refetchInterval: 10_000,
  });
  return (
    <>
      <Anchor component={Link} href="/models" size="sm">
        All models
      </Anchor>
      <Shown what="the model" title="Model" query={query}>
        {(explanation) => <Explained explanation={explanation} />}
      </Shown>
    </>
  );
}

function Explained({ explanation }: { readonly explanation: ModelExplanation }) {
  const { model } = explanation;
  const cause = stateCause(model);
  return (
    <Stack gap="lg">
      <div>
        <PageTitle right={<ModelActions model={model} />}>{model.name}</PageTitle>
        <Group gap="sm">
          <ModelState model={model} />
          {cause === null ? null : <Text size="sm">{cause}</Text>}
          {model.needs === null ? null : <Text size="sm">{model.needs}</Text>}
          <Text size="sm" c="dimmed">
            {model.provider}
          </Text>
        </Group>
      </div>
      <SimpleGrid cols={{ base: 2, sm: 3, md: 5 }}>
        <Figure name="Rank" value={explanation.position === null ? '–' : String(explanation.position)} />
        <Figure name="Score" value={model.effective_reliability_score.toFixed(2)} />
        <Figure name="Last 15 minutes" value={recentRateText(model.health)} />
        <Figure
          name="Success rate"
          value={
            model.request_count === 0
              ? '–'
              : `${percentText(model.success_rate)} of ${numberText(model.request_count)}`
          }
        />
        <Figure name="Average latency" value={latencyText(model)} />
      </SimpleGrid>
      <Cooldowns cooldowns={model.cooldowns} />
      <ModelHistory id={model.id} />
      <Section title="Ranking">
        <Text size="sm" mb="xs">
          {sentence(withLocalTimes(explanation.position_reason))}
        </Text>
        <List size="sm" spacing={2}>
          {explanation.steps.map((step) => (
            <List.Item key={step}>{step}</List.Item>
          ))}
        </List>
      </Section>
      <Attempts attempts={explanation.recent_attempts} />
    </Stack>
  );
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function Figure({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Card withBorder padding="sm">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fw={600}>{value}</Text>
    </Card>
  );
}
