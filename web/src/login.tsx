// Logging in: by a link, whose token stands behind # and goes to the server once; or with the admin token.
import { Alert, Button, Center, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { FormEvent } from 'react';
import { useEffect, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { call, get } from './api/client.ts';

export function Login() {
  const [, go] = useLocation();
  const [params] = useSearchParams();
  const client = useQueryClient();
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const isTried = useRef(false);

  const logIn = async (given: string, isLink: boolean): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await call('POST', '/api/v1/dashboard/session', { body: { token: given } }).catch(
        async (error: unknown) => {
          // A link that was used is no obstacle to a browser that it has logged in.
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
    if (given === '' || isTried.current) return;
    // Once: it works only once, and must not stay in the address.
    isTried.current = true;
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
              Open a link from <Code>headworks dashboard</Code>, or give the admin token: it was printed when
              the server started for the first time, and stands in <Code>admin-token</Code> in its data
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
  get('/api/v1/caller').then(
    () => true,
    () => false,
  );
