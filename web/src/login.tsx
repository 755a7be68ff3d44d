// Login by a one-time link, whose token is in the fragment (#), or with the admin token.
import { Alert, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { api } from './api/client.ts';

export function Login() {
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const client = useQueryClient();
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isLinkUsed = useRef(false);

  const logIn = async (given: string, isLink: boolean): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await api('POST /api/v1/dashboard/session', { body: { token: given } }).catch(
        async (error: unknown) => {
          // A used link is no error in the browser that it logged in.
          if (!isLink || !(await hasSession())) throw error;
        },
      );
      client.clear();
      go(params.get('from') ?? '/', { replace: true });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };

  useEffect(() => {
    const given = globalThis.location.hash.slice(1);
    if (given === '' || isLinkUsed.current) return;
    // The token works once and must not stay in the address bar.
    isLinkUsed.current = true;
    globalThis.history.replaceState(null, '', globalThis.location.pathname + globalThis.location.search);
    void logIn(given, true);
  });

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void logIn(token.trim(), false);
  };

  return (
    <Center mih="100dvh" p="md" component="main">
      <Paper withBorder p="xl" maw={420} w="100%">
        <form onSubmit={submit}>
          <Stack>
            <Title order={1} size="h3">
              Headworks
            </Title>
            <Text c="dimmed" size="sm">
              Open the link printed by <Code>headworks dashboard</Code>, or enter the admin token. It was
              printed at the first start of the server and is stored in <Code>admin-token</Code> in its data
              folder.
            </Text>
            <PasswordInput
              label="Admin token"
              autoComplete="current-password"
              value={token}
              onChange={({ currentTarget }) => setToken(currentTarget.value)}
              required
            />
            {problem === null ? null : (
              <Alert color="red" role="alert">
                {problem}
              </Alert>
            )}
            <Button type="submit" loading={isBusy}>
              Log in
            </Button>
          </Stack>
        </form>
      </Paper>
    </Center>
  );
}

const hasSession = (): Promise<boolean> =>
  api('GET /api/v1/caller').then(
    () => true,
    () => false,
  );
