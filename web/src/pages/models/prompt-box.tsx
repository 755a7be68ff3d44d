// Sends a prompt through the gateway and shows every attempt live.
import { callApi } from '../../../../src/api/client.ts';
import type { PromptCompletion } from '../../../../src/api/completions.ts';
import type { StreamedEvent } from '../../../../src/api/server.ts';
import { Alert, Button, Card, Group, Stack, Text, Textarea, Timeline, Title } from '@mantine/core';
import type { FormEvent } from 'react';
import { useCallback, useRef, useState } from 'react';
import { transport } from '../../api/client.ts';
import { useLiveEvents } from '../../api/live.ts';
import { formatDuration } from '../../components/format.ts';
import { OutcomeBadge } from './attempts.tsx';

/** Payload of the live event. */
interface Tried {
  readonly request_id: string;
  readonly model: string;
  readonly outcome: string;
  readonly status: number | null;
  readonly duration_ms: number;
}

export function PromptBox() {
  const [prompt, setPrompt] = useState('');
  const [completion, setCompletion] = useState<PromptCompletion | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [tried, setTried] = useState<readonly Tried[]>([]);
  const requestId = useRef<string | null>(null);

  useLiveEvents(
    useCallback(({ name, payload }: StreamedEvent) => {
      if (name !== 'gateway:attempt-finished' || requestId.current === null) return;
      const attempt = payload as unknown as Tried;
      // The server appends a suffix to the request id.
      if (attempt.request_id.startsWith(`${requestId.current}/`)) setTried((before) => [...before, attempt]);
    }, []),
  );

  const send = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    requestId.current = `dashboard-${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
    setBusy(true);
    setTried([]);
    setCompletion(null);
    setProblem(null);
    try {
      setCompletion(
        await callApi(transport(requestId.current), 'POST /api/v1/prompts/process', { body: { prompt } }),
      );
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Card withBorder component="section" aria-label="Test prompt">
      <Title order={2} size="h4" mb="xs">
        Test prompt
      </Title>
      <form onSubmit={(event) => void send(event)}>
        <Stack gap="sm">
          <Textarea
            label="Prompt"
            description="Sent to the best available model, with fallback. Provider charges apply."
            autosize
            minRows={2}
            maxLength={10_000}
            value={prompt}
            onChange={({ currentTarget }) => setPrompt(currentTarget.value)}
          />
          <Group>
            <Button type="submit" loading={isBusy} disabled={prompt.trim() === ''}>
              Send prompt
            </Button>
          </Group>
        </Stack>
      </form>
      <Stack gap="sm" mt="md" aria-live="polite">
        {tried.length === 0 ? null : <TriedModels tried={tried} />}
        {problem === null ? null : (
          <Alert color="red" title="All models failed">
            {problem}
          </Alert>
        )}
        {completion === null ? null : (
          <Alert
            color="teal"
            title={`${completion.selected_model} responded in ${formatDuration(completion.response_time_seconds * 1_000)}${
              completion.attempts === 1 ? '' : `, after ${completion.attempts} attempts`
            }`}
          >
            <Text size="sm" style={{ whiteSpace: 'pre-wrap' }}>
              {completion.response}
            </Text>
          </Alert>
        )}
      </Stack>
    </Card>
  );
}

function TriedModels({ tried }: { readonly tried: readonly Tried[] }) {
  return (
    <Timeline bulletSize={14} lineWidth={2} active={tried.length}>
      {tried.map((each, index) => (
        <Timeline.Item
          key={`${each.model} ${index}`}
          color={each.outcome === 'success' ? 'teal' : 'orange'}
          title={<Text size="sm">{each.model}</Text>}
        >
          <Group gap="xs">
            <OutcomeBadge outcome={each.outcome} />
            <Text size="xs" c="dimmed">
              {each.status === null ? '' : `${each.status}, `}
              {formatDuration(each.duration_ms)}
            </Text>
          </Group>
        </Timeline.Item>
      ))}
    </Timeline>
  );
}
